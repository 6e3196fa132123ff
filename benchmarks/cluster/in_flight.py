"""Hundreds of evaluations in flight: how much of the time the workers are busy.

    python -m benchmarks.cluster.in_flight                                 # the driver, 100 slots, 20 seconds
    python -m benchmarks.cluster.in_flight --full                          # all ways, 800 slots, two minutes each
    python -m benchmarks.cluster.in_flight --ways driver --strategies dngo,random --slots 200 --seconds 60 --mean 10

Sleepers stand in for machines: a job sleeps for a time drawn from a log-normal distribution of mean 2 seconds, with a
heavy tail (a hundredth takes more than 11 s), and returns the value of a 6-D function at once. The study has 2,000
results before.

``driver``: ``study.optimize`` with an executor whose calls sleep in one thread. ``dask``: a local Dask cluster of two
processes with half of the slots as threads each. ``ray``: a local Ray, which has a process for each call, so that a
machine of two cores carries 16 of them. ``service``: ``sonde serve``, and clients of one asyncio process.

Busy is the share of slots that run a job, from when all slots have had their first one. Suggestions, telling, and the
clients share the machine's cores.
"""

from __future__ import annotations

import argparse
import asyncio
import heapq
import os
import tempfile
import threading
import time
from concurrent.futures import Future
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

MEAN, SIGMA = 2.0, 1.0  # of a job's seconds (--mean), and of the deviation of their logarithm
BEFORE = 2000  # results
WAYS = ("driver", "dask", "ray", "service")
OF_RAY = 16


def main() -> None:
    from benchmarks.report import report

    options = arguments()
    os.environ["SONDE_BENCH_MEAN"] = str(options.mean)
    rows = []
    for way in options.ways:
        for strategy in options.strategies:
            slots = min(options.slots, OF_RAY) if way == "ray" else options.slots
            with tempfile.TemporaryDirectory() as folder:
                url = f"sqlite:///{folder}/bench.db"
                row = {"way": way, "strategy": strategy, "slots": slots, "mean s": options.mean}
                rows.append(row | measured(way, url, strategy, slots, options.seconds))
            print(rows[-1], flush=True)
    report("cluster_in_flight" + options.suffix, "Jobs in flight", rows)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--full", action="store_true", help="all ways, 800 slots, two minutes each")
    parser.add_argument("--ways", type=lambda text: text.split(","), metavar="A,B", help=", ".join(WAYS))
    parser.add_argument("--strategies", type=lambda text: text.split(","), metavar="A,B")
    parser.add_argument("--slots", type=int)
    parser.add_argument("--seconds", type=float, help="to measure, after all slots had a job")
    parser.add_argument("--mean", type=float, default=MEAN, help="seconds of a job")
    parser.add_argument("--suffix", default="", help="of the file of results")
    options = parser.parse_args()
    options.ways = options.ways or (list(WAYS) if options.full else ["driver"])
    options.strategies = options.strategies or (["dngo", "random"] if options.full else ["dngo"])
    options.slots = options.slots or (800 if options.full else 100)
    options.seconds = options.seconds or (120.0 if options.full else 20.0)
    return options


def measured(way: str, url: str, strategy: str, slots: int, seconds: float) -> dict[str, Any]:
    """Return what a run of one way measured."""
    import sonde

    study = sonde.Study(space(), storage=url, name="flight", seed=0, strategy=strategy)
    rng = np.random.default_rng(0)
    drawn = rng.random((BEFORE, 6))
    study.add_trials([{"params": dict(zip(study.space.names, x, strict=True)), "value": value(x)} for x in drawn])
    jobs = Jobs(slots, seconds)
    if way == "service":
        study.close()
        return jobs.busy(serve(url, jobs))
    return jobs.busy({"driver": drive, "dask": on_dask, "ray": on_ray}[way](study, jobs))


def space() -> Any:
    """Return the space: six floats."""
    import sonde

    return sonde.Space({f"x{i}": sonde.Float(0, 1) for i in range(6)})


def value(x: Any) -> float:
    """Return the value of a function with a few minima."""
    z = np.asarray(x) - 0.4
    return float(np.sum(z * z) + 0.1 * np.sum(1 - np.cos(9 * z)))


def length(number: int) -> float:
    """Return how many seconds the job of a trial takes."""
    drawn = np.random.default_rng(number).standard_normal()
    mean = float(os.environ.get("SONDE_BENCH_MEAN", MEAN))  # workers inherit it
    return float(mean * np.exp(SIGMA * drawn - SIGMA**2 / 2))


class Jobs:
    """Counts busy slots over time, from when every slot has had a job."""

    def __init__(self, slots: int, seconds: float) -> None:
        self.slots, self.seconds = slots, seconds
        self.spans: list[tuple[float, float]] = []
        self.began: float | None = None

    def note(self, start: float, end: float) -> bool:
        """Note a job; return whether there has been enough time."""
        self.spans.append((start, end))
        if self.began is None and len(self.spans) >= self.slots:
            self.began = sorted(start for start, _ in self.spans)[self.slots - 1]
        return self.began is not None and end > self.began + self.seconds

    def busy(self, running: list[float]) -> dict[str, Any]:
        """Return the share of busy slots; ``running`` are the starts of jobs that have not ended."""
        assert self.began is not None, "the slots were never all busy"
        first, last = self.began, self.began + self.seconds
        spans = np.array([*self.spans, *((start, np.inf) for start in running)])
        inside = np.clip(spans, first, last)
        ended = int(np.sum((spans[:, 1] > first) & (spans[:, 1] <= last)))
        share = float(np.sum(inside[:, 1] - inside[:, 0]) / (self.slots * self.seconds))
        return {"busy": round(share, 3), "jobs per second": ended / self.seconds}


class Sleepers:
    """An executor whose calls end after their time; one thread ends them all."""

    def __init__(self, slots: int) -> None:
        self._max_workers = slots
        self._ends: list[tuple[float, int, Future[Any], Any]] = []
        self._changed = threading.Condition()
        threading.Thread(target=self._run, daemon=True).start()

    def submit(self, task: Any, trial: Any) -> Future[Any]:
        """Run the call, and give its result later."""
        future: Future[Any] = Future()
        now = time.monotonic()
        trial.attributes["start"], trial.attributes["end"] = now, now + length(trial.number)
        with self._changed:
            heapq.heappush(self._ends, (trial.attributes["end"], trial.number, future, task(trial)))
            self._changed.notify()
        return future

    def _run(self) -> None:
        while True:
            with self._changed:
                now = time.monotonic()
                while self._ends and self._ends[0][0] <= now:
                    _, _, future, report = heapq.heappop(self._ends)
                    if future.set_running_or_notify_cancel():
                        future.set_result(report)
                self._changed.wait(self._ends[0][0] - now if self._ends else None)


def drive(study: Any, jobs: Jobs, executor: Any = None, objective: Any = None) -> list[float]:
    """Run ``optimize`` until there has been enough time."""

    def callback(study: Any, trial: Any) -> None:
        if jobs.note(trial.attributes["start"], trial.attributes["end"]):
            raise EnoughError  # the longest jobs would go on for minutes

    executor = executor or Sleepers(jobs.slots)
    objective = objective or (lambda trial: value(list(trial.values())))
    with suppress(EnoughError):
        study.optimize(objective, 10**6, executor=executor, workers=jobs.slots, callbacks=[callback], progress=False)
    now = time.monotonic()
    started = [trial for trial in study.trials if trial.number >= BEFORE and trial.state == "lost"]
    return [now - (datetime.now(UTC) - trial.started).total_seconds() for trial in started if trial.started]


class EnoughError(Exception):
    """There has been enough time."""


def sleeping(trial: Any) -> float:
    """Sleep on a worker."""
    trial.attributes["start"] = time.monotonic()
    time.sleep(length(trial.number))
    trial.attributes["end"] = time.monotonic()
    return value(list(trial.values()))


def on_dask(study: Any, jobs: Jobs) -> list[float]:
    """Run on a local Dask cluster."""
    from distributed import Client, LocalCluster

    with (
        LocalCluster(n_workers=2, threads_per_worker=jobs.slots // 2, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        return drive(study, jobs, client, sleeping)


def on_ray(study: Any, jobs: Jobs) -> list[float]:
    """Run on a local Ray."""
    import ray

    from sonde.execution import RayExecutor

    ray.init(num_cpus=jobs.slots, include_dashboard=False, log_to_driver=False)
    try:
        return drive(study, jobs, RayExecutor(num_cpus=1), sleeping)
    finally:
        ray.shutdown()


def serve(url: str, jobs: Jobs) -> list[float]:
    """Run the service, and a client for each slot; return the starts of jobs that have not ended."""
    from benchmarks.cluster.http import served

    running: dict[int, float] = {}
    with tempfile.TemporaryDirectory() as folder, served(url, Path(folder) / "server.log"):
        asyncio.run(_clients(jobs, running))
    return list(running.values())


async def _clients(jobs: Jobs, running: dict[int, float]) -> None:
    over = asyncio.Event()
    clients = [asyncio.create_task(_client(slot, jobs, running, over)) for slot in range(jobs.slots)]
    await over.wait()
    for client in clients:
        client.cancel()
    await asyncio.gather(*clients, return_exceptions=True)


async def _client(slot: int, jobs: Jobs, running: dict[int, float], over: asyncio.Event) -> None:
    """Ask, sleep, tell, until there has been enough time."""
    from benchmarks.cluster.http import PORT, exchange

    reader, writer = await asyncio.open_connection("127.0.0.1", PORT)
    study = "/v1/studies/flight"
    while True:
        asked = await exchange(reader, writer, f"{study}/ask", {"worker": f"sleeper-{slot}"})
        for trial in asked["trials"]:
            start = running[slot] = time.monotonic()
            await asyncio.sleep(length(trial["number"]))
            del running[slot]
            if jobs.note(start, time.monotonic()):
                over.set()
            result = {"trial": trial["number"], "token": trial["token"], "value": value(list(trial["params"].values()))}
            await exchange(reader, writer, f"{study}/tell", result)


if __name__ == "__main__":
    main()
