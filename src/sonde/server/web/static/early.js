// Runs before anything is painted, so that a dark page is never white for a moment.
const chosen = localStorage.getItem("sonde-theme");
if (chosen) document.documentElement.dataset.theme = chosen;
