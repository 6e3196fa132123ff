// A study: its head, its tabs, and what keeps both up to date.

import { at, get, may, post, session } from "./api.js";
import { badge, fill, h, loading, name, problem, say } from "./dom.js";
import { count, number, objectives } from "./format.js";
import { follow, paced } from "./live.js";
import { plotly, theme } from "./figure.js";
import { link } from "./router.js";
import { stateOf } from "./studies.js";

const TABS = [ // of the address: title and module; figures have one module for several tabs
  ["", "Overview", () => import("./overview.js")], ["trials", "Trials", () => import("./trials.js")],
  ["front", "Front", () => import("./figures.js")], ["model", "Model", () => import("./figures.js")],
  ["curves", "Curves", () => import("./figures.js")], ["workers", "Workers", () => import("./figures.js")],
  ["more", "More", () => import("./figures.js")],
];
const FORMS = { enqueue: () => import("./enqueue.js"), trial: () => import("./trial.js") };

export async function show(main, { parts, query, signal, title }) {
  const [study, tab = "", ...rest] = parts;
  const form = FORMS[tab], shown = TABS.find(([key]) => key === tab);
  if (!form && !shown) throw Object.assign(new Error("There is no such page."), { status: 404 });
  if (session.current.plotly) Promise.all([plotly(), theme()]).catch(() => null); // it is large: it loads while the server reads
  const first = tab ? null : get(at(study, "figures", "first"), signal); // computed while the rest is read
  first?.catch(() => null);
  const settings = await get(at(study), signal), goals = objectives(settings.direction);
  const overview = await get(at(study, "overview"), signal);
  const state = { study, settings, overview, goals, first, signal, query, rest, title };
  title(study);

  const live = h("span", { class: "live", role: "status" }, "connecting");
  const head = studyHead(state, live, form ? null : tab);
  const place = h("div", null, loading("the page"));
  if (form) fill(main, head.crumbs(), place); else fill(main, head.element, head.tabs, place);
  const module = await (form ?? shown[2])();
  const page = await module.open(place, state, tab);

  const looks = paced(async () => {
    const [fresh, told] = await Promise.all([get(at(study), signal), get(at(study, "overview"), signal)]);
    Object.assign(state, { settings: fresh, overview: told });
    head.show();
    await page?.refresh?.();
  });
  state.changed = looks.want;
  const unfollow = follow(at(study), looks.want, (now) => {
    live.classList.toggle("on", now === "live");
    live.textContent = now;
  });
  signal.addEventListener("abort", () => { unfollow(); looks.close(); });
}

/** What stands above the tabs. */
function studyHead(state, live, tab) {
  const { study, goals } = state;
  const mark = h("span"), stats = h("dl", { class: "stats" }), said = h("div");
  const pause = h("button", { type: "button", click: async () => {
    const what = state.settings.paused ? "resume" : "pause";
    pause.disabled = true;
    try {
      await post(at(study, what));
      say(what === "pause" ? "Paused: running trials end, no others begin" : "Resumed");
      fill(said);
      state.changed();
    } catch (error) { fill(said, problem(error)); } finally { pause.disabled = false; }
  } });
  const works = may("work");
  const element = h("div", { class: "study-head" }, h("nav", { class: "crumbs", "aria-label": "Where you are" }, h("a", { href: link([]) }, "Studies")),
    h("div", { class: "title-row" }, h("h1", null, name(study)), mark, live, h("div", { class: "grow" }),
      works ? h("a", { class: "button", href: link(["study", study, "enqueue"]) }, "Enqueue a trial") : null, works ? pause : null,
      h("a", { class: "button", href: link(["compare"], { study }) }, "Compare")), said, stats);
  const tabs = h("nav", { class: "tabs", "aria-label": "Pages of the study" }, TABS
    .filter(([key]) => key !== "front" || goals.length > 1)
    .map(([key, text]) => h("a", { href: link(key ? ["study", study, key] : ["study", study]), "aria-current": key === tab ? "page" : null }, text)));
  const crumbs = () => h("nav", { class: "crumbs", "aria-label": "Where you are" }, h("a", { href: link([]) }, "Studies"), " / ",
    h("a", { href: link(["study", study]) }, name(study)), " ", live);
  function show() {
    const { counts, best, trials, per_hour: rate } = state.overview;
    fill(mark, badge(stateOf({ counts, paused: state.settings.paused })));
    pause.textContent = state.settings.paused ? "Resume" : "Pause";
    const told = [
      [goals.length > 1 ? "Objectives" : `Best (${goals[0].direction})`, goals.length > 1 ? goals.length : number(best?.values[0])],
      ["Trials", count(trials)], ...["completed", "running", "waiting", "failed", "stopped", "lost"].filter((one) => counts[one]).map((one) => [one[0].toUpperCase() + one.slice(1), count(counts[one])]),
      ...(rate ? [["Per hour", count(Math.round(rate))]] : []),
    ];
    fill(stats, told.map(([term, value]) => h("div", null, h("dt", null, term), h("dd", null, value))));
  }
  show();
  return { element, tabs, crumbs, show };
}

