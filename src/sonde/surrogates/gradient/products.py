"""Matrix-free products of the covariance of values and gradients with vectors, in O(n^2 p) instead of O(n^2 p^2).

In scaled coordinates z = x / lengthscales, r = z_i - w_j, with weights a_j on values and b_j (p,) on gradients (Ament &
Gomes 2022, section 3.2, summed over the columns of ``gradients``):

    values_i    = sum_j  f a_j - 2 f' r.b_j
    gradients_i = sum_j (2 f' a_j - 4 f'' r.b_j) r - 2 f' b_j

Every sum is a product of an m by n matrix with an n by p one. With the weights of a posterior they are its mean and the
gradient of the mean.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sonde.surrogates.exact.covariance import CONSTANT
from sonde.surrogates.gradient.covariance import GradientCovariance

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Products:
    """Products with the covariance of values and gradients at x (m, p) and at y (n, p)."""

    covariance: GradientCovariance
    x: Array
    y: Array

    def __call__(self, a: Array, b: Array) -> tuple[Array, Array]:
        """Return values (m,) and gradients (m, p) for weights a (n,) on values and b (n, p) on gradients."""
        roots = self.covariance.roots
        z, w, b_scaled = self.x * roots, self.y * roots, b * roots
        value, first, second = self._profile
        along = z @ b_scaled.T - np.sum(w * b_scaled, axis=1)  # r.b_j
        values = value @ a + CONSTANT * a.sum() - np.einsum("ij,ij->i", first, along)
        radial = first * a
        radial -= np.multiply(second, along, out=along)
        gradients = roots * (z * radial.sum(axis=1)[:, None] - radial @ w - first @ b_scaled)
        if self.covariance.trend is None:
            return values, gradients
        more_values, more_gradients = self.covariance.trend.product(self.x, self.y, a, b)
        return values + more_values, gradients + more_gradients

    @cached_property
    def _profile(self) -> tuple[Array, Array, Array]:
        """f, 2 f' and 4 f'' of all pairs."""
        value, first, second = self.covariance.isotropic(self.x, self.y, 2)
        return value, 2 * first, 4 * second
