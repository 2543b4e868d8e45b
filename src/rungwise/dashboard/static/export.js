// Figures and tables as files.

import { palette } from "./colour.js";

const FORMULAS = ["=", "+", "-", "@", "\t", "\r"];

function save(blob, name) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

function writeSvg(svg) {
  const copy = svg.cloneNode(true);
  const [, , width, height] = svg.getAttribute("viewBox").split(" ").map(Number);
  copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  copy.setAttribute("width", width);
  copy.setAttribute("height", height);
  const back = document.createElementNS("http://www.w3.org/2000/svg", "rect");
  back.setAttribute("width", "100%");
  back.setAttribute("height", "100%");
  back.setAttribute("fill", palette().card);
  copy.prepend(back);
  return { text: new XMLSerializer().serializeToString(copy), width, height };
}

export function exportSvg(svg, name) {
  save(new Blob([writeSvg(svg).text], { type: "image/svg+xml" }), `${name}.svg`);
}

export function exportPng(svg, name, scale = 2) {
  const { text, width, height } = writeSvg(svg);
  const picture = new Image();
  picture.onload = () => {
    const canvas = document.createElement("canvas");
    canvas.width = width * scale;
    canvas.height = height * scale;
    canvas.getContext("2d").drawImage(picture, 0, 0, canvas.width, canvas.height);
    canvas.toBlob((blob) => save(blob, `${name}.png`), "image/png");
  };
  picture.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(text)}`;
}

// What a spreadsheet would take for a formula gets an apostrophe, as in rungwise export.
function cell(item) {
  if (item === null || item === undefined) return "";
  let text = typeof item === "object" ? JSON.stringify(item) : String(item);
  if (typeof item !== "number" && FORMULAS.includes(text[0])) text = `'${text}`;
  return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

export function writeCsv({ columns, rows }) {
  return [columns, ...rows].map((row) => row.map(cell).join(",")).join("\r\n") + "\r\n";
}

export function exportCsv(table, name) {
  save(new Blob([writeCsv(table)], { type: "text/csv;charset=utf-8" }), `${name}.csv`);
}
