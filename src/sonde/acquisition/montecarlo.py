"""The Monte Carlo skeleton: belief -> samples -> utility of each -> mean, and its gradient (eq. 3).

Points under way are rows of the pool that do not move: the acquisition is then of pending and new points together,
which is exact for every utility.

Symbols: B pools, q new points, f fixed points, S samples.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from sonde.acquisition.averages import average
from sonde.acquisition.port import Acquisition
from sonde.acquisition.sampling import base_samples, cholesky, cholesky_vjp
from sonde.acquisition.utilities import Utility
from sonde.surrogates.features import Features
from sonde.surrogates.port import Joint, Posterior

Array = NDArray[np.float64]


@dataclass(frozen=True)
class MonteCarlo(Acquisition):
    """The mean of a utility over samples of the belief at fixed and new points."""

    utility: Utility
    posterior: Posterior
    features: Features
    best: float
    fixed: Array  # (f, d), in the unit cube
    size: int  # q
    samples: int = 128
    seed: int = 0

    @property
    def log(self) -> bool:  # type: ignore[override]
        """Whether the utility is a logarithm."""
        return self.utility.log

    def fresh(self, step: int) -> MonteCarlo:
        """Return the same with other base samples, for stochastic ascent."""
        return replace(self, seed=self.seed + 1 + step)

    def values(self, pools: Array) -> Array:
        """Return the mean utility of each pool."""
        factor, base, belief = self._sampled(pools)
        value, _, _ = self.utility.function(belief.mean[:, None, :], base @ factor.swapaxes(-1, -2), self.best)
        return average(value, log=self.log)[0]

    def gradients(self, pools: Array) -> tuple[Array, Array]:
        """Return the mean utility and its gradient in the new points."""
        factor, base, belief = self._sampled(pools)
        spread = base @ factor.swapaxes(-1, -2)
        value, mean_gradient, spread_gradient = self.utility.function(belief.mean[:, None, :], spread, self.best)
        value, shares = average(value, log=self.log)
        factor_slope = (shares[..., None] * spread_gradient).swapaxes(-1, -2) @ base
        pulled = belief.vjp(
            np.sum(shares[..., None] * mean_gradient, axis=1), cholesky_vjp(factor, factor_slope)
        )  # eq. (3), right to left
        return value, self.features.vjp(pulled[:, len(self.fixed) :, :], pools)

    def _sampled(self, pools: Array) -> tuple[Array, Array, Joint]:
        """Return L (B, f + q, f + q), the base samples and the belief at fixed and new points."""
        fixed = np.broadcast_to(self.fixed, (len(pools), *self.fixed.shape))
        points = np.concatenate([fixed, pools], axis=1)
        belief = self.posterior.joint(self.features(points))
        base = base_samples(self.samples, points.shape[1], self.seed)
        return cholesky(belief.covariance), base, belief
