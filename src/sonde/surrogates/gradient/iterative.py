"""The posterior given too many gradients to factorise their matrix: an iterative mean, and the variance of a subset.

The mean solves (K + noise) w = y for all values and gradients by preconditioned conjugate gradients, with products that
need no matrix. The iteration starts from the weights of a subset whose matrix is factorised. Each step reduces the
error in the norm of K, so a truncated solution is never farther off than that of the subset. The variance is that given
the subset: larger than given all observations, never smaller.

The preconditioner is the matrix of the values and, for gradients, the part that does not mix columns (-2 f' / l_c^2 of
the closed form) with noise, by one eigendecomposition for all columns.

Symbols: those of ``observations``, with N = n + K.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import cho_solve
from scipy.sparse.linalg import LinearOperator, cg

from sonde.arrays import Array, Index
from sonde.surrogates.gaussian_process.observations import ObservationLayout
from sonde.surrogates.gaussian_process.port import CovarianceFunction, Operator
from sonde.surrogates.gaussian_process.posterior import ExactPosterior
from sonde.surrogates.linear_algebra import factorise
from sonde.surrogates.port import Joint, Marginals, Pool

STEPS = 100  # of conjugate gradients at most
TOLERANCE = 1e-3  # norm of the residual, as a share of that of the observations


@dataclass(frozen=True)
class Mean:
    """The posterior mean and its gradient, from weights on the observations at x (n, p)."""

    covariance: CovarianceFunction
    x: Array
    a: Array  # weights of values, (n,)
    b: Array  # weights of gradients, (n, p), 0 where unobserved

    @classmethod
    def after(
        cls, covariance: CovarianceFunction, layout: ObservationLayout, y: Array, noise: Array,
        start: tuple[Array, Array],
    ) -> Mean:  # fmt: skip
        """Return the mean given observations y (N,) with noise variances (N,), from initial weights ``start``."""
        x = layout.x
        precondition = preconditioner(covariance.cross(x, x).values, *covariance.within_columns(x), layout, noise)
        return cls(covariance, x, *solve(covariance.products(x), precondition, layout, y, noise, start))

    def __call__(self, x: Array) -> tuple[Array, Array]:
        """Return the mean (m,) at x (m, p), and its gradient (m, p)."""
        return self.covariance.products(x, self.x)(self.a, self.b)


def solve(
    multiply: Operator, precondition: Operator, layout: ObservationLayout, y: Array, noise: Array,
    start: tuple[Array, Array],
) -> tuple[Array, Array]:  # fmt: skip
    """Return the weights on values (n,) and gradients (n, p) of (K + noise) w = y, by conjugate gradients.

    ``multiply`` and ``precondition`` multiply such weights by K and by an approximation of (K + noise)^-1.
    """
    n, (points, columns) = len(layout.x), layout.gradients

    def split(weights: Array) -> tuple[Array, Array]:
        b = np.zeros(layout.x.shape)
        b[points, columns] = weights[n:]
        return weights[:n], b

    def join(a: Array, b: Array) -> Array:
        return np.concatenate([a, b[points, columns]])

    size = (len(y), len(y))
    weights, _ = cg(
        LinearOperator(size, lambda w: join(*multiply(*split(w.ravel()))) + noise * w.ravel(), dtype=np.float64),
        y, join(*start), rtol=TOLERANCE, maxiter=STEPS,
        M=LinearOperator(size, lambda w: join(*precondition(*split(w.ravel()))), dtype=np.float64),
    )  # fmt: skip
    return split(weights)


def preconditioner(values: Array, within: Array, scales: Array, layout: ObservationLayout, noise: Array) -> Operator:
    """Return an approximate solver for values (n,) and gradients (n, p).

    ``values`` (n, n) are the covariances of values, and ``within`` (n, n) times ``scales`` (p,) are about those of the
    gradients within each column.
    """
    n, (_, columns) = len(layout.x), layout.gradients
    values[np.diag_indices(n)] += noise[:n]
    factor = factorise(values)
    across, vectors = np.linalg.eigh(within)
    width = layout.x.shape[1]
    shares = np.bincount(columns, noise[n:], width) / np.maximum(np.bincount(columns, minlength=width), 1)
    variances = np.maximum(across, 0.0)[:, None] * scales + shares
    variances = np.maximum(variances, 1e-12 * variances.max())

    def apply(a: Array, b: Array) -> tuple[Array, Array]:
        return cho_solve((factor, True), a), vectors @ ((vectors.T @ b) / variances)

    return apply


@dataclass(frozen=True)
class IterativePosterior:
    """The posterior whose mean is ``mean``, and whose variance is that given a subset of the observations."""

    factorised: ExactPosterior  # given the subset
    mean: Mean
    residual: ExactPosterior  # of the function minus ``mean``: zero mean, the variance given the subset

    @classmethod
    def after(
        cls, subset: ExactPosterior, rows: Index, layout: ObservationLayout, y: Array, noise: Array
    ) -> IterativePosterior:
        """Return the posterior given observations y (N,) with noise variances (N,).

        ``subset`` is that given some rows; its weights are where the mean starts.
        """
        assert subset.layout is not None
        count, weights = len(subset.layout.x), subset.weights[:, 0]
        a, b = np.zeros(len(layout.x)), np.zeros(layout.x.shape)
        a[rows] = weights[:count]
        b[rows[subset.layout.gradients[0]], subset.layout.gradients[1]] = weights[count:]
        mean = Mean.after(subset.covariance, layout, y, noise, (a, b))
        return cls(subset, mean, replace(subset, white=np.zeros_like(subset.white)))

    @property
    def noise(self) -> float:
        """The inferred variance of a value around the function."""
        return self.residual.noise

    def marginals(self, x: Array) -> Marginals:
        """Return the marginal posteriors at x (m, p)."""
        (mean, gradient), rest = self.mean(x), self.residual.marginals(x)

        def vjp(mean_gradient: Array, variance_gradient: Array) -> Array:
            return rest.vjp(mean_gradient, variance_gradient) + mean_gradient.sum(axis=1, keepdims=True) * gradient

        return Marginals(mean[:, None] + rest.mean, rest.variance, vjp)

    def means(self, x: Array) -> Array:
        """Return the posterior means (m, s) at x (m, p)."""
        return np.asarray(self.mean(x)[0][:, None] + self.residual.means(x))

    def joint(self, pools: Array) -> Joint:
        """Return the joint posteriors of B batches (B, q, p) of points."""
        (mean, gradient), rest = self.mean(pools.reshape(-1, pools.shape[2])), self.residual.joint(pools)

        def vjp(mean_gradient: Array, covariance_gradient: Array) -> Array:
            return rest.vjp(mean_gradient, covariance_gradient) + mean_gradient[..., None] * gradient.reshape(
                pools.shape
            )

        return Joint(mean.reshape(pools.shape[:2]) + rest.mean, rest.covariance, vjp)

    def pool(self, x: Array) -> Pool:
        """Return the posterior at a candidate set x (m, p), without gradients."""
        mean, rest = self.mean(x)[0], self.residual.pool(x)
        return Pool(
            mean + rest.mean, rest.variance, rest.covariance,
            lambda rng, count: mean[:, None] + rest.draw(rng, count),
            lambda more: self.pool(np.concatenate([x, more])),
        )  # fmt: skip

    def condition(self, x: Array, y: Array, noise: Array | float = 0.0) -> IterativePosterior:
        """Return the posterior given further values y (m, s) at x (m, p)."""
        return replace(self, residual=self.residual.condition(x, y - self.mean(x)[0][:, None], noise))
