"""What limits the size of a study: how busy W workers are, by a model and by a simulation.

    python -m benchmarks.cluster.sizes                                   # seconds
    python -m benchmarks.cluster.sizes --a 0.5 --b 0.005 --tell 0.003    # as measured on your machine

One suggester computes batches: q suggestions take a + b q seconds. Results are told one after the other, in t seconds
each. Jobs take T seconds on average, by a log-normal distribution with a heavy tail (sigma 1). Three rules say how many
suggestions shall wait in a queue:

    none      nothing is suggested before a worker waits for it
    driver    as many as are expected to end while two batches are computed, as ``study.optimize`` does
    service   as many as there are workers, as ``sonde serve`` does

Busy is the share of workers that run a job. The model is a fixed point of mean waiting times. The simulation knows
nothing of it: it goes from event to event by the rules of ``sonde.study.asking_ahead`` and of the storage. The time to
start a job, and messages, cost nothing in either; nor does the short while in which the service gathers asks.
"""

from __future__ import annotations

import argparse
import heapq
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import pdtrc

from benchmarks.report import report
from sonde.server.workers import MOST

SIGMA = 1.0  # of the logarithm of a job's seconds
WORKERS = (8, 32, 100, 320, 800, 3200, 10_000)
SECONDS = (2.0, 10.0, 60.0, 600.0)
RULES = ("none", "driver", "service")
ENDED, TOLD, SUGGESTED = range(3)  # events of the simulation


@dataclass(frozen=True)
class Setting:
    """A study: W workers, jobs of T seconds, batches of a + b q seconds, t seconds to tell a result."""

    workers: int
    job: float
    a: float = 0.5
    b: float = 0.005
    tell: float = 0.003
    rule: str = "driver"

    def queue(self, batch: float, job: float) -> int:
        """Return how many suggestions shall wait, from the seconds of the last batch and of a job until it is told."""
        if self.rule == "driver":
            return min(self.workers - 1, round(self.workers * min(2 * batch / job, 1.0)))
        return min(self.workers, MOST) if self.rule == "service" else 0


# the model


@dataclass(frozen=True)
class Steady:
    """A study in the steady state."""

    rate: float  # results per second
    busy: float
    batch: float  # seconds
    queue: int
    unknown: float  # results that a suggestion does not know


def limit(setting: Setting) -> float:
    """Return the largest number of results per second: of the workers, of the suggester, of telling."""
    return min(1 / each for each in (setting.job / setting.workers, setting.b, setting.tell) if each > 0)


def steady(setting: Setting) -> Steady:
    """Return where all workers are accounted for: rate (T + wait to be told + wait for a suggestion) = W."""
    low, high = 0.0, limit(setting)
    for _ in range(60):
        rate = (low + high) / 2
        wait, _, _ = _waits(setting, rate)
        low, high = (rate, high) if rate * (setting.job + wait) < setting.workers else (low, rate)
    _, batch, queue = _waits(setting, low)
    return Steady(low, low * setting.job / setting.workers, batch, queue, setting.workers + queue - 1)


def _waits(setting: Setting, rate: float) -> tuple[float, float, int]:
    """Return the seconds between two jobs of a worker, the seconds of a batch, and the length of the queue."""
    others = rate * (1 - 1 / setting.workers)  # what a worker meets are the others
    told = _wait(others, 0.0, setting.tell, 0)
    batch = _batch(others, setting.a, setting.b)
    queue = setting.queue(batch, setting.job + told)
    return told + _wait(others, setting.a, setting.b, queue), batch, queue


def _batch(rate: float, a: float, b: float) -> float:
    """Return the mean s = a + b q, where q is how many arrive during a batch, or one if none does: r s + exp(-r s)."""
    low, high = a, (a + b) / (1 - b * rate)
    for _ in range(60):
        s = (low + high) / 2
        low, high = (s, high) if a + b * (rate * s + math.exp(-rate * s)) > s else (low, s)
    return high


def _wait(rate: float, a: float, b: float, queue: int) -> float:
    """Return the seconds that an arrival waits, if arrivals are a Poisson process and a batch serves all before it.

    At age u of a batch those who have not been served are the n of the batch and the r u who came since; all but
    ``queue`` of them wait. A long batch lasts longer, so that one meets it more often: E[s^2] / E[s] instead of E[s].
    """
    if a + b == 0:
        return 0.0
    s = _batch(rate, a, b)
    q = rate * s + math.exp(-rate * s)
    met = (a * a + 2 * a * b * q + b * b * q) / (1 - (b * rate) ** 2) / s
    n = (met - a) / b if b > 0 else q
    ages = met * (np.arange(100) + 0.5) / 100
    return float(s / q * np.mean(_excess(n + rate * ages, queue)))


def _excess(mean: np.ndarray, queue: int) -> np.ndarray:
    """Return E[max(z - queue, 0)] of Poisson z."""
    return mean if queue == 0 else mean * pdtrc(queue - 1, mean) - queue * pdtrc(queue, mean)


# the simulation


@dataclass
class Measured:
    """What a simulation measured."""

    busy: float
    unknown: float  # results that a suggestion does not know: of running jobs, of the queue, of its batch


class Simulation:
    """A discrete-event simulation of a run."""

    def __init__(self, setting: Setting, seed: int) -> None:
        self.own = setting
        self._rng = np.random.default_rng(seed)
        self._lengths: list[float] = []
        self._events: list[tuple[float, int, float]] = []  # time, what, when the job started
        self._now = 0.0
        self._running, self._work = 0, 0.0  # jobs that run, and their seconds so far
        self._ended: list[float] = []  # jobs that are not told yet
        self._group: list[float] = []  # jobs that are being told
        self._tickets, self._queue, self._ready = 0, 0, 0  # asks that wait, trials in the queue, trials for tickets
        self._size, self._computing = 0, False  # of the batch
        self._ahead, self._batch = 0, 0.0  # the length that the queue shall have, and the seconds of the last batch
        self._seconds, self._told = 0.0, 0
        self._computed, self._unknown = 0, 0.0

    def run(self, warm: int, count: int) -> Measured:
        """Run until ``warm`` and then ``count`` results are told; measure the latter."""
        self._take(self.own.workers)
        self._until(warm)
        began, work = self._now, self._work
        self._computed, self._unknown = 0, 0.0
        self._until(warm + count)
        busy = (self._work - work) / (self._now - began) / self.own.workers
        return Measured(busy, self._unknown / max(self._computed, 1))

    def _until(self, told: int) -> None:
        while self._told < told:
            now, what, started = heapq.heappop(self._events)
            self._work += self._running * (now - self._now)
            self._now = now
            if what == ENDED:
                self._running -= 1
                self._ended.append(started)
                self._tell()
            elif what == TOLD:
                self._end_telling()
            else:
                self._end_batch()

    def _after(self, seconds: float, what: int, started: float = 0.0) -> None:
        heapq.heappush(self._events, (self._now + seconds, what, started))

    def _tell(self) -> None:
        """Tell results: the loop all that have ended, the service one request after the other."""
        if not self._group and self._ended:
            size = 1 if self.own.rule == "service" else len(self._ended)
            self._group, self._ended = self._ended[:size], self._ended[size:]
            self._after(self.own.tell * size, TOLD)

    def _end_telling(self) -> None:
        size = len(self._group)
        self._told += size
        self._seconds += size * self._now - sum(self._group)
        self._group = []
        self._take(size)
        self._tell()

    def _take(self, more: int) -> None:
        """Start what is there for ``more`` asks and those before, and have the rest suggested: ``AskingAhead.take``."""
        self._tickets += more
        queued = min(self._tickets, self._queue)
        self._tickets, self._queue = self._tickets - queued, self._queue - queued
        for _ in range(self._ready + queued):
            self._start()
        self._ready = 0
        if self._told:
            self._ahead = self.own.queue(self._batch, self._seconds / self._told)
        if not self._computing:
            self._begin_batch()

    def _start(self) -> None:
        if not self._lengths:
            mean = math.log(self.own.job) - SIGMA**2 / 2
            self._lengths = self._rng.lognormal(mean, SIGMA, 10_000).tolist()
        self._running += 1
        self._after(self._lengths.pop(), ENDED, self._now)

    def _begin_batch(self) -> None:
        """Suggest for all asks that wait, and fill the queue: ``Suggester.suggest``."""
        self._size = self._tickets + max(0, self._ahead - self._queue)
        if self._size:
            self._computing = True
            self._after(self._seconds_of_batch(), SUGGESTED)
            pending = self._running + len(self._ended) + len(self._group) + self._ready
            self._computed += self._size
            self._unknown += self._size * (pending + self._queue + self._size - 1)

    def _seconds_of_batch(self) -> float:
        return self.own.a + self.own.b * self._size

    def _end_batch(self) -> None:
        """Give the batch to the asks that wait, and the rest to the queue: ``Storage.finish_ask``."""
        self._computing, self._batch = False, self._seconds_of_batch()
        given = min(self._size, self._tickets)
        self._ready, self._tickets = self._ready + given, self._tickets - given
        self._queue += self._size - given
        self._begin_batch()  # the suggester goes on before the loop looks
        if not self._group or self.own.rule == "service":
            self._take(0)


# the table and the picture


def row_of(workers: int, job: float, options: argparse.Namespace) -> dict[str, Any]:
    """Return how busy the workers are by each rule, and what a suggestion of the driver does not know."""
    row: dict[str, Any] = {"workers": workers, "job (s)": job}
    largest = 0.0
    for rule in RULES:
        setting = Setting(workers, job, options.a, options.b, options.tell, rule)
        model, simulated = (
            steady(setting),
            Simulation(setting, options.seed).run(2 * workers + 1000, 4 * workers + 2000),
        )
        row |= {f"{rule}, model": round(model.busy, 3), f"{rule}, simulated": round(simulated.busy, 3)}
        largest = max(largest, abs(model.busy - simulated.busy))
        if rule == "driver":
            unknown = {"unknown, model": model.unknown, "unknown, simulated": round(simulated.unknown)}
    return row | {"largest difference": round(largest, 3)} | unknown


def draw(rows: Sequence[dict[str, Any]], path: Path) -> None:
    """Draw how busy the workers are over their number: lines for the model, points for the simulation."""
    from benchmarks.first_order.plots import COLOURS, legend, panels, save

    figure, axes = panels(1, 3, (11, 3.6))
    for axis, rule, title in zip(axes[0], RULES, ("no queue", "optimize", "service"), strict=True):
        for job, colour in zip(SECONDS, COLOURS, strict=False):
            own = [row for row in rows if row["job (s)"] == job]
            workers = [row["workers"] for row in own]
            axis.plot(workers, [100 * row[f"{rule}, model"] for row in own], color=colour, label=f"jobs of {job:g} s")
            axis.plot(workers, [100 * row[f"{rule}, simulated"] for row in own], "o", color=colour, markersize=4)
        axis.set(xscale="log", xlabel="workers", ylabel="busy (%)", ylim=(0, 103), title=title)
        axis.grid(alpha=0.25)
    legend(axes[0][0])
    save(figure, path)


def main() -> None:
    options = arguments()
    rows = [row_of(workers, job, options) for workers in WORKERS for job in SECONDS]
    title = f"Share of busy workers; a batch of q takes {options.a:g} + {options.b:g} q s, telling {options.tell:g} s"
    path = report("cluster_sizes" + options.suffix, title, rows)
    draw(rows, path)
    print("largest difference between model and simulation:", max(row["largest difference"] for row in rows))


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--a", type=float, default=0.5, help="seconds of a batch, whatever its size")
    parser.add_argument("--b", type=float, default=0.005, help="seconds of each suggestion of a batch besides")
    parser.add_argument("--tell", type=float, default=0.003, help="seconds to tell a result")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--suffix", default="", help="ends the names of the files")
    return parser.parse_args()


if __name__ == "__main__":
    main()
