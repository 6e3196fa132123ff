// Several studies side by side: the best so far in one figure, and the best trials in a table.

import { at, get, session } from "./api.js";
import { badge, empty, fill, h, loading, name, table } from "./dom.js";
import { count, number, objectives, parameter } from "./format.js";
import { drawOwn } from "./figure.js";
import { link, go } from "./router.js";
import { wide } from "./spark.js";
import { stateOf } from "./studies.js";

const DASHES = ["solid", "dash", "dot", "dashdot"];

export async function show(main, { query, signal, title }) {
  title("Compare");
  const chosen = [...new Set(query.getAll("study"))], all = await get("/v1/studies", signal);
  const known = chosen.filter((one) => all.some((study) => study.name === one));
  const others = all.filter((study) => !known.includes(study.name));
  const add = h("select", { "aria-label": "Add a study", change: () => add.value && go(["compare"], { study: [...known, add.value] }) }, h("option", { value: "" }, "Add a study…"), others.map((study) => h("option", { value: study.name }, study.name)));
  const head = h("div", { class: "title-row" }, h("h1", null, "Compare studies"), h("div", { class: "grow" }), add);
  const crumbs = h("nav", { class: "crumbs", "aria-label": "Where you are" }, h("a", { href: link([]) }, "Studies"));
  if (!known.length) return void fill(main, crumbs, head, empty("No study is chosen", h("p", null, "Choose two or more.")));
  const told = await Promise.all(known.map(async (study) => {
    const [settings, overview, spark] = await Promise.all([get(at(study), signal), get(at(study, "overview"), signal), get(at(study, "spark"), signal)]);
    return { study, settings, overview, spark, goals: objectives(settings.direction) };
  }));
  const plot = h("div", { role: "group", "aria-label": "Best so far of each study by trial. The best values are in the table below.", style: "height: 400px" }, loading("the figure"));
  const drawn = told.filter((one) => one.spark.best.length);
  const body = !session.current.plotly ? empty("Figures need Plotly", h("pre", null, "pip install 'sonde[plots]'")) : drawn.length ? plot : empty("No values yet", h("p", null, "Studies with several objectives have no best so far."));
  const names = [...new Set(told.flatMap((one) => Object.keys(one.settings.space.parameters)))];
  const rows = [["State", (one) => badge(stateOf({ counts: one.overview.counts, paused: one.settings.paused }))], ["Direction", (one) => one.goals.map((goal) => goal.direction).join(", ")], ["Strategy", (one) => one.settings.strategy],
    ["Trials", (one) => count(one.overview.trials)], ["Failed", (one) => count(one.overview.counts.failed)], ["Best value", (one) => number(one.overview.best?.values[0])],
    ["Best trial", (one) => (one.overview.best ? h("a", { href: link(["study", one.study, "trial", String(one.overview.best.number)]) }, String(one.overview.best.number)) : "–")],
    ...names.map((key) => [name(key, { title: key }), (one) => (one.overview.best && key in one.overview.best.params ? shown(one.overview.best.params[key]) : "–")])];
  fill(main, crumbs, head, h("div", { class: "grid" }, h("figure", { class: "card figure" }, h("h2", null, "Best so far"), body),
    h("section", { class: "card flush sides" }, table("Studies side by side", [{ title: h("span", { class: "unseen" }, "What"), cell: ([term]) => h("span", { class: "soft" }, term) }, ...told.map((one) => ({ title: h("a", { href: link(["study", one.study]), title: one.study }, name(one.study)), numeric: true, cell: ([, cell]) => cell(one) }))], rows))));
  if (session.current.plotly && drawn.length) await drawOwn(plot, drawn.map((one, i) => ({ type: "scatter", mode: one.spark.best.length > 1 ? "lines" : "markers", name: short(one.study), x: one.spark.numbers.map((own) => own + 1), y: one.spark.best.map((value) => (typeof value === "number" ? value : null)), line: { shape: "hv", width: 2, dash: DASHES[i % DASHES.length] } })), { xaxis: { title: { text: "trials" }, type: uneven(drawn) ? "log" : "linear" }, yaxis: { title: { text: "best so far" }, ...valueAxis(drawn) }, showlegend: true }, signal);
}

/** Whether some studies have so many more trials that the others would be a line at the edge. */
function uneven(drawn) {
  const trials = drawn.map((one) => one.spark.trials);
  return Math.max(...trials) > 20 * Math.min(...trials);
}

/** A logarithmic axis where that helps. */
function valueAxis(drawn) {
  const values = drawn.flatMap((one) => one.spark.best).filter((value) => typeof value === "number");
  if (!wide(values)) return { type: "linear" };
  return { type: "log", exponentformat: "power", dtick: Math.max(1, Math.round(Math.log10(Math.max(...values) / Math.min(...values)) / 5)) };
}

function shown(value) {
  const text = parameter(value);
  return name(text, { title: text });
}

/** A name as Plotly shows it: its text is never read as markup. */
function short(text) {
  return (text.length > 40 ? `${text.slice(0, 39)}…` : text).replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}
