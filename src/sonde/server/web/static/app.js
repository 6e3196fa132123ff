// The frame around all pages: who is logged in, which page is shown, and its end when another one is.

import * as api from "./api.js";
import { fill, h, loading, name, problem } from "./dom.js";
import { loginPage } from "./login.js";
import { here, link } from "./router.js";
import { themeSwitch } from "./theme.js";

const PAGES = { // by the first part of the address
  "": () => import("./studies.js"), study: () => import("./study.js"), compare: () => import("./compare.js"),
};

const main = document.getElementById("main"), top_ = document.getElementById("top");
let leaving = null, shown = "";

/** Show the page of the present address. */
async function show() {
  const { parts, query } = here();
  const kind = parts[0] ?? "", page = PAGES[kind];
  const path = parts.join("/");
  leaving?.abort();
  leaving = new AbortController();
  const { signal } = leaving;
  const context = { parts: parts.slice(1), query, signal, title: (text) => { document.title = text ? `${text} · Sonde` : "Sonde"; } };
  if (path !== shown) { fill(main, loading("the page")); window.scrollTo(0, 0); }
  try {
    if (!page) throw new api.Problem(404, { message: "There is no such page.", remedy: "The list of studies has all of them." });
    const module = await page();
    await module.show(main, context);
    if (path !== shown && shown !== "") main.focus({ preventScroll: true });
    shown = path || "/";
  } catch (error) {
    if (error.name === "AbortError" || signal.aborted) return;
    context.title("Problem");
    fill(main, h("h1", null, error.status === 404 ? "Not found" : "This cannot be shown"), problem(error, error.status === 404 ? null : show),
      h("p", null, h("a", { href: link([]) }, "All studies")));
  }
}

function header() {
  const { current } = api.session;
  fill(top_, h("a", { class: "brand", href: link([]) }, h("img", { src: "/ui/icon.svg", alt: "", width: 22, height: 22 }), "Sonde"),
    h("div", { class: "grow" }),
    current?.login ? h("span", { class: "soft who" }, name(current.name), current.role === "read" ? " (reads only)" : null) : null,
    themeSwitch(),
    current?.login ? h("button", { type: "button", class: "quiet", click: async () => { await api.logout(); ended(); } }, "Log out") : null);
}

function ended() {
  leaving?.abort();
  shown = "";
  api.session.current = null;
  header();
  loginPage(main, start);
}

async function start() {
  header();
  await show();
}

/** Log in with the token of the link, and take it out of the address and the history. */
async function tokenOfLink() {
  const token = /^#token=([\w]+)$/.exec(location.hash)?.[1];
  if (!token) return;
  history.replaceState(null, "", location.pathname);
  await api.login(token).catch(() => null);
}

window.addEventListener("hashchange", async () => { // also to a link with a token, in the tab of a session that has ended
  if (location.hash.startsWith("#token=")) await tokenOfLink().then(begin);
  else if (api.session.current) await show();
});

async function begin() {
  try {
    if (!api.session.current) await api.begin();
    await start();
  } catch (error) {
    header();
    if (error.status !== 401) fill(main, problem(error, () => location.reload()));
  }
}

document.getElementById("skip").addEventListener("click", () => main.focus());
api.session.ended = ended;
await tokenOfLink();
await begin();
