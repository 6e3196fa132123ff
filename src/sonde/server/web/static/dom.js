// Builds elements. Text of other people becomes text nodes and attributes only, never markup.

const SVG = "http://www.w3.org/2000/svg";

// Control characters, and those that change the direction of what follows: they would show another text than is there.
const UNSAFE = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g;

/** A text with such characters escaped. */
export function plain(text) {
  return text.replace(UNSAFE, (one) => (one === "\r" ? "" : `\\u${one.charCodeAt(0).toString(16).padStart(4, "0")}`));
}

/** An element with attributes and children; null and false are left out. */
export function h(tag, attributes, ...children) {
  return build(document.createElement(tag), attributes, children);
}

/** The same for SVG. */
export function s(tag, attributes, ...children) {
  return build(document.createElementNS(SVG, tag), attributes, children);
}

function build(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (typeof value === "function") element.addEventListener(name, value);
    else element.setAttribute(name, value === true ? "" : plain(String(value)));
  }
  element.append(...shown(children));
  return element;
}

function shown(children) {
  return children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false)
    .map((child) => (typeof child === "string" ? plain(child) : child));
}

/** Put children in the place of those that an element has. */
export function fill(element, ...children) {
  element.replaceChildren(...shown(children));
  return element;
}

/** A name that somebody chose: its direction is its own. */
export function name(text, attributes) {
  return h("bdi", attributes, text);
}

/** Say something to screen readers. */
export function say(text) {
  document.getElementById("said").textContent = text;
}

/** A message in the place of what is not there. */
export function empty(title, ...children) {
  return h("div", { class: "empty" }, h("p", { class: "empty-title" }, title), ...children);
}

/** What went wrong, and what to do. */
export function problem(error, again) {
  return h("div", { class: "problem", role: "alert" },
    h("p", null, error.message), error.remedy ? h("p", { class: "soft" }, error.remedy) : null,
    again ? h("button", { type: "button", click: again }, "Try again") : null);
}

export function loading(what) {
  return h("p", { class: "loading" }, `Loading ${what}…`);
}

/** The state of a trial or a study: a word with a mark, never a colour alone. */
export function badge(state) {
  return h("span", { class: `badge ${state}` }, state);
}

/** A table by columns {title, numeric, cell(row)}, for few rows. */
export function table(caption, columns, rows) {
  const cell = (column, row) => h("td", { class: column.numeric ? "numeric" : null }, column.cell(row));
  return h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": caption }, h("table", null,
    h("caption", { class: "unseen" }, caption),
    h("thead", null, h("tr", null, columns.map((column) =>
      h("th", { scope: "col", class: column.numeric ? "numeric" : null }, column.title)))),
    h("tbody", null, rows.map((row) => h("tr", null, columns.map((column) => cell(column, row)))))));
}
