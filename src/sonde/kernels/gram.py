"""The matrices of a kernel and its derivatives as linear operators (Lineax), never formed unless asked for.

A point has one entry for its value, d for its gradient, d (d + 1) / 2 for its Hessian (upper triangle, row by row),
as far as they are observed; a vector holds the points one after the other. ``mv`` takes it flat or as (points,
entries).

============================  ======================================
``Gram``                      values
``GradientGram``              gradients
``ValueGradientGram``         values and gradients
``HessianGram``               Hessians
``ValueGradientHessianGram``  all three
============================  ======================================
"""

from __future__ import annotations

import contextlib
from functools import lru_cache
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import lineax as lx
import numpy as np
from jax import Array

from sonde.errors import KernelError, NotDifferentiable
from sonde.kernels import multiply
from sonde.kernels.kept import Coefficients
from sonde.kernels.kernel import Kernel, cast
from sonde.kernels.logdet import LogDeterminant, log_determinant
from sonde.kernels.multiply import Observed
from sonde.kernels.parts import paths
from sonde.kernels.precision import handed_out, in_precision_of
from sonde.kernels.solve import Solution, solve

# Bytes of pairwise arrays at a time: on CPUs what stays in the cache, elsewhere what fills the device.
_DEFAULT_MEMORY = {"cpu": 2**25}
_DEFAULT_ON_DEVICES = 2**31


class DerivativeGram(lx.AbstractLinearOperator):
    """Base of the five operators.

    Parameters
    ----------
    kernel
        The covariance function.
    X
        Rows, (n, d).
    Y
        Columns, (m, d); by default the rows: then the operator is symmetric and positive semidefinite.
    keep
        Keep the pairwise coefficients for repeated products (a few n by m arrays) instead of recomputing them.
    memory
        Bytes that a product may take for pairwise arrays; more rows are done block by block. By default 32 MiB on
        CPUs, which stays in the cache and is fastest, and 2 GiB on other devices.
    """

    kernel: Kernel
    X: Array
    Y: Array | None
    kept: Coefficients | None
    memory: int = eqx.field(static=True)

    observed: ClassVar[Observed]

    def __init__(self, kernel: Kernel, X: Any, Y: Any = None, *, keep: bool = False, memory: int | None = None) -> None:
        _check_kernel(kernel, self.observed)
        if memory is None:
            memory = _DEFAULT_MEMORY.get(jax.default_backend(), _DEFAULT_ON_DEVICES)
        if isinstance(memory, bool) or not isinstance(memory, int) or memory <= 0:
            raise KernelError(f"memory must be a positive number of bytes, got {memory!r}")
        with in_precision_of(X):
            self.X = _points(X, "X")
            self.Y = None if Y is None else _points(Y, "Y")
            if self.Y is not None and (self.Y.shape[1] != self.X.shape[1] or self.Y.dtype != self.X.dtype):
                raise KernelError(
                    f"X is {self.X.dtype}{self.X.shape} and Y is {self.Y.dtype}{self.Y.shape}; "
                    "both need the same number of columns and the same precision"
                )
            self.kernel = cast(kernel, self.X.dtype)
            _check_columns(self.kernel, self.X)
            self.memory = memory
            self.kept = multiply.keep(self.kernel, self.X, self.columns) if keep else None

    @property
    def columns(self) -> Array:
        """The points of the columns."""
        return self.X if self.Y is None else self.Y

    @property
    def paths(self) -> tuple[str, ...]:
        """How each summand is multiplied: ``"structured"``, ``"separable"`` or ``"autodiff"``."""
        with in_precision_of(self.X):
            return multiply.second_order_paths(self.kernel) if self.observed.hessian else paths(self.kernel)

    @property
    def entries(self) -> int:
        """Entries of one point."""
        return self.observed.entries(self.X.shape[1])

    def mv(self, vector: Any) -> Array:
        """Return the product with a vector, (m entries,) or (m, entries), in the same form."""
        with in_precision_of(self.X):
            vector = jnp.asarray(vector, self.X.dtype)
            flat = (len(self.columns) * self.entries,)
            if vector.shape not in (flat, (len(self.columns), self.entries)):
                raise KernelError(
                    f"the vector has shape {vector.shape}, expected {flat} or {(len(self.columns), self.entries)}"
                )
            product = multiply.product(
                self.kernel,
                self.X,
                self.columns,
                vector.reshape(-1, self.entries),
                self.kept,
                self.observed,
                self.memory,
            )
            product = product.reshape(-1) if vector.ndim == 1 else product
        return handed_out(product)

    def __matmul__(self, vector: Any) -> Array:
        return self.mv(vector)

    def as_matrix(self) -> Array:
        """Return the whole matrix, (n entries, m entries)."""
        with in_precision_of(self.X):
            matrix = multiply.matrix(self.kernel, self.X, self.columns, self.observed)
        return handed_out(matrix)

    def diagonal(self) -> Array:
        """Return the diagonal of a square operator."""
        if len(self.X) != len(self.columns):
            raise KernelError(
                f"only square operators have a diagonal; this one is {self.out_size()} by {self.in_size()}"
            )
        with in_precision_of(self.X):
            diagonal = multiply.diagonal(self.kernel, self.X, self.columns, self.observed)
        return handed_out(diagonal)

    def transpose(self) -> DerivativeGram:
        """Return the operator with rows and columns exchanged."""
        if self.Y is None:
            return self
        return type(self)(self.kernel, self.Y, self.X, keep=self.kept is not None, memory=self.memory)

    def solve(
        self, vector: Any, *, noise: Any = 0.0, tolerance: float = 1e-8, max_steps: int | None = None
    ) -> Solution:
        """Solve (K + noise) z = b; ``noise`` is a variance, for all entries, for each entry of a point, or for each
        entry.

        Small systems by Cholesky, large ones by preconditioned conjugate gradients; the result says whether it
        converged.
        """
        return solve(self, vector, noise=noise, tolerance=tolerance, max_steps=max_steps)

    def logdet(self, *, noise: Any = 0.0, probes: int = 16, steps: int = 64, seed: int = 0) -> LogDeterminant:
        """Return log |K + noise| with an error estimate: exact for small systems, stochastic Lanczos for large ones."""
        return log_determinant(self, noise=noise, probes=probes, steps=steps, seed=seed)

    def in_structure(self) -> jax.ShapeDtypeStruct:
        """Shape of the vectors it takes."""
        return jax.ShapeDtypeStruct((len(self.columns) * self.entries,), self.X.dtype)

    def out_structure(self) -> jax.ShapeDtypeStruct:
        """Shape of the vectors it gives."""
        return jax.ShapeDtypeStruct((len(self.X) * self.entries,), self.X.dtype)


class Gram(DerivativeGram):
    """Covariances of values: k(x_i, y_j)."""

    observed = Observed(value=True)


class GradientGram(DerivativeGram):
    """Covariances of gradients: d^2 k / dx dy."""

    observed = Observed(gradient=True)


class ValueGradientGram(DerivativeGram):
    """Covariances of values and gradients."""

    observed = Observed(value=True, gradient=True)


class HessianGram(DerivativeGram):
    """Covariances of Hessians."""

    observed = Observed(hessian=True)


class ValueGradientHessianGram(DerivativeGram):
    """Covariances of values, gradients and Hessians."""

    observed = Observed(value=True, gradient=True, hessian=True)


def _points(given: Any, name: str) -> Array:
    points: Any = given
    if not isinstance(given, jax.core.Tracer):
        array = np.asarray(given)
        if array.dtype == object or array.dtype.kind not in "fiub":
            raise KernelError(f"{name} must be an array of numbers, got dtype {array.dtype}")
        points = jnp.asarray(given, array.dtype if array.dtype.kind == "f" else float)
        if not np.isfinite(array).all():
            row = int(np.argwhere(~np.isfinite(array))[0][0])
            raise KernelError(f"{name} has a value that is not finite in row {row}; leave such points out")
    if points.ndim != 2 or 0 in points.shape:
        raise KernelError(f"{name} must be (points, inputs), one point a row, got shape {points.shape}")
    return points


def _check_kernel(kernel: Any, observed: Observed) -> None:
    if not isinstance(kernel, Kernel):
        raise KernelError(f"expected a kernel, got {kernel!r}; a plain function goes in sonde.kernels.Function(...)")
    order = 2 if observed.hessian else 1 if observed.gradient else 0
    if kernel.smoothness < order:
        what = {1: "gradients", 2: "Hessians"}[order]
        raise NotDifferentiable(
            f"sample paths of {type(kernel).__name__} are differentiable {kernel.smoothness:.0f} times, so they have "
            f"no {what}; use a smoother kernel, such as Matern({order + 1}), which is Matern-{2 * order + 3}/2, or "
            "RBF, for every summand and factor"
        )


def _check_columns(kernel: Kernel, points: Array) -> None:
    """Raise where the kernel's own parameters are for another number of columns, before anything is compiled."""
    leaves, tree = jax.tree.flatten(kernel)
    shapes = tuple((np.shape(leaf), str(getattr(leaf, "dtype", ""))) for leaf in leaves)
    with contextlib.suppress(TypeError):  # a kernel of the user's own may hold what has no hash
        _check_shapes(tree, shapes, jax.ShapeDtypeStruct(points.shape[1:], points.dtype))


@lru_cache(maxsize=256)  # a trace takes milliseconds, and kernels of the same form are used again and again
def _check_shapes(tree: Any, shapes: tuple[tuple[tuple[int, ...], str], ...], point: jax.ShapeDtypeStruct) -> None:
    leaves = [jax.ShapeDtypeStruct(shape, kind) if kind else 0 for shape, kind in shapes]
    try:
        eqx.filter_eval_shape(jax.tree.unflatten(tree, leaves), point, point)
    except KernelError:
        raise
    except Exception:  # a formula that fails of something else says so where it is used
        return


def _register(operator: type[DerivativeGram]) -> None:
    """Tell Lineax what is known of an operator."""
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
