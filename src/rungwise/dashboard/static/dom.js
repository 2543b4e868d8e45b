// Elements from text and attributes. Nothing here takes HTML: text that a study holds stays text.

const SVG = "http://www.w3.org/2000/svg";

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (name === "style") for (const [key, text] of Object.entries(value)) node.style.setProperty(key, text);
    else node.setAttribute(name, value === true ? "" : String(value));
  }
  node.append(...children.flat(3).filter((child) => child !== null && child !== undefined && child !== false));
  return node;
}

export function h(tag, attributes, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

export function s(tag, attributes, ...children) {
  return fill(document.createElementNS(SVG, tag), attributes, children);
}

// Replace text only where it has changed, so that a reader of the screen is not disturbed.
export function setText(node, text) {
  const wanted = String(text);
  if (node.textContent !== wanted) node.textContent = wanted;
}

export function show(node, visible) {
  node.hidden = !visible;
}

export function select(label, options, value, onchange) {
  const field = h("select", { "aria-label": label, onchange: () => onchange(field.value) });
  setOptions(field, options, value);
  return field;
}

// Options are [value, text]; the field keeps what was chosen, if that is still there.
export function setOptions(field, options, value) {
  const key = JSON.stringify(options);
  if (field.dataset.key !== key) {
    field.dataset.key = key;
    field.replaceChildren(...options.map(([name, text]) => h("option", { value: name }, text)));
  }
  field.value = options.some(([name]) => String(name) === String(value)) ? value : options.length ? options[0][0] : "";
}

export function labelled(text, field) {
  return h("label", { class: "field" }, h("span", {}, text), field);
}
