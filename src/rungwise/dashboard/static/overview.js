// The headline: why the study stands where it does, what it has found and what it has saved.

import { h, setText, show } from "./dom.js";
import { copyButtons } from "./copy.js";
import { CurvesFigure } from "./curves.js";
import { ClimbFigure } from "./ladder.js";
import { HistoryFigure } from "./history.js";
import { makeControls } from "./control.js";
import { amount, count, duration, localTime, number, place, plural, value as write } from "./format.js";

function makeTiles() {
  const tiles = h("dl", { class: "tiles" });
  const parts = {};
  for (const [key, title] of [["best", "Best"], ["ceiling", "Ceiling"], ["spent", "Spent"], ["saved", "Saved"], ["time", "Time"], ["trials", "Trials"]]) {
    const value = h("dd");
    const under = h("dd", { class: "soft" });
    parts[key] = [value, under];
    tiles.append(h("div", { class: `tile ${key}` }, h("dt", {}, title), value, under));
  }
  return { tiles, say: (key, value, under) => { setText(parts[key][0], value); setText(parts[key][1], under); } };
}

function describeSaving({ saving }) {
  const full = saving && saving.full;
  if (!full) return ["–", "nothing reported yet"];
  const all = `than ${count(full.full)} for all in full`;
  return full.ratio < 1.05 ? ["nothing", "all were trained in full"] : [`${number(full.ratio, 3)} × less`, all];
}

function fillTiles(say, store) {
  const { headline, left } = store;
  const { best } = headline;
  say("best", best ? number(best.value, 5) : "–", best ? `${headline.metric} ${place(best.resource, headline.unit)}, trial ${best.trial}${best.problem ? `, which ${best.problem}` : ""}` : `${headline.metric}: nothing reported yet`);
  say("ceiling", headline.ceiling === null ? "–" : count(headline.ceiling), headline.max_resource === null ? "open-ended" : `of at most ${count(headline.max_resource)}`);
  const limit = headline.limits.resource === null ? "" : `of ${count(headline.limits.resource)}, `;
  say("spent", amount(headline.spent, headline.unit), `${limit}${plural(headline.reports, "report")}${headline.repeated ? `, ${count(headline.repeated)} twice` : ""}`);
  say("saved", ...describeSaving(store));
  const running = headline.state === "running";
  say("time", duration(headline.seconds), running ? `left: ${left || "not known yet"}` : "of running");
  const drawn = headline.limits.trials === null ? "" : ` of ${count(headline.limits.trials)}`;
  say("trials", `${count(headline.trials)}${drawn}`, `${headline.open ? `${headline.open} running, ` : ""}${plural(headline.failures, "failed attempt")}`);
}

export function makeOverview(store, context) {
  const why = h("p", { class: "why", "aria-live": "polite" });
  const numbers = h("p", {});
  const rule = h("p", { class: "soft" });
  const cost = h("p", { class: "soft" });
  const more = h("details", {}, h("summary", {}, "By which rule?"), rule, cost);
  const facts = h("p", { class: "soft" });
  const resume = h("p", { class: "resume" });
  const { tiles, say } = makeTiles();
  const bestTitle = h("h2", {}, "Best configuration");
  const bestPart = h("div");
  const best = h("div", { class: "winner" }, bestTitle, bestPart);
  const figures = [new CurvesFigure(store, { height: (width) => Math.max(300, Math.min(440, width * 0.34)), controls: false, fetch: context.fetchTrial }), new ClimbFigure(store, { height: 280 }), new HistoryFigure(store, context, { height: 280 })];
  const el = h("div", { class: "grid" },
    h("section", { class: "card wide hero" }, h("div", { class: "words" }, why, numbers, more, facts, resume), best, tiles), figures.map((one) => one.el), makeControls(store, context));
  let written = "";

  function writeBest(headline) {
    const mark = JSON.stringify(headline.best);
    if (mark === written) return;
    written = mark;
    if (!headline.best) {
      bestPart.replaceChildren(h("p", { class: "soft" }, "No trial has reported a finite value yet."));
      return;
    }
    const { trial, problem, config, texts } = headline.best;
    bestPart.replaceChildren(
      h("p", { class: "soft" }, h("a", { href: context.link(`trials/${trial}`) }, `trial ${trial}`), problem ? `: ${problem}, and no other is healthy` : ""),
      h("dl", { class: "pairs" }, Object.entries(config).map(([name, item]) => [h("dt", {}, name), h("dd", {}, write(item))])), copyButtons(texts));
  }

  function update() {
    const { headline } = store;
    if (!headline) {
      setText(why, store.ready ? "The file holds no study yet." : "Reading the study…");
      show(best, false);
      show(more, false);
      return;
    }
    show(best, true);
    show(more, true);
    setText(why, headline.why);
    setText(numbers, headline.numbers);
    setText(rule, headline.rule);
    setText(cost, store.saving ? `Spent: ${store.saving.text}.` : "");
    const about = [headline.scheduler, headline.searcher, `${headline.goal === "min" ? "minimise" : "maximise"} ${headline.metric}`];
    if (headline.created) about.push(`begun ${localTime(headline.created)}`);
    if (headline.tags.length) about.push(`tags: ${headline.tags.join(", ")}`);
    for (const one of headline.extensions) about.push(`extended: ${one}`);
    if (headline.note) about.push(headline.note);
    for (const one of headline.retrained) about.push(`trial ${one.trial} retrained: ${one.text}`);
    setText(facts, about.filter(Boolean).join(" · "));
    show(resume, headline.resume);
    resume.replaceChildren(...(headline.resume ? [headline.ended ? "Extend it: " : "Go on with it: ", h("code", {}, headline.resume)] : []));
    fillTiles(say, store);
    writeBest(headline);
    for (const figure of figures) figure.update();
  }

  return { el, figures: figures.map((one) => one.figure), update };
}
