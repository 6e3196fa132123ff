"""The exact Gaussian process: a belief about function values, given some of them.

``ExactPosterior`` holds the factorised training covariance of one theta, and grows by points (``condition``) without
being factorised again.

Symbols: those of ``posterior``, n training points, K = L L^T.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack

from sonde.surrogates.exact.covariance import Covariance, Cross
from sonde.surrogates.linear_algebra import factorise
from sonde.surrogates.port import Joint, Marginals, Pool

Array = NDArray[np.float64]

TINY = 1e-12  # a variance is at least this much of the prior's: rounding can make it negative


@dataclass(frozen=True)
class ExactPosterior:
    """The belief after n values."""

    covariance: Covariance
    x: Array  # (n, p)
    inverse: Array  # L^-1, (n, n)
    white: Array  # L^-1 y, (n, S)

    @classmethod
    def of(cls, covariance: Covariance, x: Array, y: Array, noise: Array | float = 0.0) -> ExactPosterior:
        """Return the belief after values y (n,) or (n, S) at x; ``noise`` are variances besides the inferred one."""
        matrix = covariance.cross(x, x).values
        matrix[np.diag_indices(len(x))] += covariance.noise + noise
        inverse, _ = lapack.dtrtri(factorise(matrix), lower=1)
        return cls(covariance, x, inverse, inverse @ y.reshape(len(x), -1))

    @property
    def noise(self) -> float:
        """The inferred variance of a value around the function."""
        return self.covariance.noise

    @cached_property
    def weights(self) -> Array:
        """K^-1 y, (n, S)."""
        return self.inverse.T @ self.white

    def toward(self, x: Array) -> Cross:
        """Return the covariances of values at x (m, p) with what was seen, (m, n)."""
        return self.covariance.cross(x, self.x)

    def marginals(self, x: Array) -> Marginals:
        """Return the belief at each of x (m, p) by itself."""
        cross = self.toward(x)
        whitened = cross.values @ self.inverse.T
        prior, prior_slope = self.covariance.diagonal(x)
        variance = prior - np.sum(whitened * whitened, axis=-1)
        weights = self.weights

        def vjp(mean_gradient: Array, variance_gradient: Array) -> Array:
            gradients = mean_gradient @ weights.T
            gradients -= (2 * variance_gradient)[:, None] * (whitened @ self.inverse)
            pulled = cross.vjp(gradients)
            return pulled if prior_slope is None else pulled + variance_gradient[:, None] * prior_slope

        return Marginals(cross.values @ weights, np.maximum(variance, TINY * prior), vjp)

    def joint(self, pools: Array) -> Joint:
        """Return the belief at B pools (B, q, p) of points."""
        count, size, width = pools.shape
        cross = self.toward(pools.reshape(-1, width))
        within = self.covariance.cross(pools, pools)
        whitened = (cross.values @ self.inverse.T).reshape(count, size, -1)
        weights = self.weights[:, 0]

        def vjp(mean_gradient: Array, covariance_gradient: Array) -> Array:
            both = covariance_gradient + covariance_gradient.swapaxes(-1, -2)
            gradients = mean_gradient[..., None] * weights - (both @ whitened) @ self.inverse
            pulled = cross.vjp(gradients.reshape(-1, len(self.inverse))).reshape(pools.shape) + within.vjp(both)
            return np.asarray(pulled)

        covariance = within.values - whitened @ whitened.swapaxes(-1, -2)
        return Joint((cross.values @ weights).reshape(count, size), covariance, vjp)

    def pool(self, x: Array) -> Pool:
        """Return the belief at x (m, p) without gradients, for a choice among them."""
        cross = self.toward(x).values
        whitened = cross @ self.inverse.T
        variance = np.maximum(self.covariance.diagonal(x)[0] - np.sum(whitened * whitened, axis=1), TINY)

        def covariance(rows: NDArray[np.intp], columns: NDArray[np.intp]) -> Array:
            prior = self.covariance.cross(x[rows], x[columns]).values
            return np.asarray(prior - whitened[rows] @ whitened[columns].T)

        mean = cross @ self.weights[:, 0]

        def draw(rng: np.random.Generator, count: int) -> Array:
            everything = np.arange(len(x))
            root = factorise(covariance(everything, everything) + TINY * np.eye(len(x)))
            return np.asarray(mean[:, None] + root @ rng.standard_normal((len(x), count)))

        return Pool(mean, variance, covariance, draw)

    def condition(self, x: Array, y: Array, noise: Array | float = 0.0) -> Self:
        """Return the belief after further values y (m, S) at x (m, p): rows are added to L, O(n^2 m)."""
        cross = self.toward(x).values @ self.inverse.T  # (m, n)
        matrix = self.covariance.cross(x, x).values - cross @ cross.T
        matrix[np.diag_indices(len(x))] += self.covariance.noise + noise
        corner, _ = lapack.dtrtri(factorise(matrix), lower=1)
        n, m = len(self.inverse), len(x)
        inverse = np.zeros((n + m, n + m))
        inverse[:n, :n] = self.inverse
        inverse[n:, :n] = -corner @ (cross @ self.inverse)
        inverse[n:, n:] = corner
        white = np.broadcast_to(self.white, (n, y.shape[1]))
        grown = np.concatenate([white, corner @ (y - cross @ white)])
        return replace(self, x=np.concatenate([self.x, x]), inverse=inverse, white=grown)

    def leave_one_out(self, y: Array) -> tuple[Array, Array]:
        """Return means and variances (n,) of each value y_i, noise included, given all others.

        mean_i = y_i - a_i / (K^-1)_ii and variance_i = 1 / (K^-1)_ii with a = K^-1 y (Rasmussen & Williams, eq. 5.12).
        """
        precision = np.sum(self.inverse * self.inverse, axis=0)
        return y - self.weights[:, 0] / precision, 1 / precision
