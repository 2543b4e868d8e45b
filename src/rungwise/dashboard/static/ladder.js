// The ladder: who stands on which rung, who was promoted when, and why the ceiling has risen.

import { h } from "./dom.js";
import { Figure } from "./figure.js";
import { count, duration, number, plural } from "./format.js";
import { extent, linear, log } from "./scale.js";
import { stairs, trace } from "./plot.js";

const PROMOTIONS = 60;
const SHOWN = 700; // of the trials on a rung, besides the best
const BEST = 100;

// Every trial at its value on each rung it has reached: filled if it went further.
export class RungsFigure {
  constructor(store) {
    this.store = store;
    this.figure = new Figure({
      name: "rungs", title: "Who stands on which rung", wide: true,
      height: () => Math.max(170, 74 + 58 * Math.max(1, this.shown().length)),
      margins: { left: 84, top: 30 }, draw: (plot) => this.draw(plot), table: () => this.table(),
    });
    this.el = this.figure.el;
  }

  shown() {
    return this.store.ladder ? this.store.ladder.rungs : [];
  }

  update() {
    this.figure.render();
  }

  // The trials with a value on a rung, the best first, and of many not all: nobody would see them.
  points(rung) {
    const sign = this.store.minimised ? 1 : -1;
    const found = [];
    for (const trial of this.store.trials.values()) if (trial.rungs > rung && typeof trial.values[rung] === "number") found.push(trial);
    let kept = found;
    if (found.length > SHOWN) {
      const every = Math.ceil(found.length / SHOWN);
      const ranks = Float64Array.from(found, (trial) => sign * trial.values[rung]).sort();
      const good = ranks[Math.min(BEST, ranks.length - 1)];
      kept = found.filter((trial, index) => index % every === 0 || sign * trial.values[rung] <= good);
    }
    kept.sort((a, b) => sign * (a.values[rung] - b.values[rung]));
    return kept.map((trial) => ({ trial, value: trial.values[rung], went: trial.rungs > rung + 1 }));
  }

  draw(plot) {
    const { store } = this;
    const rungs = this.shown();
    if (!rungs.some(([, entered]) => entered)) {
      plot.message("No trial has reached a rung yet.");
      return [];
    }
    const all = rungs.map((_, rung) => this.points(rung));
    const sorted = Float64Array.from(all.flat(), (point) => point.value).sort();
    const range = extent(sorted) || [0, 1];
    const cut = store.minimised ? [range[0], sorted[Math.floor(sorted.length * 0.97)] ?? range[1]] : [sorted[Math.floor(sorted.length * 0.03)] ?? range[0], range[1]];
    const x = linear(cut[0], cut[1], plot.left + 6, plot.right - 6);
    const step = (plot.bottom - plot.top) / rungs.length;
    const targets = [];
    const { marks, ink, soft, best } = plot.colours;
    plot.legend([[marks[0], "went further", "dot"], [soft, "waits or was left there", "ring"], [best, "picked", "dot"]], plot.left, 14);
    rungs.forEach(([level, entered, waiting, running], rung) => {
      const y = plot.bottom - (rung + 0.5) * step;
      const isCeiling = level === store.headline.ceiling;
      plot.line(plot.left, y + step / 2, plot.right, y + step / 2);
      plot.text(plot.left - 10, y - 2, count(level), { "text-anchor": "end", fill: isCeiling ? best : ink, "font-weight": 600, "font-size": 13 });
      plot.text(plot.left - 10, y + 13, isCeiling ? "ceiling" : `${entered} here`, { "text-anchor": "end", fill: isCeiling ? best : soft, "font-size": 10.5 });
      if (isCeiling) plot.line(plot.left, y - step / 2 + 1, plot.right, y - step / 2 + 1, { stroke: best, "stroke-width": 1.5 });
      this.drawRow(plot, all[rung], x, y, step, targets);
      const words = `${plural(entered, "trial")}${waiting ? `, ${waiting} waiting` : ""}${running ? `, ${running} on the way` : ""}`;
      plot.text(plot.right - 4, y - step / 2 + 14, words, { "text-anchor": "end", "font-size": 10.5 });
    });
    plot.xAxis(x, `${store.headline.metric} at the rung`, (mark) => number(mark));
    return targets;
  }

  // Dots of one place are one dot: nobody would see more.
  drawRow(plot, points, x, y, step, targets) {
    const cells = new Map();
    const groups = { went: [], stayed: [], picked: [] };
    for (const point of points) {
      const place = Math.min(Math.max(x(point.value), plot.left), plot.right);
      const cell = Math.round(place / 5);
      const level = cells.get(cell) || 0;
      cells.set(cell, level + 1);
      if (level > 4) continue;
      const dy = (level % 2 ? 1 : -1) * Math.ceil(level / 2) * Math.min(7, step / 8);
      const at = [place, y + 4 + dy];
      groups[this.store.selected.has(point.trial.id) ? "picked" : point.went ? "went" : "stayed"].push(at);
      targets.push([at[0], at[1], () => `trial ${point.trial.id}: ${number(point.value, 5)}\n${point.went ? "went further" : point.trial.state}`, () => this.store.toggle(point.trial.id)]);
    }
    plot.dots(groups.stayed, 3.6, plot.colours.soft, { opacity: 0.75 });
    plot.dots(groups.stayed, 2.4, plot.colours.card);
    plot.dots(groups.went, 3.8, plot.colours.marks[0]);
    plot.dots(groups.picked, 5, plot.colours.best);
  }

  table() {
    const rows = this.shown().map(([level, entered, waiting, running, best]) => [level, entered, waiting, running, best]);
    return { columns: ["rung", "reached", "waiting", "running to it", "best value"], rows };
  }
}

// One of those that would be drawn on top of each other.
function unlike(items, place) {
  const seen = new Set();
  return items.filter((item) => {
    const key = place(item);
    if (seen.has(key)) return false;
    seen.add(key);
    return true;
  });
}

// Jobs over time at the resource they got to, and the ceiling above them.
export class ClimbFigure {
  constructor(store, { height = 300, wide = false } = {}) {
    this.store = store;
    this.figure = new Figure({
      name: "climb", title: "The ceiling over time", height, wide, margins: { top: 30 },
      draw: (plot) => this.draw(plot), table: () => this.table(),
    });
    this.el = this.figure.el;
  }

  update() {
    this.figure.render();
  }

  draw(plot) {
    const { store } = this;
    const jobs = [...store.jobs.values()];
    const rises = store.ladder ? store.ladder.rises.filter((rise) => rise.level > 0) : [];
    if (!jobs.length || !store.headline) {
      plot.message("Nothing has been trained yet.");
      return [];
    }
    const until = Math.max(store.headline.seconds, 1e-3);
    const levels = store.levels.length ? store.levels : [1];
    const highest = Math.max(...rises.map((rise) => rise.level), ...jobs.map((job) => job.until), levels[0]);
    const begin = Math.min(jobs[0].start, ...(rises.length ? [rises[0].at] : []));
    const x = linear(begin, until, plot.left, plot.right - 6);
    const y = log(levels[0] / 1.6, highest * 1.5, plot.bottom, plot.top);
    const { marks, soft, best, faint } = plot.colours;
    plot.yAxis(y, "resource (rungs)", count, levels.filter((level) => level <= highest));
    plot.xAxis(x, "time of the study", duration);
    const targets = [];
    const ended = jobs.filter((job) => job.end !== null);
    const done = unlike(ended, (job) => `${job.until} ${job.how} ${Math.round(x(job.end) / 3)}`);
    const promotions = unlike(jobs.filter((job) => job.from > 0), (job) => `${job.from} ${job.until} ${Math.round(x(job.start))}`);
    plot.path(promotions.map((job) => `M${x(job.start).toFixed(1)} ${y(Math.max(job.from, levels[0])).toFixed(1)}V${y(job.until).toFixed(1)}`).join(""), { stroke: faint, "stroke-width": 1, opacity: promotions.length > 300 ? 0.35 : 0.9 });
    const failed = done.filter((job) => job.how === "failed");
    const fine = done.filter((job) => job.how !== "failed" && job.how !== "lost");
    plot.dots(fine.map((job) => [x(job.end), y(job.until)]), ended.length > 400 ? 1.8 : 3, marks[0], { opacity: 0.75 });
    plot.dots(failed.map((job) => [x(job.end), y(job.until)]), 3, marks[1]);
    plot.dots(ended.filter((job) => store.selected.has(job.trial)).map((job) => [x(job.end), y(job.until)]), 5, best);
    plot.path(stairs(rises.map((rise) => [x(rise.at), y(rise.level)]), plot.right), { stroke: best, "stroke-width": 2.4 });
    for (const rise of rises) targets.push([x(rise.at), y(rise.level), `the ceiling is at ${count(rise.level)} from ${duration(rise.at)} on\n${rise.why}`]);
    for (const job of done) targets.push([x(job.end), y(job.until), `trial ${job.trial}, job ${job.id}\nfrom ${count(job.from)} to ${count(job.until)}: ${job.how}`, () => store.toggle(job.trial)]);
    plot.legend([[best, "ceiling", "line"], [marks[0], "end of a job", "dot"], [faint, "promotion", "line"], ...(failed.length ? [[marks[1], "failed", "dot"]] : [])], plot.left, 14);
    this.figure.describe(soft && store.use && store.use.hidden ? `The last ${count(jobs.length)} jobs are drawn.` : "");
    return targets;
  }

  table() {
    const rises = this.store.ladder ? this.store.ladder.rises : [];
    return { columns: ["ceiling", "seconds", "reports", "spent", "why"], rows: rises.map((rise) => [rise.level, rise.at, rise.reports, rise.spent, rise.why]) };
  }
}

// What the checks of the ceiling measured, against what they allowed.
class ChecksFigure {
  constructor(store) {
    this.store = store;
    this.figure = new Figure({
      name: "checks", title: "How far the ranking moved, against ε", margins: { top: 30 },
      draw: (plot) => this.draw(plot), table: () => this.table(),
    });
    this.el = this.figure.el;
  }

  update() {
    this.figure.render();
  }

  draw(plot) {
    const { ladder } = this.store;
    const checks = ladder ? ladder.checks : [];
    if (!checks.length) {
      plot.message("This scheduler has compared no rankings yet.");
      return [];
    }
    const bounded = checks.filter((check) => check[2] !== null);
    const epsilons = bounded.length ? bounded.map(([at, , bound]) => [at, bound]) : ladder.epsilons;
    const name = bounded.length && !ladder.epsilons.length ? "bound" : "ε";
    const high = Math.max(...checks.map((check) => check[1] ?? 0), ...epsilons.map((one) => one[1] ?? 0)) || 1;
    const x = linear(0, Math.max(this.store.headline.reports, 1), plot.left, plot.right - 6);
    const y = linear(0, high * 1.08, plot.bottom, plot.top);
    plot.yAxis(y, "difference", (mark) => number(mark, 3));
    plot.xAxis(x, "reports", count);
    const { marks, best } = plot.colours;
    for (const rise of ladder.rises.slice(1)) {
      plot.line(x(rise.reports), plot.top, x(rise.reports), plot.bottom, { stroke: best, "stroke-dasharray": "3 3" });
      plot.text(x(rise.reports) + 4, plot.top + 10, `→ ${count(rise.level)}`, { fill: best, "font-size": 10.5 });
    }
    plot.path(stairs(epsilons.map(([at, item]) => [x(at), y(item ?? 0)]), plot.right), { stroke: marks[2], "stroke-width": 2, "stroke-dasharray": "5 3" });
    const moved = checks.filter((check) => check[1] !== null);
    plot.path(trace(moved.map((check) => [x(check[0]), y(check[1])])), { stroke: marks[0], "stroke-width": 1.2, opacity: 0.6 });
    const stable = moved.filter((check) => check[3]);
    const unstable = moved.filter((check) => !check[3]);
    plot.dots(stable.map((check) => [x(check[0]), y(check[1])]), 2.6, marks[0]);
    plot.dots(unstable.map((check) => [x(check[0]), y(check[1])]), 4.5, best);
    plot.legend([[marks[0], "measured, stable", "dot"], [best, "not stable: the ceiling rises", "dot"], [marks[2], name, "dash"]], plot.left, 14);
    return moved.map((check) => [x(check[0]), y(check[1]), `after ${count(check[0])} reports: ${number(check[1])}${check[2] === null ? "" : `, bound ${number(check[2])}`}\n${check[3] ? "stable" : "not stable"}`]);
  }

  table() {
    const checks = this.store.ladder ? this.store.ladder.checks : [];
    return { columns: ["reports", "measured", "bound", "stable"], rows: checks };
  }
}

export function makeLadderView(store, context) {
  const figures = [new RungsFigure(store), new ClimbFigure(store), new ChecksFigure(store)];
  const rises = h("ol", { class: "rises" });
  const latest = h("tbody");
  const risesCard = h("section", { class: "card" }, h("h2", {}, "Why the ceiling is where it is"), rises);
  const promotions = h("section", { class: "card" }, h("h2", {}, "Latest promotions"),
    h("div", { class: "scroll short", tabindex: 0, role: "region", "aria-label": "Latest promotions" },
      h("table", {}, h("thead", {}, h("tr", {}, ["at", "trial", "from", "to"].map((text) => h("th", { scope: "col" }, text)))), latest)));
  let drawn = "";
  const update = () => {
    for (const figure of figures) figure.update();
    const promoted = [...store.jobs.values()].filter((job) => job.from > 0).slice(-PROMOTIONS).reverse();
    const mark = JSON.stringify([store.ladder && store.ladder.explanation, store.ladder && store.ladder.rises.length, promoted.length ? promoted[0].id : null, promoted.length]);
    if (mark === drawn) return;
    drawn = mark;
    const found = store.ladder ? store.ladder.rises : [];
    rises.replaceChildren(...found.map((rise, index) => h("li", {},
      h("strong", {}, count(rise.level)), " ",
      h("span", { class: "soft" }, index ? `after ${duration(rise.at)}, ${plural(rise.reports, "report")}, ${count(rise.spent)} spent` : "at the start"),
      rise.why ? h("p", {}, rise.why) : null)));
    if (store.ladder && found.length) rises.append(h("li", { class: "now" }, h("strong", {}, "now"), h("p", {}, store.ladder.explanation)));
    latest.replaceChildren(...promoted.map((job) => h("tr", {},
      h("td", {}, duration(job.start)), h("td", {}, h("a", { href: context.link(`trials/${job.trial}`) }, `trial ${job.trial}`)),
      h("td", { class: "number" }, count(job.from)), h("td", { class: "number" }, count(job.until)))));
  };
  const el = h("div", { class: "grid" }, figures[0].el, figures[1].el, figures[2].el, risesCard, promotions);
  return { el, figures: figures.map((one) => one.figure), update };
}
