// A table of any length: only the rows that are seen exist.

import { h } from "./dom.js";

const ROW = 34;
const AROUND = 12;

// columns: [{key, title, read(row), show(row), number}]; act(row) opens a row.
export class Table {
  constructor({ label, act, picked, pick }) {
    this.act = act;
    this.picked = picked;
    this.pick = pick;
    this.columns = [];
    this.rows = [];
    this.sort = { key: null, down: false };
    this.onsort = () => {};
    this.head = h("tr");
    this.body = h("tbody");
    this.before = h("tbody", { "aria-hidden": "true" });
    this.after = h("tbody", { "aria-hidden": "true" });
    this.el = h("table", { class: "rows", "aria-label": label }, h("thead", {}, this.head), this.before, this.body, this.after);
    this.scroller = h("div", { class: "scroll long", tabindex: 0, role: "region", "aria-label": label, onscroll: () => this.drawRows() }, this.el);
    this.key = "";
    this.window = "";
  }

  setColumns(columns) {
    const key = JSON.stringify(columns.map((column) => [column.key, column.title]));
    if (key === this.key) return;
    this.key = key;
    this.columns = columns;
    this.buttons = columns.map((column) => h("button", { type: "button", onclick: () => this.toggle(column.key) }, column.title));
    this.heads = columns.map((column, index) => h("th", { scope: "col", class: column.number ? "number" : null }, column.title === "" ? h("span", { class: "unseen" }, "picked") : this.buttons[index]));
    this.head.replaceChildren(...this.heads);
    this.mark();
  }

  toggle(key) {
    this.sort = { key, down: this.sort.key === key ? !this.sort.down : false };
    this.mark();
    this.onsort(this.sort);
  }

  mark() {
    this.columns.forEach((column, index) => {
      const mine = column.key === this.sort.key;
      if (mine) this.heads[index].setAttribute("aria-sort", this.sort.down ? "descending" : "ascending");
      else this.heads[index].removeAttribute("aria-sort");
    });
  }

  setRows(rows) {
    this.rows = rows;
    this.window = "";
    this.el.setAttribute("aria-rowcount", rows.length + 1);
    this.drawRows();
  }

  drawRows() {
    const height = this.scroller.clientHeight || 600;
    const first = Math.max(0, Math.floor(this.scroller.scrollTop / ROW) - AROUND);
    const last = Math.min(this.rows.length, Math.ceil((this.scroller.scrollTop + height) / ROW) + AROUND);
    const window = `${first}-${last}`;
    if (window === this.window) return;
    this.window = window;
    const held = document.activeElement && this.body.contains(document.activeElement) ? document.activeElement.dataset.key : null;
    this.space(this.before, first);
    this.space(this.after, this.rows.length - last);
    this.body.replaceChildren(...this.rows.slice(first, last).map((row, index) => this.makeRow(row, first + index)));
    if (held) {
      const again = this.body.querySelector(`[data-key="${CSS.escape(held)}"]`);
      if (again) again.focus({ preventScroll: true });
    }
  }

  space(part, rows) {
    part.replaceChildren(...(rows ? [h("tr", {}, h("td", { colspan: this.columns.length, style: { height: `${rows * ROW}px`, padding: "0" } }))] : []));
  }

  makeRow(row, index) {
    const chosen = this.picked(row);
    const cells = this.columns.map((column) => {
      if (column.box) return h("td", { class: "box" }, h("input", { type: "checkbox", checked: chosen, "data-key": `box-${row.id}`, "aria-label": `pick ${this.name(row)}`, onchange: () => this.pick(row) }));
      const content = column.link ? h("a", { href: column.link(row), "data-key": `link-${row.id}` }, column.show(row)) : column.show(row);
      return h("td", { class: column.number ? "number" : column.long ? "long-text" : null, title: column.long ? column.show(row) : null }, content);
    });
    return h("tr", { class: chosen ? "picked" : null, "aria-rowindex": index + 2 }, cells);
  }

  name(row) {
    return `trial ${row.id}`;
  }
}
