// What changes the study; only there for those who have opened the address with the second token.

import { h, setText } from "./dom.js";

// Ask, send, and say what came of it.
function makeSender(context) {
  const said = h("p", { class: "answer", role: "status" });
  const send = async (request) => {
    setText(said, "…");
    try {
      const answer = await context.change(request);
      setText(said, `${answer.state}: ${answer.text}`);
    } catch (error) {
      setText(said, `it could not be sent: ${error.message}`);
    }
  };
  return { said, send };
}

function confirmed(text, act) {
  const dialog = h("dialog", { "aria-label": text },
    h("p", {}, text),
    h("p", { class: "row" },
      h("button", { type: "button", onclick: () => dialog.close() }, "No"),
      h("button", { type: "button", class: "danger", onclick: () => { dialog.close(); act(); } }, "Yes")));
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
}

function parseConfig(text) {
  const found = {};
  for (const part of text.split(/[\n,]+/).map((one) => one.trim()).filter(Boolean)) {
    const at = part.indexOf("=");
    if (at < 1) throw new Error(`${part}: write name=value`);
    const word = part.slice(at + 1).trim();
    try {
      found[part.slice(0, at).trim()] = JSON.parse(word);
    } catch {
      found[part.slice(0, at).trim()] = word;
    }
  }
  return found;
}

export function makeControls(store, context) {
  if (!context.mayControl) return null;
  const { said, send } = makeSender(context);
  const form = (label, field, button, act) => h("form", { class: "control", onsubmit: (event) => { event.preventDefault(); act(field); } },
    h("label", { class: "field" }, h("span", {}, label), field), h("button", { type: "submit" }, button));
  const input = (attributes) => h("input", { type: "text", autocomplete: "off", ...attributes });
  return h("section", { class: "card wide controls-card" }, h("h2", {}, "Control"),
    h("p", { class: "note" }, "Everything here is written to the log of the study, as from the command line."),
    h("div", { class: "row" },
      h("button", { type: "button", class: "danger", onclick: () => confirmed("Stop the study? Every running job trains to its next report; the study can be resumed.", () => send({ action: "stop" })) }, "Stop the study")),
    form("Configuration to try next", input({ placeholder: "lr=0.1, units=64" }), "Add", (field) => {
      try {
        send({ action: "add", configs: [parseConfig(field.value)] });
      } catch (error) {
        setText(said, error.message);
      }
    }),
    form("Number of trials in all", input({ inputmode: "numeric", placeholder: "512" }), "Extend", (field) => send({ action: "extend", limits: { trials: Number(field.value) } })),
    form("Tags, with commas between", input({ placeholder: "baseline, vision" }), "Tag", (field) => send({ action: "label", tags: field.value.split(",").map((one) => one.trim()).filter(Boolean) })),
    form("Note", input({}), "Keep", (field) => send({ action: "label", note: field.value })),
    said);
}

export function makeTrialControls(context, id) {
  if (!context.mayControl) return null;
  const { said, send } = makeSender(context);
  const reason = h("input", { type: "text", "aria-label": "Reason", placeholder: "reason, for the record" });
  const button = (text, action) => h("button", { type: "button", class: "danger", onclick: () => confirmed(`${text} trial ${id} for good?`, () => send({ action, trial: id, reason: reason.value })) }, `${text} this trial`);
  return h("div", { class: "row" }, button("Stop", "stop-trial"), button("Fail", "fail-trial"), reason, said);
}
