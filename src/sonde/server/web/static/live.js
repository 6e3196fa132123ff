// The changes of a study, as the server tells them; and refreshing what is shown, not more often than it can be read.

/** Follow a study: `changed` is called with each change, `state` with "live" or "reconnecting". */
export function follow(path, changed, state) {
  let source = null, timer = null, closed = false;
  function open() {
    source = new EventSource(`${path}/events`);
    source.onopen = () => { state("live"); changed({}); }; // what came while there was no connection
    source.addEventListener("trial", (event) => changed(JSON.parse(event.data)));
    source.onerror = () => {
      state("reconnecting");
      if (source.readyState === EventSource.CLOSED && !closed) timer = setTimeout(open, 3000);
    };
  }
  state("reconnecting");
  open();
  return () => { closed = true; clearTimeout(timer); source.close(); };
}

/** Call `work` soon after it is wanted, never twice at once, with pauses three times as long as it takes. */
export function paced(work, least = 400) {
  let timer = null, running = false, again = false, pause = least, closed = false;
  async function run() {
    timer = null;
    if (document.hidden) { document.addEventListener("visibilitychange", want, { once: true }); return; }
    running = true; again = false;
    const began = performance.now();
    try { await work(); } catch (error) { if (error.name !== "AbortError") console.warn(error.message); }
    pause = Math.max(least, 3 * (performance.now() - began));
    running = false;
    if (again) want();
  }
  function want() {
    if (closed) return;
    if (running) again = true;
    else timer ??= setTimeout(run, pause);
  }
  return { want, close: () => { closed = true; clearTimeout(timer); } };
}
