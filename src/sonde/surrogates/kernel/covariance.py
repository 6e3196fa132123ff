"""The covariance of values and gradients under any kernel, with the interface of the closed forms.

k(x, y) = s kernel(x, y) + c, with s and the kernel's parameters in theta, and c the prior variance of a constant mean
as in ``exact.covariance``. Kernels take points of the unit cube: features plus 1/2.

Symbols: those of ``exact.covariance`` and ``gradient.observations``; theta as in ``family``.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sonde.kernels import Kernel
from sonde.surrogates.exact.covariance import CONSTANT
from sonde.surrogates.features import CENTRE
from sonde.surrogates.gradient.observations import ObservationLayout
from sonde.surrogates.kernel import evaluation
from sonde.surrogates.kernel.family import Family

Array = NDArray[np.float64]
Index = NDArray[np.intp]

BLOCK = 2**24  # entries of d^2 k / dx dy at a time


@dataclass(frozen=True)
class KernelCovariance:
    """The covariance k(x, y) of one theta, and of its gradients."""

    family: Family
    theta: Array

    @cached_property
    def kernel(self) -> Kernel:
        """The kernel s k."""
        return self.family.at(self.theta)

    @property
    def noise(self) -> float:
        """The noise variance."""
        return float(np.exp(self.theta[self.family.size]))

    @property
    def gradient_noise(self) -> float:
        """The noise variance of gradients, as a share of their mean square."""
        return float(np.exp(self.theta[-1]))

    @property
    def roots(self) -> Array:
        """Weights of the columns in a distance that has no length scales: ones."""
        return np.ones(1)

    def diagonal(self, x: Array) -> tuple[Array, Array | None]:
        """Return k(x, x), (...), and its gradient in x, (..., p)."""
        value, gradient = evaluation.diagonal(self.kernel, x.reshape(-1, x.shape[-1]) + CENTRE)
        return value.reshape(x.shape[:-1]) + CONSTANT, gradient.reshape(x.shape)

    def cross(self, x: Array, y: Array) -> KernelCross:
        """Return k(x_i, y_j) of all pairs of x (..., m, p) and y (..., n, p)."""
        return KernelCross.of(self, x, ObservationLayout(y))

    def toward(self, x: Array, layout: ObservationLayout) -> KernelCross:
        """Return the covariances of values at x (m, p) with the observations of a layout, (m, N)."""
        return KernelCross.of(self, x, layout)

    def between(self, a: ObservationLayout, b: ObservationLayout) -> Array:
        """Return the covariances of the observations of two layouts, (N_a, N_b)."""
        whole = np.empty((len(a), len(b)))
        whole[a.values] = self.toward(a.x, b).values
        if a.gradients.size:
            whole[a.gradient_entries, b.values] = self.toward(b.x, a).values[:, a.gradient_entries].T
        if a.gradients.size and b.gradients.size:
            whole[a.gradient_entries, b.gradient_entries] = self._gradients(a, b)
        return whole

    def _gradients(self, a: ObservationLayout, b: ObservationLayout) -> Array:
        """Return the covariances of gradients, (K_a, K_b), some points of a at a time."""
        (at, own), (toward, others) = gradient_points(a), gradient_points(b)
        rows = max(1, BLOCK // (len(toward) * toward.shape[1] ** 2))
        result = np.empty((a.gradients.shape[1], b.gradients.shape[1]))
        for first in range(0, len(at), rows):
            block = evaluation.mixed(self.kernel, at[first : first + rows] + CENTRE, toward + CENTRE)
            inside = np.flatnonzero((own >= first) & (own < first + rows))
            columns = a.gradients[1, inside]
            result[inside] = block[(own[inside] - first)[:, None], columns[:, None], others, b.gradients[1]]
        return result

    def theta_gradient(self, layout: ObservationLayout, weights: Array) -> Array:
        """Return the gradient of sum_ij W_ij k_ij in the parameters of s k, (k,), of all pairs of observations."""
        n, (at, own), columns, p = len(layout.x), gradient_points(layout), layout.gradients[1], layout.x.shape[1]
        both, gradients = np.zeros((n, len(at), p)), np.zeros((len(at), p, len(at), p))
        both[:, own, columns] = weights[:n, n:]
        gradients[own[:, None], columns[:, None], own, columns] = weights[n:, n:]
        found = evaluation.parameter_gradients(
            self.kernel, layout.x + CENTRE, at + CENTRE, (weights[:n, :n], both, gradients)
        )
        return self.family.chain(found, self.theta)


def gradient_points(layout: ObservationLayout) -> tuple[Array, Index]:
    """Return the points with gradients, and for each partial derivative which of them it belongs to."""
    points, own = np.unique(layout.gradients[0], return_inverse=True)
    return layout.x[points], own


@dataclass(frozen=True)
class KernelCross:
    """Covariances ``values`` (..., m, N) of values at x with observations, with their vector-Jacobian product."""

    covariance: KernelCovariance
    x: Array
    layout: ObservationLayout
    values: Array

    @classmethod
    def of(cls, covariance: KernelCovariance, x: Array, layout: ObservationLayout) -> KernelCross:
        """Return the covariances."""
        kernel, n = covariance.kernel, layout.x.shape[-2]
        if not n or not x.size:
            return cls(covariance, x, layout, np.zeros((*x.shape[:-1], n + layout.gradients.shape[1])))
        values = evaluation.values(kernel, x + CENTRE, layout.x + CENTRE) + CONSTANT
        if layout.gradients.size:
            at, own = gradient_points(layout)
            derivatives = evaluation.gradients(kernel, x + CENTRE, at + CENTRE)[:, own, layout.gradients[1]]
            values = np.concatenate([values, derivatives], axis=1)
        return cls(covariance, x, layout, values)

    def vjp(self, weights: Array) -> Array:
        """Return sum_j weights_ij d values_ij / dx_i, (..., m, p)."""
        kernel, layout, x = self.covariance.kernel, self.layout, self.x + CENTRE
        n = layout.x.shape[-2]
        if not n or not x.size:
            return np.zeros_like(x)
        total = evaluation.values_vjp(kernel, x, layout.x + CENTRE, weights[..., :n])
        if layout.gradients.size:
            at, own = gradient_points(layout)
            each = np.zeros((len(x), *at.shape))
            each[:, own, layout.gradients[1]] = weights[:, n:]
            total = total + evaluation.gradients_vjp(kernel, x, at + CENTRE, each)
        return total
