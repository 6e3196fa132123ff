"""Means with Gaussian priors, as covariances of values, gradients and curvatures: what the objective is like at large.

========  ==========================================================================================================
quadratic b (x.y / rho + 1)^2: any quadratic, the kernel "Q" of Ament & Gomes (2022), section 4.3
bowl      b (x.y / rho + x.x y.y / rho^2): an even bowl around any centre. It has p + 1 numbers to learn where the
          quadratic has p^2 / 2, as a quasi-Newton method that starts from a multiple of the identity
========  ==========================================================================================================

Each is ``cross``, ``vjp`` and ``diagonal`` of values, and ``between`` and ``sites_vjp`` of what is seen at sites.
Symbols: those of ``covariance`` and ``sites``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from sonde.surrogates.gradient.observations import ObservationLayout, Seen, one_hot

Array = NDArray[np.float64]


class Trend(Protocol):
    """A mean with a Gaussian prior."""

    def diagonal(self, x: Array) -> tuple[Array, Array]:
        """Return k(x, x), (...), and its slope in x, (..., p)."""
        ...

    def cross(self, x: Array, y: Array) -> Array:
        """Return k of all pairs of x (..., m, p) and y (..., n, p)."""
        ...

    def vjp(self, x: Array, y: Array, weights: Array) -> Array:
        """Return sum_j weights_ij dk(x_i, y_j) / dx_i, (..., m, p)."""
        ...

    def between(self, a: ObservationLayout, b: ObservationLayout) -> Array:
        """Return the covariances of what is seen at two sets of sites, (N_a, N_b)."""
        ...

    def sites_vjp(self, x: Array, sites: ObservationLayout, weights: Array) -> Array:
        """Return sum_j weights_ij dk / dx_i, (m, p), of values at x (m, p) with what is seen at sites."""
        ...

    def hidden_gradients(self, x: Array) -> Array:
        """Return the covariance (n, n) of gradients along an axis on which all of x (n, p) are zero."""
        ...

    def product(self, x: Array, y: Array, a: Array, b: Array) -> tuple[Array, Array]:
        """Return values (m,) and gradients (m, p) at x for weights a (n,) on values and b (n, p) on gradients at y."""
        ...


@dataclass(frozen=True)
class Quadratic:
    """b u^2 with u = x.y / rho + 1."""

    b: float
    rho: float

    def diagonal(self, x: Array) -> tuple[Array, Array]:
        """Return k(x, x) and its slope."""
        u = np.sum(x * x, axis=-1) / self.rho + 1
        return self.b * u**2, (4 * self.b / self.rho) * u[..., None] * x

    def cross(self, x: Array, y: Array) -> Array:
        """Return k of all pairs."""
        return np.asarray(self.b * self._u(x, y) ** 2)

    def vjp(self, x: Array, y: Array, weights: Array) -> Array:
        """Return the gradients in x."""
        return np.asarray((2 * self.b / self.rho) * ((weights * self._u(x, y)) @ y))

    def between(self, a: ObservationLayout, b: ObservationLayout) -> Array:
        """Return covariances order by order."""
        return np.block([[self._block(a.x, b.x, left, right) for right in b.orders] for left in a.orders])

    def sites_vjp(self, x: Array, sites: ObservationLayout, weights: Array) -> Array:
        """Return the gradients in x."""
        b, rho, (points, columns) = self.b, self.rho, sites.gradients
        pulled = self.vjp(x, sites.x, weights[:, sites.values])
        gradients = weights[:, sites.gradient_entries]
        if gradients.size:
            pulled += (2 * b / rho**2) * ((gradients * x[:, columns]) @ sites.by_point) @ sites.x
            pulled += (2 * b / rho) * (gradients * self._u(x, sites.x)[:, points]) @ sites.by_column
        if sites.bends.size:
            _, c, e = sites.bends
            bends = (2 * b / rho**2) * weights[:, sites.curvature_entries]
            pulled += (bends * x[:, e]) @ one_hot(c, x.shape[1]) + (bends * x[:, c]) @ one_hot(e, x.shape[1])
        return pulled

    def hidden_gradients(self, x: Array) -> Array:
        """Return d k / d(x.y)."""
        return (2 * self.b / self.rho) * self._u(x, x)

    def product(self, x: Array, y: Array, a: Array, b: Array) -> tuple[Array, Array]:
        """Return sums of b u^2 and of its derivatives."""
        first, second, u, across = 2 * self.b / self.rho, 2 * self.b / self.rho**2, self._u(x, y), x @ b.T
        values = self.b * u**2 @ a + first * np.sum(u * across, axis=1)
        return values, first * (u * a) @ y + second * across @ y + first * u @ b

    def _u(self, x: Array, y: Array) -> Array:
        return np.asarray(x @ y.swapaxes(-1, -2) / self.rho + 1)

    def _block(self, a: Array, b: Array, left: Seen, right: Seen) -> Array:
        """Return the covariances of observations of two orders, (N_left, N_right)."""
        if left.order > right.order:
            return self._block(b, a, right, left).T
        xa, xb = a[left.points], b[right.points]
        first, second = 2 * self.b / self.rho, 2 * self.b / self.rho**2
        match left.order, right.order:
            case 0, 0:
                return self.cross(xa, xb)
            case 0, 1:
                return first * self._u(xa, xb) * xa[:, right.columns[0]]
            case 0, 2:
                return second * xa[:, right.columns[0]] * xa[:, right.columns[1]]
        c, e = left.columns[0], right.columns[0]
        same = c[:, None] == e
        if right.order == 1:
            return second * xb[:, c].T * xa[:, e] + np.where(same, first * self._u(xa, xb), 0.0)
        g = right.columns[1]
        also = c[:, None] == g
        if left.order == 1:
            return second * (same * xa[:, g] + also * xa[:, e])
        other = left.columns[1][:, None]
        return second * ((same & (other == g)).astype(float) + (also & (other == e)))


@dataclass(frozen=True)
class Bowl:
    """b phi(x).phi(y) with phi = (x / sqrt(rho), x.x / rho)."""

    b: float
    rho: float

    def diagonal(self, x: Array) -> tuple[Array, Array]:
        """Return k(x, x) and its slope."""
        u = np.sum(x * x, axis=-1) / self.rho
        return self.b * (u + u**2), (2 * self.b / self.rho) * (1 + 2 * u)[..., None] * x

    def cross(self, x: Array, y: Array) -> Array:
        """Return k of all pairs."""
        return np.asarray(self.b * self._features(x) @ self._features(y).swapaxes(-1, -2))

    def vjp(self, x: Array, y: Array, weights: Array) -> Array:
        """Return the gradients in x."""
        return self._vjp(x, weights @ self._features(y))

    def between(self, a: ObservationLayout, b: ObservationLayout) -> Array:
        """Return b times the products of features and of their derivatives."""
        return np.asarray(self.b * self._seen(a) @ self._seen(b).T)

    def sites_vjp(self, x: Array, sites: ObservationLayout, weights: Array) -> Array:
        """Return the gradients in x."""
        return self._vjp(x, weights @ self._seen(sites))

    def hidden_gradients(self, x: Array) -> Array:
        """Return d k / d(x.y), which is the linear part's."""
        return np.full((len(x), len(x)), self.b / self.rho)

    def product(self, x: Array, y: Array, a: Array, b: Array) -> tuple[Array, Array]:
        """Return products of features with the sum of what they are weighted by."""
        linear, square = a @ y + b.sum(axis=0), float(np.sum(y * y, axis=1) @ a) + 2 * float(np.vdot(y, b))
        weights = np.append(linear / np.sqrt(self.rho), square / self.rho)
        return self.b * self._features(x) @ weights, self._vjp(x, np.broadcast_to(weights, (len(x), len(weights))))

    def _features(self, x: Array) -> Array:
        return np.concatenate([x / np.sqrt(self.rho), np.sum(x * x, axis=-1, keepdims=True) / self.rho], axis=-1)

    def _vjp(self, x: Array, weights: Array) -> Array:
        linear, square = weights[..., :-1], weights[..., -1:]
        return np.asarray(self.b * (linear / np.sqrt(self.rho) + (2 / self.rho) * square * x))

    def _seen(self, sites: ObservationLayout) -> Array:
        """Return the features of values and the derivatives of features of the rest, (N, p + 1)."""
        points, columns = sites.gradients
        _, c, e = sites.bends
        gradients = np.column_stack([sites.by_column / np.sqrt(self.rho), (2 / self.rho) * sites.x[points, columns]])
        bends = np.column_stack([np.zeros((len(c), sites.x.shape[1])), (2 / self.rho) * (c == e)])
        return np.concatenate([self._features(sites.x), gradients, bends])


TRENDS: dict[str, Callable[[float, float], Trend]] = {"quadratic": Quadratic, "bowl": Bowl}
