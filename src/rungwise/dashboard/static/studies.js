// The studies of a folder side by side, and two or more of them compared.

import { h, setText } from "./dom.js";
import { count, number, plural } from "./format.js";

const MOST = 4;

// What the server says of a folder; the same interface as a store, as far as a source needs it.
export class StudyList extends EventTarget {
  constructor() {
    super();
    this.studies = null;
    this.connection = "connecting";
  }

  apply(document) {
    this.studies = document.studies;
    this.dispatchEvent(new Event("change"));
  }

  connect(state) {
    this.connection = state;
    this.dispatchEvent(new Event("connection"));
  }
}

export function makeStudiesView(list) {
  const body = h("tbody");
  const picked = new Set();
  const said = h("p", { class: "note", role: "status" });
  const compare = h("a", { class: "button", href: "#/" }, "Compare");
  const el = h("div", { class: "grid" }, h("section", { class: "card wide" },
    h("header", {}, h("h2", { class: "large" }, "Studies"), h("div", { class: "controls" }, compare)), said,
    h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Studies" }, h("table", {},
      h("thead", {}, h("tr", {}, ["", "study", "state", "trials", "best", "ceiling", "spent", "tags and note"].map((name) => h("th", { scope: "col" }, name || h("span", { class: "unseen" }, "compare"))))), body))));

  function row(study) {
    const box = h("input", { type: "checkbox", "aria-label": `compare ${study.name}`, checked: picked.has(study.name), onchange: () => { if (picked.has(study.name)) picked.delete(study.name); else picked.add(study.name); update(); } });
    const best = study.best ? `${study.metric} ${number(study.best.value, 5)}` : "–";
    const words = [...(study.tags || []), study.note].filter(Boolean).join(", ");
    return h("tr", {}, h("td", { class: "box" }, box),
      h("td", {}, h("a", { href: `#/${encodeURIComponent(study.name)}/overview` }, study.name)),
      h("td", {}, h("span", { class: `pill ${study.state}` }, study.state), study.problem ? h("span", { class: "soft" }, ` ${study.problem}`) : null),
      h("td", { class: "number" }, count(study.trials)), h("td", { class: "number" }, best), h("td", { class: "number" }, count(study.ceiling)),
      h("td", { class: "number" }, count(study.spent)), h("td", { class: "long-text" }, words));
  }

  function update() {
    const { studies } = list;
    if (!studies) {
      setText(said, "Reading the folder…");
      return;
    }
    setText(said, studies.length ? `${plural(studies.length, "study").replace("studys", "studies")}; pick two to ${MOST} to compare them.` : "There is no study in this folder yet.");
    const held = document.activeElement && body.contains(document.activeElement) ? document.activeElement.getAttribute("aria-label") : null;
    body.replaceChildren(...studies.map(row));
    if (held) [...body.querySelectorAll("input")].find((box) => box.getAttribute("aria-label") === held)?.focus();
    const chosen = [...picked].filter((name) => studies.some((study) => study.name === name)).slice(0, MOST);
    compare.hidden = chosen.length < 2;
    compare.href = `#/compare?${chosen.map((name) => `study=${encodeURIComponent(name)}`).join("&")}`;
    setText(compare, `Compare ${chosen.length}`);
  }

  return { el, figures: [], update };
}
