"""Monte Carlo acquisition functions: posterior -> samples -> utility of each -> mean, and its gradient.

Equation numbers are those of Wilson et al. (2017). Pending points are rows of the batch that do not move: the
acquisition function is that of pending and new points together, which is exact for every utility.

Symbols: B batches, q new points of a batch, f pending points, s Monte Carlo samples.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from sonde.acquisition.averages import average
from sonde.acquisition.port import Acquisition
from sonde.acquisition.sampling import base_samples, cholesky, cholesky_vjp
from sonde.acquisition.utilities import Utility
from sonde.arrays import Array
from sonde.surrogates.features import Features
from sonde.surrogates.port import Joint, Posterior


@dataclass(frozen=True)
class MonteCarlo(Acquisition):
    """The mean of a utility over samples of the posterior at pending and new points."""

    utility: Utility
    posterior: Posterior
    features: Features
    best: float
    pending: Array  # (f, d), in the unit cube
    size: int  # q
    samples: int = 128
    seed: int = 0

    @property
    def log(self) -> bool:  # type: ignore[override]
        """Whether the utility is a logarithm."""
        return self.utility.log

    def fresh(self, step: int) -> MonteCarlo:
        return replace(self, seed=self.seed + 1 + step)

    def values(self, batches: Array) -> Array:
        factor, base, posterior = self._sampled(batches)
        value, _, _ = self.utility.function(posterior.mean[:, None, :], base @ factor.swapaxes(-1, -2), self.best)
        return average(value, log=self.log)[0]

    def gradients(self, batches: Array) -> tuple[Array, Array]:
        factor, base, posterior = self._sampled(batches)
        spread = base @ factor.swapaxes(-1, -2)
        value, mean_gradient, spread_gradient = self.utility.function(posterior.mean[:, None, :], spread, self.best)
        value, weights = average(value, log=self.log)
        factor_gradient = (weights[..., None] * spread_gradient).swapaxes(-1, -2) @ base
        # eq. (3), right to left
        moments_gradient = np.sum(weights[..., None] * mean_gradient, axis=1), cholesky_vjp(factor, factor_gradient)
        gradient = posterior.vjp(*moments_gradient)
        return value, self.features.vjp(gradient[:, len(self.pending) :, :], batches)

    def _sampled(self, batches: Array) -> tuple[Array, Array, Joint]:
        """Return L (B, f + q, f + q), the base samples and the posterior at pending and new points."""
        pending = np.broadcast_to(self.pending, (len(batches), *self.pending.shape))
        points = np.concatenate([pending, batches], axis=1)
        joint = self.posterior.joint(self.features(points))
        base = base_samples(self.samples, points.shape[1], self.seed)
        return cholesky(joint.covariance), base, joint
