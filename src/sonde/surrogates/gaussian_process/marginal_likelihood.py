"""The log marginal likelihood (log evidence) of observations, and its gradient in closed form.

log p(y) = -1/2 y^T K^-1 y - 1/2 log|K| - N/2 log 2 pi, and with a = K^-1 y

d log p / d theta = 1/2 sum_ij W_ij dK_ij / d theta,    W = a a^T - K^-1.

This takes one Cholesky factorisation and one inverse from it, O(N^3), and passes over the entries of K. Automatic
differentiation through the factorisation costs several times as much.

Symbols: those of ``observations``; K the covariance matrix with noise, theta as in ``covariance``.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from scipy.linalg import lapack

from sonde.arrays import Array
from sonde.surrogates.gaussian_process.covariance import Covariance
from sonde.surrogates.gaussian_process.observations import ObservationLayout
from sonde.surrogates.gaussian_process.port import CovarianceFunction, ObservationMatrix
from sonde.surrogates.gaussian_process.posterior import ExactPosterior
from sonde.surrogates.linear_algebra import factorise, symmetric_inverse, with_diagonal

LOG_2PI = np.log(2 * np.pi)
ROUNDING = 1e-12  # noise variance of a local model, as a share of the prior variance: room for rounding


@dataclass(frozen=True)
class Evidence:
    """Observations y (N,) on the model's scale, and what their noise depends on.

    As a function of the covariance it is their log marginal likelihood; curvatures are only for posteriors.
    """

    layout: ObservationLayout
    y: Array
    known_noise: Array  # noise variances of values that the user told, (n,)
    mean_squares: Array = field(default_factory=lambda: np.empty(0))  # of gradients, (p,), if there are any
    misfits: Array | None = None  # (N,), see ``region``

    @classmethod
    def of_values(cls, x: Array, y: Array, noise: Array) -> Evidence:
        """Return values y (n,) at x (n, p) with known noise variances (n,)."""
        return cls(ObservationLayout(x), y, noise)

    def __call__(self, covariance: CovarianceFunction) -> tuple[float, Array]:
        """Return the log marginal likelihood and its gradient in theta."""
        return self._evaluated(covariance, covariance.observed(self.layout))[:2]

    def with_inputs(self, covariance: Covariance) -> tuple[float, Array, Array]:
        """Return the log marginal likelihood of values, its gradient in theta and its gradient in x (n, p)."""
        matrix = covariance.observed(self.layout)
        value, gradient, weights = self._evaluated(covariance, matrix)
        return value, gradient, matrix.inputs_gradient(weights)

    def value(self, covariance: CovarianceFunction) -> float:
        """Return the log marginal likelihood without its gradient, at a third of the cost."""
        factor = factorise(with_diagonal(covariance.observed(self.layout).matrix, self.noise(covariance)))
        white, _ = lapack.dtrtrs(factor, self.y, lower=1)
        return _log_density(white @ white, factor)

    def posterior(self, covariance: CovarianceFunction) -> ExactPosterior:
        """Return the posterior given these observations."""
        return ExactPosterior.after(covariance, self.layout, self.y, self.noise(covariance))

    def noise(self, covariance: CovarianceFunction) -> Array:
        """Return the noise variances (N,).

        The noise of gradients is a share of their mean squares, that of curvatures the same share of their prior
        variances. In the model of a trust region it is instead the same share of the misfits, also for values.
        """
        if self.misfits is not None:
            noise = covariance.gradient_noise * self.misfits + ROUNDING * covariance.variances(self.layout)
            noise[self.layout.values] += covariance.noise + self.known_noise
            return noise
        values, layout = covariance.noise + self.known_noise, self.layout
        if not self._with_gradient_noise:
            return values
        parts = [self.mean_squares[layout.gradients[1]], covariance.curvature_variances(layout)]
        return np.concatenate([values, *(covariance.gradient_noise * part for part in parts)])

    def shared_noise(self, covariance: CovarianceFunction, noise: Array) -> Array:
        """Return the part of noise variances (N,) that is in proportion to ``gradient_noise``."""
        if self.misfits is not None:
            return covariance.gradient_noise * self.misfits
        return np.append(np.zeros(len(self.layout.x)), noise[len(self.layout.x) :])

    @property
    def _with_gradient_noise(self) -> bool:
        return self.misfits is not None or len(self.y) > len(self.layout.x)

    def _evaluated(self, covariance: CovarianceFunction, matrix: ObservationMatrix) -> tuple[float, Array, Array]:
        """Return the log marginal likelihood, its gradient in theta, and W."""
        noise, n = self.noise(covariance), len(self.layout.x)
        factor = factorise(with_diagonal(matrix.matrix, noise))
        solved, _ = lapack.dpotrs(factor, self.y, lower=1)
        weights = np.outer(solved, solved) - symmetric_inverse(factor)
        gradient, own = matrix.theta_gradient(weights), np.diagonal(weights)
        gradient[covariance.noise_entry] = 0.5 * covariance.noise * float(own[:n].sum())
        if self._with_gradient_noise:
            gradient[-1] = 0.5 * float(self.shared_noise(covariance, noise) @ own)
        return _log_density(self.y @ solved, factor), gradient, weights


def _log_density(square: float, factor: Array) -> float:
    """Return log p(y) from y^T K^-1 y and the Cholesky factor of K."""
    return float(-0.5 * square - np.log(np.diagonal(factor)).sum() - 0.5 * len(factor) * LOG_2PI)
