"""A belief after more gradients than a matrix is factorised for: its mean knows them all, its spread some of them.

The mean solves (K + noise) w = y for all values and gradients by preconditioned conjugate gradients, with products that
need no matrix (``slope_products``). They begin with the weights of the few results whose matrix is factorised, and each
step lessens the error in the norm of K, so that a solution that is cut short is never farther off than that of the few.
The spread is that after the few: more than after all, never less.

The preconditioner is the values' own matrix and, for gradients, the part that does not mix columns, -2 f' / l_c^2 + noise,
by one eigendecomposition for all columns.

Symbols: those of ``sites``; n points, K gradients, N = n + K.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_solve
from scipy.sparse.linalg import LinearOperator, cg

from sonde.surrogates.gradient.covariance import GradientCovariance
from sonde.surrogates.gradient.gp import GradientPosterior
from sonde.surrogates.gradient.observations import ObservationLayout
from sonde.surrogates.gradient.products import Products
from sonde.surrogates.linear_algebra import factorise
from sonde.surrogates.port import Joint, Marginals, Pool

Array = NDArray[np.float64]

STEPS = 100  # of conjugate gradients at most
TOLERANCE = 1e-3  # of the residual, as a share of what was seen


@dataclass(frozen=True)
class Mean:
    """The mean of a process and its gradient, from weights on what was seen at points x (n, p)."""

    covariance: GradientCovariance
    x: Array
    a: Array  # of values, (n,)
    b: Array  # of gradients, (n, p), 0 where none was seen

    @classmethod
    def after(
        cls,
        covariance: GradientCovariance,
        sites: ObservationLayout,
        y: Array,
        noise: Array,
        start: tuple[Array, Array],
    ) -> Mean:
        """Return the mean after observations y (N,) with noise variances (N,), from weights to begin with."""
        n, (points, columns) = len(sites.x), sites.gradients
        products = Products(covariance, sites.x, sites.x)

        def parted(weights: Array) -> tuple[Array, Array]:
            b = np.zeros(sites.x.shape)
            b[points, columns] = weights[n:]
            return weights[:n], b

        def joined(a: Array, b: Array) -> Array:
            return np.concatenate([a, b[points, columns]])

        def multiply(weights: Array) -> Array:
            return joined(*products(*parted(weights.ravel()))) + noise * weights.ravel()

        nearly = _preconditioner(covariance, sites, noise)
        size = (len(y), len(y))
        weights, _ = cg(
            LinearOperator(size, multiply, dtype=np.float64), y, joined(*start), rtol=TOLERANCE, maxiter=STEPS,
            M=LinearOperator(size, lambda left: joined(*nearly(*parted(left.ravel()))), dtype=np.float64),
        )  # fmt: skip
        return cls(covariance, sites.x, *parted(weights))

    def __call__(self, x: Array) -> tuple[Array, Array]:
        """Return the mean (m,) at x (m, p), and its gradient (m, p)."""
        return Products(self.covariance, x, self.x)(self.a, self.b)


def _preconditioner(
    covariance: GradientCovariance, sites: ObservationLayout, noise: Array
) -> Callable[[Array, Array], tuple[Array, Array]]:
    """Return what nearly solves for values (n,) and gradients (n, p)."""
    n, (_, columns) = len(sites.x), sites.gradients
    matrix = covariance.cross(sites.x, sites.x).values
    matrix[np.diag_indices(n)] += noise[:n]
    factor = factorise(matrix)
    across, vectors = np.linalg.eigh(-2 * covariance.isotropic(sites.x, sites.x, 1)[1])
    width = sites.x.shape[1]
    shares = np.bincount(columns, noise[n:], width) / np.maximum(np.bincount(columns, minlength=width), 1)
    scales = np.maximum(across, 0.0)[:, None] * covariance.roots**2 + shares
    scales = np.maximum(scales, 1e-12 * scales.max())

    def solve(a: Array, b: Array) -> tuple[Array, Array]:
        return cho_solve((factor, True), a), vectors @ ((vectors.T @ b) / scales)

    return solve


@dataclass(frozen=True)
class IterativePosterior:
    """The belief whose mean is ``mean``, and whose spread is that of a few results."""

    known: GradientPosterior  # after the few
    mean: Mean
    few: GradientPosterior  # after what is left of the few beyond the mean: nothing

    @classmethod
    def after(
        cls, few: GradientPosterior, rows: NDArray[np.intp], sites: ObservationLayout, y: Array, noise: Array
    ) -> IterativePosterior:
        """Return the belief after observations y (N,) with noise variances (N,); ``few`` of them are of points rows."""
        count, weights = len(few.sites.x), few.weights[:, 0]
        a, b = np.zeros(len(sites.x)), np.zeros(sites.x.shape)
        a[rows] = weights[:count]
        b[rows[few.sites.gradients[0]], few.sites.gradients[1]] = weights[count:]
        mean = Mean.after(few.covariance, sites, y, noise, (a, b))
        return cls(few, mean, replace(few, white=np.zeros_like(few.white)))

    @property
    def noise(self) -> float:
        """The inferred variance of a value around the function."""
        return self.few.noise

    def marginals(self, x: Array) -> Marginals:
        """Return the belief at each of x (m, p) by itself."""
        (mean, steep), rest = self.mean(x), self.few.marginals(x)

        def vjp(mean_gradient: Array, variance_gradient: Array) -> Array:
            return rest.vjp(mean_gradient, variance_gradient) + mean_gradient.sum(axis=1, keepdims=True) * steep

        return Marginals(mean[:, None] + rest.mean, rest.variance, vjp)

    def joint(self, pools: Array) -> Joint:
        """Return the belief at B pools (B, q, p) of points."""
        (mean, steep), rest = self.mean(pools.reshape(-1, pools.shape[2])), self.few.joint(pools)

        def vjp(mean_gradient: Array, covariance_gradient: Array) -> Array:
            return rest.vjp(mean_gradient, covariance_gradient) + mean_gradient[..., None] * steep.reshape(pools.shape)

        return Joint(mean.reshape(pools.shape[:2]) + rest.mean, rest.covariance, vjp)

    def pool(self, x: Array) -> Pool:
        """Return the belief at x (m, p) without gradients, for a choice among them."""
        mean, rest = self.mean(x)[0], self.few.pool(x)
        return Pool(
            mean + rest.mean, rest.variance, rest.covariance,
            lambda rng, count: mean[:, None] + rest.draw(rng, count),
        )  # fmt: skip

    def condition(self, x: Array, y: Array, noise: Array | float = 0.0) -> IterativePosterior:
        """Return the belief after further values y (m, S) at x (m, p)."""
        return replace(self, few=self.few.condition(x, y - self.mean(x)[0][:, None], noise))

    def gradients(self, x: Array) -> tuple[Array, Array]:
        """Return the belief about the gradients at x (m, p): means (m, p) and covariances (m, p, p)."""
        rest, covariances = self.few.gradients(x)
        return self.mean(x)[1] + rest, covariances
