"""A space as a product of families: which distribution each parameter has, and samples as rows.

Axes of two points are bits, other parameters without an order are categories, those with one are Gaussians on their
scale. An axis of one point has nothing to learn.
"""

from __future__ import annotations

import math
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sonde.igo import Bernoulli, Categorical, Family, Gaussian, Product
from sonde.space import Space
from sonde.space.axis import Axis

Array = NDArray[np.float64]


class Families:
    """Translates between samples of the product and rows of the codec."""

    def __init__(self, space: Space) -> None:
        self.space = space
        self.axes = space.codec.axes
        self.bits: list[int] = []
        self.choices: dict[int, list[int]] = {}  # columns by their number of categories
        self.numbers: list[int] = []
        for column, (axis, parameter) in enumerate(zip(self.axes, space.parameters.values(), strict=True)):
            if axis.size == 2:
                self.bits.append(column)
            elif axis.size > 2 and parameter.ordered:
                self.numbers.append(column)
            elif axis.size > 2:
                self.choices.setdefault(int(axis.size), []).append(column)

    @cached_property
    def family(self) -> Family | None:
        """The product; None if there is nothing to choose."""
        families: list[Family] = [Bernoulli(len(self.bits))] if self.bits else []
        families += [Categorical(len(columns), size) for size, columns in self.choices.items()]
        families += [Gaussian([_cells(self.axes[column]) for column in self.numbers])] if self.numbers else []
        return Product(families) if families else None

    @cached_property
    def _columns(self) -> NDArray[np.int64]:
        """The column of the space that each column of a sample stands for."""
        return np.array([*self.bits, *(c for group in self.choices.values() for c in group), *self.numbers], dtype=int)

    @cached_property
    def _low(self) -> Array:
        return np.array([axis.point(0) if not axis.continuous else axis.low for axis in self.axes])

    @cached_property
    def _high(self) -> Array:
        return np.array([self.axes[column].point(1) for column in self.bits])

    def complete_rows(self, samples: Array) -> Array:
        """Return rows with a number for every parameter, active or not."""
        rows = np.tile(self._low, (len(samples), 1))
        rows[:, self._columns] = samples
        rows[:, self.bits] = np.where(samples[:, : len(self.bits)] > 0, self._high, self._low[self.bits])
        for column in self.numbers:
            rows[:, column] = self.axes[column].from_unit(rows[:, column])
        return rows

    def samples(self, rows: Array) -> Array:
        """Return samples for rows, NaN where an entry is inactive."""
        samples = rows[:, self._columns]
        bits = rows[:, self.bits]
        samples[:, : len(self.bits)] = np.where(np.isnan(bits), np.nan, bits != self._low[self.bits])
        for place, column in enumerate(self.numbers, len(self._columns) - len(self.numbers)):
            samples[:, place] = self.axes[column].to_unit(rows[:, column])
        return samples


def _cells(axis: Axis) -> float:
    """Return into how many cells the scale is divided; where they differ, as if all were as small as the smallest."""
    if axis.continuous:
        return math.inf
    if not axis.log:
        return axis.size
    last = axis.to_unit([axis.point(axis.size - 2), axis.point(axis.size - 1)])
    return max(axis.size, math.ceil(1 / float(last[1] - last[0])))
