"""The curves of past trials at the same steps, whatever steps each of them reported.

Symbols: n trials, g steps of the grid.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sonde.arrays import Array
from sonde.curves.curve import Curve

LONGEST_GRID = 200  # steps; what a curve does between two of so many is noise


@dataclass(frozen=True)
class AlignedCurves:
    """Past curves on a common grid: their values and their best values so far, NaN where a curve does not reach."""

    grid: Array  # (g,)
    values: Array  # (n, g)
    best: Array  # (n, g)

    @classmethod
    def of(cls, curves: Sequence[Curve]) -> AlignedCurves:
        """Return curves at all steps that any of them reported, or at evenly chosen ones of these."""
        steps = np.concatenate([curve.steps for curve in curves] or [np.empty(0)])
        grid = np.unique(steps)
        if len(grid) > LONGEST_GRID:
            grid = grid[np.linspace(0, len(grid) - 1, LONGEST_GRID).astype(int)]
        values = _placed(curves, steps, grid)
        best = np.where(np.isnan(values), np.nan, np.fmin.accumulate(values, axis=1)) if values.size else values
        return cls(grid, values, best)

    def at(self, step: float) -> Array:
        """Return the value and the best value so far of each trial at a step, (n, 2)."""
        right = int(np.searchsorted(self.grid, step))
        left = right - 1
        if right == len(self.grid) or (right == 0 and step < self.grid[0]):
            return np.full((len(self.values), 2), np.nan)
        if self.grid[right] == step:
            return np.stack([self.values[:, right], self.best[:, right]], axis=1)
        share = (step - self.grid[left]) / (self.grid[right] - self.grid[left])
        ends = [(each[:, left], each[:, right]) for each in (self.values, self.best)]
        return np.stack([_between(a, b, share) for a, b in ends], axis=1)


def _between(a: Array, b: Array, share: float) -> Array:
    """Return a + share (b - a), inf where one of them is inf."""
    infinite = np.isinf(a) | np.isinf(b)
    a, b = np.where(infinite, 0.0, a), np.where(infinite, 0.0, b)
    return np.where(infinite, np.inf, a + share * (b - a))


def _placed(curves: Sequence[Curve], steps: Array, grid: Array) -> Array:
    """Return the values of curves on the grid, (n, g); only those that skip steps of it are interpolated."""
    values = np.full((len(curves), len(grid)), np.nan)
    lengths = np.array([len(curve.steps) for curve in curves], dtype=int)
    if not len(grid):
        return values
    places, rows = np.searchsorted(grid, steps), np.repeat(np.arange(len(curves)), lengths)
    on_grid = grid[np.minimum(places, len(grid) - 1)] == steps
    values[rows[on_grid], places[on_grid]] = np.concatenate([curve.values for curve in curves])[on_grid]
    ends = np.cumsum(lengths)[lengths > 0] - 1
    spans = np.zeros(len(curves), dtype=int)
    spans[lengths > 0] = places[ends] - places[ends - lengths[lengths > 0] + 1] + 1
    for i in np.flatnonzero((spans != lengths) | (np.bincount(rows, ~on_grid, len(curves)) > 0)).tolist():
        values[i] = curves[i].at(grid)
    return values
