// Two parameters and the value between the trials: each cell is a mean, weighted by nearness.

import { labelled, select, setOptions } from "./dom.js";
import { Figure } from "./figure.js";
import { ramp } from "./colour.js";
import { count, number, value as show } from "./format.js";
import { forParameter } from "./scale.js";
import { shorten } from "./plot.js";

const CELLS = 24;
const POINTS = 400;

export class ContourFigure {
  constructor(store, state) {
    this.store = store;
    this.state = state;
    this.names = [null, null];
    this.fields = [0, 1].map((side) => select(side ? "Vertical parameter" : "Horizontal parameter", [], "", (chosen) => {
      this.names[side] = chosen;
      this.figure.render();
    }));
    this.figure = new Figure({
      name: "contour", title: "Two parameters together", height: 340, margins: { left: 76, right: 70 },
      controls: [labelled("Across", this.fields[0]), labelled("Up", this.fields[1])],
      draw: (plot) => this.draw(plot), table: () => this.table(),
    });
    this.el = this.figure.el;
  }

  points() {
    const { store, state } = this;
    const found = [];
    for (const trial of store.trials.values()) {
      const value = trial.values[state.rung];
      if (trial.rungs > state.rung && value !== null && value !== undefined) found.push({ trial, value });
    }
    return found.length <= POINTS ? found : found.filter((_, index) => index % Math.ceil(found.length / POINTS) === 0);
  }

  update() {
    const points = this.points();
    const names = this.store.headline.params.map((one) => one.name).filter((name) => new Set(points.map(({ trial }) => JSON.stringify(trial.config[name]))).size > 1);
    this.names = this.names.map((name, side) => (names.includes(name) ? name : names[Math.min(side, names.length - 1)]));
    this.fields.forEach((field, side) => setOptions(field, names.map((name) => [name, name]), this.names[side]));
    this.figure.render();
  }

  draw(plot) {
    const { store } = this;
    const [across, up] = this.names.map((name) => store.headline.params.find((one) => one.name === name));
    const points = this.points().filter(({ trial }) => across && up && trial.config[across.name] !== undefined && trial.config[up.name] !== undefined);
    if (!across || !up || across === up || points.length < 3) {
      plot.message("Two parameters and three trials are needed.");
      this.figure.describe("");
      return [];
    }
    const x = forParameter(across, points.map(({ trial }) => trial.config[across.name]), plot.left, plot.right);
    const y = forParameter(up, points.map(({ trial }) => trial.config[up.name]), plot.bottom, plot.top);
    const places = points.map((point) => [x(point.trial.config[across.name]), y(point.trial.config[up.name]), point]).filter(([px, py]) => px !== null && py !== null);
    this.drawSurface(plot, places);
    plot.xAxis(x, across.name, (mark) => shorten(show(mark), 8));
    const marks = y.ticks(6);
    for (const mark of marks) plot.text(plot.left - 7, y(mark) + 4, shorten(show(mark), 8), { "text-anchor": "end" });
    const middle = (plot.top + plot.bottom) / 2;
    plot.text(13, middle, shorten(up.name, 30), { "text-anchor": "middle", "font-size": 12, transform: `rotate(-90 13 ${middle})` });
    plot.dots(places, 3.4, plot.colours.card);
    plot.dots(places, 2.2, plot.colours.ink);
    plot.dots(places.filter(([, , { trial }]) => store.selected.has(trial.id)), 5, plot.colours.best);
    this.figure.describe(`${count(points.length)} trials at resource ${count(store.levels[this.state.rung])}; between them it is a guess.`);
    return places.map(([px, py, { trial, value }]) => [px, py, `trial ${trial.id}: ${number(value, 5)}\n${across.name} = ${show(trial.config[across.name])}\n${up.name} = ${show(trial.config[up.name])}`, () => store.toggle(trial.id)]);
  }

  drawSurface(plot, places) {
    const wide = (plot.right - plot.left) / CELLS;
    const tall = (plot.bottom - plot.top) / CELLS;
    const cells = [];
    for (let column = 0; column < CELLS; column += 1) {
      for (let row = 0; row < CELLS; row += 1) {
        const cx = plot.left + (column + 0.5) * wide;
        const cy = plot.top + (row + 0.5) * tall;
        let sum = 0;
        let weights = 0;
        for (const [px, py, { value }] of places) {
          const weight = 1 / (((px - cx) / (plot.right - plot.left)) ** 2 + ((py - cy) / (plot.bottom - plot.top)) ** 2 + 0.25 / CELLS ** 2);
          sum += weight * value;
          weights += weight;
        }
        cells.push([column, row, sum / weights]);
      }
    }
    const values = cells.map((cell) => cell[2]);
    const [low, high] = [Math.min(...values), Math.max(...values)];
    const shade = (value) => (this.store.minimised ? value - low : high - value) / (high - low || 1);
    plot.target = plot.add("g", { opacity: 0.8, "shape-rendering": "crispEdges" });
    for (const [column, row, value] of cells) plot.add("rect", { x: plot.left + column * wide, y: plot.top + row * tall, width: wide + 0.6, height: tall + 0.6, fill: ramp(shade(value)) });
    plot.target = null;
    for (let step = 0; step < 12; step += 1) plot.add("rect", { x: plot.right + 12, y: plot.top + step * 12, width: 12, height: 12, fill: ramp(step / 11), opacity: 0.75 });
    const [good, bad] = this.store.minimised ? [low, high] : [high, low];
    plot.text(plot.right + 28, plot.top + 10, number(good, 3), { "font-size": 10.5 });
    plot.text(plot.right + 28, plot.top + 144, number(bad, 3), { "font-size": 10.5 });
  }

  table() {
    const rows = this.points().map(({ trial, value }) => [trial.id, trial.config[this.names[0]], trial.config[this.names[1]], value]);
    return { columns: ["trial", this.names[0] || "", this.names[1] || "", "value"], rows };
  }
}
