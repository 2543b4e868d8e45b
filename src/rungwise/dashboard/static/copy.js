// A configuration to be copied in the form in which it is needed.

import { h, setText } from "./dom.js";

const FORMS = [["python", "Python"], ["yaml", "YAML"], ["flags", "Command line"]];

export function copyButtons(texts) {
  if (!texts) return null;
  const said = h("span", { class: "soft", role: "status" });
  const buttons = FORMS.map(([form, label]) => h("button", { type: "button", class: "quiet", onclick: () => copy(texts[form], label) }, label));
  async function copy(text, label) {
    try {
      await navigator.clipboard.writeText(text);
      setText(said, `copied as ${label}`);
    } catch {
      setText(said, text); // where nothing may be copied, it can at least be marked
    }
  }
  return h("p", { class: "copy" }, h("span", { class: "soft" }, "Copy as"), buttons, said);
}
