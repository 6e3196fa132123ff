"""The five covariance operators, with linear solves and log-determinants.

============================  ======================================
``Gram``                      values
``GradientGram``              gradients
``ValueGradientGram``         values and gradients
``HessianGram``               Hessians
``ValueGradientHessianGram``  all three
============================  ======================================
"""

from __future__ import annotations

from typing import Any

import lineax as lx

from sonde.kernels.gram import DerivativeGram
from sonde.kernels.logdet import LogDeterminant, log_determinant
from sonde.kernels.multiply import Observed
from sonde.kernels.solve import Solution, solve


class SolvableGram(DerivativeGram):
    """A covariance operator with ``solve`` and ``logdet``; base class of the five."""

    def solve(
        self, vector: Any, *, noise: Any = 0.0, tolerance: float = 1e-8, max_steps: int | None = None
    ) -> Solution:
        """Solve (K + noise) z = b.

        ``noise`` is a variance: one for all entries, one for each entry of a point, or one for each entry. Small
        systems are solved by Cholesky, large ones by preconditioned conjugate gradients. The result says whether it
        converged.
        """
        return solve(self, vector, noise=noise, tolerance=tolerance, max_steps=max_steps)

    def logdet(self, *, noise: Any = 0.0, probes: int = 16, steps: int = 64, seed: int = 0) -> LogDeterminant:
        """Return log |K + noise| and its standard error: exact for small systems, stochastic Lanczos for large."""
        return log_determinant(self, noise=noise, probes=probes, steps=steps, seed=seed)


class Gram(SolvableGram):
    """Covariances of values: k(x_i, y_j)."""

    observed = Observed(value=True)


class GradientGram(SolvableGram):
    """Covariances of gradients: d^2 k / dx dy."""

    observed = Observed(gradient=True)


class ValueGradientGram(SolvableGram):
    """Covariances of values and gradients."""

    observed = Observed(value=True, gradient=True)


class HessianGram(SolvableGram):
    """Covariances of Hessians."""

    observed = Observed(hessian=True)


class ValueGradientHessianGram(SolvableGram):
    """Covariances of values, gradients and Hessians."""

    observed = Observed(value=True, gradient=True, hessian=True)


def _register(operator: type[SolvableGram]) -> None:
    """Register the properties of an operator with Lineax."""
    for question in (lx.is_symmetric, lx.is_positive_semidefinite):
        question.register(operator)(lambda op: op.Y is None)
    for question in (
        lx.is_diagonal, lx.is_tridiagonal, lx.has_unit_diagonal, lx.is_lower_triangular, lx.is_upper_triangular,
        lx.is_negative_semidefinite,
    ):  # fmt: skip
        question.register(operator)(lambda op: False)
    lx.linearise.register(operator)(lambda op: op)
    lx.materialise.register(operator)(lambda op: lx.MatrixLinearOperator(op.as_matrix()))
    lx.diagonal.register(operator)(lambda op: op.diagonal())
    lx.conj.register(operator)(lambda op: op)


for _operator in (Gram, GradientGram, ValueGradientGram, HessianGram, ValueGradientHessianGram):
    _register(_operator)
