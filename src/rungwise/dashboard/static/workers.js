// Who worked when: a line of jobs for each worker, and how much of the time was used.

import { h, setText } from "./dom.js";
import { Figure } from "./figure.js";
import { HOW, howColour } from "./colour.js";
import { count, duration, percent, plural } from "./format.js";
import { linear } from "./scale.js";
import { round } from "./plot.js";

const MOST_SLOTS = 48;

class TimelineFigure {
  constructor(store) {
    this.store = store;
    this.figure = new Figure({
      name: "workers", title: "Jobs per worker", wide: true, margins: { left: 84, top: 36 },
      height: () => 110 + 22 * Math.min(MOST_SLOTS, Math.max(2, this.slots())),
      draw: (plot) => this.draw(plot), table: () => this.table(),
    });
    this.el = this.figure.el;
  }

  slots() {
    return this.store.use ? this.store.use.slots : 0;
  }

  update() {
    this.figure.render();
  }

  draw(plot) {
    const { store } = this;
    const jobs = [...store.jobs.values()].filter((job) => job.slot < MOST_SLOTS);
    if (!jobs.length || !store.headline) {
      plot.message("No job has been started yet.");
      return [];
    }
    const now = store.headline.seconds;
    const first = Math.min(...jobs.map((job) => job.start));
    const x = linear(store.use.hidden ? first : 0, Math.max(now, first + 1e-3), plot.left, plot.right - 4);
    const slots = Math.min(this.slots(), MOST_SLOTS);
    const step = (plot.bottom - plot.top) / slots;
    const tall = Math.max(2, Math.min(16, step - 4));
    const every = Math.ceil(14 / step);
    for (let slot = 0; slot < slots; slot += 1) {
      const y = plot.top + (slot + 0.5) * step;
      plot.line(plot.left, y, plot.right, y);
      if (slot % every === 0) plot.text(plot.left - 8, y + 4, `worker ${slot}`, { "text-anchor": "end" });
    }
    const paths = {};
    const targets = [];
    const picked = [];
    for (const job of jobs) {
      const from = x(job.start);
      const wide = Math.max(0.6, x(job.end ?? now) - from - 0.6);
      const y = plot.top + (job.slot + 0.5) * step - tall / 2;
      const box = `M${round(from)} ${round(y)}h${round(wide)}v${round(tall)}h${-round(wide)}z`;
      paths[job.how] = (paths[job.how] || "") + box;
      // A promotion has a notch at its beginning, so that it is seen without colour.
      if (job.from > 0) paths.promoted = `${paths.promoted || ""}M${round(from)} ${round(y)}l${round(Math.min(5, wide))} 0l${-round(Math.min(5, wide))} ${round(Math.min(5, tall))}z`;
      if (store.selected.has(job.trial)) picked.push(box);
      targets.push([from + wide / 2, y + tall / 2, () => this.describe(job, now), () => store.toggle(job.trial)]);
    }
    for (const [how, d] of Object.entries(paths)) if (how !== "promoted") plot.path(d, { fill: howColour(how), stroke: "none", opacity: how === "paused" ? 0.85 : 1 });
    if (paths.promoted) plot.path(paths.promoted, { fill: plot.colours.ink, stroke: "none" });
    plot.path(picked.join(""), { stroke: plot.colours.best, "stroke-width": 2.4 });
    this.drawMarks(plot, x, step, tall);
    const hows = Object.keys(paths).filter((how) => how !== "promoted").map((how) => [howColour(how), (HOW[how] || HOW.ended)[1], "bar"]);
    plot.legend([...hows, ...(paths.promoted ? [[plot.colours.ink, "notch: promoted", "bar"]] : [])], plot.left, 14);
    plot.xAxis(x, "time of the study", duration);
    const hidden = store.use.hidden ? ` The last ${count(jobs.length)} of ${count(jobs.length + store.use.hidden)} jobs are drawn.` : "";
    const more = this.slots() > slots ? ` ${this.slots() - slots} more workers are not drawn.` : "";
    this.figure.describe(`A job is drawn on the first worker that was free.${hidden}${more}`);
    return targets;
  }

  // Failed attempts, also those after which the job was tried again.
  drawMarks(plot, x, step, tall) {
    const marks = this.store.failures ? this.store.failures.marks : [];
    let d = "";
    for (const [id, at] of marks) {
      const job = this.store.jobs.get(id);
      if (!job || job.slot >= MOST_SLOTS) continue;
      const px = x(at);
      const y = plot.top + (job.slot + 0.5) * step;
      d += `M${round(px - 3)} ${round(y - tall / 2)}l6 ${round(tall)}m0 ${-round(tall)}l-6 ${round(tall)}`;
    }
    plot.path(d, { stroke: plot.colours.marks[1], "stroke-width": 2 });
  }

  describe(job, now) {
    const took = duration((job.end ?? now) - job.start);
    const how = job.how || "running";
    return `trial ${job.trial}, job ${job.id}: ${how}\nfrom ${count(job.from)} to ${count(job.until)}${job.from > 0 ? " (promoted)" : ""}\n${took}, begun after ${duration(job.start)}`;
  }

  table() {
    const rows = [...this.store.jobs.values()].map((job) => [job.id, job.trial, job.slot, job.start, job.end, job.from, job.until, job.how || "running"]);
    return { columns: ["job", "trial", "worker", "start", "end", "from", "until", "how"], rows };
  }
}

class UseFigure {
  constructor(store) {
    this.store = store;
    this.figure = new Figure({
      name: "utilisation", title: "Workers in use", height: 200, wide: true, margins: { left: 84 },
      draw: (plot) => this.draw(plot), table: () => this.table(),
    });
    this.el = this.figure.el;
  }

  update() {
    this.figure.render();
  }

  draw(plot) {
    const { use } = this.store;
    if (!use || use.share === null) {
      plot.message("No job has been started yet.");
      return [];
    }
    const x = linear(0, use.span || 1, plot.left, plot.right);
    const y = linear(0, 1, plot.bottom, plot.top);
    plot.yAxis(y, "in use", percent, [0, 0.25, 0.5, 0.75, 1]);
    plot.xAxis(x, "time of the study", duration);
    const width = (plot.right - plot.left) / use.bins.length;
    const d = use.bins.map((share, index) => `M${round(plot.left + index * width)} ${plot.bottom}V${round(y(share))}h${round(width * 0.92)}V${plot.bottom}z`).join("");
    plot.path(d, { fill: plot.colours.marks[0], stroke: "none", opacity: 0.8 });
    return use.bins.map((share, index) => [plot.left + (index + 0.5) * width, y(share), `${percent(share)} of ${plural(use.slots, "worker")} in use`]);
  }

  table() {
    const { use } = this.store;
    const bins = use ? use.bins : [];
    return { columns: ["from second", "in use"], rows: bins.map((share, index) => [((index / bins.length) * use.span).toFixed(1), share]) };
  }
}

export function makeWorkersView(store) {
  const figures = [new TimelineFigure(store), new UseFigure(store)];
  const tiles = h("dl", { class: "tiles" });
  const tile = (name) => {
    const value = h("dd");
    tiles.append(h("div", { class: "tile" }, h("dt", {}, name), value));
    return value;
  };
  const used = tile("In use over all");
  const running = tile("Running now");
  const jobs = tile("Jobs");
  const idle = tile("Idle time");
  const update = () => {
    for (const figure of figures) figure.update();
    const { use, headline } = store;
    if (!use || !headline) return;
    setText(used, percent(use.share));
    setText(running, `${headline.open} of ${Math.max(headline.workers, use.slots)}`);
    setText(jobs, count(store.jobs.size + use.hidden));
    setText(idle, use.share === null ? "–" : `${duration((1 - use.share) * use.span * use.slots)} of ${duration(use.span * use.slots)}`);
  };
  return { el: h("div", { class: "grid" }, h("section", { class: "card wide" }, tiles), figures[0].el, figures[1].el), figures: figures.map((one) => one.figure), update };
}
