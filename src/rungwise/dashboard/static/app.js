// The shell of the page: which study, which view, and what the connection is doing.

import { h, setText, show } from "./dom.js";
import { Store } from "./store.js";
import { EmbeddedSource, LiveSource } from "./source.js";
import { makeOverview } from "./overview.js";
import { makeCurvesView } from "./curves.js";
import { makeLadderView } from "./ladder.js";
import { makeParametersView } from "./parameters.js";
import { makeWorkersView } from "./workers.js";
import { makeTrialsView } from "./trials.js";
import { makeTrialView } from "./trial.js";
import { makeProblemsView } from "./problems.js";
import { makeStudiesView, StudyList } from "./studies.js";
import { makeCompareView } from "./compare.js";

const VIEWS = [["overview", "Overview", makeOverview], ["curves", "Curves", makeCurvesView], ["ladder", "Ladder", makeLadderView],
  ["parameters", "Parameters", makeParametersView], ["workers", "Workers", makeWorkersView], ["trials", "Trials", makeTrialsView], ["problems", "Problems", makeProblemsView]];
const CONNECTION = {
  connecting: "connecting…", live: "live", lost: "no connection: trying again", ended: "the server has ended; this is the last state", report: "",
};
const PACE = 400; // milliseconds between two drawings at least

function readData(id) {
  const found = document.getElementById(id);
  return found ? JSON.parse(found.textContent) : null;
}

class App {
  constructor() {
    this.session = readData("session");
    const data = readData("data");
    this.source = data ? new EmbeddedSource(this.session, data) : new LiveSource(this.session);
    this.study = undefined;
    this.stop = () => {};
    this.view = null;
    this.drawn = 0;
    this.wanted = null;
    this.build();
    window.addEventListener("hashchange", () => this.route());
    window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.redraw());
    this.route();
  }

  build() {
    const theme = h("button", { type: "button", class: "quiet theme", "aria-label": "Light or dark", onclick: () => this.turnTheme() }, "◐");
    this.name = h("h1", { class: "study-name" });
    this.pill = h("span", { class: "pill", role: "status" });
    this.connection = h("span", { class: "connection", role: "status" });
    this.nav = h("nav", { "aria-label": "Views" });
    this.problem = h("p", { class: "problem", role: "alert", hidden: true });
    this.main = h("main", { id: "main", tabindex: -1 });
    const home = h("a", { class: "home", href: "#/" }, h("span", { class: "mark", "aria-hidden": "true" }), "rungwise");
    document.getElementById("app").replaceChildren(
      h("a", { class: "skip", href: "#main", onclick: (event) => { event.preventDefault(); this.main.focus(); } }, "To the content"),
      h("header", { class: "top" }, home, this.name, this.pill, this.connection, theme), this.nav, this.problem, this.main,
      h("footer", { class: "foot" }, `rungwise ${this.session.version}${this.session.live ? "" : ` · report of ${new Date(this.session.made).toLocaleString()}`}`));
    try {
      const kept = localStorage.getItem("rungwise-theme");
      if (kept) document.documentElement.dataset.theme = kept;
    } catch { /* a page that may keep nothing follows the system */ }
  }

  turnTheme() {
    const dark = document.documentElement.dataset.theme ? document.documentElement.dataset.theme === "dark" : window.matchMedia("(prefers-color-scheme: dark)").matches;
    document.documentElement.dataset.theme = dark ? "light" : "dark";
    try {
      localStorage.setItem("rungwise-theme", document.documentElement.dataset.theme);
    } catch { /* the same */ }
    this.redraw();
  }

  // -- where we are: #/study/view/trial?query --------------------------------------------------

  route() {
    const [path, query] = location.hash.replace(/^#\/?/, "").split("?");
    const parts = path.split("/").filter(Boolean).map(decodeURIComponent);
    const { single } = this.session;
    if (!parts.length && single) {
      location.replace(`#/${encodeURIComponent(single)}/overview`);
      return;
    }
    const parameters = new URLSearchParams(query || "");
    if (this.view && this.view.leave) this.view.leave();
    if (this.view) for (const figure of this.view.figures) figure.remove();
    if (!parts.length) this.openStudies();
    else if (parts[0] === "compare") this.openCompare(parameters.getAll("study"));
    else this.openStudy(parts[0], parts[1] || "overview", parts[2], parameters);
    window.scrollTo(0, 0);
  }

  openStudies() {
    if (this.study !== null) {
      this.follow(null, new StudyList());
    }
    this.setView(makeStudiesView(this.store), "", "Studies");
  }

  openCompare(names) {
    this.follow(undefined, null);
    this.setView(makeCompareView(names.slice(0, 4), this.source), "", "Compared");
  }

  openStudy(study, name, detail, query) {
    if (this.study !== study) {
      this.follow(study, new Store());
      this.store.addEventListener("selection", () => this.schedule(0));
    }
    const [key, title, make] = VIEWS.find((one) => one[0] === name) || VIEWS[0];
    const context = this.makeContext(study, query);
    const isTrial = key === "trials" && detail !== undefined && /^\d+$/.test(detail);
    this.setView(isTrial ? makeTrialView(this.store, context, Number(detail)) : make(this.store, context), key, `${title} · ${study}`);
  }

  makeContext(study, query) {
    const get = (path, parameters) => this.source.get(path, { study, ...parameters });
    return {
      study, query, get,
      link: (place) => `#/${encodeURIComponent(study)}/${place}`,
      fetchTrial: (id) => get("trial", { trial: id }),
      mayControl: Boolean(this.session.proof),
      change: (request) => this.source.change({ study, ...request }),
    };
  }

  follow(study, store) {
    this.stop();
    this.study = study;
    this.store = store;
    this.stop = () => {};
    if (!store) return;
    store.addEventListener("change", () => this.schedule());
    store.addEventListener("connection", () => this.drawTop());
    this.stop = this.source.follow(study, store);
  }

  setView(view, key, title) {
    this.view = view;
    document.title = `${title} · rungwise`;
    const links = this.study ? VIEWS : [];
    this.nav.replaceChildren(...links.map(([name, text]) => h("a", { href: `#/${encodeURIComponent(this.study)}/${name}`, "aria-current": name === key ? "page" : null }, text)));
    show(this.nav, links.length);
    const current = this.nav.querySelector("[aria-current]");
    if (current) current.scrollIntoView({ block: "nearest", inline: "center" });
    this.main.replaceChildren(view.el);
    this.draw();
  }

  // -- drawing --------------------------------------------------------------------------------

  schedule(pace = PACE) {
    if (this.wanted) {
      if (pace) return;
      clearTimeout(this.wanted);
    }
    const wait = Math.max(0, this.drawn + pace - performance.now());
    this.wanted = setTimeout(() => {
      this.wanted = null;
      this.draw();
    }, wait);
  }

  redraw() {
    this.draw();
  }

  draw() {
    this.drawn = performance.now();
    this.drawTop();
    if (this.view) {
      this.view.update();
      if (this.view.shown) this.view.shown();
    }
    const took = performance.now() - this.drawn;
    performance.clearMeasures("draw");
    performance.measure("draw", { start: this.drawn, duration: took });
  }

  drawTop() {
    const { store } = this;
    const name = typeof this.study === "string" ? this.study : this.session.single ? "" : this.session.place;
    setText(this.name, name);
    const status = store && store.status;
    const state = status ? status.state : "";
    setText(this.pill, state);
    this.pill.className = `pill ${state}`;
    show(this.pill, state);
    const connection = store ? store.connection : "report";
    const quiet = connection === "live" && state && state !== "running";
    setText(this.connection, quiet ? "up to date" : CONNECTION[connection]);
    this.connection.className = `connection ${quiet ? "" : connection}`;
    const problem = status ? status.problem : "";
    setText(this.problem, problem);
    show(this.problem, problem);
  }
}

new App();
