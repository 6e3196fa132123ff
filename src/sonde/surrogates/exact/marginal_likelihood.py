"""The log marginal likelihood (log evidence) and its gradient, in closed form.

log p(y) = -1/2 y^T K^-1 y - 1/2 log|K| - n/2 log 2 pi, and with a = K^-1 y

d log p / d theta = 1/2 sum_ij W_ij dK_ij / d theta,    W = a a^T - K^-1.

This takes one Cholesky factorisation and one inverse from it, O(n^3), and matrix products, O(n^2 p). Automatic
differentiation through the factorisation costs several times as much.

Symbols: x features (n, p), y standardized values (n,), K the kernel matrix with noise, theta as in ``covariance``.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack

from sonde.surrogates.exact.covariance import CONSTANT, Covariance, Cross
from sonde.surrogates.linear_algebra import factorise

Array = NDArray[np.float64]

LOG_2PI = np.log(2 * np.pi)


def log_evidence(covariance: Covariance, x: Array, y: Array, noise: Array) -> tuple[float, Array]:
    """Return log p(y) and its gradient in theta; ``noise`` (n,) are known noise variances of the observations."""
    return _evidence(covariance, x, y, noise)[:2]


def log_evidence_with_inputs(covariance: Covariance, x: Array, y: Array, noise: Array) -> tuple[float, Array, Array]:
    """Return log p(y), its gradient in theta and its gradient in x (n, p), sum_j W_ij dk(x_i, x_j) / dx_i."""
    value, gradient, triangle, cross = _evidence(covariance, x, y, noise)
    return value, gradient, cross.vjp(triangle + np.triu(triangle, 1).T)


def _evidence(covariance: Covariance, x: Array, y: Array, noise: Array) -> tuple[float, Array, Array, Cross]:
    """Return log p(y), its gradient in theta, the upper triangle of W, and the kernel matrix without noise."""
    cross = covariance.cross(x, x)
    size, scaled = covariance.size, x * covariance.roots
    factor = factorise(_with_noise(cross.values, covariance.noise + noise))
    solved, _ = lapack.dpotrs(factor, y, lower=1)
    inverse, _ = lapack.dpotri(factor, lower=1)
    value = -0.5 * y @ solved - np.log(np.diagonal(factor)).sum() - 0.5 * len(y) * LOG_2PI

    # W is symmetric, so one triangle of it is enough. LAPACK's lower triangle is NumPy's upper one.
    weights = np.triu(np.outer(solved, solved) - inverse.T)
    trace = np.trace(weights)
    gradient = np.zeros(len(covariance.theta))
    matern = cross.values - CONSTANT
    if cross.inner is not None:
        trend = covariance.trend_variance * cross.inner**2
        matern -= trend
        gradient[size + 2] = _half_sum(weights, trend)
    gradient[size] = _half_sum(weights, matern)
    gradient[size + 1] = 0.5 * covariance.noise * trace
    # dk / d log l_k = 5/3 first w_k |x_k - y_k|^2; sum_ij C_ij (x_i - x_j)^2 = 2 (sum_i x_i^2 C_i. - x^T C x)
    gradients = weights * cross.first
    sums = gradients.sum(axis=0) + gradients.sum(axis=1)
    columns = sums @ (scaled * scaled) - 2 * np.sum(scaled * (gradients @ scaled), axis=0)
    np.add.at(gradient, covariance.groups, (5.0 / 3.0) * columns)
    return float(value), gradient, weights, cross


def log_likelihood(covariance: Covariance, x: Array, y: Array, noise: Array) -> float:
    """Return log p(y) without gradients, at a third of the cost."""
    factor = factorise(_with_noise(covariance.cross(x, x).values, covariance.noise + noise))
    white, _ = lapack.dtrtrs(factor, y, lower=1)
    return float(-0.5 * white @ white - np.log(np.diagonal(factor)).sum() - 0.5 * len(y) * LOG_2PI)


def _half_sum(triangle: Array, symmetric: Array) -> float:
    """Return 1/2 sum_ij W_ij S_ij from one triangle of W."""
    whole = float(np.vdot(triangle, symmetric))
    return whole - 0.5 * float(np.diagonal(triangle) @ np.diagonal(symmetric))


def _with_noise(values: Array, noise: Array) -> Array:
    """Return a copy of a kernel matrix with noise added to its diagonal."""
    noisy = values.copy()
    noisy[np.diag_indices(len(values))] += noise
    return noisy
