// One trial: its configuration, curve, story, checkpoints, what it printed, and how it failed.

import { h, labelled, select, setOptions, setText, show } from "./dom.js";
import { copyButtons } from "./copy.js";
import { Figure } from "./figure.js";
import { bytes, count, duration, number, value as write } from "./format.js";
import { extent, linear } from "./scale.js";
import { trace } from "./plot.js";
import { makeTrialControls } from "./control.js";

export function makeTrialView(store, context, id) {
  let details = null;
  let asked = "";
  let metric = null;
  const title = h("h2", { class: "large" }, `Trial ${id}`);
  const message = h("p", { class: "note", role: "status" });
  const parts = h("div", { class: "grid" });
  const chooser = select("Metric", [], "", (chosen) => { metric = chosen; figure.render(); });
  const choice = labelled("Metric", chooser);
  choice.hidden = true;
  const figure = new Figure({
    name: `trial-${id}`, title: "Learning curve", height: 280, wide: true, controls: [choice],
    draw: (plot) => draw(plot), table: () => table(),
  });
  const controls = makeTrialControls(context, id);
  const el = h("div", { class: "grid" },
    h("section", { class: "card wide" }, h("p", {}, h("a", { href: context.link("trials") }, "← all trials")), title, message, controls), figure.el, parts);

  function curves() {
    const own = details ? details.curve : null;
    const found = own ? [{ name: store.headline ? store.headline.metric : "value", points: own[0].map((resource, index) => [resource, own[1][index]]) }] : [];
    const names = details && details.metrics ? [...new Set(details.metrics.flatMap(([, metrics]) => Object.keys(metrics)))] : [];
    for (const name of names) found.push({ name, points: details.metrics.filter(([, metrics]) => name in metrics).map(([resource, metrics]) => [resource, metrics[name]]) });
    return found;
  }

  function draw(plot) {
    const all = curves();
    const chosen = all.find((one) => one.name === metric) || all[0];
    if (!chosen || !chosen.points.some(([, y]) => y !== null)) {
      plot.message("It has not reported a value yet.");
      return [];
    }
    const range = extent(chosen.points.map(([, y]) => y));
    const room = (range[1] - range[0] || Math.abs(range[0]) || 1) * 0.06;
    const x = linear(0, Math.max(...chosen.points.map(([at]) => at)), plot.left, plot.right - 6);
    const y = linear(range[0] - room, range[1] + room, plot.bottom, plot.top);
    plot.yAxis(y, chosen.name, (mark) => number(mark));
    for (const level of store.levels) if (x(level) <= plot.right) plot.line(x(level), plot.top, x(level), plot.bottom, { stroke: plot.colours.faint, "stroke-dasharray": "2 4" });
    plot.xAxis(x, store.headline ? store.headline.unit : "resource", count);
    const places = chosen.points.map(([at, item]) => [x(at), item === null ? null : y(item)]);
    plot.path(trace(places), { stroke: plot.colours.accent, "stroke-width": 2 });
    const seen = places.filter((place) => place[1] !== null);
    if (seen.length < 120) plot.dots(seen, 3, plot.colours.accent);
    return places.map((place, index) => [...place, `${number(chosen.points[index][1], 6)} at ${count(chosen.points[index][0])}`]).filter((place) => place[1] !== null);
  }

  function table() {
    const all = curves();
    const rows = new Map();
    all.forEach((curve, index) => curve.points.forEach(([at, item]) => {
      if (!rows.has(at)) rows.set(at, [at, ...all.map(() => null)]);
      rows.get(at)[index + 1] = item;
    }));
    return { columns: ["resource", ...all.map((one) => one.name)], rows: [...rows.values()].sort((a, b) => a[0] - b[0]) };
  }

  function build() {
    const card = (heading, ...content) => h("section", { class: "card" }, h("h2", {}, heading), content);
    const configuration = h("dl", { class: "pairs" }, Object.entries(details.config).map(([name, item]) => [h("dt", {}, name), h("dd", {}, write(item))]));
    const jobs = h("table", {}, h("thead", {}, h("tr", {}, ["job", "from", "to", "begun after", "took", "ended"].map((text) => h("th", { scope: "col" }, text)))),
      h("tbody", {}, details.jobs.map((job) => h("tr", {}, [job.job, count(job.from), count(job.until), duration(job.start), job.end === null ? "–" : duration(job.end - job.start), job.how || "running"].map((text) => h("td", {}, String(text)))))));
    const kept = details.checkpoints && details.checkpoints.length
      ? h("p", {}, `At resource ${details.checkpoints.map(count).join(", ")}; ${bytes(details.bytes)} in ${details.store}`)
      : h("p", { class: "soft" }, "None is kept here.");
    const names = curves().map((one) => one.name);
    setOptions(chooser, names.map((name) => [name, name]), metric || names[0]);
    show(choice, names.length > 1);
    parts.replaceChildren(
      card("Configuration", configuration, copyButtons(details.texts)),
      card("Story", h("ol", {}, details.story.slice(1).map((sentence) => h("li", {}, sentence)))),
      card("Jobs", h("div", { class: "scroll short", tabindex: 0, role: "region", "aria-label": "Jobs" }, jobs)),
      card("Checkpoints", kept),
      ...details.failures.slice().reverse().map((failure) => h("section", { class: "card wide bad" }, h("h2", {}, `Job ${failure.job} failed at resource ${count(failure.resource)}`),
        h("p", {}, failure.reason), failure.spared ? h("p", { class: "soft" }, "It was put down to the surroundings, and is not held against the trial.") : null,
        failure.trace ? block("Traceback", failure.trace) : null, failure.output ? block("What it had printed", failure.output) : null)),
      h("section", { class: "card wide" }, h("h2", {}, "What it printed last"), details.output ? block("Output", details.output) : h("p", { class: "soft" }, "Nothing.")));
  }

  function block(label, text) {
    return h("pre", { tabindex: 0, role: "region", "aria-label": label }, text);
  }

  function update() {
    const row = store.trials.get(id);
    if (!store.ready) return;
    if (!row) {
      setText(message, `There is no trial ${id} yet; there are ${store.trials.size}.`);
      return;
    }
    setText(message, `${row.state}${row.note ? `: ${row.note}` : ""}${row.problem ? " · it cannot win" : ""} · ${store.headline.metric} ${number(row.value, 6)}${row.at === null ? "" : ` at ${count(row.at)}`} · trained to ${count(row.reached)}`);
    const mark = JSON.stringify([row.state, row.reached, row.note, store.headline.failures]);
    if (mark === asked) return;
    asked = mark;
    context.get("trial", { trial: id }).then((found) => {
      details = found;
      build();
      figure.render();
    }, (error) => {
      const curve = store.curves.get(id);
      if (curve) details = { config: row.config, curve: [curve.resources, curve.values], story: [], jobs: [], failures: [], checkpoints: [], metrics: [] };
      setText(message, `${message.textContent} · ${error.message}`);
      figure.render();
    });
  }

  return { el, figures: [figure], update };
}
