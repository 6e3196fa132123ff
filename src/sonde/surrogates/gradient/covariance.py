"""The covariance of values, gradients and curvatures of a Gaussian process, in closed form with derivatives.

k(x, y) = s f(r.r) + c + trend,    r = (x - y) / lengthscales,    f from ``profiles``, the trend from ``trends``

In the scaled coordinates z = x / lengthscales an isotropic covariance is h(r) = f(r.r), and the covariance of two
derivatives is a derivative of h, with a minus sign for every one in the second point (Ament & Gomes 2022, section
3.2 and appendices C and D, written out in components so that any component may be missing):

    h_c    = 2 f' r_c
    h_ce   = 2 f' d_ce + 4 f'' r_c r_e
    h_ceg  = 4 f'' (d_ce r_g + d_cg r_e + d_eg r_c) + 8 f''' r_c r_e r_g
    h_cegi = 4 f'' (d_ce d_gi + d_cg d_ei + d_ci d_eg) + 8 f''' (d_ce r_g r_i + five more) + 16 f'''' r_c r_e r_g r_i

``sonde.kernels`` gives the same (a test compares them); ``exact.covariance`` says why this is plain NumPy.

Symbols: those of ``exact.covariance`` and ``observations``; d_ce is 1 where c = e; theta ends in the logarithm of the
noise variance of gradients, as a share of their mean square.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sonde.surrogates.exact.covariance import CONSTANT, Covariance
from sonde.surrogates.gradient.observations import ObservationLayout, OrderBlock, one_hot
from sonde.surrogates.gradient.profiles import PROFILES
from sonde.surrogates.gradient.trends import TRENDS, Trend

Array = NDArray[np.float64]
Index = NDArray[np.intp]


@dataclass(frozen=True)
class GradientCovariance(Covariance):
    """The covariance k(x, y) of one theta, profile and trend, and of its derivatives."""

    profile: str = "matern52"
    shape: str = "quadratic"  # name of the trend, where there is one
    complement_dim: int = 0  # dimension of the orthogonal complement, see ``subspace``

    @property
    def rho(self) -> float:
        """The divisor of x.y; it counts the axes of the orthogonal complement, too."""
        return 0.25 * (len(self.groups) - bool(self.complement_dim) + self.complement_dim)

    @property
    def gradient_noise(self) -> float:
        """The noise variance of gradients, as a share of their mean square."""
        return float(np.exp(self.theta[-1]))

    @property
    def curvature_variances(self) -> Array:
        """Prior variances of curvatures (p, p), without the trend."""
        second = float(PROFILES[self.profile].derivatives(np.zeros(()), 2)[2])
        squares = self.roots**2
        return 4 * second * self.scale * (1 + 2 * np.eye(len(squares))) * squares[:, None] * squares

    def variances(self, layout: ObservationLayout) -> Array:
        """Return the prior variances of the observations of a layout, (N,)."""
        columns = layout.gradients[1]
        first = -2 * self.scale * float(PROFILES[self.profile].derivatives(np.zeros(()), 1)[1]) * self.roots**2
        _, c, e = layout.curvatures
        values, gradients = np.full(len(layout.x), self.scale + CONSTANT), first[columns]
        whole = np.concatenate([values, gradients, self.curvature_variances[c, e] if c.size else np.empty(0)])
        return whole if self.trend is None else whole + self.trend.variances(layout)

    @property
    def trend(self) -> Trend | None:
        """The Gaussian prior of the mean function, besides a constant."""
        return TRENDS[self.shape](self.trend_variance, self.rho) if self.quadratic else None

    def diagonal(self, x: Array) -> tuple[Array, Array | None]:
        """Return k(x, x), (...), and its gradient in x, (..., p), None where it is constant."""
        flat = np.full(x.shape[:-1], self.scale + CONSTANT)
        if self.trend is None:
            return flat, None
        value, gradient = self.trend.diagonal(x)
        return flat + value, gradient

    def cross(self, x: Array, y: Array) -> ValueCross:  # type: ignore[override]
        """Return k of all pairs of x (..., m, p) and y (..., n, p)."""
        value, first = self.isotropic(x, y, 1)
        values = value + CONSTANT
        if self.trend is not None:
            values += self.trend.cross(x, y)
        return ValueCross(self, x, y, values, first)

    def toward(self, x: Array, layout: ObservationLayout) -> GradientCross:
        """Return the covariances of values at x (m, p) with the observations of a layout, (m, N)."""
        return GradientCross.of(self, x, layout)

    def between(self, a: ObservationLayout, b: ObservationLayout) -> Array:
        """Return the covariances of the observations of two layouts, (N_a, N_b)."""
        most = a.highest + b.highest
        part = Isotropic(a.x * self.roots, b.x * self.roots, self.isotropic(a.x, b.x, most))
        rows = [[self.in_x(part.block(left, right), left, right) for right in b.orders] for left in a.orders]
        whole = np.block(rows)
        whole[a.values, b.values] += CONSTANT
        return whole if self.trend is None else whole + self.trend.between(a, b)

    def isotropic(self, x: Array, y: Array, order: int) -> list[Array]:
        """Return s f, s f', s f'', ... up to an order, of all pairs of x (..., m, p) and y (..., n, p)."""
        a, b = x * self.roots, y * self.roots
        squares = np.sum(a * a, axis=-1)[..., :, None] + np.sum(b * b, axis=-1)[..., None, :]
        squares -= 2 * (a @ b.swapaxes(-1, -2))
        derivatives = PROFILES[self.profile].derivatives(np.maximum(squares, 0.0, out=squares), order)
        return [self.scale * each for each in derivatives]

    def complement_gradients(self, x: Array) -> Array:
        """Return d k / d(x.y) of all pairs of x (n, p), (n, n).

        This is the covariance of derivatives along an axis of the orthogonal complement.
        """
        first = -2 * self.isotropic(x, x, 1)[1] * float(self.roots[0]) ** 2
        return first if self.trend is None else first + self.trend.complement_gradients(x)

    def in_x(self, block: Array, left: OrderBlock, right: OrderBlock) -> Array:
        """Return derivatives in x from those in z: each has a factor 1 / length scale of its column."""
        for columns in left.columns:
            block *= self.roots[columns][:, None]
        for columns in right.columns:
            block *= self.roots[columns]
        return block


@dataclass(frozen=True)
class Isotropic:
    """Derivatives of f(r.r) between points za and zb; f holds the derivatives of the profile at all pairs."""

    za: Array
    zb: Array
    f: list[Array]

    def block(self, left: OrderBlock, right: OrderBlock) -> Array:
        """Return the covariances of observations of two orders, (N_left, N_right)."""
        if not len(left.points) or not len(right.points):
            return np.zeros((len(left.points), len(right.points)))
        pairs = np.ix_(left.points, right.points)
        columns = [c[:, None] for c in left.columns] + [c[None, :] for c in right.columns]
        differences = [self._difference(c, left, right, True) for c in left.columns]
        differences += [self._difference(c, left, right, False) for c in right.columns]
        sign = -1.0 if right.order % 2 else 1.0
        return sign * _DERIVATIVES[len(columns)]([f[pairs] for f in self.f[: len(columns) + 1]], columns, differences)

    def _difference(self, columns: Index, left: OrderBlock, right: OrderBlock, rows: bool) -> Array:
        """Return r of all pairs in the column of each row (``rows``) or of each column of the block."""
        if rows:
            return self.za[left.points, columns][:, None] - self.zb[right.points][:, columns].T
        return self.za[left.points][:, columns] - self.zb[right.points, columns]


def _first(f: list[Array], c: list[Index], r: list[Array]) -> Array:
    return 2 * f[1] * r[0]


def _second(f: list[Array], c: list[Index], r: list[Array]) -> Array:
    return 4 * f[2] * r[0] * r[1] + np.where(c[0] == c[1], 2 * f[1], 0.0)


def _third(f: list[Array], c: list[Index], r: list[Array]) -> Array:
    mixed = (c[0] == c[1]) * r[2] + (c[0] == c[2]) * r[1] + (c[1] == c[2]) * r[0]
    return 4 * f[2] * mixed + 8 * f[3] * r[0] * r[1] * r[2]


def _fourth(f: list[Array], c: list[Index], r: list[Array]) -> Array:
    paired: Array = np.zeros_like(f[0])
    mixed: Array = np.zeros_like(f[0])
    for (i, j), (k, m) in (((0, 1), (2, 3)), ((0, 2), (1, 3)), ((0, 3), (1, 2))):
        one, other = c[i] == c[j], c[k] == c[m]
        paired += one & other
        mixed += one * r[k] * r[m] + other * r[i] * r[j]
    return 4 * f[2] * paired + 8 * f[3] * mixed + 16 * f[4] * r[0] * r[1] * r[2] * r[3]


_DERIVATIVES: tuple[Callable[[list[Array], list[Index], list[Array]], Array], ...] = (
    lambda f, c, r: f[0].copy(), _first, _second, _third, _fourth,
)  # fmt: skip


@dataclass(frozen=True)
class ValueCross:
    """Covariances ``values`` (..., m, n) of values, with their vector-Jacobian product."""

    covariance: GradientCovariance
    x: Array
    y: Array
    values: Array
    first: Array  # s f'

    def vjp(self, weights: Array) -> Array:
        """Return sum_j weights_ij dk(x_i, y_j) / dx_i, (..., m, p)."""
        gradients = weights * self.first
        total = 2 * self.covariance.roots**2 * (self.x * gradients.sum(axis=-1)[..., None] - gradients @ self.y)
        trend = self.covariance.trend
        return total if trend is None else total + trend.vjp(self.x, self.y, weights)


@dataclass(frozen=True)
class GradientCross:
    """Covariances ``values`` (m, N) of values at x with observations, with their vector-Jacobian product."""

    covariance: GradientCovariance
    x: Array
    layout: ObservationLayout
    f: list[Array]  # derivatives of the profile, times s, (m, n)
    r: Array  # scaled differences in the gradients' columns, (m, K)
    values: Array

    @classmethod
    def of(cls, covariance: GradientCovariance, x: Array, layout: ObservationLayout) -> GradientCross:
        """Return the covariances."""
        roots, (points, columns) = covariance.roots, layout.gradients
        f = covariance.isotropic(x, layout.x, 3 if layout.curvatures.size else 2)
        r = (x[:, columns] - layout.x[points, columns]) * roots[columns]
        values = np.empty((len(x), len(layout)))
        values[:, layout.values] = f[0] + CONSTANT
        values[:, layout.gradient_entries] = -2 * roots[columns] * f[1][:, points] * r
        if layout.curvatures.size:
            own, curvatures = ObservationLayout(x).orders[0], layout.orders[2]
            block = Isotropic(x * roots, layout.x * roots, f).block(own, curvatures)
            values[:, layout.curvature_entries] = covariance.in_x(block, own, curvatures)
        if covariance.trend is not None:
            values += covariance.trend.between(ObservationLayout(x), layout)
        return cls(covariance, x, layout, f, r, values)

    def vjp(self, weights: Array) -> Array:
        """Return sum_j weights_ij d values_ij / dx_i, (m, p)."""
        layout, roots = self.layout, self.covariance.roots
        points, columns = layout.gradients
        # radial: 2 f' r from values, -4 f'' r_c r from gradients; along the columns: -2 f' from gradients
        radial = 2 * weights[:, layout.values] * self.f[1]
        along = np.zeros_like(self.x)
        gradients = weights[:, layout.gradient_entries] * roots[columns]
        if gradients.size:
            radial -= 4 * self.f[2] * ((gradients * self.r) @ layout.by_point)
            along -= 2 * (gradients * self.f[1][:, points]) @ layout.by_column
        if layout.curvatures.size:
            more_radial, more_along = self._curvature_vjp(weights[:, layout.curvature_entries])
            radial += more_radial
            along += more_along
        total = roots**2 * (self.x * radial.sum(axis=1)[:, None] - radial @ layout.x) + roots * along
        trend = self.covariance.trend
        return total if trend is None else total + trend.observations_vjp(self.x, layout, weights)

    def _curvature_vjp(self, weights: Array) -> tuple[Array, Array]:
        """Return the terms of curvatures: 4 f'' d_ce r + 8 f''' r_c r_e r, and 4 f'' r_e along c and r_c along e."""
        (points, c, e), roots, width = self.layout.curvatures, self.covariance.roots, self.x.shape[1]
        weights = weights * roots[c] * roots[e]
        rc, re = ((self.x[:, k] - self.layout.x[points, k]) * roots[k] for k in (c, e))
        f2, f3 = self.f[2][:, points], self.f[3][:, points]
        radial = (weights * (4 * f2 * (c == e) + 8 * f3 * rc * re)) @ one_hot(points, len(self.layout.x))
        return radial, 4 * ((weights * f2 * re) @ one_hot(c, width) + (weights * f2 * rc) @ one_hot(e, width))
