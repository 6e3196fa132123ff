"""The trust region around the incumbent: it grows with success and shrinks with failure.

As in TuRBO (Eriksson et al. 2019), but with one surrogate of all results and no restarts: a region below the smallest
side starts again at its initial side, and so does one whose incumbent was found outside it. The side is computed from
the values in the order of their trials' numbers, so it is the same in any process.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sonde.arrays import Array

WIDEST, START, NARROWEST = 1.6, 0.8, 2.0**-7
SUCCESSES = 3  # in a row, to double
GAIN = 1e-3  # in units of the distance from the median to the best: less is no success
EDGE = 1e-9  # a trial so little outside the region is at its border
STALLED = 2  # trials in a row without improvement, for each that runs at once, after which the region has stalled


class Progress(NamedTuple):
    """The side of the region, and whether it has stalled."""

    side: float
    stalled: bool


def progress_of(
    values: Array, first: int, patience: int, at_once: int = 1, *, units: Array | None = None,
    start: float = START, narrowest: float = NARROWEST,
) -> Progress:  # fmt: skip
    """Return the progress after ``values`` (lower is better), the ``first`` of which were spread evenly.

    The region is halved after ``patience`` trials in a row without improvement, for each that runs ``at_once``. Given
    the ``units`` (n, d) of the trials, an improvement outside the region makes it start again.
    """
    best = np.minimum.accumulate(values)
    margin = 0.0
    if np.isfinite(values).all():
        values, best = values / 4, best / 4  # the difference of huge numbers is infinite
        margin = GAIN * float(np.median(values) - best[-1])
    side, successes, failures, stalled = start, 0, 0, 0
    outside = np.zeros(len(values)) if units is None else _steps(values, units)
    for improved, step in zip(values[first:] < best[first - 1 : -1] - margin, outside[first:], strict=True):
        if improved and step > side / 2 + EDGE:
            side, successes, failures, stalled = start, 0, 0, 0
            continue
        successes, failures, stalled = (successes + 1, 0, 0) if improved else (0, failures + 1, stalled + 1)
        if successes >= SUCCESSES:
            side, successes = min(WIDEST, 2 * side), 0
        if failures >= patience * at_once:
            side, failures = side / 2, 0
        if side < narrowest:
            side = start
    return Progress(side, stalled >= STALLED * at_once)


def _steps(values: Array, units: Array) -> Array:
    """Return the distance (n,) of every trial from the incumbent before it, in the coordinate where it is largest."""
    indices = np.arange(len(values))
    incumbents = np.maximum.accumulate(np.where(values <= np.minimum.accumulate(values), indices, 0))
    before = np.concatenate([[0], incumbents[:-1]])
    return np.asarray(np.abs(units - units[before]).max(axis=1))
