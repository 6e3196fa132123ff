"""One numeric axis: numbers on a linear or log scale, continuous or on a lattice, mapped to [0, 1].

Every parameter has one axis: K categories are the lattice 0, 1, ..., K - 1. A lattice point stands for the interval of
the scale around it. So its image lies inside (0, 1), and a uniform draw of the unit interval is uniform on the lattice
(log-uniform on a log scale)::

    continuous    |low --------------------------- high|      edges = the bounds
    lattice     |--- low ---|--- low+step ---|--- last ---|   edges = half a step beyond the ends
    unit        0                                          1
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from sonde.arrays import Array

# With more points a float64 cannot distinguish neighbouring lattice points after a mapping to [0, 1] and back.
MAX_POINTS = 2**50
MAX_LOG_POINTS = 2**40

MAX_DIGITS = 22  # 10^22 is the largest power of ten that is a float64

_LATTICE_TOLERANCE = 1e-6  # in steps: 0.30000000000000004 is the lattice point 0.3


@dataclass(frozen=True)
class Axis:
    """An interval of numbers; ``step`` makes it a lattice, ``log`` a logarithmic scale."""

    low: float
    high: float
    log: bool = False
    step: float | None = None

    @cached_property
    def size(self) -> float:
        """Number of lattice points; infinite where the axis is continuous."""
        if self.low == self.high:
            return 1
        if self.step is None:
            return math.inf
        if (self.high - self.low) / self.step > MAX_POINTS:
            return MAX_POINTS + 1
        # In decimal, as the user wrote the numbers: (0.3 - 0.1) / 0.1 is 2 and not 1.9999.
        return int((_decimal(self.high) - _decimal(self.low)) // _decimal(self.step)) + 1

    @cached_property
    def continuous(self) -> bool:
        """Whether the axis is not a lattice."""
        return self.size == math.inf

    def contains(self, number: float) -> bool:
        """Whether the number lies on the axis (on the lattice, up to rounding)."""
        if self.continuous:
            return self.low <= number <= self.high
        if not self.low - self.spacing < number < self.high + self.spacing:
            return False
        return abs(number - self.nearest(number)) <= _LATTICE_TOLERANCE * self.spacing

    def nearest(self, number: float) -> float:
        """Return the lattice point nearest to a number within a step of the lattice."""
        return self.point(min(max(round((number - self.low) / self.spacing), 0), self.size - 1))

    def point(self, index: float) -> float:
        """Return the lattice point of that index."""
        low, step, scale = self.grid
        return (low + index * step) / scale

    @cached_property
    def width(self) -> float:
        """Length of the scale from edge to edge; 1 where the length of a log scale rounds to 0."""
        start, stop = self.edges
        return stop - start or 1.0

    def project(self, numbers: ArrayLike) -> Array:
        """Return the nearest numbers of the axis: on the lattice, or within the bounds."""
        numbers = np.asarray(numbers, dtype=float)
        if self.continuous:
            return np.asarray(np.clip(numbers, self.low, self.high))
        index = np.rint((numbers - self.low) / self.spacing)
        low, step, scale = self.grid
        return np.asarray((low + np.clip(index, 0, self.size - 1) * step) / scale)

    def to_unit(self, numbers: ArrayLike) -> Array:
        """Map numbers of the axis to [0, 1]."""
        scaled = self._scaled(np.asarray(numbers, dtype=float))
        return np.clip((scaled - self.edges[0]) / self.width, 0.0, 1.0)

    def from_unit(self, units: ArrayLike) -> Array:
        """Map [0, 1] to numbers of the axis; on a lattice, to the point of the interval."""
        units = np.asarray(units, dtype=float)
        scaled = self.edges[0] + units * self.width
        numbers = self.project(np.exp(scaled) if self.log else scaled)
        if not self.continuous:
            return numbers
        return np.where(units >= 1, self.high, np.where(units <= 0, self.low, numbers))  # exp(log(8)) is not 8

    def derivative(self, numbers: ArrayLike) -> Array:
        """Return d number / d unit of the scale; for a lattice, of its continuous scale."""
        numbers = np.asarray(numbers, dtype=float)
        return (numbers if self.log else np.ones_like(numbers)) * self.width

    def second_derivative(self, numbers: ArrayLike) -> Array:
        """Return d^2 number / d unit^2 of the scale."""
        numbers = np.asarray(numbers, dtype=float)
        return numbers * self.width**2 if self.log else np.zeros_like(numbers)

    @cached_property
    def spacing(self) -> float:
        """The step of the lattice."""
        return self.step or abs(self.low) / 1024 or 1.0  # a single value has no step: any small one will do

    @cached_property
    def edges(self) -> tuple[float, float]:
        """The ends of the scale, in scaled (linear or log) coordinates."""
        low, high = self.low, self.high
        if not self.continuous:
            # On a log scale the lower edge must stay positive, also where the step is larger than low.
            half = self.spacing / 2
            low, high = low - (min(half, low / 2) if self.log else half), self.point(self.size - 1) + half
        return float(self._scaled(np.asarray(low))), float(self._scaled(np.asarray(high)))

    def _scaled(self, numbers: Array) -> Array:
        return np.log(numbers) if self.log else numbers

    @cached_property
    def grid(self) -> tuple[float, float, float]:
        """Low, step and scale: low and step as integers over ``scale``, a power of ten.

        Points are then exact, 0.1, 0.2, 0.3 and not 0.30000000000000004, as long as a float holds the integers and the
        scale exactly.
        """
        low, step = _decimal(self.low), _decimal(self.spacing)
        digits = max(0, *(-int(number.as_tuple().exponent) for number in (low, step)))
        largest = max(abs(self.low), abs(self.high), self.spacing)
        if digits > MAX_DIGITS or largest * 10.0**digits >= 2**53:
            return self.low + 0.0, self.spacing, 1.0  # + 0.0: never -0.0
        return float(low.scaleb(digits)) + 0.0, float(step.scaleb(digits)), 10.0**digits


class Axes:
    """Many axes at once: maps (n, d) tables between numbers of d axes and [0, 1] by the formulas of ``Axis``.

    It avoids a loop over a thousand axes for every point that a strategy considers.
    """

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


def _decimal(number: float) -> Decimal:
    return Decimal(repr(float(number)))
