"""Simulated trainings: configurations in random order, on workers of different speed, until so many steps are spent.

All methods see the same configurations in the same order, so that only what they stop makes a difference.
"""

from __future__ import annotations

import heapq
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


class Method(Protocol):
    """What decides; trials have numbers from 0 on."""

    def start(self, number: int) -> None:
        """Hear that a trial starts."""

    def stops(self, number: int, curve: list[float]) -> bool:
        """Return whether to stop a trial, given its values so far; the last one is new."""

    def end(self, number: int, curve: list[float], *, complete: bool) -> None:
        """Hear that a trial ended."""


class Simulated(NamedTuple):
    """What happened: the lowest final value after so many steps, and how many trials were started and stopped."""

    spent: Array
    best: Array
    started: int
    stopped: int
    best_stopped: bool  # the trial with the lowest final value of those started

    def best_after(self, steps: int) -> float:
        """Return the lowest final value after so many steps; inf if there was none."""
        return float(self.best[np.searchsorted(self.spent, steps, side="right") - 1])


def simulate(curves: Array, method: Method, *, budget: int, workers: int, seed: int) -> Simulated:
    """Return what happens to curves (n, m) in a random order; a worker's steps take from 1/2 to 2 units of time."""
    rng = np.random.default_rng(seed)
    curves = rng.permutation(curves)
    speeds = 2 ** rng.uniform(-1, 1, workers)
    best, running, waiting, stopped = [(0, np.inf)], {}, iter(range(len(curves))), set()
    queue: list[tuple[float, int]] = []  # the next report of each worker

    def begin(now: float, worker: int) -> None:
        if (number := next(waiting, None)) is not None:
            running[worker] = number, []
            method.start(number)
            heapq.heappush(queue, (now + speeds[worker], worker))

    for worker in range(workers):
        begin(0.0, worker)
    spent = 0
    while queue and spent < budget:
        now, worker = heapq.heappop(queue)
        number, curve = running[worker]
        curve.append(float(curves[number, len(curve)]))
        spent += 1
        complete = len(curve) == curves.shape[1]
        if not complete and not method.stops(number, curve):
            heapq.heappush(queue, (now + speeds[worker], worker))
            continue
        method.end(number, curve, complete=complete)
        if complete:
            best.append((spent, min(best[-1][1], curve[-1])))
        else:
            stopped.add(number)
        begin(now, worker)
    started = len(curves) - sum(1 for _ in waiting)
    return Simulated(
        *np.array(best).T, started, len(stopped), best_stopped=int(np.argmin(curves[:started, -1])) in stopped
    )
