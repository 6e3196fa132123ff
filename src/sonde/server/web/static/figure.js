// A figure: Plotly's picture of what the server has computed, and its numbers as a table for those who do not see it.

import { at, get, session } from "./api.js";
import { empty, fill, h, loading, problem, table } from "./dom.js";
import { count, number } from "./format.js";
import { columnsAt, stacked } from "./stacked.js";
import { isDark, onTheme } from "./theme.js";

const CONFIG = {
  displaylogo: false, responsive: true, modeBarButtonsToRemove: ["select2d", "lasso2d", "autoScale2d"],
  showSendToCloud: false, plotlyServerURL: "", // nothing leaves this server
};
const ROOMY = 480; // pixels of a figure that has room for Plotly's buttons beside its own menus
const TITLE = 60; // pixels of a figure's title, which is the page's here
const ENTITIES = { lt: "<", gt: ">", amp: "&", "#36": "$", "#37": "%" }; // what the server escapes for Plotly
const asText = (text) => text.replaceAll("<br>", "; ").replace(/&(#?\w+);/g, (whole, one) => ENTITIES[one] ?? whole);
const STILL = matchMedia("(prefers-reduced-motion: reduce)");

let library = null, themes = null;

/** Load Plotly's script, once. */
export function plotly() {
  library ??= new Promise((resolve, reject) => {
    const src = `/ui/plotly.js?v=${encodeURIComponent(session.current.plotly)}`, script = h("script", { src });
    script.onload = () => { localStorage.setItem("sonde-plotly", src); resolve(window.Plotly); };
    script.onerror = () => { library = null; reject(new Error("Plotly's script cannot be loaded.")); };
    document.head.append(script);
  });
  return library;
}

export function theme() {
  themes ??= get("/ui/theme.json").catch((error) => { themes = null; throw error; });
  return themes;
}

/** Draw data into an element; the heading is the page's, so the figure has none. */
export async function draw(element, { data, layout }, clicked) {
  const [Plotly, both] = await Promise.all([plotly(), theme()]);
  const template = both[isDark() ? "dark" : "light"];
  const own = {
    ...layout, template, title: undefined, autosize: true, width: undefined, paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
    uirevision: layout.uirevision ?? "kept", // where a reader has zoomed in, new results change nothing
    margin: { l: 56, r: 12, b: 44, ...layout.margin, t: layout.margin?.t ? Math.max(12, layout.margin.t - TITLE) : layout.annotations?.length ? 40 : 12 }, ...(STILL.matches ? { transition: { duration: 0 } } : {}),
  };
  if (element.data) keepMenu(element, data, own); else fill(element); // what stood in its place
  const buttons = element.clientWidth < ROOMY ? { displayModeBar: false } : {}; // they would cover menus
  await Plotly.react(element, data, own, { ...CONFIG, ...buttons });
  if (clicked && !element.listens) {
    element.listens = true;
    element.on("plotly_click", (event) => clicked(event.points[0]));
  }
}

/** Have a new figure show what a reader has chosen in the menu of the former one. */
function keepMenu(element, data, layout) {
  const active = element.layout.updatemenus?.[0]?.active, menu = layout.updatemenus?.[0], chosen = menu?.buttons[active];
  if (!active || !chosen) return;
  menu.active = active;
  chosen.args[0].visible.forEach((visible, place) => { data[place].visible = visible; });
}

/** The number of the trial that a point of a figure stands for, or null; the numbers of cells are counts. */
export function trialOf(point) {
  const told = point.data.type === "heatmap" ? null : [point.customdata].flat()[0];
  return Number.isInteger(told) ? told : null;
}

/**
 * A card with a figure of a study. `about` has name, title and options; `refresh` brings it up to date if it was ever
 * `seen`: a figure below the edge of the window is not computed. `first` is a promise
 * of its first data.
 */
export function figureCard(study, about, { signal, height = 360, clicked, controls = [], heading = about.title, seen = false, first = null }) {
  const options = {};
  const title = h("h2", null, heading), note = h("p", { class: "figure-note" });
  const plot = h("div", { class: "plot", role: "group", "aria-label": `${heading}. The numbers are in the table below.` });
  const body = h("div", { class: "figure-body", style: `--height: ${height}px` }, loading("the figure"));
  const numbers = h("details", { toggle: () => numbers.open && showNumbers() }, h("summary", null, "The numbers"));
  const element = h("figure", { class: "card figure" }, h("div", { class: "figure-head" }, title, note), controls.length ? h("div", { class: "options" }, controls.map((own) => own(choose))) : null, body, numbers);
  let wanted = false, last = null, columns = 0;

  function choose(name, value) {
    if (value === "") delete options[name]; else options[name] = value;
    refresh();
  }

  const path = (...parts) => {
    const query = new URLSearchParams(options);
    return at(study, "figures", about.name, ...parts) + (query.size ? `?${query}` : "");
  };

  async function refresh() {
    wanted = true;
    if (!seen || signal.aborted) return;
    if (!session.current.plotly) return void fill(body, empty("Figures need Plotly", h("pre", null, "pip install 'sonde[plots]'")));
    body.classList.toggle("stale", last !== null);
    try {
      const asked = first ?? get(path(), signal);
      first = null;
      const told = await asked;
      const nothing = told.problem ?? (told.data.length ? null : told.layout.annotations?.[0]?.text ?? "");
      body.classList.toggle("slim", nothing !== null);
      if (nothing !== null) { last = null; return void fill(body, empty("Nothing to draw yet", h("p", null, asText(nothing)))); }
      if (JSON.stringify(told) === JSON.stringify(last)) return;
      last = told;
      await paint();
      if (numbers.open) await showNumbers();
    } catch (error) {
      if (error.name !== "AbortError") { last = null; fill(body, problem(error, error.status === 422 ? null : refresh)); }
    } finally {
      body.classList.remove("stale");
    }
  }

  async function paint() {
    if (!last) return;
    note.textContent = asText(last.layout?.title?.subtitle?.text ?? "");
    if (!plot.isConnected) fill(body, plot);
    columns = columnsAt(last.layout, plot.clientWidth);
    const shown = stacked(last, plot.clientWidth);
    plot.style.height = `${shown.layout.height ?? height}px`;
    body.style.setProperty("--height", plot.style.height);
    await draw(plot, structuredClone({ ...shown, layout: { ...shown.layout, uirevision: JSON.stringify(options) } }), clicked);
  }

  async function showNumbers() {
    try {
      const told = await get(path("data"), signal);
      if (told.problem) return void fill(numbers, numbers.firstChild, h("p", { class: "soft" }, told.problem));
      const numeric = told.columns.map((_, place) => told.rows.every((row) => typeof row[place] !== "string" || ["nan", "inf", "-inf"].includes(row[place])));
      const columns = told.columns.map((text, place) => ({ title: text, numeric: numeric[place], cell: (row) => (row[place] === "nan" ? "–" : number(row[place])) }));
      const more = told.total > told.rows.length ? `The first ${count(told.rows.length)} of ${count(told.total)} rows. ` : "";
      fill(numbers, numbers.firstChild, table(`Numbers of: ${heading}`, columns, told.rows), h("p", { class: "figure-note" }, more, told.note));
    } catch (error) {
      if (error.name !== "AbortError") fill(numbers, numbers.firstChild, problem(error));
    }
  }

  const watching = new IntersectionObserver((entries) => {
    if (entries.some((one) => one.isIntersecting)) { seen = true; watching.disconnect(); if (wanted) refresh(); }
  }, { rootMargin: "200px" });
  if (!seen) watching.observe(element);
  const resized = new ResizeObserver(() => { // such as when a phone is turned
    if (last?.layout && plot.isConnected && columns && columnsAt(last.layout, plot.clientWidth) !== columns) paint();
  });
  resized.observe(body);
  const unwatch = onTheme(paint);
  signal.addEventListener("abort", () => { watching.disconnect(); resized.disconnect(); unwatch(); if (plot.listens || plot.data) window.Plotly?.purge(plot); });
  return { element, refresh };
}

/** A figure of data that the page already has. */
export async function drawOwn(plot, traces, layout, signal, clicked) {
  const paint = () => draw(plot, { data: structuredClone(traces), layout: structuredClone(layout) }, clicked);
  const unwatch = onTheme(paint);
  signal.addEventListener("abort", () => { unwatch(); window.Plotly?.purge(plot); });
  await paint();
}
