// Drawing on one SVG: axes, lines, dots. Colours are written out, so that a copy looks the same.

import { s } from "./dom.js";
import { palette } from "./colour.js";

const FONT = "system-ui, -apple-system, 'Segoe UI', sans-serif";

export class Plot {
  constructor(svg, width, height, margins = {}) {
    this.svg = svg;
    this.width = width;
    this.height = height;
    this.margins = { top: 14, right: 16, bottom: 40, left: 58, ...margins };
    this.colours = palette();
    svg.replaceChildren();
    svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
    svg.setAttribute("font-family", FONT);
  }

  get left() {
    return this.margins.left;
  }

  get right() {
    return this.width - this.margins.right;
  }

  get top() {
    return this.margins.top;
  }

  get bottom() {
    return this.height - this.margins.bottom;
  }

  add(tag, attributes, ...children) {
    const node = s(tag, attributes, ...children);
    (this.target || this.svg).append(node);
    return node;
  }

  // What is drawn inside is cut off at the edges of the figure.
  clipped(draw) {
    const id = `clip-${Math.round(this.left)}-${Math.round(this.top)}-${this.width}-${this.height}`;
    const box = { x: this.left - 3, y: this.top - 3, width: this.right - this.left + 6, height: this.bottom - this.top + 6 };
    this.svg.append(s("clipPath", { id }, s("rect", box)));
    this.target = s("g", { "clip-path": `url(#${id})` });
    this.svg.append(this.target);
    draw();
    this.target = null;
  }

  text(x, y, text, more = {}) {
    return this.add("text", { x, y, fill: this.colours.soft, "font-size": 11.5, ...more }, String(text));
  }

  line(x1, y1, x2, y2, more = {}) {
    return this.add("line", { x1, y1, x2, y2, stroke: this.colours.grid, "stroke-width": 1, ...more });
  }

  path(d, more = {}) {
    if (!d) return null;
    return this.add("path", { d, fill: "none", stroke: this.colours.ink, "stroke-width": 1.5, "stroke-linejoin": "round", ...more });
  }

  // Many dots of one look are one path: lines of no length with round ends.
  dots(points, radius, colour, more = {}) {
    const d = points.map(([x, y]) => `M${round(x)} ${round(y)}h0`).join("");
    return this.path(d, { stroke: colour, "stroke-width": 2 * radius, "stroke-linecap": "round", ...more });
  }

  xAxis(scale, label, format, ticks) {
    const marks = ticks || scale.ticks(Math.max(2, Math.floor((this.right - this.left) / 80)));
    this.line(this.left, this.bottom, this.right, this.bottom, { stroke: this.colours.faint });
    let last = -Infinity;
    for (const mark of marks) {
      const x = scale(mark);
      if (x === null || x < this.left - 1 || x > this.right + 1) continue;
      this.line(x, this.bottom, x, this.bottom + 4, { stroke: this.colours.faint });
      const text = format(mark);
      const half = 3.2 * text.length;
      if (x - half < last + 6) continue;
      last = x + half;
      this.text(x, this.bottom + 17, text, { "text-anchor": "middle" });
    }
    this.text((this.left + this.right) / 2, this.height - 5, label, { "text-anchor": "middle", "font-size": 12 });
  }

  yAxis(scale, label, format, ticks) {
    const marks = ticks || scale.ticks(Math.max(2, Math.floor((this.bottom - this.top) / 42)));
    let last = Infinity;
    for (const mark of marks) {
      const y = scale(mark);
      if (y === null || y < this.top - 1 || y > this.bottom + 1) continue;
      this.line(this.left, y, this.right, y);
      if (Math.abs(y - last) < 13) continue;
      last = y;
      this.text(this.left - 7, y + 4, shorten(format(mark), 9), { "text-anchor": "end" });
    }
    const middle = (this.top + this.bottom) / 2;
    this.text(13, middle, label, { "text-anchor": "middle", "font-size": 12, transform: `rotate(-90 13 ${middle})` });
  }

  // Entries are [colour, text, kind] with the kind "line", "dash", "dot" or "ring".
  legend(entries, x = this.left, y = this.top - 2) {
    let at = x;
    for (const [colour, text, kind] of entries) {
      const wide = 24 + 6.3 * text.length;
      if (at + wide > this.right && at > x) {
        at = x;
        y += 16;
      }
      if (kind === "dot") this.dots([[at + 8, y - 4]], 4, colour);
      else if (kind === "ring") this.add("circle", { cx: at + 8, cy: y - 4, r: 3.4, fill: "none", stroke: colour, "stroke-width": 1.5 });
      else if (kind === "bar") this.add("rect", { x: at + 2, y: y - 9, width: 12, height: 9, rx: 2, fill: colour });
      else this.line(at, y - 4, at + 15, y - 4, { stroke: colour, "stroke-width": 2.5, "stroke-dasharray": kind === "dash" ? "4 3" : null });
      this.text(at + 20, y, text);
      at += wide;
    }
    return y;
  }

  message(text) {
    this.text(this.width / 2, this.height / 2, text, { "text-anchor": "middle", "font-size": 13 });
  }
}

export function round(place) {
  return Math.round(place * 10) / 10;
}

// The path of points; a place without a value breaks it.
export function trace(points) {
  let d = "";
  let pen = false;
  for (const [x, y] of points) {
    if (y === null || Number.isNaN(y)) {
      pen = false;
      continue;
    }
    d += `${pen ? "L" : "M"}${round(x)} ${round(y)}`;
    pen = true;
  }
  return d;
}

export function stairs(points, until) {
  let d = "";
  let before = null;
  for (const [x, y] of points) {
    d += before === null ? `M${round(x)} ${round(y)}` : `H${round(x)}V${round(y)}`;
    before = y;
  }
  return d && until !== undefined ? `${d}H${round(until)}` : d;
}

export function shorten(text, most) {
  return text.length > most ? `${text.slice(0, most - 1)}…` : text;
}
