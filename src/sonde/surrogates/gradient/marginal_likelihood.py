"""The log marginal likelihood of values and gradients, and its gradient in closed form.

As in ``exact.marginal_likelihood``, with a = K^-1 y and W = a a^T - K^-1, d log p / d theta = 1/2 sum_ij W_ij dK_ij / d
theta. A length scale l_m enters the squared distances, ds / d log l_m = -2 r_m^2, and the units of the derivatives in
column m:

    1/2 sum W dK = sum over pairs of points of T (-2 r_m^2) / 2  -  sum over gradients in column m of U

with T the derivatives of the entries in s, and U the entries themselves, both times W. The cost is one factorisation,
one inverse, and about a dozen passes over the entries.

Symbols: those of ``observations``.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack

from sonde.surrogates.exact.covariance import CONSTANT
from sonde.surrogates.exact.marginal_likelihood import LOG_2PI
from sonde.surrogates.gradient.covariance import GradientCovariance
from sonde.surrogates.gradient.observations import ObservationLayout
from sonde.surrogates.gradient.trends import TRENDS
from sonde.surrogates.linear_algebra import factorise

Array = NDArray[np.float64]

ROUNDING = 1e-11  # noise variance of a local model, as a share of the prior variance: room for rounding


def noise_of(
    covariance: GradientCovariance, layout: ObservationLayout, known_noise: Array, mean_squares: Array,
    misfits: Array | None = None,
) -> Array:  # fmt: skip
    """Return the noise variances (N,); those of values include the ``known_noise`` (n,) that the user told.

    The noise of gradients is a share of their ``mean_squares`` (p,), that of curvatures the same share of their prior
    variances. In a local model it is instead, for values too, the same share of ``misfits`` (N,), see ``region``.
    """
    share = covariance.gradient_noise
    if misfits is not None:
        noise = share * misfits + ROUNDING * covariance.variances(layout)
        noise[layout.values] += known_noise
        return noise
    _, c, e = layout.curvatures
    priors = covariance.curvature_variances[c, e]
    return np.concatenate([covariance.noise + known_noise, share * mean_squares[layout.gradients[1]], share * priors])


def log_evidence(
    covariance: GradientCovariance, layout: ObservationLayout, y: Array, known_noise: Array, mean_squares: Array
) -> tuple[float, Array]:
    """Return the log marginal likelihood of values and gradients y (n + K,), and its gradient in theta."""
    return Evidence(layout, y, known_noise, mean_squares)(covariance)


@dataclass(frozen=True)
class Evidence:
    """The log marginal likelihood of values and gradients y (n + K,), as a function of the covariance.

    Parts that do not depend on theta are kept from call to call.
    """

    layout: ObservationLayout
    y: Array
    known_noise: Array
    mean_squares: Array
    misfits: Array | None = None  # see ``noise_of``

    def __call__(self, covariance: GradientCovariance) -> tuple[float, Array]:
        """Return the log marginal likelihood and its gradient in theta."""
        layout, y = self.layout, self.y
        entries, n = _Entries(covariance, layout, self._pairs), len(self.layout.x)
        trend = self._trend(covariance) if covariance.quadratic else None
        if trend is not None:
            entries.matrix += trend
        noise = noise_of(covariance, layout, self.known_noise, self.mean_squares, self.misfits)
        matrix = entries.matrix.copy()
        matrix[np.diag_indices(len(y))] += noise
        factor = factorise(matrix)
        solved, _ = lapack.dpotrs(factor, y, lower=1)
        value = -0.5 * y @ solved - np.log(np.diagonal(factor)).sum() - 0.5 * len(y) * LOG_2PI
        weights = np.outer(solved, solved) - _inverse(factor)

        gradient = np.zeros(len(covariance.theta))
        size, bend = covariance.size, 0.0
        np.add.at(gradient, covariance.groups, entries.lengthscales(weights))
        if trend is not None:
            bend = float(np.vdot(weights, trend))
            gradient[size + 2] = 0.5 * bend
        constant = CONSTANT * float(weights[:n, :n].sum())
        gradient[size] = 0.5 * (float(np.vdot(weights, entries.matrix)) - bend - constant)
        own = np.diagonal(weights)
        gradient[size + 1] = 0.5 * covariance.noise * float(own[:n].sum())
        shared = np.append(np.zeros(n), noise[n:])  # the part in proportion to the last entry of theta
        shared = shared if self.misfits is None else covariance.gradient_noise * self.misfits
        gradient[-1] = 0.5 * float(shared @ own)
        if covariance.complement_dim and len(noise) > n:
            points, first = np.unique(layout.gradients[0], return_index=True)
            more, its_gradient = _complement_evidence(covariance, layout.x[points], noise[n:][first], shared[n:][first])
            value, gradient = value + more, gradient + its_gradient
        return float(value), gradient

    @cached_property
    def _pairs(self) -> _DerivativePairs:
        return _DerivativePairs.of(self.layout)

    @cached_property
    def _trends(self) -> dict[tuple[str, float], Array]:
        return {}

    def _trend(self, covariance: GradientCovariance) -> Array:
        """Return the trend's covariances, which are proportional to its variance."""
        shape = covariance.shape, covariance.rho
        if shape not in self._trends:
            self._trends[shape] = TRENDS[covariance.shape](1.0, covariance.rho).between(self.layout, self.layout)
        return covariance.trend_variance * self._trends[shape]


def _inverse(factor: Array) -> Array:
    """Return the symmetric inverse from a lower factor."""
    lower, _ = lapack.dpotri(factor, lower=1)  # above the diagonal it is zero, as the factor is
    whole = lower + lower.T
    whole[np.diag_indices(len(whole))] /= 2
    return np.asarray(whole)


def _complement_evidence(covariance: GradientCovariance, x: Array, noise: Array, shared: Array) -> tuple[float, Array]:
    """Return the term of the zero derivatives along the axes of the complement: -1/2 log |2 pi (K_c + noise)| each.

    ``noise`` and its part that is ``shared``, in proportion to ``gradient_noise``, are (n,).
    """
    size, n = covariance.size, len(x)
    square = float(covariance.roots[0]) ** 2
    _, first, second = covariance.isotropic(x, x, 2)
    trend = np.zeros((n, n)) if covariance.trend is None else covariance.trend.complement_gradients(x)
    process = -2 * first * square
    factor = factorise(process + trend + np.diag(noise))
    inverse = _inverse(factor)
    z = x * covariance.roots
    squares = np.maximum(np.sum(z * z, axis=1)[:, None] + np.sum(z * z, axis=1) - 2 * z @ z.T, 0.0)
    gradient = np.zeros(len(covariance.theta))
    # d / d log l of -2 s f'(r.r) / l^2: the factor 1 / l^2, and r.r with its derivative -2 r.r
    gradient[0] = np.vdot(inverse, -2 * process + 4 * second * square * squares)
    gradient[size] = np.vdot(inverse, process)
    gradient[-1] = shared @ np.diagonal(inverse)
    if covariance.quadratic:
        gradient[size + 2] = np.vdot(inverse, trend)
    value = -np.log(np.diagonal(factor)).sum() - 0.5 * n * LOG_2PI
    return covariance.complement_dim * float(value), -0.5 * covariance.complement_dim * gradient


class _DerivativePairs(NamedTuple):
    """Parts of the matrix that do not depend on the length scales."""

    differences: Array  # of all (value, derivative) in the column of the derivative, (n, K)
    points: NDArray[np.intp]  # flat index of the two points of all (derivative, derivative), (K, K)
    same: Array  # 1 where two derivatives are of one column, (K, K)

    @classmethod
    def of(cls, layout: ObservationLayout) -> _DerivativePairs:
        """Return the parts of a layout."""
        points, columns = layout.gradients
        differences = layout.x[:, columns] - layout.x[points, columns]
        return cls(differences, points[:, None] * len(layout.x) + points, (columns[:, None] == columns).astype(float))


class _Entries:
    """The covariance matrix of values and gradients without a trend, and its parts that the gradient in theta needs."""

    def __init__(self, covariance: GradientCovariance, layout: ObservationLayout, pairs: _DerivativePairs) -> None:
        self.layout = layout
        self.z = layout.x * covariance.roots
        points, columns = layout.gradients
        n, squares = len(layout.x), covariance.roots[columns] ** 2
        self.f = covariance.isotropic(layout.x, layout.x, 3)
        self.first, self.second, self.third = (f.take(pairs.points) for f in self.f[1:])
        self.differences = pairs.differences * squares  # root r_c of all (value, derivative), (n, K)
        rows = self.differences[points]  # of all (derivative, derivative), in the column of the second
        self.product = -rows.T * rows  # root r_c root r_e
        self.same = pairs.same * squares
        self.value_gradient = -2 * self.f[1][:, points] * self.differences
        self.diagonal_part = -2 * self.first * self.same
        self.product_part = -4 * self.second * self.product
        self.matrix = np.empty((len(layout), len(layout)))
        self.matrix[:n, :n] = self.f[0] + CONSTANT
        self.matrix[:n, n:] = self.value_gradient
        self.matrix[n:, :n] = self.value_gradient.T
        self.matrix[n:, n:] = self.diagonal_part + self.product_part

    def lengthscales(self, weights: Array) -> Array:
        """Return 1/2 sum W dK / d log l for every column, (p,)."""
        n, points = len(self.layout.x), self.layout.gradients[0]
        mixed, gradients = weights[:n, n:], weights[n:, n:]
        units = 2 * np.einsum("ik,ik->k", mixed, self.value_gradient)
        units += 2 * np.einsum("ck,ck->c", gradients, self.product_part) + np.einsum(
            "ck,ck->c", gradients, self.diagonal_part
        )
        change = weights[:n, :n] * self.f[1]
        change -= 4 * ((mixed * self.f[2][:, points] * self.differences) @ self.layout.by_point)
        inner = gradients * (-2 * self.second * self.same - 4 * self.third * self.product)
        change += self.layout.by_point.T @ inner @ self.layout.by_point
        z = self.z
        spread = (change.sum(axis=0) + change.sum(axis=1)) @ (z * z) - 2 * np.sum(z * (change @ z), axis=0)
        return np.asarray(-spread - units @ self.layout.by_column)
