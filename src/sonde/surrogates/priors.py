"""Priors of the hyperparameters: log-normal, within bounds that keep the numbers finite.

The prior of the length scales follows Hvarfner et al. (2024): its location grows with the square root of the dimension,
so that functions drawn from the prior are as complex in 200 dimensions as in 2. The prior of the noise variance is near
zero and wide: a deterministic objective is interpolated, and the noise of a noisy one is inferred.

Symbols: d length scales, theta the logarithms of all hyperparameters.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

# mean, standard deviation, lower and upper bound of the logarithm of each kind of hyperparameter
LENGTHSCALE = (np.sqrt(2.0), np.sqrt(3.0), np.log(5e-3), np.log(1e3))  # the mean grows by 1/2 log d
SCALE = (0.0, 1.5, -6.0, 8.0)  # variance of the kernel
NOISE = (np.log(1e-6), 3.0, np.log(1e-8), 0.0)  # variance
TREND = (-2.0, 2.0, -9.0, 8.0)  # prior variance of a trend
GRADIENT_NOISE = (np.log(1e-6), 3.0, np.log(1e-8), 1.0)  # variance, as a share of the gradients' mean square
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
