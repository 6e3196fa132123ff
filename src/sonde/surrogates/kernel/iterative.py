"""The mean given more gradients than fit into a matrix, by products with the structured operators of ``sonde.kernels``.

As in ``gradient.iterative``, (K + noise) w = y is solved by preconditioned conjugate gradients for all values and
gradients. ``ValueGradientGram`` multiplies in O(n^2 p) without forming the n p by n p matrix. The preconditioner of the
gradients is the mean, over some columns, of the covariances within a column, as shares of their diagonals.

Symbols: those of ``gradient.iterative``.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sonde.kernels import GradientGram, ValueGradientGram
from sonde.surrogates.exact.covariance import CONSTANT
from sonde.surrogates.features import CENTRE
from sonde.surrogates.gradient.iterative import Solver, preconditioner, solve
from sonde.surrogates.gradient.observations import ObservationLayout
from sonde.surrogates.kernel.covariance import KernelCovariance
from sonde.surrogates.kernel.evaluation import filled, padded, within_column

Array = NDArray[np.float64]

COLUMNS = 8  # at most so many, evenly spaced, make the preconditioner


@dataclass(frozen=True)
class KernelMean:
    """The posterior mean and its gradient, from weights on the observations at x (n, p)."""

    covariance: KernelCovariance
    x: Array
    a: Array  # weights of values, (n,)
    b: Array  # weights of gradients, (n, p), 0 where unobserved

    @classmethod
    def after(
        cls, covariance: KernelCovariance, layout: ObservationLayout, y: Array, noise: Array,
        start: tuple[Array, Array],
    ) -> KernelMean:  # fmt: skip
        """Return the mean given observations y (N,) with noise variances (N,), from initial weights ``start``."""
        operator = ValueGradientGram(covariance.kernel, padded(layout.x + CENTRE), keep=True)
        precondition = _preconditioner(covariance, layout, noise)

        def multiply(a: Array, b: Array) -> tuple[Array, Array]:
            return _product(operator, a, b, len(a))

        return cls(covariance, layout.x, *solve(multiply, precondition, layout, y, noise, start))

    @cached_property
    def _points(self) -> Array:
        return padded(self.x + CENTRE)

    def __call__(self, x: Array) -> tuple[Array, Array]:
        """Return the mean (m,) at x (m, p), and its gradient (m, p)."""
        operator = ValueGradientGram(self.covariance.kernel, padded(x + CENTRE), self._points)
        return _product(operator, self.a, self.b, len(x))


def _product(operator: ValueGradientGram, a: Array, b: Array, count: int) -> tuple[Array, Array]:
    """Return the products with the covariances of values and of gradients, at the first ``count`` rows."""
    product = np.asarray(operator.mv(filled(np.concatenate([a[:, None], b], axis=1), 0, width=b.shape[1])))[:count]
    return product[:, 0] + CONSTANT * a.sum(), product[:, 1:]


def _preconditioner(covariance: KernelCovariance, layout: ObservationLayout, noise: Array) -> Solver:
    (n, p), x = layout.x.shape, layout.x + CENTRE
    diagonals = np.asarray(GradientGram(covariance.kernel, padded(x)).diagonal()).reshape(-1, p)[:n].mean(axis=0)
    diagonals = np.maximum(diagonals, 1e-12 * diagonals.max())
    chosen = np.unique(np.linspace(0, p - 1, min(p, COLUMNS)).astype(np.intp)).tolist()
    within = np.mean([within_column(covariance.kernel, x, c) / diagonals[c] for c in chosen], axis=0)
    return preconditioner(covariance.cross(layout.x, layout.x).values, within, diagonals, layout, noise)
