"""The exact posterior of a Gaussian process given values, gradients and curvatures (Ament & Gomes 2022, appendix D).

``ExactPosterior`` holds the inverse Cholesky factor of the kernel matrix for one theta; ``condition`` adds values
without a new factorisation.

Symbols: those of ``surrogates.port`` and ``observations``; K = L L^T is the kernel matrix of the observations with
noise.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self

import numpy as np
from scipy.linalg import lapack

from sonde.arrays import Array, Index
from sonde.surrogates.gaussian_process.observations import ObservationLayout
from sonde.surrogates.gaussian_process.port import CovarianceFunction, Cross
from sonde.surrogates.linear_algebra import factorise, with_diagonal
from sonde.surrogates.port import Joint, Marginals, Pool

TINY = 1e-12  # a posterior variance is at least this share of the prior variance: rounding can make it negative


@dataclass(frozen=True)
class ExactPosterior:
    """The posterior given values at x, after the observations of ``layout`` where there are derivatives."""

    covariance: CovarianceFunction
    x: Array  # (n, p)
    inverse: Array  # L^-1, (N, N)
    white: Array  # L^-1 y, (N, s)
    layout: ObservationLayout | None = None

    @classmethod
    def of(cls, covariance: CovarianceFunction, x: Array, y: Array, noise: Array | float = 0.0) -> ExactPosterior:
        """Return the posterior after values y (n,) or (n, s) at x; ``noise`` adds to the inferred noise variance."""
        inverse = _inverse_factor(covariance.cross(x, x).values, covariance.noise + noise)
        return cls(covariance, x, inverse, inverse @ y.reshape(len(x), -1))

    @classmethod
    def after(cls, covariance: CovarianceFunction, layout: ObservationLayout, y: Array, noise: Array) -> ExactPosterior:
        """Return the posterior given observations y (N,) with noise variances (N,), the inferred ones included."""
        inverse = _inverse_factor(covariance.between(layout, layout), noise)
        return cls(covariance, np.empty((0, layout.x.shape[1])), inverse, inverse @ y[:, None], layout)

    @property
    def noise(self) -> float:
        """The inferred noise variance."""
        return self.covariance.noise

    @cached_property
    def weights(self) -> Array:
        """K^-1 y, (n, s)."""
        return self.inverse.T @ self.white

    def cross_covariances(self, x: Array) -> Cross:
        """Return the prior covariances of the function at x (m, p) with the observations, (m, N)."""
        values = self.covariance.cross(x, self.x)
        if self.layout is None:
            return values
        first, count = self.covariance.toward(x, self.layout), len(self.layout)
        return Cross(
            np.concatenate([first.values, values.values], axis=1),
            lambda weights: first.vjp(weights[:, :count]) + values.vjp(weights[:, count:]),
        )

    def marginals(self, x: Array) -> Marginals:
        """Return the posterior at each of x (m, p) by itself."""
        cross = self.cross_covariances(x)
        whitened = cross.values @ self.inverse.T
        prior, prior_gradient = self.covariance.diagonal(x)
        variance = prior - np.sum(whitened * whitened, axis=-1)
        weights = self.weights

        def vjp(mean_gradient: Array, variance_gradient: Array) -> Array:
            gradients = mean_gradient @ weights.T
            gradients -= (2 * variance_gradient)[:, None] * (whitened @ self.inverse)
            result = cross.vjp(gradients)
            return result if prior_gradient is None else result + variance_gradient[:, None] * prior_gradient

        return Marginals(cross.values @ weights, np.maximum(variance, TINY * prior), vjp)

    def means(self, x: Array) -> Array:
        """Return the posterior means (m, s) at x (m, p)."""
        return np.asarray(self.cross_covariances(x).values @ self.weights)

    def joint(self, batches: Array) -> Joint:
        """Return the joint posterior of each of B batches (B, q, p) of points."""
        count, size, width = batches.shape
        cross = self.cross_covariances(batches.reshape(-1, width))
        within = self.covariance.cross(batches, batches)
        whitened = (cross.values @ self.inverse.T).reshape(count, size, -1)
        weights = self.weights[:, 0]

        def vjp(mean_gradient: Array, covariance_gradient: Array) -> Array:
            both = covariance_gradient + covariance_gradient.swapaxes(-1, -2)
            gradients = mean_gradient[..., None] * weights - (both @ whitened) @ self.inverse
            result = cross.vjp(gradients.reshape(-1, len(self.inverse))).reshape(batches.shape) + within.vjp(both)
            return np.asarray(result)

        covariance = within.values - whitened @ whitened.swapaxes(-1, -2)
        return Joint((cross.values @ weights).reshape(count, size), covariance, vjp)

    def pool(self, x: Array) -> Pool:
        """Return the posterior at candidates x (m, p), without gradients."""
        return self._pool(x, self.cross_covariances(x).values @ self.inverse.T)

    def _pool(self, x: Array, whitened: Array) -> Pool:
        variance = np.maximum(self.covariance.diagonal(x)[0] - np.sum(whitened * whitened, axis=1), TINY)

        def covariance(rows: Index | slice, columns: Index) -> Array:
            prior = self.covariance.cross(x[rows], x[columns]).values
            return np.asarray(prior - whitened[rows] @ whitened[columns].T)

        mean = whitened @ self.white[:, 0]

        def draw(rng: np.random.Generator, count: int) -> Array:
            rows = np.arange(len(x))
            root = factorise(covariance(rows, rows) + TINY * np.eye(len(x)))
            return np.asarray(mean[:, None] + root @ rng.standard_normal((len(x), count)))

        def extended(more: Array) -> Pool:
            further = self.cross_covariances(more).values @ self.inverse.T
            return self._pool(np.concatenate([x, more]), np.concatenate([whitened, further]))

        return Pool(mean, variance, covariance, draw, extended)

    def condition(self, x: Array, y: Array, noise: Array | float = 0.0) -> Self:
        """Return the posterior after further values y (m, s) at x (m, p): rows are added to L, O(n^2 m)."""
        cross = self.cross_covariances(x).values @ self.inverse.T  # (m, n)
        within = with_diagonal(self.covariance.cross(x, x).values - cross @ cross.T, self.covariance.noise + noise)
        np.fill_diagonal(within, np.maximum(np.diagonal(within), TINY))  # rounding may have made them negative
        corner = _inverse_factor(within, 0.0)
        n, m = len(self.inverse), len(x)
        inverse = np.zeros((n + m, n + m))
        inverse[:n, :n] = self.inverse
        inverse[n:, :n] = -corner @ (cross @ self.inverse)
        inverse[n:, n:] = corner
        white = np.broadcast_to(self.white, (n, y.shape[1]))
        grown = np.concatenate([white, corner @ (y - cross @ white)])
        return replace(self, x=np.concatenate([self.x, x]), inverse=inverse, white=grown)

    @property
    def observations(self) -> Array:
        """The vector of observations, (N,): L L^-1 y."""
        return np.asarray(np.linalg.solve(self.inverse, self.white[:, 0]))

    def leave_one_out(self, y: Array) -> tuple[Array, Array]:
        """Return predicted means and variances (n,) of each observation y_i, noise included, given all others.

        mean_i = y_i - a_i / (K^-1)_ii and variance_i = 1 / (K^-1)_ii with a = K^-1 y (Rasmussen & Williams, eq. 5.12).
        """
        precision = np.sum(self.inverse * self.inverse, axis=0)
        return y - self.weights[:, 0] / precision, 1 / precision


def _inverse_factor(matrix: Array, noise: Array | float) -> Array:
    """Return L^-1 of a kernel matrix, to which noise variances are added."""
    inverse, _ = lapack.dtrtri(factorise(with_diagonal(matrix, noise)), lower=1)
    return np.asarray(inverse)
