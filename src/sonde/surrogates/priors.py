"""Priors of the hyperparameters: log-normal, within bounds that keep the numbers finite.

The prior of the length scales follows Hvarfner et al. (2024): its location grows with the square root of the dimension,
so that functions drawn from the prior are as complex in 200 dimensions as in 2. The prior of the noise variance is near
zero and wide: a deterministic objective is interpolated, and the noise of a noisy one is inferred.

Many length scales cannot be learned from few values, and one for all fails where few parameters matter. The prior of a
trust region's model therefore ties them: a common one, and departures from it whose prior has heavy tails, so that most
are small and a few may be large.

Symbols: d length scales, theta the logarithms of all hyperparameters.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sonde.arrays import Array

# mean, standard deviation, lower and upper bound of the logarithm of each kind of hyperparameter
LENGTHSCALE = (np.sqrt(2.0), np.sqrt(3.0), np.log(5e-3), np.log(1e3))  # the mean grows by 1/2 log d
SCALE = (0.0, 1.5, -6.0, 8.0)  # variance of the kernel
NOISE = (np.log(1e-6), 3.0, np.log(1e-8), 0.0)  # variance
TREND = (-2.0, 2.0, -9.0, 8.0)  # prior variance of a trend
GRADIENT_NOISE = (np.log(1e-6), 3.0, np.log(1e-8), 1.0)  # variance, as a share of the gradients' mean square
# in a trust region (``exact.region``)
REGION_SCALE = (0.0, 2.0, -8.0, 12.0)
REGION_NOISE = (-9.0, 3.0, -16.0, 2.0)
REGION_TREND = (-2.0, 3.0, -14.0, 14.0)
MISFIT = (-6.0, 5.0, -28.0, -1.0)  # e^2, the share of the misfits that is noise
DEPARTURE = 0.15  # scale of the departures of log length scales from their mean
WARP = 0.5  # standard deviation of log a and log b around 0, no warp (see ``features``)


@dataclass(frozen=True)
class Prior:
    """Independent normal densities on theta, and the box that theta is searched in."""

    location: Array
    spread: Array
    low: Array
    high: Array

    def log_density(self, theta: Array) -> tuple[float, Array]:
        """Return the log density, up to a constant, and its gradient."""
        score = (theta - self.location) / self.spread
        return float(-0.5 * score @ score), -score / self.spread

    def clip(self, theta: Array) -> Array:
        """Return the nearest theta in the box."""
        return np.clip(theta, self.low, self.high)


def default_prior(dimension: int, *, trend: bool = False, gradients: bool = False) -> Prior:
    """Return the prior of a covariance with so many length scales."""
    kinds = [LENGTHSCALE] * dimension + [SCALE, NOISE] + [TREND] * trend + [GRADIENT_NOISE] * gradients
    location, spread, low, high = np.array(kinds).T.copy()
    location[:dimension] += 0.5 * np.log(dimension)
    return Prior(location, spread, low, high)


@dataclass(frozen=True)
class TiedPrior(Prior):
    """A prior that ties the first ``size`` entries of theta, the log length scales.

    Their mean is normal; a departure t from it, in units of ``DEPARTURE``, has a density in proportion to
    (1 + t^2 / 4)^-2, that of Student's distribution with three degrees of freedom.
    """

    size: int

    def log_density(self, theta: Array) -> tuple[float, Array]:
        """Return the log density, up to a constant, and its gradient."""
        value, gradient = super().log_density(np.where(np.arange(len(theta)) < self.size, self.location, theta))
        lengths = theta[: self.size]
        mean = float(lengths.mean())
        score, departures = (mean - self.location[0]) / self.spread[0], (lengths - mean) / DEPARTURE
        weights = 1 + departures**2 / 4
        slopes = departures / weights / DEPARTURE
        gradient[: self.size] = slopes.mean() - slopes - score / self.spread[0] / self.size
        return value - 0.5 * score**2 - 2 * float(np.log(weights).sum()), gradient


def region_prior(dimension: int, side: float) -> TiedPrior:
    """Return the prior of the model of a trust region with this side, with a trend, in units of the side.

    Length scales are expected between those of a function on the cube and those of one on the region alone, at their
    geometric mean: what is left in a narrow region may be rougher than the whole (benchmarks/dimensions/LOG.md).
    """
    kinds = [(np.log(0.5), 1.0, -6.0, 16.0)] * dimension + [REGION_SCALE, REGION_NOISE, REGION_TREND, MISFIT]
    location, spread, low, high = np.array(kinds).T.copy()
    location[:dimension] += 0.5 * (np.log(dimension) - np.log(side))
    return TiedPrior(location, spread, low, high, dimension)
