// Two or more studies: the best over resource, the ladders, and the best configurations.

import { h } from "./dom.js";
import { Figure } from "./figure.js";
import { Store } from "./store.js";
import { amount, count, duration, number, place, value as show } from "./format.js";
import { linear, log } from "./scale.js";
import { stairs } from "./plot.js";

const AGAIN = 4000;
const DASHES = [null, "7 3", "2 3", "9 3 2 3"];

export function makeCompareView(names, source) {
  const stores = names.map((name) => ({ name, store: new Store() }));
  const history = new Figure({ name: "compared", title: "Best so far over resource spent", wide: true, height: 360, margins: { top: 30 }, draw: drawHistory, table: historyTable });
  const ladders = new Figure({ name: "ladders", title: "Trials on each rung", wide: true, height: 280, margins: { top: 30 }, draw: drawLadders, table: ladderTable });
  const facts = h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "The studies side by side" });
  const message = h("p", { class: "note", role: "status" });
  const el = h("div", { class: "grid" },
    h("section", { class: "card wide" }, h("p", {}, h("a", { href: "#/" }, "← all studies")), h("h2", { class: "large" }, "Compared"), message, facts), history.el, ladders.el);
  let timer = null;
  let gone = false;

  // What has changed since the last time is asked for, and nothing else.
  async function refresh() {
    for (const { name, store } of stores) {
      try {
        store.apply(await source.get("snapshot", { study: name, epoch: store.epoch, since: store.version }));
      } catch (error) {
        message.textContent = `${name}: ${error.message}`;
      }
    }
    update();
    if (!gone && source.session.live) timer = setTimeout(refresh, AGAIN);
  }

  const known = () => stores.filter(({ store }) => store.headline);

  function drawHistory(plot) {
    const found = known().filter(({ store }) => store.history && store.history.bests.length);
    if (!found.length) {
      plot.message("No value has been reported yet.");
      return [];
    }
    const ends = found.map(({ store }) => store.headline.spent);
    const tails = found.flatMap(({ store }) => store.history.bests.slice(Math.floor(store.history.bests.length * 0.15)).map((one) => one[3]));
    const low = Math.min(...tails);
    const high = Math.max(...tails);
    const room = (high - low || Math.abs(high) || 1) * 0.08;
    const x = linear(0, Math.max(...ends), plot.left, plot.right);
    const y = linear(low - room, high + room, plot.bottom, plot.top);
    plot.yAxis(y, `best ${found[0].store.headline.metric}`, (mark) => number(mark));
    plot.xAxis(x, "resource spent", count);
    const targets = [];
    plot.clipped(() => found.forEach(({ name, store }, index) => {
      const places = store.history.bests.map((one) => [x(one[0]), y(one[3])]);
      plot.path(stairs(places, x(store.headline.spent)), { stroke: plot.colours.marks[index], "stroke-width": 2.4, "stroke-dasharray": DASHES[index] });
      places.forEach((place, at) => targets.push([...place, `${name}: ${number(store.history.bests[at][3], 6)}\nafter ${count(store.history.bests[at][0])} spent`]));
    }));
    plot.legend(found.map(({ name }, index) => [plot.colours.marks[index], name, index ? "dash" : "line"]), plot.left, 14);
    return targets;
  }

  function historyTable() {
    return { columns: ["study", "spent", "seconds", "trial", "value"], rows: known().flatMap(({ name, store }) => (store.history ? store.history.bests : []).map((one) => [name, ...one])) };
  }

  function drawLadders(plot) {
    const found = known().filter(({ store }) => store.ladder && store.ladder.rungs.length);
    if (!found.length) {
      plot.message("No rung has been reached yet.");
      return [];
    }
    const levels = [...new Set(found.flatMap(({ store }) => store.ladder.rungs.map((rung) => rung[0])))].sort((a, b) => a - b);
    const most = Math.max(...found.flatMap(({ store }) => store.ladder.rungs.map((rung) => rung[1])), 2);
    const y = log(0.8, most * 1.3, plot.bottom, plot.top);
    const step = (plot.right - plot.left) / levels.length;
    const wide = Math.min(40, (step - 12) / found.length);
    plot.yAxis(y, "trials", count);
    const targets = [];
    levels.forEach((level, at) => {
      const middle = plot.left + (at + 0.5) * step;
      plot.text(middle, plot.bottom + 17, count(level), { "text-anchor": "middle" });
      found.forEach(({ name, store }, index) => {
        const rung = store.ladder.rungs.find((one) => one[0] === level);
        if (!rung || !rung[1]) return;
        const left = middle + (index - found.length / 2) * wide;
        plot.add("rect", { x: left + 1, y: y(rung[1]), width: wide - 2, height: plot.bottom - y(rung[1]), rx: 2, fill: plot.colours.marks[index] });
        targets.push([left + wide / 2, y(rung[1]), `${name}: ${count(rung[1])} trials reached ${count(level)}`]);
      });
    });
    plot.text((plot.left + plot.right) / 2, plot.height - 5, "rung", { "text-anchor": "middle", "font-size": 12 });
    plot.legend(found.map(({ name }, index) => [plot.colours.marks[index], name, "bar"]), plot.left, 14);
    return targets;
  }

  function ladderTable() {
    return { columns: ["study", "rung", "reached", "waiting", "running to it", "best value"], rows: known().flatMap(({ name, store }) => (store.ladder ? store.ladder.rungs : []).map((rung) => [name, ...rung])) };
  }

  function update() {
    const found = known();
    const line = (title, read) => h("tr", {}, h("th", { scope: "row" }, title), found.map(({ store }) => h("td", {}, read(store.headline, store))));
    const names = [...new Set(found.flatMap(({ store }) => Object.keys((store.headline.best || { config: {} }).config)))];
    facts.replaceChildren(h("table", {}, h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "study"), found.map(({ name }) => h("th", { scope: "col" }, h("a", { href: `#/${encodeURIComponent(name)}/overview` }, name))))),
      h("tbody", {}, line("state", (one) => one.state), line("scheduler", (one) => `${one.scheduler}${one.searcher ? `, ${one.searcher}` : ""}`),
        line("best", (one) => (one.best ? `${one.metric} ${number(one.best.value, 6)} ${place(one.best.resource, one.unit)}` : "–")), line("trials", (one) => count(one.trials)),
        line("ceiling", (one) => count(one.ceiling)), line("spent", (one) => amount(one.spent, one.unit)), line("time", (one) => duration(one.seconds)),
        line("saved", (_, store) => (store.saving && store.saving.text) || "–"),
        names.map((name) => line(name, (one) => (one.best && name in one.best.config ? show(one.best.config[name]) : "–"))))));
    history.render();
    ladders.render();
  }

  refresh();
  return { el, figures: [history, ladders], update, leave: () => { gone = true; clearTimeout(timer); } };
}
