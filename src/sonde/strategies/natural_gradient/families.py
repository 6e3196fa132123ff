"""The product of distributions over a space, and the translation between samples and rows of the codec.

A parameter with two values is a Bernoulli bit. Any other unordered parameter is categorical. Any other ordered one is
Gaussian on its (linear or logarithmic) scale. A parameter with one value has no distribution.
"""

from __future__ import annotations

import math
from functools import cached_property

import numpy as np

from sonde.arrays import Array, Integers
from sonde.igo import Bernoulli, Categorical, Family, Gaussian, Product
from sonde.space import Space
from sonde.space.axis import Axis


class Families:
    """The distribution family of each parameter; translates between samples and rows of the codec."""

    def __init__(self, space: Space) -> None:
        self.space = space
        self.axes = space.codec.axes
        self.bits: list[int] = []
        self.choices: dict[int, list[int]] = {}  # columns, by number of categories
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
        """The product of all families; None if every parameter has one value."""
        families: list[Family] = [Bernoulli(len(self.bits))] if self.bits else []
        families += [Categorical(len(columns), size) for size, columns in self.choices.items()]
        families += [Gaussian([_cells(self.axes[column]) for column in self.numbers])] if self.numbers else []
        return Product(families) if families else None

    @cached_property
    def _columns(self) -> Integers:
        """The column of the space for each column of a sample."""
        return np.array([*self.bits, *(c for group in self.choices.values() for c in group), *self.numbers], dtype=int)

    @cached_property
    def _low(self) -> Array:
        return np.array([axis.point(0) if not axis.continuous else axis.low for axis in self.axes])

    @cached_property
    def _high(self) -> Array:
        return np.array([self.axes[column].point(1) for column in self.bits])

    def complete_rows(self, samples: Array) -> Array:
        """Return rows of the codec with a number for every parameter, active or not."""
        rows = np.tile(self._low, (len(samples), 1))
        rows[:, self._columns] = samples
        rows[:, self.bits] = np.where(samples[:, : len(self.bits)] > 0, self._high, self._low[self.bits])
        for column in self.numbers:
            rows[:, column] = self.axes[column].from_unit(rows[:, column])
        return rows

    def samples(self, rows: Array) -> Array:
        """Return the samples of rows, NaN where a parameter is inactive."""
        samples = rows[:, self._columns]
        bits = rows[:, self.bits]
        samples[:, : len(self.bits)] = np.where(np.isnan(bits), np.nan, bits != self._low[self.bits])
        for index, column in enumerate(self.numbers, len(self._columns) - len(self.numbers)):
            samples[:, index] = self.axes[column].to_unit(rows[:, column])
        return samples

    def marginals(self, thetas: Array) -> tuple[dict[str, Array], dict[str, Array], dict[str, Array]]:
        """Return what parameters (g, p) of the family say of each parameter of the space.

        Of bits and categories it is the probabilities (g, K) of their values, of others the means and standard
        deviations (g,) on their scales.
        """
        names, place = self.space.names, len(self.bits)
        probabilities = {
            names[column]: np.stack([1 - thetas[:, i], thetas[:, i]], axis=1) for i, column in enumerate(self.bits)
        }
        for size, columns in self.choices.items():
            for column in columns:
                probabilities[names[column]] = thetas[:, place : place + size]
                place += size
        count = len(self.numbers)
        means = {names[column]: thetas[:, place + i] for i, column in enumerate(self.numbers)}
        widths = {names[column]: np.exp(thetas[:, place + count + i]) for i, column in enumerate(self.numbers)}
        return probabilities, means, widths


def _cells(axis: Axis) -> float:
    """Return the number of cells on the scale; on a logarithmic one, as if all were as narrow as the narrowest."""
    if axis.continuous:
        return math.inf
    if not axis.log:
        return axis.size
    last = axis.to_unit([axis.point(axis.size - 2), axis.point(axis.size - 1)])
    return max(axis.size, math.ceil(1 / float(last[1] - last[0])))
