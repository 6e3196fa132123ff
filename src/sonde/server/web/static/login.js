// The page that asks for a token.

import { login } from "./api.js";
import { fill, h, problem } from "./dom.js";

export function loginPage(main, then) {
  document.title = "Log in · Sonde";
  const said = h("div");
  const input = h("input", { type: "password", name: "token", id: "token", autocomplete: "current-password", required: true, autocapitalize: "off", spellcheck: "false" });
  const button = h("button", { type: "submit", class: "primary" }, "Log in");
  async function submit(event) {
    event.preventDefault();
    button.disabled = true;
    fill(said);
    try {
      await login(input.value.trim());
      await then();
    } catch (error) {
      fill(said, problem(error));
      input.select();
    } finally {
      button.disabled = false;
    }
  }
  fill(main, h("form", { class: "card login", submit }, h("h1", null, "Log in"),
    h("p", { class: "soft" }, "The server printed a token when it was started first. An admin makes others: ", h("code", null, "sonde token create NAME")),
    h("label", { for: "token" }, "Token"), input, said, button));
  input.focus();
}
