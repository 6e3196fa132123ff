// A trial: what was tried, what came out, and what can be done with it.

import { at, get, may, post, session } from "./api.js";
import { badge, fill, h, loading, name, problem, say, table } from "./dom.js";
import { duration, number, parameter, plural, time } from "./format.js";
import { drawOwn } from "./figure.js";
import { noteCard, params } from "./overview.js";
import { go, link } from "./router.js";

export async function open(place, state) {
  const { study, signal, rest, goals } = state;
  const own = Number(rest[0]);
  if (!Number.isInteger(own) || own < 0) throw Object.assign(new Error(`There is no trial ${rest[0]}.`), { status: 404 });
  state.title(`Trial ${own} · ${study}`);
  let told = "";

  async function load() {
    const [trial, notes] = await Promise.all([get(at(study, "trials", String(own)), signal), get(at(study, "notes"), signal)]);
    const now = JSON.stringify([trial, notes.trials[own]]);
    if (now === told || place.contains(document.activeElement) && document.activeElement.matches("input, textarea")) return;
    told = now;
    await show(trial, notes.trials[own] ?? "");
  }

  async function show(trial, note) {
    const ended = ["completed", "failed", "stopped"].includes(trial.state);
    const facts = [["Worker", trial.worker && name(trial.worker)], ["Created", time(trial.created)], ["Started", trial.started && time(trial.started)], ["Finished", trial.finished && time(trial.finished)],
      ["Duration", trial.duration !== null && duration(trial.duration)], ["Retry of", trial.retry_of !== null && h("a", { href: link(["study", study, "trial", String(trial.retry_of)]) }, `trial ${trial.retry_of}`)],
      ["Suggested in", trial.suggested_in !== null && trial.suggested_in !== undefined && duration(trial.suggested_in)]].filter(([, value]) => value);
    const left = [h("section", { class: "card" }, h("h2", null, "Result"), result(trial, goals)), trial.error ? h("section", { class: "card" }, h("h2", null, "What went wrong"), h("pre", { dir: "auto", tabindex: 0 }, trial.error)) : null, derivatives(trial, goals)];
    const curve = h("section", { class: "card", hidden: true }), logs = h("section", { class: "card", hidden: true });
    fill(place, h("div", { class: "title-row" }, h("h1", null, `Trial ${own}`), badge(trial.state), h("div", { class: "grow" }), actions(trial)), h("div", { class: "grid" },
      h("div", { class: "eight stack" }, left, tellable(trial) ? tellCard(trial) : null, curve, logs, noteCard(state, own, note)),
      h("div", { class: "four stack" }, h("section", { class: "card" }, h("h2", null, "Parameters"), params(trial.params)), h("section", { class: "card" }, h("h2", null, "Times"), h("dl", { class: "pairs" }, facts.map(([term, value]) => [h("dt", null, term), h("dd", null, value)]))),
        Object.keys(trial.attributes).length ? h("section", { class: "card" }, h("h2", null, "Attributes"), params(trial.attributes)) : null)));
    await Promise.all([showCurve(curve), session.current.logs && (ended || trial.state === "running") ? showLog(logs) : null]);
  }

  const tellable = (trial) => may("work") && ["waiting", "running", "lost"].includes(trial.state);

  function actions(trial) {
    if (!may("work")) return null;
    return h("div", { class: "row" }, h("a", { class: "button", href: link(["study", study, "enqueue"], { from: String(own) }) }, "Enqueue again"),
      ["waiting", "running"].includes(trial.state) ? h("button", { type: "button", click: async () => {
        if (confirm(`Cancel trial ${own}? Its worker's result will not count.`)) await act(() => post(at(study, "cancel"), { trials: [{ trial: own }] }), "Cancelled");
      } }, "Cancel") : null);
  }

  async function act(work, done) {
    try { await work(); say(done); told = ""; document.activeElement?.blur(); await load(); } catch (error) { place.prepend(problem(error)); }
  }

  /** A form to tell a result by hand. */
  function tellCard(trial) {
    const values = goals.map((goal) => h("input", { inputmode: "decimal", id: `tell-${goal.name}`, autocomplete: "off" }));
    const failed = h("input", { id: "tell-failed", autocomplete: "off", placeholder: "out of memory" }), said = h("div");
    const tell = async (body) => {
      try {
        if (trial.state === "waiting") return await tellWaiting(trial, body);
        await post(at(study, "tell"), { trial: own, ...(trial.token ? { token: trial.token } : {}), ...body });
        say("Told");
        told = "";
        document.activeElement?.blur();
        await load();
      } catch (error) { fill(said, problem(error)); }
    };
    const submit = (event) => {
      event.preventDefault();
      const numbers = values.map((input) => (input.value.trim() === "" ? NaN : Number(input.value)));
      if (numbers.some(Number.isNaN)) return void fill(said, problem(new Error("A value is a number, such as 0.31.")));
      tell({ value: goals.length > 1 ? Object.fromEntries(goals.map((goal, i) => [goal.name, numbers[i]])) : numbers[0] });
    };
    const fail = (event) => { event.preventDefault(); tell({ failed: failed.value.trim() || "told by hand" }); };
    return h("section", { class: "card" }, h("h2", null, "Tell its result"), h("div", { class: "stack" },
      trial.state === "waiting" ? h("p", { class: "soft" }, "No worker has begun it. What you tell becomes a trial of its own, and this one is cancelled.") : null,
      h("form", { class: "row", submit }, goals.map((goal, i) => h("div", { class: "field" }, h("label", { for: `tell-${goal.name}` }, goals.length > 1 ? name(goal.name) : "Value"), values[i])), h("button", { type: "submit", class: "primary" }, "Tell value")),
      h("form", { class: "row", submit: fail }, h("div", { class: "field" }, h("label", { for: "tell-failed" }, "Why it failed"), failed), h("button", { type: "submit" }, "Tell failure")), said));
  }

  /** A trial that nobody has begun has no result: what is told becomes a trial of its own, and this one is cancelled. */
  async function tellWaiting(trial, body) {
    const token = [...crypto.getRandomValues(new Uint8Array(16))].map((one) => one.toString(16).padStart(2, "0")).join("");
    const made = await post(at(study, "tell"), { trial: own, token, params: trial.params, ...body });
    await post(at(study, "cancel"), { trials: [{ trial: own }] });
    say(`Told, as trial ${made.number}`);
    go(["study", study, "trial", String(made.number)]);
  }

  async function showCurve(card) {
    const { curve } = await get(at(study, "trials", String(own), "curve"), signal);
    if (!curve.length) return;
    card.hidden = false;
    const plot = h("div", { role: "group", "aria-label": "Learning curve. The numbers are in the table below.", style: "height: 280px" }, loading("the figure"));
    const numbers = h("details", null, h("summary", null, "The numbers"), table("Learning curve", [{ title: "Step", numeric: true, cell: (row) => number(row[0]) }, { title: "Value", numeric: true, cell: (row) => number(row[1]) }], curve));
    fill(card, h("h2", null, "Learning curve"), h("p", { class: "figure-note" }, plural(curve.length, "report")), session.current.plotly ? plot : null, numbers);
    if (session.current.plotly) await drawOwn(plot, [{ type: "scatter", mode: curve.length > 60 ? "lines" : "lines+markers", x: curve.map((one) => one[0]), y: curve.map((one) => (typeof one[1] === "number" ? one[1] : null)), showlegend: false }], { xaxis: { title: { text: "step" } }, yaxis: { title: { text: "value" } } }, signal);
  }

  async function showLog(card) {
    const { files } = await get(at(study, "trials", String(own), "log"), signal);
    if (!files.length) return;
    card.hidden = false;
    fill(card, h("h2", null, "Log"), files.map((file) => [h("p", { class: "soft" }, file.name, file.cut ? ` (the last 64 KB of ${plural(file.bytes, "byte")})` : ""), h("pre", { tabindex: 0, "aria-label": file.name }, file.text || "(nothing)")]));
  }

  await load();
  return { refresh: load };
}

function result(trial, goals) {
  if (trial.state === "failed") return h("p", null, "It failed; there is no value.");
  if (trial.value === null) return h("p", { class: "soft" }, trial.state === "stopped" && trial.mean !== null ? `Stopped early; predicted: ${number(trial.mean)} ± ${number(trial.std)}` : "None yet.");
  const pairs = goals.length > 1 ? goals.map((goal) => [goal.name, trial.value[goal.name]]) : trial.noise === null ? [] : [["Noise (std)", trial.noise]];
  const constraints = Object.entries(trial.constraints ?? {});
  return [goals.length > 1 ? null : h("p", { class: "big" }, number(trial.value)),
    pairs.length ? h("dl", { class: "pairs" }, pairs.map(([term, value]) => [h("dt", null, name(term)), h("dd", null, number(value))])) : null,
    constraints.length ? table("Constraints", [{ title: "Constraint (met where at most 0)", cell: ([key]) => name(key) }, { title: "Level", numeric: true, cell: ([, level]) => number(level) }, { title: "Met", cell: ([, level]) => (level <= 0 ? "yes" : "no") }], constraints) : null];
}

function derivatives(trial, goals) {
  const known = goals.length > 1 ? Object.entries(trial.gradient ?? {}).flatMap(([goal, own]) => Object.entries(own ?? {}).map(([key, value]) => [`${goal}, ${key}`, value])) : Object.entries(trial.gradient ?? {});
  if (!known.length) return null;
  return h("section", { class: "card" }, h("h2", null, "Gradient"), h("dl", { class: "pairs" }, known.map(([key, value]) => [h("dt", null, name(key)), h("dd", null, typeof value === "object" ? parameter(value) : number(value))])));
}

