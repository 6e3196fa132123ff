// Runs before anything is painted, so that a dark page is never white for a moment.
const chosen = localStorage.getItem("sonde-theme");
if (chosen) document.documentElement.dataset.theme = chosen;

// Plotly is large: where it is sure to be wanted it is fetched at once. Its address is that of the last visit.
const plotly = localStorage.getItem("sonde-plotly");
if (plotly && location.hash.startsWith("#/study/")) {
  document.head.append(Object.assign(document.createElement("link"), { rel: "preload", as: "script", href: plotly }));
}
