// A form made from the space: a configuration to run next.

import { at, get, post } from "./api.js";
import { fill, h, name, problem, say } from "./dom.js";
import { number, parameter } from "./format.js";
import { go, link } from "./router.js";

export async function open(place, state) {
  const { study, signal, query, settings } = state;
  state.title(`Enqueue · ${study}`);
  const from = query.get("from"), known = from === null ? state.overview.best?.params : (await get(at(study, "trials", from), signal)).params;
  const fields = Object.entries(settings.space.parameters).map(([key, own], i) => field(key, own, `field-${i}`, known?.[key]));
  const said = h("div"), button = h("button", { type: "submit", class: "primary" }, "Enqueue");

  function values() {
    const told = {};
    for (const own of fields) {
      const active = Object.entries(own.when).every(([parent, wanted]) => parent in told && wanted.some((one) => same(one, told[parent])));
      own.element.classList.toggle("inactive", !active);
      if (active) told[own.key] = own.value();
    }
    return told;
  }

  async function submit(event) {
    event.preventDefault();
    fields.forEach((own) => own.complain(""));
    fill(said);
    const told = values(), missing = fields.filter((own) => own.key in told && told[own.key] === undefined);
    missing.forEach((own) => own.complain("This needs a number."));
    if (missing.length) return void missing[0].focus();
    button.disabled = true;
    try {
      const { numbers } = await post(at(study, "enqueue"), { params: [told] });
      say(`Trial ${numbers[0]} waits in the queue`);
      go(["study", study, "trial", String(numbers[0])]);
    } catch (error) {
      const mine = fields.find((own) => error.message.includes(`'${own.key}'`));
      if (mine) { mine.complain(error.message); mine.focus(); } else fill(said, problem(error));
    } finally {
      button.disabled = false;
    }
  }

  const rules = (settings.space.where ?? []).map((rule) => (typeof rule === "string" ? rule : rule.function));
  fill(place, h("div", { class: "title-row" }, h("h1", null, "Enqueue a trial")),
    h("p", { class: "soft" }, "It runs before any suggestion. ", from !== null ? `The values are those of trial ${from}.` : known ? "The values are those of the best trial." : null),
    rules.length ? h("p", { class: "soft" }, "The space requires: ", rules.map((rule, i) => [i ? ", " : "", h("code", null, rule)])) : null,
    h("form", { class: "card form", novalidate: true, submit, change: values, input: values }, fields.map((own) => own.element), said, h("div", { class: "row" }, button, h("a", { class: "button", href: link(["study", study]) }, "Cancel"))));
  values();
}

const same = (one, other) => JSON.stringify(one) === JSON.stringify(other);

/** The values of a condition as a list; the space is stored with tags for kinds of lists. */
function wanted(stored) {
  if (stored !== null && typeof stored === "object" && !Array.isArray(stored)) return stored.list ?? stored.tuple ?? [stored];
  return [stored].flat();
}

function field(key, own, id, value) {
  const error = h("p", { class: "field-error", id: `${id}-error`, role: "alert" });
  const numeric = own.type === "float" || own.type === "int";
  const input = numeric ? h("input", { id, inputmode: own.type === "int" ? "numeric" : "decimal", autocomplete: "off", "aria-describedby": `${id}-hint ${id}-error` })
    : h("select", { id, "aria-describedby": `${id}-error` }, choices(own).map((choice, i) => h("option", { value: i }, shown(choice))));
  if (numeric) input.value = value ?? ""; else input.value = Math.max(0, choices(own).findIndex((choice) => same(choice, value) || same(plain(choice), value)));
  const hint = numeric ? `${own.type === "int" ? "whole, " : ""}${number(own.low)} to ${number(own.high)}${own.step && own.step !== 1 ? `, in steps of ${number(own.step)}` : ""}${own.log ? ", logarithmic" : ""}` : null;
  return {
    key, when: Object.fromEntries(Object.entries(own.when ?? {}).map(([parent, values]) => [parent, wanted(values)])),
    element: h("div", { class: "field" }, h("label", { for: id }, name(key)), input, hint ? h("span", { class: "soft", id: `${id}-hint` }, hint) : null, error),
    focus: () => input.focus(),
    complain: (text) => { error.textContent = text; if (text) input.setAttribute("aria-invalid", "true"); else input.removeAttribute("aria-invalid"); },
    value: () => {
      if (!numeric) return choices(own)[Number(input.value)];
      const told = input.value.trim() === "" ? NaN : Number(input.value);
      return Number.isFinite(told) ? told : undefined;
    },
  };
}

const choices = (own) => (own.type === "bool" ? [false, true] : own.choices);
const plain = (choice) => (choice !== null && typeof choice === "object" ? Object.values(choice)[0] : choice);
const shown = (choice) => (choice === "" ? "(empty text)" : parameter(plain(choice)));
