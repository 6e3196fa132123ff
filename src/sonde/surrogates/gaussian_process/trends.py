"""Trends: mean functions with Gaussian priors, as covariances of values, gradients and curvatures.

========  ==========================================================================================================
quadratic b (x.y / rho + 1)^2: any quadratic, the kernel "Q" of Ament & Gomes (2022), section 4.3
bowl      b (x.y / rho + x.x y.y / rho^2): an isotropic quadratic around any centre. It has p + 1 coefficients where
          the quadratic has p^2 / 2, like a quasi-Newton method that starts from a multiple of the identity
========  ==========================================================================================================

Trends are centred on the origin of x. To centre one elsewhere, subtract the centre from all x (see ``region``): the
process besides is stationary.

Symbols: those of ``covariance`` and ``observations``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from sonde.arrays import Array
from sonde.surrogates.gaussian_process.observations import ObservationLayout, OrderBlock, one_hot
from sonde.surrogates.gaussian_process.port import Cross


@dataclass(frozen=True)
class Trend(ABC):
    """A mean function with a Gaussian prior, as a covariance k(x, y) of variance b."""

    b: float
    rho: float

    @abstractmethod
    def diagonal(self, x: Array) -> tuple[Array, Array]:
        """Return k(x, x), (...), and its gradient in x, (..., p)."""

    @abstractmethod
    def cross(self, x: Array, y: Array) -> Cross:
        """Return k of all pairs of x (..., m, p) and y (..., n, p)."""

    @abstractmethod
    def between(self, a: ObservationLayout, b: ObservationLayout) -> Array:
        """Return the covariances of the observations of two layouts, (N_a, N_b)."""

    @abstractmethod
    def toward_vjp(self, x: Array, layout: ObservationLayout, weights: Array) -> Array:
        """Return sum_j weights_ij dk / dx_i, (m, p), of values at x (m, p) with the observations of a layout."""

    @abstractmethod
    def variances(self, layout: ObservationLayout) -> Array:
        """Return the variances of the observations of a layout, (N,): the diagonal of ``between``."""

    @abstractmethod
    def complement_gradients(self, x: Array) -> Array:
        """Return d k / d(x.y), (n, n): the covariance of gradients along an axis on which all of x (n, p) are zero."""

    @abstractmethod
    def product(self, x: Array, y: Array, a: Array, b: Array) -> tuple[Array, Array]:
        """Return values (m,) and gradients (m, p) at x for weights a (n,) on values and b (n, p) on gradients at y."""


class Quadratic(Trend):
    """The quadratic trend: b u^2 with u = x.y / rho + 1."""

    def diagonal(self, x: Array) -> tuple[Array, Array]:
        """Return k(x, x) and its gradient."""
        u = np.sum(x * x, axis=-1) / self.rho + 1
        return self.b * u**2, (4 * self.b / self.rho) * u[..., None] * x

    def cross(self, x: Array, y: Array) -> Cross:
        """Return k of all pairs."""
        u = self._u(x, y)
        return Cross(self.b * u**2, lambda weights: self._first * ((weights * u) @ y))

    def between(self, a: ObservationLayout, b: ObservationLayout) -> Array:
        """Return covariances order by order."""
        return np.block([[self._block(a.x, b.x, left, right) for right in b.orders] for left in a.orders])

    def toward_vjp(self, x: Array, layout: ObservationLayout, weights: Array) -> Array:
        """Return the gradients in x."""
        (points, columns), u = layout.gradients, self._u(x, layout.x)
        total = self._first * ((weights[:, layout.values] * u) @ layout.x)
        gradients = weights[:, layout.gradient_entries]
        if gradients.size:
            total += self._second * ((gradients * x[:, columns]) @ layout.by_point) @ layout.x
            total += self._first * (gradients * u[:, points]) @ layout.by_column
        if layout.curvatures.size:
            _, c, e = layout.curvatures
            curvatures = self._second * weights[:, layout.curvature_entries]
            total += (curvatures * x[:, e]) @ one_hot(c, x.shape[1]) + (curvatures * x[:, c]) @ one_hot(e, x.shape[1])
        return np.asarray(total)

    def variances(self, layout: ObservationLayout) -> Array:
        """Return the diagonal of ``between``."""
        values, (points, columns), (_, c, e) = self.diagonal(layout.x)[0], layout.gradients, layout.curvatures
        u = np.sum(layout.x**2, axis=1) / self.rho + 1
        gradients = self._first * u[points] + self._second * layout.x[points, columns] ** 2
        return np.concatenate([values, gradients, self._second * (1.0 + (c == e))])

    def complement_gradients(self, x: Array) -> Array:
        """Return 2 b u / rho."""
        return self._first * self._u(x, x)

    def product(self, x: Array, y: Array, a: Array, b: Array) -> tuple[Array, Array]:
        """Return sums of b u^2 and of its derivatives."""
        u, across = self._u(x, y), x @ b.T
        values = self.b * u**2 @ a + self._first * np.sum(u * across, axis=1)
        return values, self._first * (u * a) @ y + self._second * across @ y + self._first * u @ b

    @property
    def _first(self) -> float:
        return 2 * self.b / self.rho

    @property
    def _second(self) -> float:
        return 2 * self.b / self.rho**2

    def _u(self, x: Array, y: Array) -> Array:
        u = np.asarray(x @ y.swapaxes(-1, -2))
        u /= self.rho
        u += 1
        return u

    def _block(self, a: Array, b: Array, left: OrderBlock, right: OrderBlock) -> Array:
        """Return the covariances of observations of two orders, (N_left, N_right)."""
        if left.order > right.order:
            return self._block(b, a, right, left).T
        xa, xb = a[left.points], b[right.points]
        match left.order, right.order:
            case 0, 0:
                return self.b * self._u(xa, xb) ** 2
            case 0, 1:
                return self._first * self._u(xa, xb) * xa[:, right.columns[0]]
            case 0, 2:
                return self._second * xa[:, right.columns[0]] * xa[:, right.columns[1]]
        c, e = left.columns[0], right.columns[0]
        same = c[:, None] == e
        if right.order == 1:
            return self._second * xb[:, c].T * xa[:, e] + np.where(same, self._first * self._u(xa, xb), 0.0)
        g = right.columns[1]
        also = c[:, None] == g
        if left.order == 1:
            return self._second * (same * xa[:, g] + also * xa[:, e])
        other = left.columns[1][:, None]
        return self._second * ((same & (other == g)).astype(float) + (also & (other == e)))


class IsotropicQuadratic(Trend):
    """The isotropic quadratic trend: b phi(x).phi(y) with phi = (x / sqrt(rho), x.x / rho)."""

    def diagonal(self, x: Array) -> tuple[Array, Array]:
        """Return k(x, x) and its gradient."""
        u = np.sum(x * x, axis=-1) / self.rho
        return self.b * (u + u**2), (2 * self.b / self.rho) * (1 + 2 * u)[..., None] * x

    def cross(self, x: Array, y: Array) -> Cross:
        """Return k of all pairs."""
        features = self._features(y)
        values = self.b * self._features(x) @ features.swapaxes(-1, -2)
        return Cross(values, lambda weights: self._vjp(x, weights @ features))

    def between(self, a: ObservationLayout, b: ObservationLayout) -> Array:
        """Return b times the products of features and of their derivatives."""
        return np.asarray(self.b * self._observation_features(a) @ self._observation_features(b).T)

    def toward_vjp(self, x: Array, layout: ObservationLayout, weights: Array) -> Array:
        """Return the gradients in x."""
        return self._vjp(x, weights @ self._observation_features(layout))

    def variances(self, layout: ObservationLayout) -> Array:
        """Return the diagonal of ``between``."""
        return np.asarray(self.b * np.sum(self._observation_features(layout) ** 2, axis=1))

    def complement_gradients(self, x: Array) -> Array:
        """Return b / rho, from the linear part."""
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


TRENDS: dict[str, type[Trend]] = {"quadratic": Quadratic, "bowl": IsotropicQuadratic}
