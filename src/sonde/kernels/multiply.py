"""Products with, and entries of, the covariance matrix: each summand of the kernel on its own path, rows in blocks.

A sum is split, so that one summand without known structure does not slow down the others. All structured summands are
then merged into one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import Array

from sonde.kernels import products
from sonde.kernels.dense import autodiff_blocks, autodiff_second_blocks, structured_blocks
from sonde.kernels.hessians import Jet, autodiff_jet, is_second_order, structured_jet
from sonde.kernels.kernel import Kernel, Scaled, Sum
from sonde.kernels.separable import DirectKernel
from sonde.kernels.structure import Structure


@dataclass(frozen=True)
class Observed:
    """Which derivatives are observed at each point."""

    value: bool = False
    gradient: bool = False
    hessian: bool = False

    def entries(self, d: int) -> int:
        """Return the number of entries of a point."""
        return self.value + self.gradient * d + self.hessian * (d * (d + 1) // 2)


@dataclass(frozen=True)
class Part:
    """A summand of a kernel, times ``factor``, and its structure where that is known."""

    kernel: Kernel
    structure: Structure | None
    factor: Array | float = 1.0

    @property
    def path(self) -> str:
        """The path of products: ``"structured"``, ``"separable"`` or ``"autodiff"``."""
        if self.structure is not None:
            return "structured"
        return "separable" if isinstance(self.kernel, DirectKernel) and self.kernel.separable else "autodiff"


def split(kernel: Kernel) -> list[Part]:
    """Return the summands of a kernel, the structured ones merged into the first."""
    parts = summands(kernel)
    structured = [_scaled(part) for part in parts if part.structure is not None]
    others = [part for part in parts if part.structure is None]
    if not structured:
        return others
    whole = structured[0] if len(structured) == 1 else Sum(tuple(structured))
    return [Part(whole, whole.structure()), *others]


def summands(kernel: Kernel, factor: Array | float = 1.0) -> list[Part]:
    """Return the summands of a kernel times ``factor``, structured ones not merged."""
    if isinstance(kernel, Sum):
        return [part for one in kernel.parts for part in summands(one, factor)]
    if isinstance(kernel, Scaled):
        return summands(kernel.kernel, factor * jnp.asarray(kernel.factor))
    return [Part(kernel, kernel.structure(), factor)]


def _scaled(part: Part) -> Kernel:
    return part.kernel if isinstance(part.factor, float) else Scaled(part.kernel, part.factor)


def paths(kernel: Kernel, observed: Observed) -> tuple[str, ...]:
    """Return the path of each summand in products."""
    if observed.hessian:
        return tuple("structured" if is_second_order(part.structure) else "autodiff" for part in summands(kernel))
    return tuple(part.path for part in split(kernel))


@eqx.filter_jit
def gram_product(
    kernel: Kernel,
    rows: Array,
    columns: Array,
    vector: Array,
    kept: products.Coefficients | None,
    observed: Observed,
    memory: int,
) -> Array:
    """Return the product with a vector, (m entries,) or (m, entries), in the same shape."""
    # XLA 0.10 on CPUs turns sum(A * (B @ 0), axis=1) into NaN where the zero is a known constant: the barrier hides it.
    weights = jax.lax.optimization_barrier(vector).reshape(len(columns), -1)
    if observed.hessian:
        product = _second_order(kernel, rows, columns, weights, observed, memory)
    else:
        product = _first_order(split(kernel), rows, columns, weights, kept, observed, memory)
    return product.reshape(-1) if vector.ndim == 1 else product


def _first_order(
    parts: list[Part],
    rows: Array,
    columns: Array,
    vector: Array,
    kept: products.Coefficients | None,
    observed: Observed,
    memory: int,
) -> Array:
    d = rows.shape[1]
    weights = products.Weights(vector[:, 0] if observed.value else None, vector[:, -d:] if observed.gradient else None)
    total = jnp.zeros((len(rows), observed.entries(d)), rows.dtype)
    for part in parts:
        if part.structure is not None and kept is not None:
            result = products.kept_product(part.structure, kept, rows, columns, weights)
        else:
            result = in_blocks(
                lambda block, part=part: _part_product(part, block, columns, weights),
                rows,
                _rows_at_a_time(part, columns, memory),
            )
        total = total + part.factor * _stacked(*result, observed)
    return total


def _part_product(part: Part, rows: Array, columns: Array, weights: products.Weights) -> tuple[Array, Array]:
    if part.structure is not None:
        return products.structured_product(part.structure, rows, columns, weights)
    if part.path == "separable":
        return products.separable_product(part.kernel, rows, columns, weights)  # type: ignore[arg-type]
    return products.autodiff_product(part.kernel, rows, columns, weights)


def _stacked(value: Array, gradient: Array, observed: Observed) -> Array:
    chosen = ([value[:, None]] if observed.value else []) + ([gradient] if observed.gradient else [])
    return jnp.concatenate(chosen, axis=1)


def _second_order(kernel: Kernel, rows: Array, columns: Array, vector: Array, observed: Observed, memory: int) -> Array:
    weights = _unpack(vector, columns, observed)
    total = jnp.zeros((len(rows), observed.entries(rows.shape[1])), rows.dtype)
    for part in summands(kernel):
        structured = part.structure if is_second_order(part.structure) else None

        def one(block: Array, part: Part = part, structured: Any = structured) -> Array:
            if structured is None:
                return _pack(autodiff_jet(part.kernel, block, columns, weights), observed)
            return _pack(structured_jet(structured, block, columns, weights), observed)

        d, itemsize = columns.shape[1], columns.dtype.itemsize
        each = len(columns) * d * itemsize * (24 if structured is not None else 8 * d * d)
        total = total + part.factor * in_blocks(one, rows, max(1, memory // each))
    return total


def _unpack(vector: Array, columns: Array, observed: Observed) -> Jet:
    """Return the weights; those of off-diagonal Hessian entries are split between both triangles."""
    m, d = columns.shape
    value = vector[:, 0] if observed.value else jnp.zeros(m, vector.dtype)
    first = int(observed.value)
    gradient = vector[:, first : first + d] if observed.gradient else jnp.zeros((m, d), vector.dtype)
    upper = jnp.triu_indices(d)
    half = jnp.zeros((m, d, d), vector.dtype).at[:, upper[0], upper[1]].set(vector[:, -(d * (d + 1) // 2) :])
    return Jet(value, gradient, (half + jnp.swapaxes(half, 1, 2)) / 2)


def _pack(jet: Jet, observed: Observed) -> Array:
    upper = jnp.triu_indices(jet.gradient.shape[1])
    chosen = [jet.value[:, None]] if observed.value else []
    chosen += [jet.gradient] if observed.gradient else []
    return jnp.concatenate([*chosen, jet.hessian[:, upper[0], upper[1]]], axis=1)


def in_blocks(function: Any, rows: Array, block: int) -> Any:
    """Return ``function(rows)``, computed for ``block`` rows at a time."""
    n = len(rows)
    if block >= n:
        return function(rows)
    count = -(-n // block)
    block = -(-n // count)  # blocks of equal size need the least padding
    padded = jnp.concatenate([rows, jnp.broadcast_to(rows[:1], (count * block - n, rows.shape[1]))])
    results = jax.lax.map(function, padded.reshape(count, block, -1))
    return jax.tree.map(lambda each: each.reshape(count * block, *each.shape[2:])[:n], results)


def _rows_at_a_time(part: Part, columns: Array, memory: int) -> int:
    """Return how many rows fit in memory; arrays are (rows, m) on the structured path, else (rows, m, d)."""
    m, d = columns.shape
    if part.structure is not None:
        arrays = 4 * len(part.structure.scalars) + 4
        return max(1, memory // (m * columns.dtype.itemsize * arrays))
    return max(1, memory // (m * d * columns.dtype.itemsize * 8))


@eqx.filter_jit
def gram_coefficients(kernel: Kernel, rows: Array, columns: Array) -> products.Coefficients | None:
    """Return the pairwise coefficients of the structured summands; None if no summand is structured."""
    structure = split(kernel)[0].structure
    return None if structure is None else products.coefficients(structure, rows, columns)


@eqx.filter_jit
def gram_matrix(kernel: Kernel, rows: Array, columns: Array, observed: Observed) -> Array:
    """Return the whole matrix, (n entries, m entries)."""
    blocks = _blocks(kernel, rows, columns, observed)
    n, m, p = blocks.shape[:3]
    return jnp.swapaxes(blocks, 1, 2).reshape(n * p, m * p)


@eqx.filter_jit
def gram_diagonal(kernel: Kernel, rows: Array, columns: Array, observed: Observed) -> Array:
    """Return the diagonal."""

    def own(x: Array, y: Array) -> Array:
        return jnp.diagonal(_blocks(kernel, x[None], y[None], observed)[0, 0])

    return jax.vmap(own)(rows, columns).reshape(-1)


def _blocks(kernel: Kernel, rows: Array, columns: Array, observed: Observed) -> Array:
    d = rows.shape[1]
    if observed.hessian:
        return _observed_entries(autodiff_second_blocks(kernel, rows, columns), d, observed)
    if not observed.gradient:
        return jax.vmap(lambda x: jax.vmap(lambda y: kernel(x, y))(columns))(rows)[..., None, None]
    blocks = jnp.zeros((len(rows), len(columns), 1 + d, 1 + d), rows.dtype)
    for part in split(kernel):
        if part.structure is not None:
            own = structured_blocks(part.structure, rows, columns)
        else:
            own = autodiff_blocks(part.kernel, rows, columns)
        blocks = blocks + part.factor * own
    return _observed_entries(blocks, d, observed)


def _observed_entries(blocks: Array, d: int, observed: Observed) -> Array:
    """Return the rows and columns of the blocks that are observed."""
    wanted = [observed.value] + [observed.gradient] * d + [observed.hessian] * (blocks.shape[-1] - 1 - d)
    if all(wanted):
        return blocks
    index = jnp.array([at for at, is_wanted in enumerate(wanted) if is_wanted])
    return blocks[..., index, :][..., index]
