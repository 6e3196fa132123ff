"""Many axes at once: the formulas of ``axis`` for tables with one column per axis.

It avoids a loop over a thousand axes for every point that a strategy considers.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sonde.arrays import Array
from sonde.space.axis import Axis


class Axes:
    """Maps (n, d) tables between numbers of d axes and [0, 1]."""

    def __init__(self, axes: Sequence[Axis]) -> None:
        self._start = np.array([axis.edges[0] for axis in axes])
        self._width = np.array([axis.width for axis in axes])
        self._low, self._high = np.array([axis.low for axis in axes]), np.array([axis.high for axis in axes])
        self._log = np.flatnonzero([axis.log for axis in axes])
        self._continuous = np.flatnonzero([axis.continuous for axis in axes])
        self._lattice = np.flatnonzero([not axis.continuous for axis in axes])
        lattices = [axes[column] for column in self._lattice.tolist()]
        self._spacing = np.array([axis.spacing for axis in lattices])
        self._last = np.array([axis.size - 1 for axis in lattices])
        self._grid = np.array([axis.grid for axis in lattices]).reshape(-1, 3).T

    def to_unit(self, numbers: Array) -> Array:
        """Map numbers of the axes to [0, 1]; NaN stays."""
        scaled = numbers
        if len(self._log):
            scaled = numbers.copy()
            scaled[:, self._log] = np.log(numbers[:, self._log])
        return np.asarray(np.clip((scaled - self._start) / self._width, 0.0, 1.0))

    def from_unit(self, units: Array) -> Array:
        """Map [0, 1] to numbers of the axes; on a lattice, to the point of the interval."""
        numbers = np.asarray(self._start + units * self._width)
        if len(self._log):
            numbers[:, self._log] = np.exp(numbers[:, self._log])
        if len(self._lattice):
            numbers[:, self._lattice] = self._on_lattice(numbers[:, self._lattice])
        if len(self._continuous):
            numbers[:, self._continuous] = self._inside(numbers[:, self._continuous], units[:, self._continuous])
        return numbers

    def _on_lattice(self, numbers: Array) -> Array:
        index = np.rint((numbers - self._low[self._lattice]) / self._spacing)
        low, step, scale = self._grid
        return np.asarray((low + np.clip(index, 0, self._last) * step) / scale)

    def _inside(self, numbers: Array, units: Array) -> Array:
        low, high = self._low[self._continuous], self._high[self._continuous]
        return np.where(units >= 1, high, np.where(units <= 0, low, np.clip(numbers, low, high)))
