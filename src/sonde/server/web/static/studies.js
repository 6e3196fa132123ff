// The list of studies.

import { at, get } from "./api.js";
import { badge, empty, fill, h, name } from "./dom.js";
import { count, day, number, objectives, plural } from "./format.js";
import { paced } from "./live.js";
import { go, link } from "./router.js";
import { sparkline } from "./spark.js";

const AGAIN = 3000; // milliseconds between two looks at the list
const ORDER = ["running", "waiting", "paused"];

/** What a study does now. */
export function stateOf(study) {
  const counts = study.counts ?? {};
  if (study.paused) return "paused";
  if (counts.running) return "running";
  if (counts.waiting) return "waiting";
  return Object.keys(counts).length ? "idle" : "new";
}

const total = (study) => Object.values(study.counts).reduce((sum, own) => sum + own, 0);

export async function show(main, { signal, title }) {
  title("");
  let studies = await get("/v1/studies", signal);
  const chosen = new Set(), rows = new Map(); // rows by the study's key
  if (!studies.length) {
    fill(main, h("h1", null, "Studies"), nothing());
    const timer = setInterval(async () => {
      studies = await get("/v1/studies", signal).catch(() => []);
      if (studies.length && !signal.aborted) { clearInterval(timer); show(main, { signal, title }); }
    }, AGAIN);
    return void signal.addEventListener("abort", () => clearInterval(timer));
  }

  const search = h("input", { type: "search", id: "search", placeholder: "Search by name", "aria-label": "Search studies by name", input: () => list() });
  const compare = h("button", { type: "button", disabled: true, click: () => go(["compare"], { study: [...chosen] }) }, "Compare");
  const body = h("tbody"), summary = h("p", { class: "soft", "aria-live": "polite" });
  const heads = [["", "choose"], ["Study"], ["State", "middle"], ["Trials", "numeric"], ["Best", "numeric"], ["Best so far", "wide"], ["Strategy", "wide"], ["Created", "wide numeric"]];
  fill(main, h("div", { class: "title-row" }, h("h1", null, "Studies"), h("div", { class: "grow" }), search, compare), summary,
    h("div", { class: "card flush" }, h("table", { class: "list" }, h("caption", { class: "unseen" }, "Studies"),
      h("thead", null, h("tr", null, heads.map(([text, kind]) => h("th", { scope: "col", class: kind ?? null }, text || h("span", { class: "unseen" }, "Choose"))))), body)));

  const seen = new IntersectionObserver((entries) => entries.filter((one) => one.isIntersecting).forEach((one) => { seen.unobserve(one.target); one.target.draw(); }));
  signal.addEventListener("abort", () => seen.disconnect());

  function row(study) {
    const known = rows.get(study.key), told = JSON.stringify(study);
    if (known?.told === told) return known;
    const spark = h("td", { class: "wide spark-cell" }, known ? [...known.spark.childNodes] : null);
    spark.draw = () => get(at(study.name, "spark"), signal).then(
      (drawn) => fill(spark, sparkline(drawn.best, `best so far over ${plural(drawn.trials, "trial")}`)), () => null);
    seen.observe(spark);
    const box = h("input", { type: "checkbox", "aria-label": `Choose ${study.name}`, checked: chosen.has(study.name), change: () => {
      if (box.checked) chosen.add(study.name); else chosen.delete(study.name);
      compare.disabled = chosen.size < 2;
    } });
    const goals = objectives(study.direction);
    const element = h("tr", null, h("td", { class: "choose" }, box),
      h("th", { scope: "row", class: "name" }, h("a", { href: link(["study", study.name]), title: study.name.length > 60 ? study.name : null }, name(study.name)), h("span", { class: "narrow" }, badge(stateOf(study)))),
      h("td", { class: "middle" }, badge(stateOf(study))), h("td", { class: "numeric" }, count(total(study))),
      h("td", { class: "numeric" }, goals.length > 1 ? h("span", { class: "soft" }, `${goals.length} objectives`) : number(study.best)), spark,
      h("td", { class: "wide" }, study.strategy), h("td", { class: "wide numeric" }, day(study.created)));
    const made = { told, element, spark };
    rows.set(study.key, made);
    return made;
  }

  function list() {
    const wanted = search.value.trim().toLowerCase();
    const found = studies.filter((one) => one.name.toLowerCase().includes(wanted)).sort(newest);
    fill(body, found.length ? found.map((one) => row(one).element) : h("tr", null, h("td", { colspan: heads.length, class: "soft" }, "No study has this in its name.")));
    const running = studies.filter((one) => stateOf(one) === "running").length;
    summary.textContent = `${plural(studies.length, "study", "studies")}, ${running ? `${count(running)} running` : "none running"}`;
  }
  list();

  const looks = paced(async () => { studies = await get("/v1/studies", signal); list(); });
  const timer = setInterval(looks.want, AGAIN);
  signal.addEventListener("abort", () => { clearInterval(timer); looks.close(); });
}

/** Studies at work first, then the latest. */
function newest(one, other) {
  const rank = (study) => { const place = ORDER.indexOf(stateOf(study)); return place < 0 ? ORDER.length : place; };
  return rank(one) - rank(other) || other.created.localeCompare(one.created) || one.name.localeCompare(other.name);
}

function nothing() {
  return empty("No studies yet",
    h("p", null, "Start one with any program whose last printed number is the value:"),
    h("pre", null, "sonde run -n 30 -- python train.py --lr '{lr:float:1e-5..1e-1:log}'"),
    h("p", { class: "soft" }, "It appears here as soon as it uses this database."));
}

