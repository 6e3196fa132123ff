// Requests to the server that served this page, and nobody else.

export class Problem extends Error {
  constructor(status, said) {
    super(said.message ?? "the server could not be reached");
    this.status = status;
    this.remedy = said.remedy ?? "";
  }
}

export const session = { current: null, ended: () => {} };

async function call(method, path, { body, signal } = {}) {
  const headers = { accept: "application/json" };
  if (body !== undefined) headers["content-type"] = "application/json";
  if (method !== "GET" && session.current?.csrf) headers["x-sonde-csrf"] = session.current.csrf;
  let answer;
  try {
    answer = await fetch(path, { method, headers, signal, body: body === undefined ? undefined : JSON.stringify(body), credentials: "same-origin" });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Problem(0, { message: "The server cannot be reached.", remedy: "Is sonde serve, or sonde dashboard, still running?" });
  }
  if (answer.ok) return answer.status === 204 ? null : answer.json();
  const said = await answer.json().catch(() => ({ message: `the server answered ${answer.status}` }));
  if (answer.status === 401 && path !== "/ui/login") session.ended();
  throw new Problem(answer.status, said);
}

export const get = (path, signal) => call("GET", path, { signal });
export const post = (path, body = {}) => call("POST", path, { body });

/** The address of a study's route. */
export function at(study, ...parts) {
  return ["/v1/studies", encodeURIComponent(study), ...parts].join("/");
}

export async function begin() {
  session.current = await get("/ui/session");
  return session.current;
}

export async function login(token) {
  session.current = await post("/ui/login", { token });
}

export async function logout() {
  await post("/ui/logout");
  session.current = null;
}

/** Whether the session may do what a role may. */
export function may(role) {
  const roles = ["read", "work", "admin"];
  return roles.indexOf(session.current?.role) >= roles.indexOf(role);
}
