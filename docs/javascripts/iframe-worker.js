/* Search without a server: a page that was opened as a file may start no worker, so the script of
   the search runs in a hidden frame, which speaks and is spoken to as a worker is. */
if (location.protocol === "file:") {
  window.IFrameWorker = class extends EventTarget {
    constructor(url) {
      super();
      const frame = document.createElement("iframe");
      frame.hidden = true;
      document.body.append(frame);
      const inner = frame.contentWindow;
      inner.document.open();
      inner.document.close();
      inner.postMessage = (data) => {
        const event = new MessageEvent("message", { data });
        this.dispatchEvent(event);
        if (this.onmessage) this.onmessage(event);
      };
      inner.importScripts = async (...places) => {
        for (const place of places) await load(inner, new URL(place, url).href);
      };
      this.ready = load(inner, url);
      this.inner = inner;
    }

    postMessage(data) {
      this.ready.then(() => this.inner.dispatchEvent(new MessageEvent("message", { data })));
    }

    terminate() {
      this.inner.frameElement.remove();
    }
  };
  window.Worker = window.IFrameWorker;

  function load(inner, url) {
    return new Promise((resolve, reject) => {
      const script = inner.document.createElement("script");
      script.src = url;
      script.onload = resolve;
      script.onerror = reject;
      inner.document.documentElement.append(script);
    });
  }
}
