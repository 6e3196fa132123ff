"""The covariance of values, gradients and curvatures of a Gaussian process, in closed form with closed derivatives.

k(x, y) = s f(r.r) + c + trend,    r = (x - y) / lengthscales,    f a row of ``profiles``, the trend of ``trends``

In the scaled coordinates z = x / lengthscales an isotropic covariance is h(r) = f(r.r), and the covariance of two
derivatives is a derivative of h, negative for every one that is taken in the second point (Ament & Gomes 2022, section
3.2 and appendices C and D, written out in components so that any component may be missing):

    h_c    = 2 f' r_c
    h_ce   = 2 f' d_ce + 4 f'' r_c r_e
    h_ceg  = 4 f'' (d_ce r_g + d_cg r_e + d_eg r_c) + 8 f''' r_c r_e r_g
    h_cegi = 4 f'' (d_ce d_gi + d_cg d_ei + d_ci d_eg) + 8 f''' (d_ce r_g r_i + five more) + 16 f'''' r_c r_e r_g r_i

The same as ``sonde.kernels`` gives (a test compares them); plain numpy for the reason that ``covariance`` gives.

Symbols: those of ``covariance``; d_ce is 1 where c = e; theta ends in the logarithm of the gradients' noise, as a share of
their mean square.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sonde.surrogates.exact.covariance import CONSTANT, Covariance
from sonde.surrogates.gradient.observations import ObservationLayout, Seen, one_hot
from sonde.surrogates.gradient.profiles import PROFILES
from sonde.surrogates.gradient.trends import TRENDS, Trend

Array = NDArray[np.float64]
Index = NDArray[np.intp]


@dataclass(frozen=True)
class GradientCovariance(Covariance):
    """k(x, y) for one theta, profile and trend, between sites."""

    profile: str = "matern52"
    shape: str = "quadratic"  # of the trend, where there is one
    hidden: int = 0  # axes along which all gradients are zero, see ``span``

    @property
    def rho(self) -> float:
        """What x.y is divided by, the hidden axes counted in."""
        return 0.25 * (len(self.groups) - bool(self.hidden) + self.hidden)

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

    @property
    def trend(self) -> Trend | None:
        """The prior of the mean, besides a constant."""
        return TRENDS[self.shape](self.trend_variance, self.rho) if self.quadratic else None

    def diagonal(self, x: Array) -> tuple[Array, Array | None]:
        """Return k(x, x), (...), and its slope in x, (..., p), None where it is constant."""
        flat = np.full(x.shape[:-1], self.scale + CONSTANT)
        if self.trend is None:
            return flat, None
        value, slope = self.trend.diagonal(x)
        return flat + value, slope

    def cross(self, x: Array, y: Array) -> ValueCross:  # type: ignore[override]
        """Return k of all pairs of x (..., m, p) and y (..., n, p)."""
        value, first = self.isotropic(x, y, 1)
        values = value + CONSTANT
        if self.trend is not None:
            values += self.trend.cross(x, y)
        return ValueCross(self, x, y, values, first)

    def toward(self, x: Array, sites: ObservationLayout) -> GradientCross:
        """Return the covariances of values at x (m, p) with what is seen at sites, (m, N)."""
        return GradientCross.of(self, x, sites)

    def between(self, a: ObservationLayout, b: ObservationLayout) -> Array:
        """Return the covariances of what is seen at two sets of sites, (N_a, N_b)."""
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

    def hidden_gradients(self, x: Array) -> Array:
        """Return d k / d(x.y) of all pairs of x (n, p): the covariance of gradients along one hidden axis, (n, n)."""
        first = -2 * self.isotropic(x, x, 1)[1] * float(self.roots[0]) ** 2
        return first if self.trend is None else first + self.trend.hidden_gradients(x)

    def in_x(self, block: Array, left: Seen, right: Seen) -> Array:
        """Return derivatives in x from those in z: each brings a factor 1 / lengthscale of its column."""
        for columns in left.columns:
            block *= self.roots[columns][:, None]
        for columns in right.columns:
            block *= self.roots[columns]
        return block


@dataclass(frozen=True)
class Isotropic:
    """Derivatives of f(r.r) between points za and zb; f are the derivatives of the profile at all pairs."""

    za: Array
    zb: Array
    f: list[Array]

    def block(self, left: Seen, right: Seen) -> Array:
        """Return the covariances of observations of two orders, (N_left, N_right)."""
        if not len(left.points) or not len(right.points):
            return np.zeros((len(left.points), len(right.points)))
        pairs = np.ix_(left.points, right.points)
        columns = [c[:, None] for c in left.columns] + [c[None, :] for c in right.columns]
        distances = [self._difference(c, left, right, True) for c in left.columns]
        distances += [self._difference(c, left, right, False) for c in right.columns]
        sign = -1.0 if right.order % 2 else 1.0
        return sign * _DERIVATIVES[len(columns)]([f[pairs] for f in self.f[: len(columns) + 1]], columns, distances)

    def _difference(self, columns: Index, left: Seen, right: Seen, rows: bool) -> Array:
        """Return r of all pairs in the columns of the rows, or of the columns, of the block."""
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
    """Covariances ``values`` (..., m, n) of values, and what their derivatives need."""

    covariance: GradientCovariance
    x: Array
    y: Array
    values: Array
    first: Array  # s f'

    def vjp(self, weights: Array) -> Array:
        """Return sum_j weights_ij dk(x_i, y_j) / dx_i, (..., m, p)."""
        gradients = weights * self.first
        pulled = 2 * self.covariance.roots**2 * (self.x * gradients.sum(axis=-1)[..., None] - gradients @ self.y)
        trend = self.covariance.trend
        return pulled if trend is None else pulled + trend.vjp(self.x, self.y, weights)


@dataclass(frozen=True)
class GradientCross:
    """Covariances ``values`` (m, N) of values at x with what is seen at sites, and their derivatives in x."""

    covariance: GradientCovariance
    x: Array
    sites: ObservationLayout
    f: list[Array]  # derivatives of the profile, times s, (m, n)
    r: Array  # scaled differences in the gradients' columns, (m, K)
    values: Array

    @classmethod
    def of(cls, covariance: GradientCovariance, x: Array, sites: ObservationLayout) -> GradientCross:
        """Return the covariances."""
        roots, (points, columns) = covariance.roots, sites.gradients
        f = covariance.isotropic(x, sites.x, 3 if sites.bends.size else 2)
        r = (x[:, columns] - sites.x[points, columns]) * roots[columns]
        values = np.empty((len(x), len(sites)))
        values[:, sites.values] = f[0] + CONSTANT
        values[:, sites.gradient_entries] = -2 * roots[columns] * f[1][:, points] * r
        if sites.bends.size:
            own, bends = ObservationLayout(x).orders[0], sites.orders[2]
            block = Isotropic(x * roots, sites.x * roots, f).block(own, bends)
            values[:, sites.curvature_entries] = covariance.in_x(block, own, bends)
        if covariance.trend is not None:
            values += covariance.trend.between(ObservationLayout(x), sites)
        return cls(covariance, x, sites, f, r, values)

    def vjp(self, weights: Array) -> Array:
        """Return sum_j weights_ij d values_ij / dx_i, (m, p)."""
        sites, roots = self.sites, self.covariance.roots
        points, columns = sites.gradients
        # towards the points: 2 f' r from values, -4 f'' r_c r from gradients; along the columns: -2 f' from gradients
        radial = 2 * weights[:, sites.values] * self.f[1]
        along = np.zeros_like(self.x)
        gradients = weights[:, sites.gradient_entries] * roots[columns]
        if gradients.size:
            radial -= 4 * self.f[2] * ((gradients * self.r) @ sites.by_point)
            along -= 2 * (gradients * self.f[1][:, points]) @ sites.by_column
        if sites.bends.size:
            bend_radial, bend_along = self._curvature_vjp(weights[:, sites.curvature_entries])
            radial += bend_radial
            along += bend_along
        pulled = roots**2 * (self.x * radial.sum(axis=1)[:, None] - radial @ sites.x) + roots * along
        trend = self.covariance.trend
        return pulled if trend is None else pulled + trend.sites_vjp(self.x, sites, weights)

    def _curvature_vjp(self, weights: Array) -> tuple[Array, Array]:
        """Return what curvatures add: 4 f'' d_ce r + 8 f''' r_c r_e r, and 4 f'' r_e along c and r_c along e."""
        (points, c, e), roots, width = self.sites.bends, self.covariance.roots, self.x.shape[1]
        weights = weights * roots[c] * roots[e]
        rc, re = ((self.x[:, k] - self.sites.x[points, k]) * roots[k] for k in (c, e))
        f2, f3 = self.f[2][:, points], self.f[3][:, points]
        radial = (weights * (4 * f2 * (c == e) + 8 * f3 * rc * re)) @ one_hot(points, len(self.sites.x))
        return radial, 4 * ((weights * f2 * re) @ one_hot(c, width) + (weights * f2 * rc) @ one_hot(e, width))
