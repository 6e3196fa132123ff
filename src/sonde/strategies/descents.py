"""Descents: each from a start of its own to the bottom of its basin.

Slopes make a local search so cheap that many fit into a budget. So a result is compared with the best of its own
descent and not with the best of all: a start on a hillside is worse than a bottom found before, and may lead below it.

A descent has a region that grows with success and shrinks with failure. It is over where the slope promises no more
gain within the region, where it has not gained for long, or at a bottom that is known. Results belong to the descent
whose region they lie in; one that lies in none is a start. So several descents go on side by side where several workers
do, and the state is a fold over the results in the order of their trials' numbers, the same in any process.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

WIDEST, START, NARROWEST = 1.6, 0.4, 2.0**-10  # sides of a region
PATIENCE, SUCCESSES = 2, 2  # in a row, to halve and to double it
STALLED = 6  # trials in a row without success after which a descent is over
GAIN = 1e-3  # of the spread of all values: less is no success
PROMISE, FINE = 1e-3, 1e-7  # of the spread: what a descent must promise to go on, and the best one of all
KNOWN = 1e-3  # closer than this in every coordinate to the bottom of an earlier one is the same


@dataclass
class Descent:
    """Its best result, its region's side, and whether it is over."""

    best: int
    side: float = START
    over: bool = False
    successes: int = 0
    failures: int = 0
    stalled: int = 0


@dataclass(frozen=True)
class Results:
    """``values`` (n,), lower is better, infinite where a constraint is broken; ``units`` and ``gradients`` (n, d)."""

    values: Array
    units: Array
    gradients: Array

    def promise(self, i: int, side: float) -> float:
        """Return what slopes promise to gain from result i within a region, and within the cube; inf without slopes."""
        slopes, place = self.gradients[i], self.units[i]
        if np.isnan(slopes).all():
            return np.inf
        room = np.minimum(np.where(slopes > 0, place, 1 - place), side)
        return float(np.nansum(np.abs(slopes) * room))

    def spread(self, count: int) -> float:
        """Return the distance from the median to the best of the first results."""
        values = self.values[:count]
        values = values[np.isfinite(values)] / 4  # the difference of huge numbers is infinite
        return 4 * float(np.median(values) - np.min(values)) if len(values) else 0.0


def follow(results: Results, first: int) -> list[Descent]:
    """Return all descents, the first one from the best of the ``first`` results, which were spread evenly."""
    count = len(results.values)
    if not count:
        return []
    descents = [Descent(int(np.argmin(results.values[:first])))]
    for i in range(min(first, count), count):
        here = _owner(results, descents, i)
        if here is None:
            here = Descent(i)
            descents.append(here)
        else:
            _step(results, here, i)
        here.over = _is_over(results, descents, here, i)
    return descents


def _owner(results: Results, descents: list[Descent], i: int) -> Descent | None:
    """Return the descent in whose region a result lies, the nearest in units of its region's side."""
    near = [
        (float(np.abs(results.units[i] - results.units[each.best]).max()) / each.side, k)
        for k, each in enumerate(descents)
        if not each.over
    ]
    distance, k = min(near, default=(np.inf, 0))
    return descents[k] if distance <= 0.5 + 1e-9 else None


def _step(results: Results, here: Descent, i: int) -> None:
    # no gain where nothing works; in quarters, as the difference of huge numbers is infinite
    gained = results.values[here.best] / 4 - results.values[i] / 4 if np.isfinite(results.values[i]) else -np.inf
    success = gained > GAIN * results.spread(i + 1) / 4
    here.successes, here.failures = (here.successes + 1, 0) if success else (0, here.failures + 1)
    here.stalled = 0 if success else here.stalled + 1
    if here.successes >= SUCCESSES:
        here.side, here.successes = min(WIDEST, 2 * here.side), 0
    if gained > 0:
        here.best = i
    elif here.failures >= PATIENCE:
        here.side, here.failures = here.side / 2, 0


def _is_over(results: Results, descents: list[Descent], here: Descent, i: int) -> bool:
    if here.side < NARROWEST or here.stalled >= STALLED:
        return True
    leading = results.values[here.best] <= np.min(results.values[: i + 1])
    if results.promise(here.best, here.side) <= (FINE if leading else PROMISE) * results.spread(i + 1):
        return True
    bottoms = [each.best for each in descents if each.over and each is not here]
    return bool(bottoms) and bool(np.abs(results.units[bottoms] - results.units[here.best]).max(axis=1).min() < KNOWN)
