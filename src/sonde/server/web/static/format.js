// Numbers, times and values as text.

/** A number with six significant digits at most. */
export function number(value) {
  if (value === null || value === undefined) return "–";
  if (typeof value !== "number") return String(value); // "nan" and "inf", which JSON lacks
  if (Number.isInteger(value) && Math.abs(value) < 1e15) return value.toLocaleString("en");
  const size = Math.abs(value);
  if (size >= 1e6 || size < 1e-4) return value.toExponential(4).replace(/\.?0+e/, "e").replace("e+", "e");
  return String(Number(value.toPrecision(6)));
}

export function count(value) {
  return (value ?? 0).toLocaleString("en");
}

export function plural(value, one, many = `${one}s`) {
  return `${count(value)} ${value === 1 ? one : many}`;
}

/** The value of a parameter. */
export function parameter(value) {
  if (typeof value === "number") return number(value);
  return typeof value === "string" ? value : JSON.stringify(value);
}

export function duration(seconds) {
  if (seconds === null || seconds === undefined) return "–";
  if (seconds < 1) return `${Math.round(1000 * seconds)} ms`;
  if (seconds < 60) return `${Number(seconds.toPrecision(3))} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ${Math.round(seconds % 60)} s`;
  return seconds < 172800 ? `${(seconds / 3600).toFixed(1)} h` : `${(seconds / 86400).toFixed(1)} days`;
}

/** A time, short: today's without the date. */
export function time(text) {
  if (!text) return "–";
  const at = new Date(text), today = new Date().toDateString() === at.toDateString();
  const clock = { hour: "2-digit", minute: "2-digit", second: "2-digit", hour12: false };
  return at.toLocaleString("en-GB", today ? clock : { day: "numeric", month: "short", year: "numeric", ...clock });
}

export function day(text) {
  return text ? new Date(text).toLocaleDateString("en-GB", { day: "numeric", month: "short", year: "numeric" }) : "–";
}

/** The objectives of a study: its direction is a word, or JSON by name. */
export function objectives(direction) {
  if (!direction.startsWith("{")) return [{ name: "value", direction }];
  return Object.entries(JSON.parse(direction)).map(([name, own]) =>
    ({ name, direction: own.direction ?? own, threshold: own.threshold ?? null }));
}
