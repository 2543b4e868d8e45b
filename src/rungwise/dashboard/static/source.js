// Where documents come from: a server that sends what changes, or the report that holds them.

const HIDDEN = 30000; // a page that nobody sees is closed after this many milliseconds
const AGAIN = 1500;

export class LiveSource {
  constructor(session) {
    this.session = session;
    this.streams = new Set();
    this.timer = null;
    document.addEventListener("visibilitychange", () => this.watchVisibility());
  }

  // Follow a study, or without a name the list of studies; call the result to stop.
  follow(study, store) {
    const stream = { study, store, events: null, timer: null };
    this.streams.add(stream);
    this.open(stream);
    return () => {
      this.streams.delete(stream);
      this.close(stream);
    };
  }

  open(stream) {
    clearTimeout(stream.timer);
    const query = stream.study === null ? "" : `?study=${encodeURIComponent(stream.study)}`;
    const events = new EventSource(`/events${query}`);
    stream.events = events;
    const receive = (event) => {
      stream.store.connect("live");
      stream.store.apply(JSON.parse(event.data));
    };
    events.addEventListener("update", receive);
    events.addEventListener("studies", receive);
    events.addEventListener("open", () => stream.store.connect("live"));
    events.addEventListener("bye", () => {
      stream.store.connect("ended");
      this.retry(stream);
    });
    events.addEventListener("error", () => {
      stream.store.connect(stream.store.connection === "ended" ? "ended" : "lost");
      if (events.readyState === EventSource.CLOSED) this.retry(stream);
    });
  }

  // The browser gives up after an answer that is no stream; a server may be started again.
  retry(stream) {
    this.close(stream);
    if (this.streams.has(stream)) stream.timer = setTimeout(() => this.open(stream), AGAIN);
  }

  close(stream) {
    clearTimeout(stream.timer);
    if (stream.events) stream.events.close();
    stream.events = null;
  }

  watchVisibility() {
    clearTimeout(this.timer);
    if (document.hidden) {
      this.timer = setTimeout(() => this.streams.forEach((stream) => this.close(stream)), HIDDEN);
    } else {
      for (const stream of this.streams) if (!stream.events) this.open(stream);
    }
  }

  async get(path, parameters) {
    const query = new URLSearchParams(parameters).toString();
    const answer = await fetch(`/${path}?${query}`, { credentials: "same-origin" });
    if (!answer.ok) throw new Error((await answer.text()).trim() || `the server answered ${answer.status}`);
    return answer.json();
  }

  async change(request) {
    const answer = await fetch("/control", {
      method: "POST",
      headers: { "Content-Type": "application/json", "X-Rungwise-Proof": this.session.proof },
      body: JSON.stringify(request),
    });
    if (!answer.ok) return { state: "refused", text: (await answer.text()).trim() };
    return answer.json();
  }
}

// The data of a report: nothing is asked for, nothing changes.
export class EmbeddedSource {
  constructor(session, data) {
    this.session = session;
    this.data = data;
  }

  follow(study, store) {
    const found = study === null ? { studies: this.data.studies } : this.data.snapshot;
    queueMicrotask(() => {
      store.connect("report");
      store.apply(found);
    });
    return () => {};
  }

  async get(path, parameters) {
    if (path === "trial" && this.data.details[parameters.trial]) return this.data.details[parameters.trial];
    if (path === "importance" && this.data.importance[parameters.rung]) return this.data.importance[parameters.rung];
    if (path === "snapshot") return this.data.snapshot;
    throw new Error("this report does not hold that; rungwise dashboard shows it");
  }
}
