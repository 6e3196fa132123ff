"""One numeric axis: numbers on a linear or log scale, continuous or on a lattice, mapped to [0, 1].

Every parameter stands on one: categories are the lattice 0, 1, ..., K - 1. A lattice point owns the stretch of
the scale around it, so its image lies inside (0, 1) and a uniform draw of the unit interval is uniform on the
lattice (log-uniform on a log scale)::

    continuous    |low --------------------------- high|      edges = the bounds
    lattice     |--- low ---|--- low+step ---|--- last ---|   edges = half a step beyond the ends
    unit        0                                          1
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

# Beyond these a float64 no longer tells neighbouring lattice points apart after a trip to [0, 1] and back.
MAX_POINTS = 2**50
MAX_LOG_POINTS = 2**40

_LATTICE_TOLERANCE = 1e-6  # in steps: 0.30000000000000004 is the lattice point 0.3


@dataclass(frozen=True)
class Axis:
    """A stretch of numbers; ``step`` makes it a lattice, ``log`` a logarithmic scale."""

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
        if not math.isfinite(number):
            return False
        if self.continuous:
            return self.low <= number <= self.high
        index = round((number - self.low) / self._step)
        return 0 <= index < self.size and abs(number - self.point(index)) <= _LATTICE_TOLERANCE * self._step

    def point(self, index: float) -> float:
        """Return the lattice point of that index."""
        number = self.low + index * self._step
        return number if self._digits is None else round(number, self._digits) + 0.0

    def snap(self, numbers: ArrayLike) -> NDArray[np.float64]:
        """Return the nearest numbers of the axis."""
        numbers = np.asarray(numbers, dtype=float)
        if self.continuous:
            return np.asarray(np.clip(numbers, self.low, self.high))
        index = np.rint((numbers - self.low) / self._step)
        return self._points(np.clip(index, 0, self.size - 1))

    def to_unit(self, numbers: ArrayLike) -> NDArray[np.float64]:
        """Map numbers of the axis to [0, 1]."""
        start, stop = self._edges
        return np.clip((self._scaled(np.asarray(numbers, dtype=float)) - start) / (stop - start), 0.0, 1.0)

    def from_unit(self, units: ArrayLike) -> NDArray[np.float64]:
        """Map [0, 1] to numbers of the axis; on a lattice, to the point that owns the stretch."""
        start, stop = self._edges
        scaled = start + np.asarray(units, dtype=float) * (stop - start)
        return self.snap(np.exp(scaled) if self.log else scaled)

    def slope(self, numbers: ArrayLike) -> NDArray[np.float64]:
        """Return d number / d unit of the scale; on a lattice, of the scale it lies on."""
        start, stop = self._edges
        numbers = np.asarray(numbers, dtype=float)
        return (numbers if self.log else np.ones_like(numbers)) * (stop - start)

    def curvature(self, numbers: ArrayLike) -> NDArray[np.float64]:
        """Return d^2 number / d unit^2 of the scale."""
        start, stop = self._edges
        numbers = np.asarray(numbers, dtype=float)
        return numbers * (stop - start) ** 2 if self.log else np.zeros_like(numbers)

    @cached_property
    def _step(self) -> float:
        return self.step or abs(self.low) / 1024 or 1.0  # a single value has no step of its own: a small one will do

    @cached_property
    def _edges(self) -> tuple[float, float]:
        """Return the ends of the scale, in scaled (linear or log) coordinates."""
        low, high = self.low, self.high
        if not self.continuous:
            # On a log scale the lower edge must stay positive, also where the step is larger than low.
            reach = self._step / 2
            low, high = low - (min(reach, low / 2) if self.log else reach), self.point(self.size - 1) + reach
        return float(self._scaled(np.asarray(low))), float(self._scaled(np.asarray(high)))

    def _scaled(self, numbers: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.log(numbers) if self.log else numbers

    def _points(self, index: NDArray[np.float64]) -> NDArray[np.float64]:
        points = self.low + index * self._step
        return points if self._digits is None else np.round(points, self._digits) + 0.0  # + 0.0: never -0.0

    @cached_property
    def _digits(self) -> int | None:
        """Decimals of the lattice as the user wrote it: the points are 0.1, 0.2, 0.3, not 0.30000000000000004."""
        digits = max(-int(_decimal(number).as_tuple().exponent) for number in (self.low, self._step))
        largest = max(abs(self.low), abs(self.high), self._step)
        exact = digits >= 0 and largest * 10.0**digits < 2**53 if digits < 300 else False
        return digits if exact else None


def _decimal(number: float) -> Decimal:
    return Decimal(repr(float(number)))
