// What one looks at first: the best so far, the best trial, why the next trial is where it is, what failed and why.

import { at, get, may, post } from "./api.js";
import { badge, empty, fill, h, loading, name, problem, table } from "./dom.js";
import { count, day, duration, number, parameter, plural, time } from "./format.js";
import { figureCard, trialOf } from "./figure.js";
import { paced } from "./live.js";
import { go, link } from "./router.js";

export async function open(place, state) {
  const { study, signal, goals } = state;
  if (!state.overview.trials) {
    fill(place, waitingForTrials(state));
    let begun = null;
    return { refresh: async () => { if (begun) await begun.refresh(); else if (state.overview.trials) begun = await open(place, state); } };
  }
  const several = goals.length > 1;
  const clicked = (point) => { const number = trialOf(point); if (number !== null) go(["study", study, "trial", String(number)]); };
  const figure = figureCard(study, { name: "first", title: several ? "Pareto front" : "Best so far" }, { signal, height: 380, clicked, seen: true, first: state.first });
  const best = h("section", { class: "card" }), why = h("section", { class: "card" }, h("h2", null, "Strategy"), loading("the reason"));
  const failures = h("section", { class: "card six" }), pending = h("section", { class: "card six" });
  const note = noteCard(state);
  fill(place, h("div", { class: "grid" }, h("div", { class: "eight stack" }, figure.element, note), h("div", { class: "four stack" }, several ? null : best, why), failures, pending));

  async function explain() {
    try {
      const told = await get(at(study, "explain"), signal);
      const [strategy, ...rest] = told.text.split(": ");
      fill(why, h("h2", null, "Strategy"), h("dl", { class: "pairs start" }, h("dt", null, "Suggests"), h("dd", null, strategy), h("dt", null, "Why"), h("dd", { dir: "auto" }, rest.join(": ")),
        h("dt", null, "Seed"), h("dd", null, String(state.settings.seed)), h("dt", null, "Created"), h("dd", null, day(state.settings.created))));
      const likely = several ? null : (await get(at(study, "likely-best"), signal)).trial;
      fill(byModel, likely ? ["By the model, which averages the noise: ", h("a", { href: link(["study", study, "trial", String(likely.number)]) }, `trial ${likely.number}`), `, ${number(likely.mean)} ± ${number(likely.std)}`] : null);
    } catch (error) {
      if (error.name !== "AbortError") fill(why, h("h2", null, "Strategy"), problem(error));
    }
  }
  const byModel = h("p", { class: "soft" });

  function show() {
    const { best: found, failures: reasons, pending: now, counts } = state.overview;
    fill(best, h("h2", null, "Best trial"), found ? [
      h("p", { class: "big" }, number(found.values[0])),
      h("p", { class: "soft" }, h("a", { href: link(["study", study, "trial", String(found.number)]) }, `Trial ${found.number}`), ` · ${time(found.finished)}`), byModel,
      params(found.params),
    ] : h("p", { class: "soft" }, "No trial has completed yet."));
    fill(failures, h("h2", null, counts.failed ? plural(counts.failed, "failure") : "Failures"), reasons.length ? table("Failures by their reason", [
      { title: "Reason", cell: (row) => h("span", { dir: "auto" }, row.reason) }, { title: "Times", numeric: true, cell: (row) => count(row.count) },
      { title: "Last", numeric: true, cell: (row) => h("a", { href: link(["study", study, "trial", String(row.last)]) }, `Trial ${row.last}`) },
    ], reasons) : h("p", { class: "soft" }, "None."));
    const all = (counts.running ?? 0) + (counts.waiting ?? 0);
    fill(pending, h("h2", null, "Pending"), now.length ? [table("Running and waiting trials", [
      { title: "Trial", cell: (row) => h("a", { href: link(["study", study, "trial", String(row.number)]) }, String(row.number)) }, { title: "State", cell: (row) => badge(row.state) },
      { title: "Worker", cell: (row) => (row.worker ? name(row.worker) : "–") },
      { title: "For", numeric: true, cell: (row) => (row.started && row.state === "running" ? duration((Date.now() - new Date(row.started)) / 1000) : "–") },
    ], now), all > now.length ? h("p", { class: "soft" }, `and ${count(all - now.length)} more`) : null] : h("p", { class: "soft" }, "No trial runs or waits."));
  }
  const computed = paced(async () => { // one after the other: the figure is what one waits for
    await figure.refresh();
    await explain();
  }, 0);
  signal.addEventListener("abort", computed.close);
  function refresh() { // the numbers do not wait for what is computed
    show();
    computed.want();
  }
  refresh();
  return { refresh };
}

/** A list of parameters and their values. */
export function params(values) {
  return h("dl", { class: "pairs" }, Object.entries(values).map(([key, value]) => [h("dt", null, name(key)), h("dd", { dir: "auto" }, parameter(value))]));
}

function waitingForTrials({ study }) {
  return empty("No trials yet", h("p", null, "A worker begins them, for example:"), h("pre", null, "sonde worker --name NAME -- python train.py"),
    may("work") ? h("p", null, "or ", h("a", { href: link(["study", study, "enqueue"]) }, "enqueue one by hand"), ".") : null);
}

/** A note of the study, or of a trial, that can be edited in place. */
export function noteCard(state, trial = null, text = null) {
  const card = h("section", { class: "card" });
  let kept = text ?? state.settings.note ?? "";
  const heading = () => h("h2", null, "Note");
  function read() {
    fill(card, h("div", { class: "title-row" }, heading(), h("div", { class: "grow" }),
      may("work") ? h("button", { type: "button", class: "quiet", click: edit }, kept ? "Edit note" : "Add a note") : null),
    kept ? h("p", { class: "note", dir: "auto" }, kept) : h("p", { class: "soft" }, "None."));
  }
  function edit() {
    const field = h("textarea", { "aria-label": "Note", dir: "auto" }), said = h("div");
    field.value = kept;
    const save = async (event) => {
      event.preventDefault();
      try {
        await post(at(state.study, "note"), trial === null ? { text: field.value } : { text: field.value, trial });
        kept = field.value;
        read();
      } catch (error) { fill(said, problem(error)); }
    };
    fill(card, heading(), h("form", { class: "stack", submit: save }, field, said, h("div", { class: "row" }, h("button", { type: "submit", class: "primary" }, "Save"), h("button", { type: "button", click: read }, "Cancel"))));
    field.focus();
  }
  read();
  return card;
}
