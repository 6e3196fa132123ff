"""The covariance of values and gradients under any kernel, with the interface of the closed forms.

k(x, y) = s kernel(x, y) + c, with s and the kernel's parameters in theta, and c the prior variance of a constant mean
as in the closed form. Kernels take points of the unit cube: features plus 1/2.

Symbols: those of ``gaussian_process``; theta as in ``family``.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sonde.arrays import Array, Index
from sonde.kernels import GradientGram, Kernel, ValueGradientGram
from sonde.surrogates.features import CENTRE
from sonde.surrogates.gaussian_process.covariance import CONSTANT
from sonde.surrogates.gaussian_process.observations import ObservationLayout
from sonde.surrogates.gaussian_process.port import Cross, Operator
from sonde.surrogates.kernel import evaluation
from sonde.surrogates.kernel.evaluation import filled, padded, within_column
from sonde.surrogates.kernel.family import Family

BLOCK = 2**24  # entries of d^2 k / dx dy at a time
COLUMNS = 8  # at most so many, evenly spaced, make the preconditioner of ``gradient.iterative``


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
    def noise_entry(self) -> int:
        """The entry of theta that is the logarithm of the noise variance."""
        return self.family.size

    @property
    def noise(self) -> float:
        """The noise variance."""
        return float(np.exp(self.theta[self.noise_entry]))

    @property
    def gradient_noise(self) -> float:
        """The noise variance of gradients, as a share of their mean square."""
        return float(np.exp(self.theta[-1]))

    @property
    def roots(self) -> Array:
        """Weights of the columns in a distance that has no length scales: ones."""
        return np.ones(1)

    @property
    def smooth(self) -> int:
        """How often sample paths can be differentiated: Hessians are not used."""
        return 1

    def diagonal(self, x: Array) -> tuple[Array, Array | None]:
        """Return k(x, x), (...), and its gradient in x, (..., p)."""
        value, gradient = evaluation.diagonal(self.kernel, x.reshape(-1, x.shape[-1]) + CENTRE)
        return value.reshape(x.shape[:-1]) + CONSTANT, gradient.reshape(x.shape)

    def cross(self, x: Array, y: Array) -> Cross:
        """Return k(x_i, y_j) of all pairs of x (..., m, p) and y (..., n, p)."""
        return self.toward(x, ObservationLayout(y))

    def toward(self, x: Array, layout: ObservationLayout) -> Cross:
        """Return the covariances of values at x (..., m, p) with the observations of a layout, (..., m, N)."""
        kernel, n, (at, own), columns = self.kernel, layout.x.shape[-2], gradient_points(layout), layout.gradients[1]
        if not n or not x.size:
            return Cross(np.zeros((*x.shape[:-1], n + len(own))), lambda weights: np.zeros_like(x))
        values = evaluation.values(kernel, x + CENTRE, layout.x + CENTRE) + CONSTANT
        if len(own):
            derivatives = evaluation.gradients(kernel, x + CENTRE, at + CENTRE)[:, own, columns]
            values = np.concatenate([values, derivatives], axis=1)

        def vjp(weights: Array) -> Array:
            total = evaluation.values_vjp(kernel, x + CENTRE, layout.x + CENTRE, weights[..., :n])
            if len(own):
                each = np.zeros((len(x), *at.shape))
                each[:, own, columns] = weights[:, n:]
                total = total + evaluation.gradients_vjp(kernel, x + CENTRE, at + CENTRE, each)
            return total

        return Cross(values, vjp)

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

    def products(self, x: Array, y: Array | None = None) -> Operator:
        """Return products with the covariances of values and gradients at x and y (None: x), of structured operators.

        ``ValueGradientGram`` multiplies in O(n^2 p) without forming the n p by n p matrix.
        """
        if y is None:
            operator = ValueGradientGram(self.kernel, padded(x + CENTRE), keep=True)
        else:
            operator = ValueGradientGram(self.kernel, padded(x + CENTRE), padded(y + CENTRE))

        def multiply(a: Array, b: Array) -> tuple[Array, Array]:
            weights = filled(np.concatenate([a[:, None], b], axis=1), 0, width=b.shape[1])
            product = np.asarray(operator.mv(weights))[: len(x)]
            return product[:, 0] + CONSTANT * a.sum(), product[:, 1:]

        return multiply

    def within_columns(self, x: Array) -> tuple[Array, Array]:
        """Return the mean over some columns of the covariances within a column, in units of their diagonals."""
        (n, p), units = x.shape, x + CENTRE
        diagonals = np.asarray(GradientGram(self.kernel, padded(units)).diagonal()).reshape(-1, p)[:n].mean(axis=0)
        diagonals = np.maximum(diagonals, 1e-12 * diagonals.max())
        chosen = np.unique(np.linspace(0, p - 1, min(p, COLUMNS)).astype(np.intp)).tolist()
        within = [within_column(self.kernel, units, c) / diagonals[c] for c in chosen]
        return np.mean(within, axis=0), diagonals

    def variances(self, layout: ObservationLayout) -> Array:
        """Return the prior variances of the observations of a layout, (N,)."""
        return np.diagonal(self.between(layout, layout))

    def curvature_variances(self, layout: ObservationLayout) -> Array:
        """Return no variances: Hessians are not used."""
        return np.empty(0)

    def observed(self, layout: ObservationLayout) -> KernelMatrix:
        """Return the matrix of values and gradients, for the marginal likelihood."""
        return KernelMatrix(self, layout)


def gradient_points(layout: ObservationLayout) -> tuple[Array, Index]:
    """Return the points with gradients, and for each partial derivative which of them it belongs to."""
    points, own = np.unique(layout.gradients[0], return_inverse=True)
    return layout.x[..., points, :], own


class KernelMatrix:
    """The matrix (N, N) of the values and gradients of a layout, and its gradient in theta."""

    def __init__(self, covariance: KernelCovariance, layout: ObservationLayout) -> None:
        self.covariance, self.layout = covariance, layout
        self.matrix = covariance.between(layout, layout)

    def theta_gradient(self, weights: Array) -> Array:
        """Return 1/2 sum_ij W_ij dK_ij / d theta, (D,), by automatic differentiation; 0 for variances of noise."""
        layout, family, theta = self.layout, self.covariance.family, self.covariance.theta
        n, (at, own), columns, p = len(layout.x), gradient_points(layout), layout.gradients[1], layout.x.shape[1]
        both, gradients = np.zeros((n, len(at), p)), np.zeros((len(at), p, len(at), p))
        both[:, own, columns] = weights[:n, n:]
        gradients[own[:, None], columns[:, None], own, columns] = weights[n:, n:]
        found = evaluation.parameter_gradients(
            self.covariance.kernel, layout.x + CENTRE, at + CENTRE, (weights[:n, :n], both, gradients)
        )
        return np.append(0.5 * family.chain(found, theta), np.zeros(len(theta) - family.size))
