// A figure on the page: heading, controls, the drawing, a table of the same data, and exports.

import { h, s, setText } from "./dom.js";
import { exportCsv, exportPng, exportSvg } from "./export.js";
import { Plot } from "./plot.js";

const ROWS = 500; // a table behind a figure shows this many rows; its CSV has them all

// draw(plot) draws and may return an array of targets [x, y, text, act] for the pointer;
// table() returns {columns, rows}.
export class Figure {
  constructor({ name, title, note = "", height = 300, margins, controls = [], draw, table, wide = false }) {
    this.name = name;
    this.draw = draw;
    this.table = table;
    this.margins = margins;
    this.height = height;
    this.svg = s("svg", { role: "img", "aria-label": title });
    this.tip = h("div", { class: "tip", hidden: true, "aria-hidden": "true" });
    this.area = h("div", { class: "plot" }, this.svg, this.tip);
    this.note = h("p", { class: "note" }, note);
    this.details = h("details", { class: "data", ontoggle: () => this.fillTable() }, h("summary", {}, "Data as a table"), h("div"));
    const button = (text, label, act) => h("button", { type: "button", class: "quiet", "aria-label": `${label}: ${title}`, onclick: act }, text);
    const exports = h("div", { class: "exports" },
      button("SVG", "Save as SVG", () => exportSvg(this.svg, name)),
      button("PNG", "Save as PNG", () => exportPng(this.svg, name)),
      button("CSV", "Save as CSV", () => exportCsv(this.table(), name)));
    this.title = h("h2", {}, title);
    this.el = h("section", { class: wide ? "card figure wide" : "card figure" },
      h("header", {}, this.title, h("div", { class: "controls" }, controls), exports),
      this.area, this.note, this.details);
    this.area.addEventListener("pointermove", (event) => this.point(event));
    this.area.addEventListener("pointerleave", () => { this.tip.hidden = true; });
    this.area.addEventListener("click", (event) => this.click(event));
    this.width = 0;
    this.scale = 1;
    this.targets = [];
    this.observer = new ResizeObserver(() => {
      if (Math.abs(this.area.clientWidth - this.width) > 1) this.render();
    });
    this.observer.observe(this.area);
    // What nobody sees is drawn when it comes into sight.
    this.seen = false;
    this.stale = true;
    this.sight = new IntersectionObserver((entries) => {
      this.seen = entries[entries.length - 1].isIntersecting;
      if (this.seen && this.stale) this.render();
    }, { rootMargin: "150px" });
    this.sight.observe(this.area);
  }

  render() {
    this.width = this.area.clientWidth;
    if (!this.width) return;
    // On a very large screen everything is drawn larger, as the text beside it is.
    this.scale = window.innerWidth >= 2600 ? 1.5 : 1;
    const width = this.width / this.scale;
    const height = typeof this.height === "function" ? this.height(width) : this.height;
    this.svg.setAttribute("height", height * this.scale);
    this.stale = !this.seen;
    if (this.stale) return;
    const narrow = width < 420;
    const margins = { ...(narrow ? { left: 50, right: 8 } : {}), ...(this.margins || {}) };
    this.targets = this.draw(new Plot(this.svg, width, height, margins)) || [];
    if (this.details.open) this.fillTable();
  }

  describe(text) {
    setText(this.note, text);
  }

  fillTable() {
    if (!this.details.open) return;
    const { columns, rows } = this.table();
    const body = rows.slice(0, ROWS).map((row) => h("tr", {}, row.map((cell) => h("td", {}, cell === null || cell === undefined ? "" : String(cell)))));
    const more = rows.length > ROWS ? h("p", { class: "note" }, `${rows.length - ROWS} more rows are in the CSV.`) : null;
    const table = h("table", {}, h("thead", {}, h("tr", {}, columns.map((column) => h("th", { scope: "col" }, column)))), h("tbody", {}, body));
    this.details.lastElementChild.replaceChildren(h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": `Data of ${this.title.textContent}` }, table), ...(more ? [more] : []));
  }

  nearest(event) {
    const box = this.area.getBoundingClientRect();
    const x = (event.clientX - box.left) / this.scale;
    const y = (event.clientY - box.top) / this.scale;
    let found = null;
    let least = 26 * 26;
    for (const target of this.targets) {
      const distance = (target[0] - x) ** 2 + (target[1] - y) ** 2;
      if (distance < least) {
        least = distance;
        found = target;
      }
    }
    return found;
  }

  point(event) {
    const found = this.nearest(event);
    this.tip.hidden = !found;
    this.area.style.cursor = found && found[3] ? "pointer" : "";
    if (!found) return;
    const text = typeof found[2] === "function" ? found[2]() : found[2];
    this.tip.textContent = text;
    const [x, y] = [found[0] * this.scale, found[1] * this.scale];
    const left = Math.min(Math.max(x + 12, 4), Math.max(4, this.width - this.tip.offsetWidth - 4));
    this.tip.style.setProperty("left", `${left}px`);
    this.tip.style.setProperty("top", `${Math.max(y - this.tip.offsetHeight - 10, 2)}px`);
  }

  click(event) {
    const found = this.nearest(event);
    if (found && found[3]) found[3](event);
  }

  remove() {
    this.observer.disconnect();
    this.sight.disconnect();
  }
}
