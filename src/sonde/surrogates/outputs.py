"""Values on a scale where a Gaussian process fits them: standardised, or their logarithm above the best.

A loss that ranges over decades is a cliff to a stationary process; log(y - min + kappa (median - min)) is a slope. Tame
values are left as they are: which scale is right is a question of evidence, with the Jacobian of the scale counted in.

Values come in with lower better and go out with higher better, mean 0 and variance 1. Numbers as far apart as 1e300
and 1e-300 are first divided by their range, so that no square overflows.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

LARGEST = sys.float_info.max
KAPPAS: tuple[float | None, ...] = (None, 0.01, 0.1, 1.0)  # None: as they are; else the logarithm with this offset


ROOM = 0.1  # of the distance of the lowest value from the floor: a value with less is below the logarithm's reach


@dataclass(frozen=True)
class Scale:
    """How values of one history become the model's."""

    centre: float
    range: float
    floor: float | None  # the logarithm is of (y - centre) / range - floor; None: no logarithm
    mean: float
    deviation: float

    @classmethod
    def of(cls, values: Array, kappa: float | None = None, *, least: float = 0.0) -> Scale:
        """Return the scale that standardises ``values``, in the logarithm where there is a ``kappa``.

        ``least`` is the least deviation, where values that are much alike are known to differ elsewhere.
        """
        centre = 2 * float(np.median(values / 2))
        reach = float(
            np.max(np.abs(values / 4 - centre / 4))
        )  # in quarters: the difference of huge numbers is infinite
        plain = cls(centre, 4 * min(reach, LARGEST / 4) or 1.0, None, 0.0, 1.0)
        floor = None
        units = plain._units(values)
        if kappa is not None:
            lowest = float(units.min())
            gap = float(np.median(units)) - lowest or float(units.mean()) - lowest
            floor = lowest - kappa * (gap or 1.0)
            units = np.log(units - floor)
        deviation = max(float(units.std()), min(least / plain.range, 1e9))
        return cls(centre, plain.range, floor, float(units.mean()), deviation if deviation > 1e-100 else 1.0)

    def _units(self, values: Array) -> Array:
        return (values / 4 - self.centre / 4) / (self.range / 4)

    def __call__(self, values: Array) -> Array:
        """Return the model's values."""
        units = self._units(values)
        if self.floor is not None:
            units = np.log(np.maximum(units - self.floor, 1e-300))
        return -(units - self.mean) / self.deviation

    def slope(self, values: Array) -> Array:
        """Return d model's value / d value, as steep as a float can say."""
        height = 1.0 if self.floor is None else np.maximum(self._units(values) - self.floor, 1e-300)
        with np.errstate(over="ignore", divide="ignore"):
            return np.maximum(-1 / self.deviation / self.range / height * np.ones_like(values), -LARGEST)

    @property
    def bend(self) -> float:
        """d^2 model's value / d value^2 in units of the squared slope: a constant, as the logarithm's is -1."""
        return 0.0 if self.floor is None else self.deviation

    def noise(self, values: Array, deviations: Array) -> Array:
        """Return variances on the model's scale of told standard deviations (0 where NaN), to first order."""
        told = np.minimum(np.nan_to_num(deviations), 1e3 * self.range) / self.range
        if self.floor is not None:
            told = np.minimum(told / np.maximum(self._units(values) - self.floor, 1e-300), 1e150)
        return np.minimum(told / self.deviation, 1e3) ** 2

    def log_jacobian(self, values: Array) -> float:
        """Return the sum of log |d model's value / d value|, up to what all scales of these values share."""
        slope = -len(values) * np.log(self.deviation)
        if self.floor is not None:
            slope -= np.sum(np.log(self._units(values) - self.floor))
        return float(slope)

    def restore(self, mean: Array, variance: Array) -> tuple[Array, Array]:
        """Return means and standard deviations of the values themselves.

        Under the logarithm the moments are those of a lognormal, which a wide belief sends to infinity; the median and
        half of the central 68% are returned instead, which are the same as the moments where the belief is normal.
        """
        centre, deviation = self.mean - self.deviation * mean, self.deviation * np.sqrt(variance)
        if self.floor is not None:
            median = np.exp(np.minimum(centre, 300.0))
            deviation = median * np.sinh(np.minimum(deviation, 300.0))
            centre = median + self.floor
        most = LARGEST / 4 / max(self.range, 1.0)
        return self.centre + self.range * np.clip(centre, -most, most), self.range * np.minimum(deviation, most)


def steady_scale(values: Array, first: int, kappa: float | None) -> Scale:
    """Return the scale of the first values, or of more, where later ones lie below what its logarithm reaches.

    It changes with few of the later values, so what was summed on it can be kept.
    """
    scale = Scale.of(values[:first], kappa)
    while scale.floor is not None:
        room = ROOM * float(np.min(scale._units(values[:first]) - scale.floor))
        below = np.flatnonzero(scale._units(values) - scale.floor < room)
        if not len(below):
            break
        first = int(below[0]) + 1
        scale = Scale.of(values[:first], kappa)
    return scale
