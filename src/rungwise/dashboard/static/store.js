// What is known of one study; it grows by what the server sends.

const SECTIONS = ["headline", "saving", "left", "ladder", "history", "failures", "use", "status"];

export class Store extends EventTarget {
  constructor() {
    super();
    this.selected = new Set();
    this.connection = "connecting";
    this.clear();
  }

  clear() {
    this.epoch = "";
    this.version = 0;
    this.trials = new Map();
    this.curves = new Map();
    this.jobs = new Map();
    for (const name of SECTIONS) this[name] = null;
  }

  get ready() {
    return this.version > 0;
  }

  // Take a document of the server; whatever it does not name is as it was.
  apply(document) {
    if (document.full) this.clear();
    this.epoch = document.epoch;
    this.version = document.version;
    for (const name of SECTIONS) if (name in document) this[name] = document[name];
    for (const row of document.trials || []) {
      const [id, state, value, at, reached, rungs, note, values, config, problem, key] = row;
      this.trials.set(id, { id, state, value, at, reached, rungs, note, values, config, problem, key });
    }
    for (const [id, resources, values] of document.curves || []) this.curves.set(id, { id, resources, values });
    for (const row of document.jobs || []) {
      const [id, trial, slot, start, end, from, until, how] = row;
      this.jobs.set(id, { id, trial, slot, start, end, from, until, how });
    }
    this.changed();
  }

  changed() {
    this.dispatchEvent(new Event("change"));
  }

  connect(state) {
    if (this.connection !== state) {
      this.connection = state;
      this.dispatchEvent(new Event("connection"));
    }
  }

  // -- selection: trials that a person has picked, the same in all figures and tables ------------

  toggle(id, alone = false) {
    if (this.selected.has(id)) this.selected.delete(id);
    else {
      if (alone) this.selected.clear();
      this.selected.add(id);
    }
    this.dispatchEvent(new Event("selection"));
  }

  choose(ids) {
    this.selected = new Set(ids);
    this.dispatchEvent(new Event("selection"));
  }

  // -- what views ask -----------------------------------------------------------------------

  get minimised() {
    return !this.headline || this.headline.goal === "min";
  }

  better(one, other) {
    return this.minimised ? one < other : one > other;
  }

  // Sorts from the best value to the worst; those without one come last.
  compare(one, other) {
    if (one === other) return 0;
    if (one === null || one === undefined) return 1;
    if (other === null || other === undefined) return -1;
    return this.minimised ? one - other : other - one;
  }

  // Sorts trials as the leaderboard does: by the keys that the server sends.
  compareTrials(one, other) {
    for (let part = 0; part < one.key.length; part += 1) {
      const [a, b] = [one.key[part] ?? Infinity, other.key[part] ?? Infinity];
      if (a !== b) return a < b ? -1 : 1;
    }
    return one.id - other.id;
  }

  // trial → how many rank before it.
  makeRanking() {
    const sorted = [...this.trials.values()].sort((one, other) => this.compareTrials(one, other));
    const ranks = new Map(sorted.map((trial, rank) => [trial.id, rank]));
    return (id) => ranks.get(id);
  }

  get levels() {
    return this.headline ? this.headline.levels : [];
  }

  // How many trials have reached each rung.
  reached() {
    const counts = this.levels.map(() => 0);
    for (const trial of this.trials.values()) for (let rung = 0; rung < trial.rungs; rung += 1) counts[rung] += 1;
    return counts;
  }

  // The rung to compare trials at, unless a person chooses another: the highest with enough.
  usualRung() {
    const counts = this.reached();
    let found = 0;
    counts.forEach((count, rung) => {
      if (count >= 12) found = rung;
    });
    return found;
  }
}
