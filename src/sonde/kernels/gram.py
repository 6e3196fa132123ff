"""The covariance matrix of values, gradients or Hessians as a Lineax operator that multiplies without being formed.

============================  ======================================
``Gram``                      values
``GradientGram``              gradients
``ValueGradientGram``         values and gradients
``HessianGram``               Hessians
``ValueGradientHessianGram``  all three
============================  ======================================

Each point has 1 entry if its value is observed, d if its gradient is, and d (d + 1) / 2 if its Hessian is (upper
triangle, row by row). A vector holds the entries point after point: flat, or as (points, entries).

Symbols: n rows, m columns, d inputs.
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
from sonde.kernels.kernel import Kernel
from sonde.kernels.multiply import Observed, gram_coefficients, gram_diagonal, gram_matrix, gram_product, paths
from sonde.kernels.parameters import cast, in_precision_of, keep_precision
from sonde.kernels.products import Coefficients
from sonde.kernels.solve import LogDeterminant, Solution, log_determinant, solve

# Bytes of pairwise arrays at a time: on CPUs they should stay in the cache, elsewhere they should fill the device.
_DEFAULT_MEMORY = {"cpu": 2**25}
_DEFAULT_ON_DEVICES = 2**31


class DerivativeGram(lx.AbstractLinearOperator):
    """Base class of the covariance operators: products, entries, shapes, linear solves and log-determinants.

    Parameters
    ----------
    kernel
        The covariance function.
    X
        Rows, (n, d).
    Y
        Columns, (m, d); by default the rows: then the operator is symmetric and positive semidefinite.
    keep
        Keep the pairwise coefficients (a few n by m arrays) for repeated products instead of recomputing them.
    memory
        Bytes that a product may use for pairwise arrays; rows that do not fit are done block by block. By default
        32 MiB on CPUs, which stays in the cache and is fastest, and 2 GiB on other devices.
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
            self.kept = gram_coefficients(self.kernel, self.X, self.columns) if keep else None

    @property
    def columns(self) -> Array:
        """The points of the columns, (m, d)."""
        return self.X if self.Y is None else self.Y

    @property
    def paths(self) -> tuple[str, ...]:
        """The path of each summand in products: ``"structured"``, ``"separable"`` or ``"autodiff"``."""
        with in_precision_of(self.X):  # shapes only: the maps need not be computed
            found: tuple[str, ...] = eqx.filter_eval_shape(paths, self.kernel, self.observed)
        return found

    @property
    def entries(self) -> int:
        """Number of entries of one point."""
        return self.observed.entries(self.X.shape[1])

    def mv(self, vector: Any) -> Array:
        """Return the product with a vector, (m entries,) or (m, entries), in the same shape."""
        with in_precision_of(self.X):
            vector = jnp.asarray(vector, self.X.dtype)
            flat = (len(self.columns) * self.entries,)
            if vector.shape not in (flat, (len(self.columns), self.entries)):
                raise KernelError(
                    f"the vector has shape {vector.shape}, expected {flat} or {(len(self.columns), self.entries)}"
                )
            product = gram_product(self.kernel, self.X, self.columns, vector, self.kept, self.observed, self.memory)
        return keep_precision(product)

    def __matmul__(self, vector: Any) -> Array:
        return self.mv(vector)

    def as_matrix(self) -> Array:
        """Return the whole matrix, (n entries, m entries)."""
        with in_precision_of(self.X):
            matrix = gram_matrix(self.kernel, self.X, self.columns, self.observed)
        return keep_precision(matrix)

    def diagonal(self) -> Array:
        """Return the diagonal of a square operator."""
        if len(self.X) != len(self.columns):
            raise KernelError(
                f"only square operators have a diagonal; this one is {self.out_size()} by {self.in_size()}"
            )
        with in_precision_of(self.X):
            diagonal = gram_diagonal(self.kernel, self.X, self.columns, self.observed)
        return keep_precision(diagonal)

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

    def transpose(self) -> DerivativeGram:
        """Return the operator with rows and columns exchanged."""
        if self.Y is None:
            return self
        return type(self)(self.kernel, self.Y, self.X, keep=self.kept is not None, memory=self.memory)

    def in_structure(self) -> jax.ShapeDtypeStruct:
        """Shape and precision of the vectors that it multiplies."""
        return jax.ShapeDtypeStruct((len(self.columns) * self.entries,), self.X.dtype)

    def out_structure(self) -> jax.ShapeDtypeStruct:
        """Shape and precision of the products."""
        return jax.ShapeDtypeStruct((len(self.X) * self.entries,), self.X.dtype)


for _question in (lx.is_symmetric, lx.is_positive_semidefinite):
    _question.register(DerivativeGram)(lambda op: op.Y is None)
for _question in (
    lx.is_diagonal, lx.is_tridiagonal, lx.has_unit_diagonal, lx.is_lower_triangular, lx.is_upper_triangular,
    lx.is_negative_semidefinite,
):  # fmt: skip
    _question.register(DerivativeGram)(lambda op: False)
lx.linearise.register(DerivativeGram)(lambda op: op)
lx.materialise.register(DerivativeGram)(lambda op: lx.MatrixLinearOperator(op.as_matrix()))
lx.diagonal.register(DerivativeGram)(lambda op: op.diagonal())
lx.conj.register(DerivativeGram)(lambda op: op)


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
        raise KernelError(f"{name} must be (points, inputs), one point per row, got shape {points.shape}")
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
    """Raise before anything is compiled if the kernel's parameters are for another number of inputs."""
    leaves, tree = jax.tree.flatten(kernel)
    shapes = tuple((np.shape(leaf), str(getattr(leaf, "dtype", ""))) for leaf in leaves)
    with contextlib.suppress(TypeError):  # a user-defined kernel may hold something that has no hash
        _check_shapes(tree, shapes, jax.ShapeDtypeStruct(points.shape[1:], points.dtype))


@lru_cache(maxsize=256)  # a trace takes milliseconds, and kernels of the same shapes come again
def _check_shapes(tree: Any, shapes: tuple[tuple[tuple[int, ...], str], ...], point: jax.ShapeDtypeStruct) -> None:
    leaves = [jax.ShapeDtypeStruct(shape, kind) if kind else 0 for shape, kind in shapes]
    try:
        eqx.filter_eval_shape(jax.tree.unflatten(tree, leaves), point, point)
    except KernelError:
        raise
    except Exception:  # any other failure is raised where the kernel is used
        return
