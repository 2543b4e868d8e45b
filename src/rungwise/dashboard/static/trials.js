// All trials: sorted, filtered, picked; each leads to a page of its own.

import { h, labelled, select, setOptions, setText } from "./dom.js";
import { exportCsv } from "./export.js";
import { count, number, plural, value as show } from "./format.js";
import { Table } from "./table.js";

const CONDITION = /^([\w.:-]+)\s*(<=|>=|!=|=|<|>)\s*(.+)$/;

// "lr>0.01 state=paused adam": every word must hold; names are columns or parameters.
export function parseFilter(text) {
  return text.trim().split(/\s+/).filter(Boolean).map((word) => {
    const found = CONDITION.exec(word);
    if (!found) return (row, all) => all.includes(word.toLowerCase());
    const [, name, sign, wanted] = found;
    return (row) => compare(read(row, name), sign, wanted);
  });
}

function read(row, name) {
  if (name in row.config) return row.config[name];
  return { trial: row.id, state: row.state, value: row.value, reached: row.reached, resource: row.at, note: row.note, problem: row.problem }[name];
}

function compare(item, sign, wanted) {
  if (item === undefined || item === null) return false;
  const other = typeof item === "number" ? Number(wanted) : wanted.toLowerCase();
  const mine = typeof item === "number" ? item : show(item).toLowerCase();
  switch (sign) {
    case "<": return mine < other;
    case ">": return mine > other;
    case "<=": return mine <= other;
    case ">=": return mine >= other;
    case "!=": return mine !== other;
    default: return mine === other;
  }
}

export function makeTrialsView(store, context) {
  const state = { text: context.query.get("filter") || "", only: context.query.get("state") || "" };
  const field = h("input", { type: "search", "aria-label": "Filter trials", placeholder: "lr>0.01 state=paused", spellcheck: "false", oninput: () => { state.text = field.value; update(); } });
  field.value = state.text;
  const states = select("State", [["", "every state"]], "", (chosen) => { state.only = chosen; update(); });
  const found = h("p", { class: "note", role: "status" });
  const table = new Table({
    label: "Trials", picked: (row) => store.selected.has(row.id), pick: (row) => store.toggle(row.id),
  });
  table.onsort = () => update();
  const clear = h("button", { type: "button", class: "quiet", onclick: () => store.choose([]) }, "Pick none");
  const csv = h("button", { type: "button", class: "quiet", onclick: () => exportCsv(write(), "trials") }, "CSV");
  const el = h("div", { class: "grid" }, h("section", { class: "card wide" },
    h("header", {}, h("h2", {}, "Trials"), h("div", { class: "controls" }, labelled("Filter", field), labelled("State", states)), h("div", { class: "exports" }, clear, csv)),
    found, table.scroller,
    h("p", { class: "note" }, "A filter is words, or conditions such as lr>0.01, units<=64, optimizer=adam, value<0.2; all of them must hold.")));
  let shown = [];

  function columns() {
    const parameters = store.headline ? store.headline.params : [];
    return [
      { key: "pick", title: "", box: true, read: () => 0, show: () => "" },
      { key: "id", title: "trial", number: true, read: (row) => row.id, show: (row) => String(row.id), link: (row) => context.link(`trials/${row.id}`) },
      { key: "value", title: store.headline ? store.headline.metric : "value", number: true, read: (row) => row.value, show: (row) => number(row.value, 6) },
      { key: "at", title: "at", number: true, read: (row) => row.at, show: (row) => count(row.at) },
      { key: "reached", title: "trained to", number: true, read: (row) => row.reached, show: (row) => count(row.reached) },
      { key: "rungs", title: "rung", number: true, read: (row) => row.rungs, show: (row) => (row.rungs ? count(store.levels[row.rungs - 1]) : "–") },
      { key: "state", title: "state", read: (row) => row.state, show: (row) => row.state },
      ...parameters.map((one) => ({
        key: `p:${one.name}`, title: one.name, number: one.kind !== "options", long: one.kind === "options",
        read: (row) => row.config[one.name], show: (row) => show(row.config[one.name]),
      })),
      { key: "note", title: "note", long: true, read: (row) => row.note, show: (row) => row.note },
    ];
  }

  function sorted(rows) {
    const { key, down } = table.sort;
    const column = table.columns.find((one) => one.key === key);
    const by = !column ? (a, b) => store.compareTrials(a, b) : key === "value" ? (a, b) => store.compare(a.value, b.value) : (a, b) => order(column.read(a), column.read(b));
    const turned = down ? (a, b) => by(b, a) : by;
    return rows.sort((a, b) => turned(a, b) || a.id - b.id);
  }

  function update() {
    table.setColumns(columns());
    const names = [...new Set([...store.trials.values()].map((row) => row.state))].sort();
    setOptions(states, [["", "every state"], ...names.map((name) => [name, name])], state.only);
    const tests = parseFilter(state.text);
    shown = sorted([...store.trials.values()].filter((row) => {
      if (state.only && row.state !== state.only) return false;
      if (!tests.length) return true;
      const all = `${row.id} ${row.state} ${row.note} ${Object.entries(row.config).map(([name, item]) => `${name} ${show(item)}`).join(" ")}`.toLowerCase();
      return tests.every((test) => test(row, all));
    }));
    table.setRows(shown);
    const picked = store.selected.size ? `, ${store.selected.size} picked` : "";
    setText(found, shown.length === store.trials.size ? `${plural(shown.length, "trial")}${picked}` : `${count(shown.length)} of ${plural(store.trials.size, "trial")}${picked}`);
  }

  function write() {
    const kept = table.columns.filter((column) => !column.box);
    return { columns: kept.map((column) => column.title), rows: shown.map((row) => kept.map((column) => column.read(row))) };
  }

  return { el, figures: [], update, shown: () => table.drawRows() };
}

function order(one, other) {
  const missing = [one, other].map((item) => item === undefined || item === null || item === "");
  if (missing[0] || missing[1]) return missing[0] - missing[1];
  if (typeof one === "number" && typeof other === "number") return one - other;
  return show(one).localeCompare(show(other), undefined, { numeric: true });
}
