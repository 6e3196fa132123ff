// A small curve without axes: the best so far.

import { s } from "./dom.js";

const WIDTH = 132, HEIGHT = 30, EDGE = 3;

/** Whether values are positive and span so much that a logarithmic scale shows more of them. */
export function wide(values) {
  return values.length > 0 && Math.min(...values) > 0 && Math.max(...values) > 100 * Math.min(...values);
}

export function sparkline(best, what) {
  const numbers = best.filter((value) => typeof value === "number"), scaled = wide(numbers) ? Math.log : (value) => value;
  const known = best.map((value, place) => [place, value]).filter(([, value]) => typeof value === "number").map(([place, value]) => [place, scaled(value)]);
  if (known.length < 2) return s("svg", { class: "spark", width: WIDTH, height: HEIGHT, "aria-hidden": "true" });
  const values = known.map(([, value]) => value);
  const low = Math.min(...values), range = Math.max(...values) - low || 1;
  const x = (place) => EDGE + (WIDTH - 2 * EDGE) * place / (best.length - 1);
  const y = (value) => HEIGHT - EDGE - (HEIGHT - 2 * EDGE) * (value - low) / range;
  const path = known.map(([place, value], i) => `${i ? `H${x(place).toFixed(1)}V` : `M${x(place).toFixed(1)} `}${y(value).toFixed(1)}`).join("");
  const [last, at] = known.at(-1);
  return s("svg", { class: "spark", width: WIDTH, height: HEIGHT, viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": what },
    s("path", { d: path, fill: "none", stroke: "currentColor", "stroke-width": 1.5, "stroke-linejoin": "round" }),
    s("circle", { cx: x(last), cy: y(at), r: 2.5, fill: "currentColor" }));
}
