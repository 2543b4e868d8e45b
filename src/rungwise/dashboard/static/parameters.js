// What the parameters have to do with the value, always at one rung: only there trials compare.

import { h, labelled, select, setOptions } from "./dom.js";
import { Figure } from "./figure.js";
import { ramp } from "./colour.js";
import { count, number, percent, value as show } from "./format.js";
import { forParameter, linear, quantile } from "./scale.js";
import { round, shorten } from "./plot.js";
import { ContourFigure } from "./contour.js";

const LINES = 400;
const POINTS = 1200;

// The trials at a rung with a value, the worst first, so that the best are drawn above them.
export function compareAt(store, rung, most) {
  const found = [];
  for (const trial of store.trials.values()) {
    const value = trial.values[rung];
    if (trial.rungs > rung && value !== null && value !== undefined) found.push({ trial, value });
  }
  found.sort((a, b) => store.compare(b.value, a.value));
  const total = found.length;
  if (total <= most) return { points: found, total };
  const every = total / most;
  const kept = Array.from({ length: most }, (_, index) => found[Math.floor(index * every)]);
  kept[most - 1] = found[total - 1];
  return { points: kept, total };
}

// Parameters that have more than one value among the points.
export function varying(store, points) {
  return store.headline.params.filter((parameter) => new Set(points.map(({ trial }) => JSON.stringify(trial.config[parameter.name]))).size > 1);
}

// The range of values without the worst fifth, which would hide the others.
export function valueScale(store, points, from, to, share = 0.8) {
  const sorted = points.map((point) => point.value).sort((a, b) => a - b);
  let [low, high] = [sorted[0], sorted[sorted.length - 1]];
  if (store.minimised) high = quantile(sorted, share);
  else low = quantile(sorted, 1 - share);
  const room = (high - low || Math.abs(high) || 1) * 0.05;
  return linear(low - room, high + room, from, to);
}

export function rungText(store, rung, shown, total) {
  const level = store.levels[rung];
  const part = shown < total ? `, ${count(shown)} of them drawn` : "";
  return `${count(total)} trials compared at resource ${count(level)}${part}.`;
}

class ParallelFigure {
  constructor(store, state) {
    this.store = store;
    this.state = state;
    this.figure = new Figure({
      name: "parallel", title: "Parallel coordinates", wide: true, height: 340, margins: { top: 40, bottom: 22, left: 60, right: 60 },
      draw: (plot) => this.draw(plot), table: () => this.table(),
    });
    this.el = this.figure.el;
  }

  update() {
    this.figure.render();
  }

  draw(plot) {
    const { store } = this;
    const { points, total } = compareAt(store, this.state.rung, LINES);
    const parameters = points.length ? varying(store, points) : [];
    if (points.length < 2 || !parameters.length) {
      plot.message("At least two trials must have reached the rung.");
      this.figure.describe("");
      return [];
    }
    const axes = [...parameters.map((parameter) => ({ name: parameter.name, scale: forParameter(parameter, points.map(({ trial }) => trial.config[parameter.name]), plot.bottom, plot.top), read: ({ trial }) => trial.config[parameter.name] })),
      { name: store.headline.metric, scale: valueScale(store, points, plot.bottom, plot.top, 0.9), read: (point) => point.value, last: true }];
    const step = (plot.right - plot.left) / (axes.length - 1);
    const targets = [];
    const picked = store.selected;
    plot.clipped(() => points.forEach((point, index) => {
      const places = axes.map((axis, at) => {
        const item = axis.read(point);
        const y = item === undefined ? null : axis.scale(item);
        return y === null ? null : [plot.left + at * step, Math.min(Math.max(y, plot.top), plot.bottom)];
      });
      const strong = picked.has(point.trial.id);
      const good = 1 - index / Math.max(1, points.length - 1);
      let d = "";
      places.forEach((place, at) => {
        if (place) d += `${at && places[at - 1] ? "L" : "M"}${round(place[0])} ${round(place[1])}`;
      });
      plot.path(d, { stroke: strong ? plot.colours.best : ramp(good), "stroke-width": strong ? 2.6 : good < 0.1 ? 1.8 : 1, opacity: picked.size ? (strong ? 1 : 0.15) : 0.25 + 0.65 * (1 - good) ** 2 });
      for (const place of places) if (place) targets.push([...place, () => describe(store, point), () => store.toggle(point.trial.id)]);
    }));
    axes.forEach((axis, at) => this.drawAxis(plot, axis, plot.left + at * step, step, at));
    this.figure.describe(`${rungText(store, this.state.rung, points.length, total)} Dark lines are good.`);
    return targets;
  }

  drawAxis(plot, axis, x, step, at) {
    plot.line(x, plot.top, x, plot.bottom, { stroke: plot.colours.soft, "stroke-width": axis.last ? 2 : 1 });
    const name = shorten(axis.name, Math.max(6, Math.floor(step / 7)));
    const anchor = at === 0 ? "start" : axis.last ? "end" : "middle";
    plot.text(anchor === "start" ? x - 40 : anchor === "end" ? x + 40 : x, at % 2 && step < 90 ? 14 : 28, name, { "text-anchor": anchor, fill: plot.colours.ink, "font-weight": 600 });
    for (const mark of axis.scale.ticks(5)) {
      const y = axis.scale(mark);
      if (y === null || y < plot.top - 1 || y > plot.bottom + 1) continue;
      plot.text(x + (axis.last ? 5 : -5), y + 4, shorten(show(mark), 8), { "text-anchor": axis.last ? "start" : "end", "font-size": 10.5 });
    }
  }

  table() {
    return listTable(this.store, this.state.rung);
  }
}

class SlicesFigure {
  constructor(store, state) {
    this.store = store;
    this.state = state;
    this.figure = new Figure({
      name: "slices", title: "Each parameter by itself", wide: true,
      height: (width) => this.rows(width) * 190 + 10, draw: (plot) => this.draw(plot), table: () => listTable(store, state.rung),
    });
    this.el = this.figure.el;
  }

  columns(width) {
    return Math.max(1, Math.min(4, Math.floor(width / 250)));
  }

  rows(width) {
    return Math.max(1, Math.ceil(this.parameters().length / this.columns(width)));
  }

  parameters() {
    if (!this.store.headline) return [];
    const { points } = compareAt(this.store, this.state.rung, POINTS);
    return points.length > 1 ? varying(this.store, points).slice(0, 16) : [];
  }

  update() {
    this.figure.render();
  }

  draw(plot) {
    const { store } = this;
    const parameters = this.parameters();
    const { points, total } = compareAt(store, this.state.rung, POINTS);
    if (!parameters.length) {
      plot.message("At least two trials must have reached the rung.");
      this.figure.describe("");
      return [];
    }
    const columns = this.columns(plot.width);
    const wide = plot.width / columns;
    const targets = [];
    parameters.forEach((parameter, index) => {
      const x0 = (index % columns) * wide + 50;
      const x1 = ((index % columns) + 1) * wide - 14;
      const y0 = Math.floor(index / columns) * 190 + 14;
      this.drawSlice(plot, parameter, points, [x0, x1, y0, y0 + 128], targets);
    });
    this.figure.describe(`${rungText(store, this.state.rung, points.length, total)} The worst fifth lies beyond the edge.`);
    return targets;
  }

  drawSlice(plot, parameter, points, [x0, x1, y0, y1], targets) {
    const { store } = this;
    const x = forParameter(parameter, points.map(({ trial }) => trial.config[parameter.name]), x0 + 6, x1 - 6);
    const y = valueScale(store, points, y1 - 4, y0 + 4);
    plot.add("rect", { x: x0, y: y0, width: x1 - x0, height: y1 - y0, fill: "none", stroke: plot.colours.grid });
    for (const mark of y.ticks(3)) plot.text(x0 - 5, y(mark) + 4, number(mark, 3), { "text-anchor": "end", "font-size": 10.5 });
    const marks = x.ticks(x.options ? Math.floor((x1 - x0) / 45) : 3);
    for (const mark of marks) plot.text(x(mark), y1 + 14, shorten(show(mark), 8), { "text-anchor": "middle", "font-size": 10.5 });
    plot.text((x0 + x1) / 2, y1 + 31, shorten(parameter.name, 34), { "text-anchor": "middle", fill: plot.colours.ink, "font-weight": 600 });
    const bins = Array.from({ length: 8 }, () => []);
    const picked = [];
    points.forEach((point, index) => {
      const item = point.trial.config[parameter.name];
      let px = item === undefined ? null : x(item);
      if (px === null || Number.isNaN(px)) return;
      if (x.options) px += ((point.trial.id * 7) % 13) - 6; // so that equal options do not hide each other
      const py = Math.min(Math.max(y(point.value), y0), y1);
      const good = 1 - index / Math.max(1, points.length - 1);
      if (store.selected.has(point.trial.id)) picked.push([px, py]);
      else bins[Math.min(7, Math.floor(good * 8))].push([px, py]);
      targets.push([px, py, () => describe(store, point), () => store.toggle(point.trial.id)]);
    });
    for (let bin = 7; bin >= 0; bin -= 1) plot.dots(bins[bin], 2.6, ramp((bin + 0.5) / 8), { opacity: 0.8 });
    plot.dots(picked, 5, plot.colours.best);
  }
}

class ImportanceFigure {
  constructor(store, state, context) {
    this.store = store;
    this.state = state;
    this.context = context;
    this.found = null;
    this.asked = null;
    this.figure = new Figure({
      name: "importance", title: "How much each parameter matters", margins: { left: 130 },
      height: () => 84 + 28 * Math.max(3, this.found && this.found.bars ? Math.min(this.found.bars.length, 20) : 3),
      draw: (plot) => this.draw(plot), table: () => ({ columns: ["parameter", "share", "deviation"], rows: (this.found && this.found.bars) || [] }),
    });
    this.el = this.figure.el;
  }

  update() {
    this.ask();
    this.figure.render();
  }

  // Asked for again when a tenth more has been reported; the server computes it at its leisure.
  ask() {
    const { store, state } = this;
    const level = store.levels[state.rung];
    if (!store.ready || level === undefined) return;
    const mark = `${level} ${Math.floor(Math.log(store.headline.reports + 1) / Math.log(1.1))} ${store.headline.state}`;
    if (mark === this.asked) return;
    this.asked = mark;
    this.context.get("importance", { rung: level }).then((found) => {
      this.found = found;
      this.figure.render();
    }, (error) => {
      this.found = { why: error.message };
      this.figure.render();
    });
  }

  draw(plot) {
    const { found } = this;
    if (!found || !found.bars) {
      plot.message("");
      this.figure.describe(found ? found.why : "Being computed…");
      return [];
    }
    const bars = found.bars.slice(0, 20);
    const x = linear(0, Math.max(0.01, ...bars.map((bar) => bar[1] + bar[2])), plot.left, plot.right - 40);
    const step = (plot.bottom - plot.top) / bars.length;
    bars.forEach(([name, share, deviation], index) => {
      const y = plot.top + index * step;
      plot.text(plot.left - 8, y + step / 2 + 4, shorten(name, 18), { "text-anchor": "end", fill: plot.colours.ink });
      plot.add("rect", { x: plot.left, y: y + 4, width: Math.max(1, x(share) - plot.left), height: step - 8, rx: 3, fill: plot.colours.accent });
      plot.line(x(Math.max(0, share - deviation)), y + step / 2, x(share + deviation), y + step / 2, { stroke: plot.colours.ink, "stroke-width": 1.4 });
      plot.text(x(share + deviation) + 6, y + step / 2 + 4, percent(share));
    });
    plot.xAxis(x, "share of what all of them explain", percent);
    this.figure.describe(`From ${count(found.trials)} trials at resource ${count(found.level)}: how much a random forest errs when a parameter is shuffled. With few trials it is a rough guess.`);
    return [];
  }
}

export function describe(store, { trial, value }) {
  const lines = Object.entries(trial.config).slice(0, 14).map(([name, item]) => `${name} = ${show(item)}`);
  return [`trial ${trial.id}: ${store.headline.metric} ${number(value, 5)}`, ...lines].join("\n");
}

function listTable(store, rung) {
  const names = store.headline ? store.headline.params.map((one) => one.name) : [];
  const { points } = compareAt(store, rung, Infinity);
  const rows = points.reverse().map(({ trial, value }) => [trial.id, value, ...names.map((name) => trial.config[name])]);
  return { columns: ["trial", store.headline ? store.headline.metric : "value", ...names], rows };
}

export function makeParametersView(store, context) {
  const state = { rung: 0, chosen: false };
  const field = select("Rung", [], "", (chosen) => {
    state.rung = Number(chosen);
    state.chosen = true;
    update();
  });
  const figures = [new ImportanceFigure(store, state, context), new ContourFigure(store, state), new ParallelFigure(store, state), new SlicesFigure(store, state)];
  const bar = h("section", { class: "card wide bar" }, labelled("Compare trials at rung", field), h("p", { class: "note" }, "Trials are compared where all of them were trained equally long."));
  const update = () => {
    if (!store.headline) return;
    if (!state.chosen) state.rung = store.usualRung();
    const counts = store.reached();
    const options = store.levels.map((level, rung) => [rung, `${count(level)} (${count(counts[rung])} trials)`]).filter(([rung]) => counts[rung] > 0 || rung === 0);
    setOptions(field, options, state.rung);
    for (const figure of figures) figure.update();
  };
  return { el: h("div", { class: "grid" }, bar, figures.map((one) => one.el)), figures: figures.map((one) => one.figure), update };
}
