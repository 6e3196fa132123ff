"""A long run with random kills: what was told is there, once; memory and handles do not grow.

20,000 tells over 8 processes on one SQLite file, one of them killed (SIGKILL) every second or so; 1,000 studies
opened and closed in one process; 500 trials of ``auto`` in one process. ``make soak`` takes ten minutes,
``python -m benchmarks.soak --short`` one. It ends with an error if anything told is missing, doubled or changed.
"""

import os
import random
import resource
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.report import report

PROCESSES = 8

WORKER = """
import sys, sonde
url, log = sys.argv[1:]
space = sonde.Space(x=sonde.Float(0, 1), k=sonde.Int(0, 10**6))
study = sonde.Study(space, storage=url, name="soak", seed=0, strategy="random", lease=5.0)
with open(log, "a", buffering=1) as file:
    while True:
        trial = study.ask()
        value = trial["x"] + trial["k"]
        study.tell(trial, value)
        file.write(f"{trial.number} {value!r}\\n")
"""


def kept_through_kills(folder: Path, tells: int) -> dict[str, object]:
    """Kill workers at random until there are so many results; return what is left of them."""
    import sonde

    url, rng = f"sqlite:///{folder}/soak.db", random.Random(0)
    logs: list[Path] = []
    workers: list[subprocess.Popen[bytes]] = []

    def start() -> subprocess.Popen[bytes]:
        logs.append(folder / f"{len(logs)}.log")
        return subprocess.Popen([sys.executable, "-c", WORKER, url, str(logs[-1])])

    began = time.monotonic()
    workers = [start() for _ in range(PROCESSES)]
    kills, memory = 0, 0
    while sum(_lines(log) for log in logs) < tells:
        time.sleep(rng.uniform(0.5, 1.5))
        memory = max(memory, *(_memory(worker.pid) for worker in workers))
        place = rng.randrange(PROCESSES)
        assert workers[place].poll() is None, "a worker ended by itself"
        workers[place].send_signal(signal.SIGKILL)
        workers[place].wait()
        workers[place] = start()
        kills += 1
    for worker in workers:
        worker.kill()
        worker.wait()
    seconds = time.monotonic() - began
    told = _told(logs)
    with sonde.load(url, "soak") as study:
        trials = study.trials
    stored = {trial.number: trial.value for trial in trials if trial.state == "completed"}
    points = [tuple(trial.params.values()) for trial in trials if trial.retry_of is None]
    missing = sum(number not in stored for number in told)
    changed = sum(number in stored and stored[number] != value for number, value in told.items())
    doubled = sum(_lines(log) for log in logs) - len(told)
    twice = len(points) - len(set(points))
    return {
        "what": f"{PROCESSES} processes on SQLite, {kills} killed",
        "count": f"{len(told)} tells",
        "seconds": seconds,
        "memory (MB)": memory / 1e6,
        "handles": "",
        "note": f"{missing} missing, {changed} changed, {doubled} doubled, {twice} points twice",
        "reached": "NO" if missing + changed + doubled + twice else "yes",
    }


def studies_opened(folder: Path, count: int) -> dict[str, object]:
    """Open and close many studies in this process; memory and handles of the last tenth against the first."""
    import sonde

    space = sonde.Space(x=sonde.Float(0, 1))
    seen = []
    began = time.monotonic()
    for number in range(count):
        with sonde.Study(space, storage=folder / "many.db", name=f"study {number}", seed=0) as study:
            study.tell(study.ask(), 1.0)
        if number % (count // 10) == count // 10 - 1:
            seen.append((_memory(os.getpid()), _handles()))
    return _growth(f"{count} studies opened", f"{count} studies", seen, time.monotonic() - began)


def automatic_trials(folder: Path, count: int) -> dict[str, object]:
    """Run one study with ``auto``; memory and handles from a fifth of the way on."""
    import sonde

    space = sonde.Space(x=sonde.Float(-5, 10), y=sonde.Float(0, 15), k=sonde.Int(1, 8))
    seen = []
    began = time.monotonic()
    with sonde.Study(space, storage=folder / "auto.db", name="auto", seed=0) as study:
        for number in range(count):
            trial = study.ask()
            study.tell(trial, (trial["x"] - 1) ** 2 + trial["y"] + trial["k"])
            if number % (count // 5) == count // 5 - 1:
                seen.append((_memory(os.getpid()), _handles()))
    return _growth("auto in one process", f"{count} trials", seen, time.monotonic() - began)


def _growth(what: str, count: str, seen: list[tuple[int, int]], seconds: float) -> dict[str, object]:
    memory, handles = (f"{first / scale:.0f} to {last / scale:.0f}" for first, last, scale in (
        (seen[0][0], seen[-1][0], 1e6), (seen[0][1], seen[-1][1], 1)))  # fmt: skip
    steady = seen[-1][1] <= seen[0][1] + 2 and seen[-1][0] - seen[0][0] < 60e6
    return {"what": what, "count": count, "seconds": seconds, "memory (MB)": memory, "handles": handles, "note": "",
            "reached": "yes" if steady else "NO"}  # fmt: skip


def _told(logs: list[Path]) -> dict[int, float]:
    """Return what workers knew to be told; a killed one may have died inside its last line."""
    lines = [line for log in logs if log.exists() for line in log.read_text().split("\n")[:-1]]
    return {int(number): float(value) for number, value in map(str.split, lines)}


def _lines(log: Path) -> int:
    return log.read_bytes().count(b"\n") if log.exists() else 0


def _memory(process: int) -> int:
    try:
        return int(Path(f"/proc/{process}/statm").read_text().split()[1]) * resource.getpagesize()
    except OSError:
        return 0


def _handles() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def main() -> None:
    tells, studies, trials = (1500, 100, 60) if "--short" in sys.argv else (20_000, 1000, 500)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        rows = [kept_through_kills(folder, tells), studies_opened(folder, studies), automatic_trials(folder, trials)]
    report("soak", "A long run with random kills", rows)
    if any(row["reached"] == "NO" for row in rows):
        sys.exit("something told was missing, doubled or changed, or memory or handles grew")


if __name__ == "__main__":
    main()
