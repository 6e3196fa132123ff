// Addresses after the #: a path of names, each encoded, and a query.

/** The address of a page. */
export function link(parts, query) {
  const path = parts.map(encodeURIComponent).join("/");
  const told = new URLSearchParams();
  for (const [name, value] of Object.entries(query ?? {})) {
    for (const one of [value].flat()) if (one !== null && one !== undefined && one !== "") told.append(name, one);
  }
  return `#/${path}${told.size ? `?${told}` : ""}`;
}

/** The parts and the query of the present address. */
export function here() {
  const [path, query] = location.hash.replace(/^#\/?/, "").split(/\?(.*)/s);
  return { parts: path ? path.split("/").map(decoded) : [], query: new URLSearchParams(query ?? "") };
}

function decoded(part) {
  try { return decodeURIComponent(part); } catch { return part; }
}

/** Change the query without a new entry in the history, and without loading the page again. */
export function remember(parts, query) {
  history.replaceState(null, "", link(parts, query));
}

export function go(parts, query) {
  location.hash = link(parts, query);
}
