"""The log marginal likelihood of values and gradients, and its gradient in closed form.

As ``evidence``: with a = K^-1 y and W = a a^T - K^-1, d log p / d theta = 1/2 sum_ij W_ij dK_ij / d theta. Of a
lengthscale l_m depend the squared distances, ds / d log l_m = -2 r_m^2, and the units of the gradients in column m:

    1/2 sum W dK = sum over pairs of points of T (-2 r_m^2) / 2  -  sum over gradients in column m of U

with T what the pairs' entries change with s, and U the entries themselves, times W. One factorisation, one inverse, and
some dozen passes over the entries.
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


def noise_of(covariance: GradientCovariance, sites: ObservationLayout, told: Array, power: Array) -> Array:
    """Return the noise variances (N,): inferred ones of values and gradients, and told ones (n,) of values.

    That of gradients is a share of their mean squares ``power`` (p,), that of curvatures a share of what the process has.
    """
    share = covariance.gradient_noise
    _, c, e = sites.bends
    bent = covariance.curvature_variances[c, e]
    return np.concatenate([covariance.noise + told, share * power[sites.gradients[1]], share * bent])


def log_evidence(
    covariance: GradientCovariance, sites: ObservationLayout, y: Array, told: Array, power: Array
) -> tuple[float, Array]:
    """Return log p(y) of values and gradients y (n + K,) and its gradient in theta."""
    return Evidence(sites, y, told, power)(covariance)


@dataclass(frozen=True)
class Evidence:
    """log p(y) of values and gradients y (n + K,) at sites, with told noise (n,), as a function of the covariance.

    What does not depend on theta is kept from call to call.
    """

    sites: ObservationLayout
    y: Array
    told: Array
    power: Array

    def __call__(self, covariance: GradientCovariance) -> tuple[float, Array]:
        """Return it and its gradient in theta."""
        sites, y = self.sites, self.y
        entries, n = _Entries(covariance, sites, self._places), len(self.sites.x)
        trend = self._trend(covariance) if covariance.quadratic else None
        if trend is not None:
            entries.matrix += trend
        noise = noise_of(covariance, sites, self.told, self.power)
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
        gradient[-1] = 0.5 * float(noise[n:] @ own[n:])
        if covariance.hidden and len(noise) > n:
            more, slope = _hidden_evidence(covariance, sites.x[np.unique(sites.gradients[0])], float(noise[n]))
            value, gradient = value + more, gradient + slope
        return float(value), gradient

    @cached_property
    def _places(self) -> _Places:
        return _Places.of(self.sites)

    @cached_property
    def _trends(self) -> dict[tuple[str, float], Array]:
        return {}

    def _trend(self, covariance: GradientCovariance) -> Array:
        """Return the trend's covariances, which are proportional to its variance."""
        shape = covariance.shape, covariance.rho
        if shape not in self._trends:
            self._trends[shape] = TRENDS[covariance.shape](1.0, covariance.rho).between(self.sites, self.sites)
        return covariance.trend_variance * self._trends[shape]


def _inverse(factor: Array) -> Array:
    """Return the symmetric inverse from a lower factor."""
    lower, _ = lapack.dpotri(factor, lower=1)  # above the diagonal it is zero, as the factor is
    whole = lower + lower.T
    whole[np.diag_indices(len(whole))] /= 2
    return np.asarray(whole)


def _hidden_evidence(covariance: GradientCovariance, x: Array, noise: float) -> tuple[float, Array]:
    """Return what gradients of zero along the hidden axes add: -1/2 log |2 pi (K_c + noise)| for each."""
    size, n = covariance.size, len(x)
    square = float(covariance.roots[0]) ** 2
    _, first, second = covariance.isotropic(x, x, 2)
    trend = np.zeros((n, n)) if covariance.trend is None else covariance.trend.hidden_gradients(x)
    process = -2 * first * square
    factor = factorise(process + trend + noise * np.eye(n))
    inverse = _inverse(factor)
    z = x * covariance.roots
    squares = np.maximum(np.sum(z * z, axis=1)[:, None] + np.sum(z * z, axis=1) - 2 * z @ z.T, 0.0)
    gradient = np.zeros(len(covariance.theta))
    # d / d log l of -2 s f'(r.r) / l^2: its units, and r.r, which changes by -2 r.r
    gradient[0] = np.vdot(inverse, -2 * process + 4 * second * square * squares)
    gradient[size] = np.vdot(inverse, process)
    gradient[-1] = noise * np.trace(inverse)
    if covariance.quadratic:
        gradient[size + 2] = np.vdot(inverse, trend)
    value = -np.log(np.diagonal(factor)).sum() - 0.5 * n * LOG_2PI
    return covariance.hidden * float(value), -0.5 * covariance.hidden * gradient


class _Places(NamedTuple):
    """What gradients have to do with each other, whatever the lengthscales."""

    toward: Array  # differences of all (value, slope) in the column of the slope, (n, K)
    pairs: NDArray[np.intp]  # where the points of all (slope, slope) stand in a matrix of pairs of points, (K, K)
    same: Array  # 1 where two gradients are of one column, (K, K)

    @classmethod
    def of(cls, sites: ObservationLayout) -> _Places:
        """Return them."""
        points, columns = sites.gradients
        toward = sites.x[:, columns] - sites.x[points, columns]
        return cls(toward, points[:, None] * len(sites.x) + points, (columns[:, None] == columns).astype(float))


class _Entries:
    """The covariance matrix of values and gradients without a trend, and the parts of it that its gradient needs."""

    def __init__(self, covariance: GradientCovariance, sites: ObservationLayout, places: _Places) -> None:
        self.sites = sites
        self.z = sites.x * covariance.roots
        points, columns = sites.gradients
        n, squares = len(sites.x), covariance.roots[columns] ** 2
        self.f = covariance.isotropic(sites.x, sites.x, 3)
        self.first, self.second, self.third = (f.take(places.pairs) for f in self.f[1:])
        self.toward = places.toward * squares  # root r_c of all (value, slope), (n, K)
        rows = self.toward[points]  # of all (slope, slope), in the column of the second
        self.product = -rows.T * rows  # root r_c root r_e
        self.same = places.same * squares
        self.mixed = -2 * self.f[1][:, points] * self.toward
        self.flat = -2 * self.first * self.same
        self.bent = -4 * self.second * self.product
        self.matrix = np.empty((len(sites), len(sites)))
        self.matrix[:n, :n] = self.f[0] + CONSTANT
        self.matrix[:n, n:] = self.mixed
        self.matrix[n:, :n] = self.mixed.T
        self.matrix[n:, n:] = self.flat + self.bent

    def lengthscales(self, weights: Array) -> Array:
        """Return 1/2 sum W dK / d log l for every column, (p,)."""
        n, points = len(self.sites.x), self.sites.gradients[0]
        mixed, gradients = weights[:n, n:], weights[n:, n:]
        units = 2 * np.einsum("ik,ik->k", mixed, self.mixed)
        units += 2 * np.einsum("ck,ck->c", gradients, self.bent) + np.einsum("ck,ck->c", gradients, self.flat)
        change = weights[:n, :n] * self.f[1]
        change -= 4 * ((mixed * self.f[2][:, points] * self.toward) @ self.sites.by_point)
        inner = gradients * (-2 * self.second * self.same - 4 * self.third * self.product)
        change += self.sites.by_point.T @ inner @ self.sites.by_point
        z = self.z
        spread = (change.sum(axis=0) + change.sum(axis=1)) @ (z * z) - 2 * np.sum(z * (change @ z), axis=0)
        return np.asarray(-spread - units @ self.sites.by_column)
