"""Matrix-free products of the covariance of values and gradients with vectors, in O(n^2 p) instead of O(n^2 p^2).

In scaled coordinates z = x / lengthscales, r = z_i - w_j, with weights a_j on values and b_j (p,) on gradients (Ament &
Gomes 2022, section 3.2, summed over the columns of ``gradients``):

    values_i    = sum_j  f a_j - 2 f' r.b_j
    gradients_i = sum_j (2 f' a_j - 4 f'' r.b_j) r - 2 f' b_j

Every sum is a product of an m by n matrix with an n by p one. With the weights of a posterior they are its mean and the
gradient of the mean.
"""

from __future__ import annotations

import numpy as np

from sonde.arrays import Array
from sonde.surrogates.gaussian_process.trends import Trend


class Products:
    """Products with the covariance s f + ``constant`` + trend of values and gradients at x (m, p) and at y (n, p).

    ``f`` are s f, s f' and s f'' of all pairs.
    """

    def __init__(
        self, x: Array, y: Array, roots: Array, f: list[Array], constant: float, trend: Trend | None
    ) -> None:  # fmt: skip
        self.x, self.y, self.roots, self.constant, self.trend = x, y, roots, constant, trend
        self.value, self.first, self.second = f[0], 2 * f[1], 4 * f[2]

    def __call__(self, a: Array, b: Array) -> tuple[Array, Array]:
        """Return values (m,) and gradients (m, p) for weights a (n,) on values and b (n, p) on gradients."""
        z, w, b_scaled = self.x * self.roots, self.y * self.roots, b * self.roots
        along = z @ b_scaled.T - np.sum(w * b_scaled, axis=1)  # r.b_j
        values = self.value @ a + self.constant * a.sum() - np.einsum("ij,ij->i", self.first, along)
        radial = self.first * a
        radial -= np.multiply(self.second, along, out=along)
        gradients = self.roots * (z * radial.sum(axis=1)[:, None] - radial @ w - self.first @ b_scaled)
        if self.trend is None:
            return values, gradients
        more_values, more_gradients = self.trend.product(self.x, self.y, a, b)
        return values + more_values, gradients + more_gradients
