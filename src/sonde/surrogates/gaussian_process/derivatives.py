"""Covariances of the derivatives of an isotropic process s f(r.r), in components so that any of them may be missing.

In the scaled coordinates z = x / lengthscales an isotropic covariance is h(r) = s f(r.r), and the covariance of two
derivatives is a derivative of h, with a minus sign for every one in the second point (Ament & Gomes 2022, section 3.2
and appendices C and D):

    h_c    = 2 f' r_c
    h_ce   = 2 f' d_ce + 4 f'' r_c r_e
    h_ceg  = 4 f'' (d_ce r_g + d_cg r_e + d_eg r_c) + 8 f''' r_c r_e r_g
    h_cegi = 4 f'' (d_ce d_gi + d_cg d_ei + d_ci d_eg) + 8 f''' (d_ce r_g r_i + five more) + 16 f'''' r_c r_e r_g r_i

Symbols: those of ``observations``; d_ce is 1 where c = e; ``roots`` (p,) are 1 / lengthscales, and ``f`` the arrays
s f, s f', s f'', ... of all pairs of points.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from sonde.arrays import Array, Index
from sonde.surrogates.gaussian_process.observations import ObservationLayout, OrderBlock, one_hot


@dataclass(frozen=True)
class Isotropic:
    """Covariances of derivatives at points a with derivatives at points b."""

    a: Array
    b: Array
    roots: Array
    f: list[Array]

    def block(self, left: OrderBlock, right: OrderBlock) -> Array:
        """Return the covariances of observations of two orders, (N_left, N_right)."""
        if not len(left.points) or not len(right.points):
            return np.zeros((len(left.points), len(right.points)))
        pairs = np.ix_(left.points, right.points)
        columns = [c[:, None] for c in left.columns] + [c[None, :] for c in right.columns]
        za, zb = self.a * self.roots, self.b * self.roots
        differences = [za[left.points, c][:, None] - zb[right.points][:, c].T for c in left.columns]
        differences += [za[left.points][:, c] - zb[right.points, c] for c in right.columns]
        sign = -1.0 if right.order % 2 else 1.0
        f = [f[pairs] for f in self.f[: len(columns) + 1]]
        block = sign * _DERIVATIVES[len(columns)](f, columns, differences)
        for c in columns:  # from derivatives in z to those in x
            block *= self.roots[c]
        return block


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


class Toward:
    """Covariances ``values`` (m, N) of values at x with the observations of a layout."""

    def __init__(self, x: Array, layout: ObservationLayout, roots: Array, f: list[Array]) -> None:
        points, columns = layout.gradients
        self.x, self.layout, self.roots, self.f = x, layout, roots, f
        self.r = (x[:, columns] - layout.x[points, columns]) * roots[columns]  # in the gradients' columns, (m, K)
        self.values = np.empty((len(x), len(layout)))
        self.values[:, layout.values] = f[0]
        self.values[:, layout.gradient_entries] = -2 * roots[columns] * f[1][:, points] * self.r
        if layout.curvatures.size:
            own, curvatures = ObservationLayout(x).orders[0], layout.orders[2]
            self.values[:, layout.curvature_entries] = Isotropic(x, layout.x, roots, f).block(own, curvatures)

    def vjp(self, weights: Array) -> Array:
        """Return sum_j weights_ij d values_ij / dx_i, (m, p)."""
        layout, (points, columns) = self.layout, self.layout.gradients
        # radial: 2 f' r from values, -4 f'' r_c r from gradients; along the columns: -2 f' from gradients
        radial = 2 * weights[:, layout.values] * self.f[1]
        along = np.zeros_like(self.x)
        gradients = weights[:, layout.gradient_entries] * self.roots[columns]
        if gradients.size:
            radial -= 4 * self.f[2] * ((gradients * self.r) @ layout.by_point)
            along -= 2 * (gradients * self.f[1][:, points]) @ layout.by_column
        if layout.curvatures.size:
            more_radial, more_along = self._curvature_vjp(weights[:, layout.curvature_entries])
            radial += more_radial
            along += more_along
        drift = self.x * radial.sum(axis=1)[:, None] - radial @ layout.x
        return np.asarray(self.roots**2 * drift + self.roots * along)

    def _curvature_vjp(self, weights: Array) -> tuple[Array, Array]:
        """Return the terms of curvatures: 4 f'' d_ce r + 8 f''' r_c r_e r, and 4 f'' r_e along c and r_c along e."""
        (points, c, e), roots, width = self.layout.curvatures, self.roots, self.x.shape[1]
        weights = weights * roots[c] * roots[e]
        rc, re = ((self.x[:, k] - self.layout.x[points, k]) * roots[k] for k in (c, e))
        f2, f3 = self.f[2][:, points], self.f[3][:, points]
        radial = (weights * (4 * f2 * (c == e) + 8 * f3 * rc * re)) @ one_hot(points, len(self.layout.x))
        return radial, 4 * ((weights * f2 * re) @ one_hot(c, width) + (weights * f2 * rc) @ one_hot(e, width))


class ValueMatrix:
    """The covariances (n, n) of values, from s f and s f' / ``slope``: ``GradientMatrix`` without gradients.

    An evaluation of the marginal likelihood by ``GradientMatrix`` takes 1.7 times as long for 20 values and 1.3 times
    for 100 and 256, in 2 to 20 dimensions (``benchmarks/values_only.py``).
    """

    def __init__(self, x: Array, roots: Array, values: Array, first: Array, slope: float) -> None:
        self.z, self.matrix, self.first, self.slope = x * roots, values, first, slope

    def lengthscales(self, weights: Array) -> Array:
        """Return 1/2 sum W dK / d log l for every column, (p,)."""
        return -self.slope * _spread(weights * self.first, self.z)


class GradientMatrix:
    """The covariances (N, N) of values and gradients, and their parts that the gradient in theta needs.

    A length scale l_m enters the squared distances, ds / d log l_m = -2 r_m^2, and the units of the derivatives in
    column m:

        1/2 sum W dK = sum over pairs of points of T (-2 r_m^2) / 2  -  sum over gradients in column m of U

    with T the derivatives of the entries in s, and U the entries themselves, both times W.
    """

    def __init__(self, layout: ObservationLayout, roots: Array, f: list[Array]) -> None:
        self.layout, self.z, self.f = layout, layout.x * roots, f
        points, columns = layout.gradients
        pairs, n, squares = layout.pairs, len(layout.x), roots[columns] ** 2
        self.first, self.second, self.third = (each.take(pairs.points) for each in f[1:])
        self.differences = pairs.differences * squares  # root r_c of all (value, derivative), (n, K)
        rows = self.differences[points]  # of all (derivative, derivative), in the column of the second
        self.product = -rows.T * rows  # root r_c root r_e
        self.same = pairs.same * squares
        self.value_gradient = -2 * f[1][:, points] * self.differences
        self.diagonal_part = -2 * self.first * self.same
        self.product_part = -4 * self.second * self.product
        self.matrix = np.empty((len(layout), len(layout)))
        self.matrix[:n, :n] = f[0]
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
        return np.asarray(-_spread(change, self.z) - units @ self.layout.by_column)


def _spread(change: Array, z: Array) -> Array:
    """Return sum_ij C_ij (z_i - z_j)^2 of every column, (p,)."""
    return np.asarray((change.sum(axis=0) + change.sum(axis=1)) @ (z * z) - 2 * np.sum(z * (change @ z), axis=0))
