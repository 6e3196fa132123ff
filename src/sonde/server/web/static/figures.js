// The tabs that are figures only: which figures a study has, the server says.

import { at, get } from "./api.js";
import { empty, fill, h, loading } from "./dom.js";
import { figureCard, trialOf } from "./figure.js";
import { paced } from "./live.js";
import { go } from "./router.js";

const TABS = { // by a part of the figure's name; what is in no other tab is in the last
  front: /front|hypervolume/, model: /slice|contour|importance|parallel|predict|calibration|feasib/, curves: /curve/, workers: /timeline|worker|seconds/,
};
const WIDE = /slice|contour|parallel|planar|timeline|distribution/; // with several panels, or many things side by side
const NOTHING = {
  front: "This study has no figures of a front yet.", model: "There is no figure of the model yet: it needs a few results.",
  curves: "No trial has reported a learning curve.", workers: "No trial has run yet.", more: "This study has no other figures.",
};

export async function open(place, state, tab) {
  const { study, signal, settings, goals } = state;
  let cards = new Map(); // by the name of the figure
  fill(place, loading("the figures"));

  async function list() {
    const told = await get(at(study, "figures"), signal);
    const own = told.figures.filter((one) => tabOf(one.name) === tab), mine = [...own.filter(isWide), ...own.filter((one) => !isWide(one))];
    if (mine.map((one) => one.name).join() === [...cards.keys()].join() && cards.size) return;
    cards = new Map(mine.map((one) => [one.name, card(one)]));
    fill(place, mine.length ? h("div", { class: "grid" }, [...cards.values()].map((card, i) => placed(card.element, mine, i))) : empty(NOTHING[tab]));
  }

  function card(about) {
    const parameters = Object.keys(settings.space.parameters);
    const choices = { x: parameters, y: parameters, objective: goals.length > 1 ? goals.map((goal) => goal.name) : [] };
    const controls = about.options.filter((option) => choices[option]?.length > 1).map((option) => (choose) => select(option, choices[option], choose));
    const clicked = (point) => { const number = trialOf(point); if (number !== null) go(["study", study, "trial", String(number)]); };
    return figureCard(study, about, { signal, height: 420, clicked, controls });
  }

  await list();
  cards.forEach((own) => own.refresh());
  const computed = paced(async () => { await list(); await Promise.all([...cards.values()].map((own) => own.refresh())); });
  signal.addEventListener("abort", computed.close);
  return { refresh: computed.want };
}

function tabOf(figure) {
  if (["history", "compare"].includes(figure)) return ""; // they have places of their own
  return Object.entries(TABS).find(([, own]) => own.test(figure))?.[0] ?? "more";
}

const isWide = (one) => WIDE.test(one.name);

/** Two narrow figures stand side by side, after the wide ones; the last of an odd number has a row of its own. */
function placed(element, all, place) {
  const narrow = all.filter((one) => !isWide(one)).length, alone = place === all.length - 1 && narrow % 2 === 1;
  element.classList.add(isWide(all[place]) || alone ? "twelve" : "six");
  return element;
}

function select(option, values, choose) {
  const box = h("select", { change: () => choose(option, box.value) }, h("option", { value: "" }, "chosen by Sonde"), values.map((value) => h("option", { value }, value)));
  return h("label", null, option, box);
}

