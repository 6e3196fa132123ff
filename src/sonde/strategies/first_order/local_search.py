"""Descents: each from a start of its own to the bottom of its basin.

Slopes make a local search so cheap that many fit into a budget. So a result is compared with the best of its own
descent and not with the best of all: a start on a hillside is worse than a bottom found before, and may lead below it.

A descent has a region that grows with success and shrinks with failure, and reaches halfway to the nearest bottom that
is known: the results there are what a model of the results nearby would go back to. It is at a bottom where the slope
promises no more gain over another step like the last one; the best of all then *rests*, to go on with its last digits
while there are others to begin. It is over at a bottom, where it has not gained for long, and where it has come to a
bottom that is known or is on the way to it. Results belong to the descent whose region they lie in; one that lies in
none is a start, unless no descent asked for it and it is not the best of all. So several descents go on side by side
where several workers do, and the state is a fold over the results in the order of their trials' numbers, the same in
any process.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

WIDEST, START, NARROWEST = 1.6, 0.4, 2.0**-10  # sides of a region
PATIENCE, SUCCESSES = 2, 2  # in a row, to halve and to double it
STALLED, LEADING = 6, 12  # trials in a row without success after which a descent is over, and the best of all
GAIN = 1e-3  # of the spread of all values: less is no success
PROMISE, FINE = 1e-3, 1e-8  # of the spread: what a descent must promise to go on, and the best of all at rest
KNOWN = 1e-3  # closer than this in every coordinate to the bottom of an earlier one is the same
BASIN = 1.0, 3.0  # what the slope foretells of the fall to a bottom, in units of the fall, within its basin


@dataclass
class LocalSearch:
    """Its best result, its region's side, and whether it is over, at a bottom of its own or a ``known`` one."""

    best: int
    side: float = START
    step: float = WIDEST  # how far from its best result the last trial was
    over: bool = False
    moved: bool = False  # a trial was asked for since its start
    resting: bool = False  # at a bottom of its own, whose last digits are left
    known: bool = False
    toward: int | None = None  # the bottom of another to which the slope at its best result seems to fall
    successes: int = 0
    failures: int = 0
    stalled: int = 0

    @property
    def fresh(self) -> bool:
        """Whether it is no more than a start."""
        return not (self.moved or self.over or self.resting)

    @property
    def at_bottom(self) -> bool:
        """Whether it has come to a bottom of its own."""
        return (self.over or self.resting) and not self.known


@dataclass(frozen=True)
class Results:
    """``values`` (n,), lower is better, infinite where a constraint is broken; ``units`` and ``gradients`` (n, d).

    Those that are not ``asked`` (n,) for by a descent may be its best, and are no failures of it. ``places`` (n,) name
    what is not continuous of each: results at different ones are nowhere near each other.
    """

    values: Array
    units: Array
    gradients: Array
    asked: NDArray[np.bool_]
    places: NDArray[np.intp]

    def apart(self, i: int, others: list[int]) -> Array:
        """Return how far others are from result i, in the coordinate that they differ most in."""
        distances = np.abs(self.units[others] - self.units[i]).max(axis=1, initial=0.0)
        return np.where(self.places[others] == self.places[i], distances, np.inf)

    def promise(self, i: int, side: float) -> float:
        """Return what gradients promise to gain from result i within a region, and within the cube; inf without gradients."""
        gradients, place = self.gradients[i], self.units[i]
        if np.isnan(gradients).all():
            return np.inf
        room = np.minimum(np.where(gradients > 0, place, 1 - place), side)
        return float(np.nansum(np.abs(gradients) * room))

    def spread(self, count: int) -> float:
        """Return the distance from the median to the best of the first results."""
        values = self.values[:count]
        values = values[np.isfinite(values)] / 4  # the difference of huge numbers is infinite
        return 4 * float(np.median(values) - np.min(values)) if len(values) else 0.0


def follow(results: Results, first: int) -> list[LocalSearch]:
    """Return all descents, the first one from the best of the ``first`` results, which were spread evenly."""
    count = len(results.values)
    if not count:
        return []
    descents = [LocalSearch(int(np.argmin(results.values[:first])))]
    for i in range(min(first, count), count):
        here = _owner(results, descents, i)
        if here is None:
            if not results.asked[i] and results.values[i] >= np.min(results.values[:i]):
                continue
            here = LocalSearch(i)
            descents.append(here)
        elif results.asked[i]:
            _step(results, here, i)
        elif results.values[i] < results.values[here.best]:
            here.best, here.step, here.stalled = i, here.side, 0
        else:
            continue
        _judge(results, here, [each.best for each in descents if each.at_bottom and each is not here], i)
    return descents


def _owner(results: Results, descents: list[LocalSearch], i: int) -> LocalSearch | None:
    """Return the descent in whose region a result lies, the nearest in units of its region's side."""
    going = [each for each in descents if not each.over]
    if not going:
        return None
    distances = results.apart(i, [each.best for each in going]) / [each.side for each in going]
    nearest = int(np.argmin(distances))
    return going[nearest] if distances[nearest] <= 0.5 + 1e-9 else None


def _step(results: Results, here: LocalSearch, i: int) -> None:
    # no gain where nothing works; in quarters, as the difference of huge numbers is infinite
    gained = results.values[here.best] / 4 - results.values[i] / 4 if np.isfinite(results.values[i]) else -np.inf
    spread = results.spread(i + 1) / 4
    success = gained > GAIN * spread
    leading = gained > FINE * spread and results.values[i] <= np.min(results.values[: i + 1])
    here.moved, here.step = True, float(np.abs(results.units[i] - results.units[here.best]).max())
    here.successes, here.failures = (here.successes + 1, 0) if success else (0, here.failures + 1)
    here.stalled = 0 if success or leading else here.stalled + 1  # the last digits of the best one count
    if here.successes >= SUCCESSES:
        here.side, here.successes = min(WIDEST, 2 * here.side), 0
    if gained > 0:
        here.best = i
    elif here.failures >= PATIENCE:
        here.side, here.failures = here.side / 2, 0


def _judge(results: Results, here: LocalSearch, bottoms: list[int], i: int) -> None:
    """Say whether a descent is over after result i, and keep its region away from the bottoms of others."""
    spread, leading = results.spread(i + 1), results.values[here.best] <= np.min(results.values[: i + 1])
    promise = results.promise(here.best, min(here.side, here.step))
    apart = results.apart(here.best, bottoms)
    nearest = float(apart.min(initial=np.inf))
    if here.best == i:
        near = bottoms[int(np.argmin(apart))] if np.isfinite(nearest) else None
        toward = near if near is not None and _falls_to(results, i, near) else None
        here.known, here.toward = toward is not None and toward == here.toward, toward  # once may be chance
    here.known |= nearest < KNOWN
    here.resting = promise <= PROMISE * spread
    done = here.resting and not (leading and promise > FINE * spread)
    lost = here.stalled >= (LEADING if leading else STALLED) or (here.side < NARROWEST and not here.resting)
    here.over = here.known or lost or done
    here.side = min(here.side, nearest)  # halfway: the model would go there once more
    if here.resting and not here.over:
        here.side = min(here.side, max(4 * here.step, NARROWEST**2))  # what is tried elsewhere is not its own


def _falls_to(results: Results, i: int, bottom: int) -> bool:
    """Whether result i may be in the basin of a bottom.

    On the way down to a bottom, a slope times the distance is the height times 1 in a cone and times 2 in a parabola;
    across a ridge it may be anything.
    """
    if not np.isfinite(results.values[i]):  # nor is its height
        return False
    way = results.units[bottom] - results.units[i]
    fall = -float(np.nansum(results.gradients[i] / 4 * way))  # in quarters, see above
    height = float(results.values[i] / 4 - results.values[bottom] / 4)
    return height > 0 and BASIN[0] * height <= fall <= BASIN[1] * height
