// Learning curves: what is good stands out, what is bad is cut off so that the good can be read.

import { h, labelled, select, setOptions } from "./dom.js";
import { Figure } from "./figure.js";
import { count, number, value as show } from "./format.js";
import { ramp } from "./colour.js";
import { forParameter, linear, log, quantile } from "./scale.js";
import { trace } from "./plot.js";

const EMPHASISED = 8;

export class CurvesFigure {
  constructor(store, { height = 380, wide = true, controls = true, fetch = null } = {}) {
    this.store = store;
    this.fetch = fetch;
    this.asked = new Set();
    this.colour = "rank";
    this.cut = 0.9;
    this.axis = "log";
    this.colourField = select("Colour", [["rank", "value"]], "rank", (chosen) => this.set("colour", chosen));
    this.cutField = select("Show", [["0.9", "best 90 %"], ["0.75", "best 75 %"], ["0.5", "best 50 %"], ["0.25", "best 25 %"], ["1", "everything"]], "0.9", (chosen) => this.set("cut", Number(chosen)));
    this.axisField = select("Axis", [["log", "log"], ["linear", "linear"]], "log", (chosen) => this.set("axis", chosen));
    this.figure = new Figure({
      name: "learning-curves", title: "Learning curves", height, wide,
      controls: controls ? [labelled("Colour", this.colourField), labelled("Values", this.cutField), labelled("Resource", this.axisField)] : [],
      draw: (plot) => this.draw(plot), table: () => this.table(),
    });
    this.el = this.figure.el;
  }

  set(name, chosen) {
    this[name] = chosen;
    this.figure.render();
  }

  update() {
    const parameters = (this.store.headline ? this.store.headline.params : []).map((one) => [`p:${one.name}`, one.name]);
    setOptions(this.colourField, [["rank", "value"], ["state", "state"], ...parameters], this.colour);
    this.fetchSelected();
    this.figure.render();
  }

  // Of a large study not all curves are sent; that of a trial which is picked is asked for.
  fetchSelected() {
    for (const id of this.store.selected) {
      if (this.fetch && !this.store.curves.has(id) && !this.asked.has(id) && this.store.trials.has(id)) {
        this.asked.add(id);
        this.fetch(id).then(({ curve: [resources, values] }) => {
          this.store.curves.set(id, { id, resources, values });
          this.figure.render();
        }, () => {});
      }
    }
  }

  paint(curves, ranks) {
    const { store } = this;
    if (this.colour === "rank") {
      return (id) => ramp(curves.length > 1 ? (ranks.get(id) ?? curves.length) / Math.max(1, store.trials.size - 1) : 0);
    }
    if (this.colour === "state") {
      const states = [...new Set([...store.trials.values()].map((trial) => trial.state))];
      return (id) => ramp(states.indexOf(store.trials.get(id).state) / Math.max(1, states.length - 1));
    }
    const parameter = store.headline.params.find((one) => `p:${one.name}` === this.colour);
    const values = curves.map(({ id }) => store.trials.get(id).config[this.colour.slice(2)]);
    const scale = forParameter(parameter || { kind: "options", options: [] }, values, 0, 1);
    return (id) => {
      const item = store.trials.get(id).config[this.colour.slice(2)];
      return item === undefined ? null : ramp(scale(item) ?? 0.5);
    };
  }

  draw(plot) {
    const { store } = this;
    const curves = [...store.curves.values()].filter((curve) => curve.values.some((one) => one !== null) && store.trials.has(curve.id));
    if (!curves.length) {
      plot.message("No trial has reported a value yet.");
      this.figure.describe("");
      return [];
    }
    const rank = store.makeRanking();
    const ranks = new Map(curves.map(({ id }) => [id, rank(id)]));
    curves.sort((a, b) => ranks.get(b.id) - ranks.get(a.id));
    const [low, high, cut] = this.range(curves);
    const most = Math.max(...curves.map((curve) => curve.resources[curve.resources.length - 1]), 1);
    const least = Math.min(...curves.map((curve) => curve.resources[0]));
    const top = Math.max(most, store.headline.ceiling || 0);
    const x = this.axis === "log" && least > 0 && top > least ? log(least, top, plot.left, plot.right) : linear(Math.min(0, least), top, plot.left, plot.right);
    const y = linear(low, high, plot.bottom, plot.top);
    plot.yAxis(y, store.headline.metric, (mark) => number(mark));
    this.drawRungs(plot, x);
    const rungs = store.levels.filter((level) => level >= least && level <= top);
    plot.xAxis(x, store.headline.unit, count, this.axis === "log" && rungs.length > 1 ? rungs : undefined);
    const targets = [];
    plot.clipped(() => this.drawCurves(plot, curves, ranks, x, y, targets));
    const hidden = store.trials.size - curves.length;
    const kept = cut ? `What is worse than ${Math.round(this.cut * 100)} % of the trials is cut off.` : "";
    const thinned = hidden > 0 && store.trials.size > 300 ? `${count(curves.length)} of ${count(store.trials.size)} curves are drawn: the best, those that run, and a sample of the others.` : "";
    this.figure.describe([kept, thinned, "Click a curve to pick its trial; picked ones stay marked everywhere."].filter(Boolean).join(" "));
    return targets;
  }

  // The lowest and the highest value that is shown.
  range(curves) {
    const { store } = this;
    const all = curves.flatMap((curve) => curve.values.filter((one) => one !== null)).sort((a, b) => a - b);
    const down = store.minimised;
    // What trials came to counts, not how they began: else a steep curve would lose its beginning.
    const bests = curves.map(({ id }) => store.trials.get(id).value).filter((one) => one !== null).sort((a, b) => a - b);
    let low = down || this.cut >= 1 || !bests.length ? all[0] : quantile(bests, 1 - this.cut);
    let high = !down || this.cut >= 1 || !bests.length ? all[all.length - 1] : quantile(bests, this.cut);
    const cut = low > all[0] || high < all[all.length - 1];
    const room = (high - low || Math.abs(high) || 1) * 0.05;
    low -= room;
    high += room;
    return [low, high, cut];
  }

  drawRungs(plot, x) {
    for (const level of this.store.levels) {
      const place = x(level);
      if (place < plot.left - 1 || place > plot.right + 1) continue;
      const isCeiling = level === this.store.headline.ceiling;
      plot.line(place, plot.top, place, plot.bottom, { stroke: isCeiling ? plot.colours.best : plot.colours.faint, "stroke-dasharray": isCeiling ? null : "2 4", "stroke-width": isCeiling ? 1.5 : 1 });
      if (isCeiling) plot.text(place - 5, plot.top + 9, "ceiling", { "text-anchor": "end", fill: plot.colours.best });
    }
  }

  drawCurves(plot, curves, ranks, x, y, targets) {
    const { store } = this;
    const paint = this.paint(curves, ranks);
    const picked = store.selected;
    for (const curve of curves) {
      const points = curve.resources.map((resource, index) => [x(resource), curve.values[index] === null ? null : y(curve.values[index])]);
      const rank = ranks.get(curve.id);
      const strong = picked.size ? picked.has(curve.id) : rank < EMPHASISED;
      const colour = paint(curve.id);
      const look = {
        stroke: picked.has(curve.id) ? plot.colours.best : colour || plot.colours.faint,
        "stroke-width": strong ? 2.2 : 1.1, opacity: strong ? 1 : picked.size ? 0.18 : 0.42,
      };
      plot.path(trace(points), look);
      const last = points[points.length - 1];
      if (last[1] !== null) plot.dots([last], strong ? 3 : 1.8, look.stroke, { opacity: look.opacity });
      points.forEach(([px, py], index) => {
        if (py === null || py > plot.bottom + 2 || py < plot.top - 2) return;
        targets.push([px, py, () => this.describe(curve, index), () => store.toggle(curve.id)]);
      });
    }
  }

  describe(curve, index) {
    const trial = this.store.trials.get(curve.id);
    const lines = Object.entries(trial.config).slice(0, 12).map(([name, item]) => `${name} = ${show(item)}`);
    return [`trial ${curve.id} (${trial.state})`, `${this.store.headline.metric} ${number(curve.values[index], 5)} at ${count(curve.resources[index])}`, ...lines].join("\n");
  }

  table() {
    const rows = [];
    for (const curve of this.store.curves.values()) curve.resources.forEach((resource, index) => rows.push([curve.id, resource, curve.values[index]]));
    return { columns: ["trial", "resource", this.store.headline ? this.store.headline.metric : "value"], rows };
  }
}

export function makeCurvesView(store, context) {
  const figure = new CurvesFigure(store, { height: (width) => Math.max(320, Math.min(640, width * 0.5)), fetch: context.fetchTrial });
  return {
    el: h("div", { class: "grid" }, figure.el),
    figures: [figure.figure],
    update: () => figure.update(),
  };
}
