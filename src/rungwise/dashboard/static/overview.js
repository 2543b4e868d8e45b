// The headline: why the study stands where it does, what it has found and what it has saved.

import { h, setText, show } from "./dom.js";
import { copyButtons } from "./copy.js";
import { CurvesFigure } from "./curves.js";
import { ClimbFigure } from "./ladder.js";
import { HistoryFigure } from "./history.js";
import { makeControls } from "./control.js";
import { count, duration, localTime, number, plural, value as write } from "./format.js";

function makeTiles() {
  const tiles = h("dl", { class: "tiles" });
  const parts = {};
  for (const [key, title] of [["best", "Best"], ["ceiling", "Ceiling"], ["spent", "Spent"], ["saved", "Against ASHA"], ["time", "Time"], ["trials", "Trials"]]) {
    const value = h("dd");
    const under = h("dd", { class: "soft" });
    parts[key] = [value, under];
    tiles.append(h("div", { class: `tile ${key}` }, h("dt", {}, title), value, under));
  }
  return { tiles, say: (key, value, under) => { setText(parts[key][0], value); setText(parts[key][1], under); } };
}

function describeSaving({ saving, headline }) {
  if (!saving) return ["–", headline.max_resource === null ? "open-ended: ASHA needs a maximum" : "not known yet"];
  const saved = saving.other - saving.spent;
  const under = saving.how.includes("estimated") ? `ASHA: ${count(saving.other)}, partly estimated` : `ASHA: ${count(saving.other)}`;
  if (Math.abs(saving.ratio - 1) < 0.05) return ["the same", under];
  return saved > 0 ? [`${saving.ratio.toFixed(1)} × less`, under] : [`${(1 / saving.ratio).toFixed(1)} × more`, under];
}

function fillTiles(say, store) {
  const { headline, left } = store;
  const { best } = headline;
  say("best", best ? number(best.value, 5) : "–", best ? `${headline.metric} at ${count(best.resource)}, trial ${best.trial}` : `${headline.metric}: nothing reported yet`);
  say("ceiling", headline.ceiling === null ? "–" : count(headline.ceiling), headline.max_resource === null ? "open-ended" : `of at most ${count(headline.max_resource)}`);
  const limit = headline.limits.resource === null ? "" : `of ${count(headline.limits.resource)}, `;
  say("spent", count(headline.spent), `${limit}${plural(headline.reports, "report")}${headline.repeated ? `, ${count(headline.repeated)} twice` : ""}`);
  say("saved", ...describeSaving(store));
  const running = headline.state === "running";
  say("time", duration(headline.seconds), running ? `left: ${left || "not known yet"}` : "of running");
  const drawn = headline.limits.trials === null ? "" : ` of ${count(headline.limits.trials)}`;
  say("trials", `${count(headline.trials)}${drawn}`, `${headline.open ? `${headline.open} running, ` : ""}${plural(headline.failures, "failed attempt")}`);
}

export function makeOverview(store, context) {
  const why = h("p", { class: "why", "aria-live": "polite" });
  const facts = h("p", { class: "soft" });
  const resume = h("p", { class: "resume" });
  const { tiles, say } = makeTiles();
  const bestTitle = h("h2", {}, "Best configuration");
  const bestPart = h("div");
  const best = h("div", { class: "winner" }, bestTitle, bestPart);
  const figures = [new CurvesFigure(store, { height: (width) => Math.max(300, Math.min(440, width * 0.34)), controls: false, fetch: context.fetchTrial }), new ClimbFigure(store, { height: 280 }), new HistoryFigure(store, context, { height: 280 })];
  const el = h("div", { class: "grid" },
    h("section", { class: "card wide hero" }, h("div", { class: "words" }, why, facts, resume), best, tiles), figures.map((one) => one.el), makeControls(store, context));
  let written = "";

  function writeBest(headline) {
    const mark = JSON.stringify(headline.best);
    if (mark === written) return;
    written = mark;
    if (!headline.best) {
      bestPart.replaceChildren(h("p", { class: "soft" }, "No trial has reported a finite value yet."));
      return;
    }
    const { trial, config, texts } = headline.best;
    bestPart.replaceChildren(
      h("p", { class: "soft" }, h("a", { href: context.link(`trials/${trial}`) }, `trial ${trial}`)),
      h("dl", { class: "pairs" }, Object.entries(config).map(([name, item]) => [h("dt", {}, name), h("dd", {}, write(item))])), copyButtons(texts));
  }

  function update() {
    const { headline } = store;
    if (!headline) {
      setText(why, store.ready ? "The file holds no study yet." : "Reading the study…");
      show(best, false);
      return;
    }
    show(best, true);
    setText(why, headline.why);
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
