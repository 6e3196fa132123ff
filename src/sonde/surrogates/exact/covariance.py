"""The kernel of the Gaussian process and its derivatives, in closed form.

k(x, y) = s M(r) + c + b (x.y / rho + 1)^2,    M(r) = (1 + sqrt5 r + 5/3 r^2) exp(-sqrt5 r)

with r^2 = sum_k w_k |x_k - y_k|^2: Matern-5/2 with a length scale 1 / sqrt(w_k) for each parameter (the same as
``sonde.kernels.ARD(Matern52(), ...)``; a test compares them). c is the prior variance of a constant mean, b that of a
quadratic mean (b = 0: no quadratic mean). A mean with a Gaussian prior adds a term to the kernel, so both means are
integrated out. Derivatives are matrix products, like r^2: sum_j C_ij (x_i - y_j) = x_i sum_j C_ij - (C Y)_i.

Plain NumPy: at the sizes of Bayesian optimization, XLA saves less time per suggestion than its compilation costs.

Symbols: x and y points (m, p) and (n, p) with p features, d parameters (``groups`` (p,) is the parameter of each
feature), theta the logarithms of (length scales (d,), s, noise variance, b if there is a quadratic mean).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

ROOT5 = np.sqrt(5.0)
CONSTANT = 1.0  # c, the prior variance of the constant mean of standardized values


@dataclass(frozen=True)
class Covariance:
    """The kernel k(x, y) for one theta."""

    groups: NDArray[np.intp]
    theta: Array
    quadratic: bool = False

    @property
    def size(self) -> int:
        """The number of length scales, d."""
        return int(self.groups[-1]) + 1

    @property
    def roots(self) -> Array:
        """sqrt(w) of each feature, (p,): the inverse length scales."""
        return np.exp(-self.theta[self.groups])

    @property
    def scale(self) -> float:
        """The variance s of the Matern part."""
        return float(np.exp(self.theta[self.size]))

    @property
    def noise(self) -> float:
        """The noise variance."""
        return float(np.exp(self.theta[self.size + 1]))

    @property
    def trend_variance(self) -> float:
        """The prior variance b of the quadratic mean."""
        return float(np.exp(self.theta[self.size + 2])) if self.quadratic else 0.0

    @property
    def rho(self) -> float:
        """The size of x.y at a corner of the cube; divided by it, b means the same in any dimension."""
        return 0.25 * len(self.groups)

    def diagonal(self, x: Array) -> tuple[Array, Array | None]:
        """Return k(x, x), (...), and its gradient in x, (..., p), None where it is constant."""
        flat = np.full(x.shape[:-1], self.scale + CONSTANT)
        if not self.quadratic:
            return flat, None
        inner = np.sum(x * x, axis=-1) / self.rho + 1
        return flat + self.trend_variance * inner**2, (4 * self.trend_variance / self.rho) * inner[..., None] * x

    def cross(self, x: Array, y: Array) -> Cross:
        """Return k(x_i, y_j) of all pairs of x (..., m, p) and y (..., n, p)."""
        a, b = x * self.roots, y * self.roots
        squares = np.sum(a * a, axis=-1)[..., :, None] + np.sum(b * b, axis=-1)[..., None, :]
        squares -= 2 * (a @ b.swapaxes(-1, -2))
        distances = np.sqrt(np.maximum(squares, 0.0, out=squares), out=squares)  # in place: these arrays are large
        distances *= ROOT5
        decay = np.exp(-distances)
        decay *= self.scale
        values = distances * decay
        first = decay + values
        values *= distances
        values /= 3.0
        values += first
        values += CONSTANT
        inner = None
        if self.quadratic:
            inner = x @ y.swapaxes(-1, -2) / self.rho + 1
            values += self.trend_variance * inner**2
        return Cross(self, x, y, values, first, inner)


@dataclass(frozen=True)
class Cross:
    """A covariance matrix ``values`` (..., m, n), with the arrays that its derivatives need."""

    covariance: Covariance
    x: Array
    y: Array
    values: Array
    first: Array  # s (1 + sqrt5 r) exp(-sqrt5 r) = -(6/5) dk / dr^2
    inner: Array | None  # x.y / rho + 1, if there is a quadratic mean

    def vjp(self, weights: Array) -> Array:
        """Return sum_j weights_ij dk(x_i, y_j) / dx_i, (..., m, p)."""
        gradients = weights * self.first
        drift = gradients @ self.y - self.x * gradients.sum(axis=-1)[..., None]
        result = (5.0 / 3.0) * self.covariance.roots**2 * drift
        if self.inner is not None:
            result += (2 * self.covariance.trend_variance / self.covariance.rho) * ((weights * self.inner) @ self.y)
        return result
