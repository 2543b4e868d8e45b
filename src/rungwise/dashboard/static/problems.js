// Failures by their reason, and what else a person was told.

import { h } from "./dom.js";
import { count, duration, plural } from "./format.js";

export function makeProblemsView(store, context) {
  const groups = h("tbody");
  const remarks = h("tbody");
  const summary = h("p", { class: "note", role: "status" });
  const head = (...names) => h("thead", {}, h("tr", {}, names.map((name) => h("th", { scope: "col" }, name))));
  const scroll = (label, ...content) => h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": label }, h("table", {}, content));
  const el = h("div", { class: "grid" },
    h("section", { class: "card wide" }, h("h2", {}, "Failures by reason"), summary, scroll("Failures", head("times", "reason", "trials", "first", "last"), groups)),
    h("section", { class: "card wide" }, h("h2", {}, "Notices"), scroll("Notices", head("after", "kind", "what"), remarks)));
  function update() {
    const found = store.failures;
    if (!found) return;
    const failed = [...store.trials.values()].filter((trial) => trial.state === "failed").length;
    summary.textContent = found.total ? `${plural(found.total, "failed attempt")}; ${plural(failed, "trial")} failed for good. The others were tried again.` : "Nothing has failed.";
    groups.replaceChildren(...found.groups.map((group) => h("tr", {},
      h("td", { class: "number" }, count(group.count)), h("td", { class: "long-text" }, group.reason, group.spared ? h("span", { class: "soft" }, ` (${group.spared} put down to the surroundings)`) : null),
      h("td", {}, group.trials.flatMap((id, index) => [index ? ", " : "", h("a", { href: context.link(`trials/${id}`) }, String(id))])),
      h("td", {}, duration(group.first)), h("td", {}, duration(group.last)))));
    const rows = found.remarks.slice().reverse();
    remarks.replaceChildren(...(rows.length ? rows : [[0, "–", "Nothing was said."]]).map(([at, kind, text]) => h("tr", {}, h("td", {}, duration(at)), h("td", {}, kind), h("td", { class: "long-text" }, text))));
  }
  return { el, figures: [], update };
}
