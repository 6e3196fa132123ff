"""Priors of the hyperparameters: normal in the logarithm, within bounds that keep the numbers finite.

Lengthscales follow Hvarfner et al. (2024): their location grows with the square root of the dimension, so that the
prior function is as complex in 200 dimensions as in 2. The noise prior stands near zero and is wide: a deterministic
objective is interpolated, a noisy one is found out.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

# log location, log spread, lower and upper bound of each kind of hyperparameter
LENGTHSCALE = (np.sqrt(2.0), np.sqrt(3.0), np.log(5e-3), np.log(1e3))  # location + 1/2 log d
SCALE = (0.0, 1.5, -6.0, 8.0)
NOISE = (np.log(1e-6), 3.0, np.log(1e-8), 0.0)
BEND = (-2.0, 2.0, -9.0, 8.0)
SLOPE_NOISE = (np.log(1e-6), 3.0, np.log(1e-8), 1.0)  # as a share of the gradients' mean square
WARP = 0.5  # spread of log a and log b (see ``features``) around 0, no warp


@dataclass(frozen=True)
class Prior:
    """Independent normals on theta, and its box."""

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


def default_prior(dimension: int, *, quadratic: bool = False, gradients: bool = False) -> Prior:
    """Return the prior of a covariance of that many lengthscales."""
    kinds = [LENGTHSCALE] * dimension + [SCALE, NOISE] + [BEND] * quadratic + [SLOPE_NOISE] * gradients
    location, spread, low, high = np.array(kinds).T.copy()
    location[:dimension] += 0.5 * np.log(dimension)
    return Prior(location, spread, low, high)
