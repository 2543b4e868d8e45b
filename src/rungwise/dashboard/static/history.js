// The best value so far, over what was spent and over time.

import { labelled, select } from "./dom.js";
import { Figure } from "./figure.js";
import { count, duration, number } from "./format.js";
import { linear } from "./scale.js";
import { stairs } from "./plot.js";

export class HistoryFigure {
  constructor(store, context, { height = 300, wide = false } = {}) {
    this.store = store;
    this.context = context;
    this.over = "spent";
    const field = select("Over", [["spent", "resource spent"], ["time", "time"]], "spent", (chosen) => {
      this.over = chosen;
      this.figure.render();
    });
    this.figure = new Figure({
      name: "history", title: "Best so far", height, wide, controls: [labelled("Over", field)],
      draw: (plot) => this.draw(plot), table: () => this.table(),
    });
    this.el = this.figure.el;
  }

  update() {
    this.figure.render();
  }

  draw(plot) {
    const { store } = this;
    const bests = store.history ? store.history.bests : [];
    if (!bests.length || !store.headline) {
      plot.message("No trial has reported a value yet.");
      return [];
    }
    const column = this.over === "spent" ? 0 : 1;
    const end = this.over === "spent" ? store.headline.spent : store.headline.seconds;
    const values = bests.map((one) => one[3]);
    // The first values may be far off: the axis begins where a tenth of the steps is done.
    const first = values[Math.min(values.length - 1, Math.floor(values.length * 0.12))];
    const last = values[values.length - 1];
    const room = (Math.abs(first - last) || Math.abs(last) || 1) * 0.08;
    const low = Math.min(first, last) - room;
    const high = Math.max(first, last) + room;
    const x = linear(0, Math.max(end, bests[bests.length - 1][column]) || 1, plot.left, plot.right - 8);
    const y = linear(low, high, plot.bottom, plot.top);
    plot.yAxis(y, `best ${store.headline.metric}`, (mark) => number(mark));
    plot.xAxis(x, this.over === "spent" ? "resource spent" : "time of the study", this.over === "spent" ? count : duration);
    const inside = (item) => Math.min(Math.max(y(item), plot.top - 20), plot.bottom + 20);
    const places = bests.map((one) => [x(one[column]), inside(one[3])]);
    plot.clipped(() => {
      plot.path(stairs(places, plot.right), { stroke: plot.colours.accent, "stroke-width": 2.2 });
      plot.dots(places, 3.2, plot.colours.accent);
    });
    const [px, py] = places[places.length - 1];
    plot.text(Math.min(px + 6, plot.right - 60), Math.max(py - 9, plot.top + 4), number(last, 5), { fill: plot.colours.ink, "font-weight": 600 });
    return bests.map((one, index) => [...places[index], `${number(one[3], 6)} by trial ${one[2]}\nafter ${count(one[0])} spent, ${duration(one[1])}`, () => store.toggle(one[2])]);
  }

  table() {
    const bests = this.store.history ? this.store.history.bests : [];
    return { columns: ["spent", "seconds", "trial", "value"], rows: bests };
  }
}
