"""Output scale: the transform of observed values to the values that the surrogate is fitted to.

Values are standardized, or their logarithm log(y - min + kappa (median - min)) is. A stationary process cannot fit a
loss that ranges over decades; it can fit the logarithm. The marginal likelihood decides which transform to use, and
includes the Jacobian of the transform.

Observed values are minimized; transformed values are maximized and have mean 0 and variance 1. Values are first divided
by their range, so that numbers as far apart as 1e300 and 1e-300 do not overflow when squared.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass

import numpy as np

from sonde.arrays import Array

LARGEST = sys.float_info.max
KAPPAS: tuple[float | None, ...] = (None, 0.01, 0.1, 1.0)  # None: no logarithm; else the logarithm with this offset
ROOM = 0.1  # a later value must be at least this share of the lowest value's distance above the floor


@dataclass(frozen=True)
class Scale:
    """The transform of the values of one history to standardized values, higher is better."""

    centre: float
    range: float
    floor: float | None  # the logarithm of (y - centre) / range - floor is taken; None: no logarithm
    mean: float
    deviation: float

    @classmethod
    def of(cls, values: Array, kappa: float | None = None) -> Scale:
        """Return the scale that standardizes ``values``, or their logarithm if ``kappa`` is given."""
        centre = 2 * float(np.median(values / 2))
        quarter = float(np.max(np.abs(values / 4 - centre / 4)))  # the full difference of huge numbers overflows
        plain = cls(centre, 4 * min(quarter, LARGEST / 4) or 1.0, None, 0.0, 1.0)
        floor = None
        scaled = plain._divided(values)
        if kappa is not None:
            lowest = float(scaled.min())
            gap = float(np.median(scaled)) - lowest or float(scaled.mean()) - lowest
            floor = lowest - kappa * (gap or 1.0)
            scaled = np.log(scaled - floor)
        deviation = float(scaled.std())
        return cls(centre, plain.range, floor, float(scaled.mean()), deviation if deviation > 1e-100 else 1.0)

    def _divided(self, values: Array) -> Array:
        """Return values minus the centre, divided by the range."""
        return (values / 4 - self.centre / 4) / (self.range / 4)

    def __call__(self, values: Array) -> Array:
        """Return the standardized values."""
        scaled = self._divided(values)
        if self.floor is not None:
            scaled = np.log(np.maximum(scaled - self.floor, 1e-300))
        return -(scaled - self.mean) / self.deviation

    def slope(self, values: Array) -> Array:
        """Return the derivative of the standardized value in the value, limited to the range of floats."""
        height = 1.0 if self.floor is None else np.maximum(self._divided(values) - self.floor, 1e-300)
        with np.errstate(over="ignore", divide="ignore"):
            return np.maximum(-1 / self.deviation / self.range / height * np.ones_like(values), -LARGEST)

    @property
    def curvature(self) -> float:
        """The second derivative divided by the squared first one: a constant, because that of the logarithm is -1."""
        return 0.0 if self.floor is None else self.deviation

    def noise(self, values: Array, deviations: Array) -> Array:
        """Return noise variances of standardized values from standard deviations of values (NaN: 0), to first order."""
        given = np.minimum(np.nan_to_num(deviations), 1e3 * self.range) / self.range
        if self.floor is not None:
            given = np.minimum(given / np.maximum(self._divided(values) - self.floor, 1e-300), 1e150)
        return np.minimum(given / self.deviation, 1e3) ** 2

    def log_jacobian(self, values: Array) -> float:
        """Return the sum of the logarithms of |slope|, up to a constant that all scales of these values share."""
        total = -len(values) * np.log(self.deviation)
        if self.floor is not None:
            total -= np.sum(np.log(self._divided(values) - self.floor))
        return float(total)

    def restore(self, mean: Array, variance: Array) -> tuple[Array, Array]:
        """Return predicted means and standard deviations of values from those of standardized values.

        Under the logarithm a prediction is lognormal, and its moments are huge where the posterior is wide. So the
        median and half the width of the central 68% interval are returned; for a normal prediction these are the mean
        and the standard deviation.
        """
        centre, deviation = self.mean - self.deviation * mean, self.deviation * np.sqrt(variance)
        if self.floor is not None:
            median = np.exp(np.minimum(centre, 300.0))
            deviation = median * np.sinh(np.minimum(deviation, 300.0))
            centre = median + self.floor
        most = LARGEST / 4 / max(self.range, 1.0)
        return self.centre + self.range * np.clip(centre, -most, most), self.range * np.minimum(deviation, most)


def steady_scale(values: Array, first: int, kappa: float | None) -> Scale:
    """Return the scale of the first values, or of more if a later value is too close to the floor of the logarithm.

    Few of the later values change it, so sums of transformed values can be reused.
    """
    scale = Scale.of(values[:first], kappa)
    while scale.floor is not None:
        room = ROOM * float(np.min(scale._divided(values[:first]) - scale.floor))
        below = np.flatnonzero(scale._divided(values) - scale.floor < room)
        if not len(below):
            break
        first = int(below[0]) + 1
        scale = Scale.of(values[:first], kappa)
    return scale
