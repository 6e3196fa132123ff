// Light and dark: as the system says, or as the reader has chosen.

import { h } from "./dom.js";

const system = matchMedia("(prefers-color-scheme: dark)");
const listeners = new Set();

export function isDark() {
  const chosen = document.documentElement.dataset.theme;
  return chosen ? chosen === "dark" : system.matches;
}

/** Call when the theme changes; returns a function that ends this. */
export function onTheme(listener) {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

function tell() {
  for (const listener of listeners) listener();
}

system.addEventListener("change", tell);

export function themeSwitch() {
  const button = h("button", { type: "button", class: "quiet", click: () => {
    const next = isDark() ? "light" : "dark";
    document.documentElement.dataset.theme = next;
    localStorage.setItem("sonde-theme", next);
    tell();
  } });
  const show = () => { button.textContent = isDark() ? "Light" : "Dark"; button.setAttribute("aria-label", `${isDark() ? "Light" : "Dark"} colours`); };
  listeners.add(show);
  show();
  return button;
}
