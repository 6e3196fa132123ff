"""Trends: mean functions with Gaussian priors, as covariances of values, gradients and curvatures.

========  ==========================================================================================================
quadratic b (x.y / rho + 1)^2: any quadratic, the kernel "Q" of Ament & Gomes (2022), section 4.3
bowl      b (x.y / rho + x.x y.y / rho^2): an isotropic quadratic around any centre. It has p + 1 coefficients where
          the quadratic has p^2 / 2, like a quasi-Newton method that starts from a multiple of the identity
========  ==========================================================================================================

Symbols: those of ``covariance`` and ``observations``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from sonde.surrogates.gradient.observations import ObservationLayout, OrderBlock, one_hot

Array = NDArray[np.float64]


class Trend(Protocol):
    """A mean function with a Gaussian prior, as a covariance k(x, y)."""

    def diagonal(self, x: Array) -> tuple[Array, Array]:
        """Return k(x, x), (...), and its gradient in x, (..., p)."""
        ...

    def cross(self, x: Array, y: Array) -> Array:
        """Return k of all pairs of x (..., m, p) and y (..., n, p)."""
        ...

    def vjp(self, x: Array, y: Array, weights: Array) -> Array:
        """Return sum_j weights_ij dk(x_i, y_j) / dx_i, (..., m, p)."""
        ...

    def between(self, a: ObservationLayout, b: ObservationLayout) -> Array:
        """Return the covariances of the observations of two layouts, (N_a, N_b)."""
        ...

    def observations_vjp(self, x: Array, layout: ObservationLayout, weights: Array) -> Array:
        """Return sum_j weights_ij dk / dx_i, (m, p), of values at x (m, p) with the observations of a layout."""
        ...

    def variances(self, layout: ObservationLayout) -> Array:
        """Return the variances of the observations of a layout, (N,)."""
        ...

    def complement_gradients(self, x: Array) -> Array:
        """Return the covariance (n, n) of gradients along an axis on which all of x (n, p) are zero."""
        ...

    def product(self, x: Array, y: Array, a: Array, b: Array) -> tuple[Array, Array]:
        """Return values (m,) and gradients (m, p) at x for weights a (n,) on values and b (n, p) on gradients at y."""
        ...


@dataclass(frozen=True)
class Quadratic:
    """The quadratic trend: b u^2 with u = x.y / rho + 1."""

    b: float
    rho: float

    def diagonal(self, x: Array) -> tuple[Array, Array]:
        """Return k(x, x) and its gradient."""
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

    def observations_vjp(self, x: Array, layout: ObservationLayout, weights: Array) -> Array:
        """Return the gradients in x."""
        b, rho, (points, columns) = self.b, self.rho, layout.gradients
        total = self.vjp(x, layout.x, weights[:, layout.values])
        gradients = weights[:, layout.gradient_entries]
        if gradients.size:
            total += (2 * b / rho**2) * ((gradients * x[:, columns]) @ layout.by_point) @ layout.x
            total += (2 * b / rho) * (gradients * self._u(x, layout.x)[:, points]) @ layout.by_column
        if layout.curvatures.size:
            _, c, e = layout.curvatures
            curvatures = (2 * b / rho**2) * weights[:, layout.curvature_entries]
            total += (curvatures * x[:, e]) @ one_hot(c, x.shape[1]) + (curvatures * x[:, c]) @ one_hot(e, x.shape[1])
        return total

    def variances(self, layout: ObservationLayout) -> Array:
        """Return the diagonal of ``between``."""
        u, (points, columns), (_, c, e) = (
            np.sum(layout.x**2, axis=1) / self.rho + 1,
            layout.gradients,
            layout.curvatures,
        )
        first, second = 2 * self.b / self.rho, 2 * self.b / self.rho**2
        gradients = first * u[points] + second * layout.x[points, columns] ** 2
        return np.concatenate([self.b * u**2, gradients, second * (1.0 + (c == e))])

    def complement_gradients(self, x: Array) -> Array:
        """Return d k / d(x.y)."""
        return (2 * self.b / self.rho) * self._u(x, x)

    def product(self, x: Array, y: Array, a: Array, b: Array) -> tuple[Array, Array]:
        """Return sums of b u^2 and of its derivatives."""
        first, second, u, across = 2 * self.b / self.rho, 2 * self.b / self.rho**2, self._u(x, y), x @ b.T
        values = self.b * u**2 @ a + first * np.sum(u * across, axis=1)
        return values, first * (u * a) @ y + second * across @ y + first * u @ b

    def _u(self, x: Array, y: Array) -> Array:
        return np.asarray(x @ y.swapaxes(-1, -2) / self.rho + 1)

    def _block(self, a: Array, b: Array, left: OrderBlock, right: OrderBlock) -> Array:
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
class IsotropicQuadratic:
    """The isotropic quadratic trend: b phi(x).phi(y) with phi = (x / sqrt(rho), x.x / rho)."""

    b: float
    rho: float

    def diagonal(self, x: Array) -> tuple[Array, Array]:
        """Return k(x, x) and its gradient."""
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
        return np.asarray(self.b * self._observation_features(a) @ self._observation_features(b).T)

    def observations_vjp(self, x: Array, layout: ObservationLayout, weights: Array) -> Array:
        """Return the gradients in x."""
        return self._vjp(x, weights @ self._observation_features(layout))

    def variances(self, layout: ObservationLayout) -> Array:
        """Return the diagonal of ``between``."""
        return np.asarray(self.b * np.sum(self._observation_features(layout) ** 2, axis=1))

    def complement_gradients(self, x: Array) -> Array:
        """Return d k / d(x.y): that of the linear part."""
        return np.full((len(x), len(x)), self.b / self.rho)

    def product(self, x: Array, y: Array, a: Array, b: Array) -> tuple[Array, Array]:
        """Return products of features with the weighted sum of features."""
        linear, square = a @ y + b.sum(axis=0), float(np.sum(y * y, axis=1) @ a) + 2 * float(np.vdot(y, b))
        weights = np.append(linear / np.sqrt(self.rho), square / self.rho)
        return self.b * self._features(x) @ weights, self._vjp(x, np.broadcast_to(weights, (len(x), len(weights))))

    def _features(self, x: Array) -> Array:
        return np.concatenate([x / np.sqrt(self.rho), np.sum(x * x, axis=-1, keepdims=True) / self.rho], axis=-1)

    def _vjp(self, x: Array, weights: Array) -> Array:
        linear, square = weights[..., :-1], weights[..., -1:]
        return np.asarray(self.b * (linear / np.sqrt(self.rho) + (2 / self.rho) * square * x))

    def _observation_features(self, layout: ObservationLayout) -> Array:
        """Return the features of values, then the derivatives of features for gradients and curvatures, (N, p + 1)."""
        points, columns = layout.gradients
        _, c, e = layout.curvatures
        gradients = np.column_stack([layout.by_column / np.sqrt(self.rho), (2 / self.rho) * layout.x[points, columns]])
        curvatures = np.column_stack([np.zeros((len(c), layout.x.shape[1])), (2 / self.rho) * (c == e)])
        return np.concatenate([self._features(layout.x), gradients, curvatures])


TRENDS: dict[str, Callable[[float, float], Trend]] = {"quadratic": Quadratic, "bowl": IsotropicQuadratic}
