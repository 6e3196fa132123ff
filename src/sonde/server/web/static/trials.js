// The table of trials: the server filters, sorts and cuts it, so that it is as quick with a hundred thousand trials.

import { at, get } from "./api.js";
import { badge, fill, h, name, problem } from "./dom.js";
import { count, duration, number, parameter } from "./format.js";
import { link, remember } from "./router.js";

const STATES = ["completed", "failed", "stopped", "running", "waiting", "lost", "cancelled"];
const ROWS = 50, SOON = 250; // rows of a page; milliseconds after the last key

export async function open(place, state) {
  const { study, signal, query, goals, settings } = state;
  const wanted = {
    sort: query.get("sort") ?? "number", order: query.get("order") ?? "desc", state: query.getAll("state"),
    search: query.get("search") ?? "", filter: query.getAll("filter"), offset: Number(query.get("offset") ?? 0) || 0,
  };
  const parameters = Object.keys(settings.space.parameters);
  const columns = [["number", "Trial", true], ["state", "State"], ...goals.map((goal) => [goal.name, goals.length > 1 ? goal.name : "Value", true]),
    ...parameters.map((key) => [key, key, ["float", "int"].includes(settings.space.parameters[key].type)]), ["error", "Error"], ["worker", "Worker"], ["duration", "Duration", true]];

  const search = h("input", { type: "search", "aria-label": "Search in errors, workers, choices and numbers", placeholder: "Search", input: soon });
  search.value = wanted.search;
  const filter = h("input", { class: "filter", "aria-label": "Filter by an expression", placeholder: `Filter, such as ${goals[0].name}<0.3`, spellcheck: "false", autocapitalize: "off" });
  const said = h("div"), chips = h("div", { class: "chips" }), summary = h("span", { class: "soft", "aria-live": "polite" });
  const states = h("fieldset", { class: "chips" }, h("legend", { class: "unseen" }, "States"), STATES.map((one) =>
    h("label", { class: "chip" }, h("input", { type: "checkbox", value: one, checked: wanted.state.includes(one), change: () => {
      wanted.state = [...states.querySelectorAll("input:checked")].map((box) => box.value);
      again();
    } }), one)));
  const csv = h("a", { class: "button", download: "trials.csv" }, "CSV");
  const heads = columns.map(([key, text, numeric]) => h("th", { scope: "col", class: `sortable ${numeric ? "numeric" : ""}` }, h("button", { type: "button", title: text, click: () => {
    wanted.order = wanted.sort === key && wanted.order === "asc" ? "desc" : "asc";
    wanted.sort = key;
    again();
  } }, name(text))));
  const body = h("tbody"), before = h("button", { type: "button", click: () => turn(-ROWS) }, "Previous"), after = h("button", { type: "button", click: () => turn(ROWS) }, "Next");
  fill(place, h("form", { class: "tools", role: "search", submit: add }, search, filter, h("button", { type: "submit" }, "Add filter"), states), chips, said,
    h("div", { class: "card flush" }, h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Trials" },
      h("table", { class: "trials list" }, h("caption", { class: "unseen" }, "Trials"), h("thead", null, h("tr", null, heads)), body)),
    h("div", { class: "pager" }, summary, h("div", { class: "grow" }), csv, before, after)));

  let timer = null, latest = 0;
  signal.addEventListener("abort", () => clearTimeout(timer));
  function soon() { clearTimeout(timer); timer = setTimeout(() => { wanted.search = search.value; again(); }, SOON); }
  function turn(by) { wanted.offset = Math.max(0, wanted.offset + by); load(); }
  function again() { wanted.offset = 0; load(); }
  function add(event) {
    event.preventDefault();
    clearTimeout(timer);
    wanted.search = search.value;
    if (filter.value.trim()) wanted.filter = [...wanted.filter, filter.value.trim()];
    again();
  }

  function asked(extra) {
    const told = new URLSearchParams();
    for (const [key, value] of Object.entries({ ...wanted, ...extra })) for (const one of [value].flat()) if (one !== "" && one !== null) told.append(key, one);
    return told;
  }

  async function load() {
    const mine = ++latest;
    remember(["study", study, "trials"], { ...wanted, offset: wanted.offset || null, sort: wanted.sort === "number" ? null : wanted.sort, order: wanted.order === "desc" ? null : wanted.order });
    csv.href = `${at(study, "trials.csv")}?${asked({ offset: null })}`;
    showChips();
    try {
      const told = await get(`${at(study, "table")}?${asked({ limit: ROWS })}`, signal);
      if (mine !== latest) return;
      fill(said);
      show(told);
    } catch (error) {
      if (error.name === "AbortError" || mine !== latest) return;
      const bad = wanted.filter.at(-1);
      fill(said, problem(error));
      if (error.status === 422 && bad) { filter.value = bad; wanted.filter = wanted.filter.slice(0, -1); showChips(); filter.focus(); }
    }
  }

  function showChips() {
    fill(chips, wanted.filter.map((one, place_) => h("button", { type: "button", class: "chip", "aria-label": `Remove the filter ${one}`, click: () => { wanted.filter = wanted.filter.filter((_, i) => i !== place_); again(); } }, name(one), " ×")));
    heads.forEach((head, i) => { if (columns[i][0] === wanted.sort) head.setAttribute("aria-sort", `${wanted.order}ending`); else head.removeAttribute("aria-sort"); });
  }

  function show({ rows, matching, total }) {
    if (wanted.offset >= matching && matching) { wanted.offset = Math.floor((matching - 1) / ROWS) * ROWS; return void load(); }
    fill(body, rows.length ? rows.map(row) : h("tr", null, h("td", { colspan: columns.length, class: "soft" }, total ? "No trial matches. Remove a filter or a state." : "No trials yet.")));
    const end = wanted.offset + rows.length;
    summary.textContent = rows.length ? `${count(wanted.offset + 1)}–${count(end)} of ${count(matching)}${matching < total ? ` matching (${count(total)} in all)` : ""}` : `0 of ${count(total)}`;
    before.disabled = wanted.offset === 0;
    after.disabled = end >= matching;
  }

  function row(trial) {
    const shownState = trial.broken && trial.state === "completed" ? "infeasible" : trial.state;
    return h("tr", null, h("td", { class: "numeric" }, h("a", { href: link(["study", study, "trial", String(trial.number)]) }, String(trial.number))), h("td", null, badge(shownState)),
      trial.values.map((value) => h("td", { class: "numeric" }, number(value))),
      parameters.map((key, i) => h("td", { class: columns[2 + goals.length + i][2] ? "numeric" : null }, key in trial.params ? name(parameter(trial.params[key])) : h("span", { class: "soft", title: "inactive" }, "–"))),
      h("td", { title: trial.error }, trial.error ? name(trial.error) : ""), h("td", { title: trial.worker }, trial.worker ? name(trial.worker) : ""), h("td", { class: "numeric" }, duration(trial.duration)));
  }

  await load();
  return { refresh: load };
}
