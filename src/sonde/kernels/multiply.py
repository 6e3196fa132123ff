"""Products with, and entries of, the covariance matrix: each summand of the kernel on its own path, rows in blocks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import Array

from sonde.kernels.coefficients import Coefficients, coefficients, kept_product
from sonde.kernels.dense import autodiff_blocks, autodiff_second_blocks, structured_blocks
from sonde.kernels.hessians import Jet, autodiff_jet, is_second_order, structured_jet
from sonde.kernels.kernel import Kernel
from sonde.kernels.parts import Part, split, summands
from sonde.kernels.products import Orders, Weights, autodiff_product, separable_product, structured_product


@dataclass(frozen=True)
class Observed:
    """Which derivatives are observed at each point."""

    value: bool = False
    gradient: bool = False
    hessian: bool = False

    def entries(self, d: int) -> int:
        """Return the number of entries of a point."""
        return self.value + self.gradient * d + self.hessian * (d * (d + 1) // 2)

    @property
    def orders(self) -> Orders:
        """Which of values and gradients are observed."""
        return Orders(self.value, self.gradient)


@eqx.filter_jit
def gram_product(
    kernel: Kernel,
    rows: Array,
    columns: Array,
    vector: Array,
    kept: Coefficients | None,
    observed: Observed,
    memory: int,
) -> Array:
    """Return the (n, entries) product with an (m, entries) vector."""
    # XLA 0.10 on CPUs turns sum(A * (B @ 0), axis=1) into NaN where the zero is a known constant: the barrier hides it.
    vector = jax.lax.optimization_barrier(vector)
    if observed.hessian:
        return _second_order(kernel, rows, columns, vector, observed, memory)
    d = rows.shape[1]
    weights = Weights(vector[:, 0] if observed.value else None, vector[:, -d:] if observed.gradient else None)
    total = jnp.zeros((len(rows), observed.entries(d)), rows.dtype)
    for part in split(kernel):
        if part.path == "structured" and kept is not None:
            result = kept_product(_structure(part.kernel), kept, rows, columns, weights, observed.orders)
        else:
            result = in_blocks(
                lambda block, part=part: _part_product(part, block, columns, weights, observed.orders),
                rows,
                _rows_at_a_time(part, columns, memory),
            )
        total = total + part.factor * _stacked(*result, observed)
    return total


def _part_product(part: Part, rows: Array, columns: Array, weights: Weights, orders: Orders) -> tuple[Array, Array]:
    if part.path == "structured":
        return structured_product(_structure(part.kernel), rows, columns, weights, orders)
    if part.path == "separable":
        return separable_product(part.kernel, rows, columns, weights, orders)  # type: ignore[arg-type]
    return autodiff_product(part.kernel, rows, columns, weights, orders)


def _stacked(value: Array, gradient: Array, observed: Observed) -> Array:
    chosen = ([value[:, None]] if observed.value else []) + ([gradient] if observed.gradient else [])
    return jnp.concatenate(chosen, axis=1)


def _second_order(kernel: Kernel, rows: Array, columns: Array, vector: Array, observed: Observed, memory: int) -> Array:
    weights = _unpack(vector, columns, observed)
    total = jnp.zeros((len(rows), observed.entries(rows.shape[1])), rows.dtype)
    for part in summands(kernel):
        structure = part.kernel.structure()
        structured = structure if is_second_order(structure) else None

        def one(block: Array, part: Part = part, structured: Any = structured) -> Array:
            if structured is None:
                return _pack(autodiff_jet(part.kernel, block, columns, weights), observed)
            return _pack(structured_jet(structured, block, columns, weights), observed)

        d, itemsize = columns.shape[1], columns.dtype.itemsize
        each = len(columns) * d * itemsize * (24 if structured is not None else 8 * d * d)
        total = total + part.factor * in_blocks(one, rows, max(1, memory // each))
    return total


def second_order_paths(kernel: Kernel) -> tuple[str, ...]:
    """Return the paths that products with second derivatives take."""
    return tuple("structured" if is_second_order(part.kernel.structure()) else "autodiff" for part in summands(kernel))


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
    if part.path == "structured":
        arrays = 4 * len(_structure(part.kernel).scalars) + 4
        return max(1, memory // (m * columns.dtype.itemsize * arrays))
    return max(1, memory // (m * d * columns.dtype.itemsize * 8))


@eqx.filter_jit
def gram_coefficients(kernel: Kernel, rows: Array, columns: Array) -> Coefficients | None:
    """Return the pairwise coefficients of the structured summands; None if no summand is structured."""
    structured = [part for part in split(kernel) if part.path == "structured"]
    return coefficients(_structure(structured[0].kernel), rows, columns) if structured else None


def _structure(kernel: Kernel) -> Any:
    return kernel.structure()


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
        structured = part.path == "structured"
        own = (
            structured_blocks(_structure(part.kernel), rows, columns)
            if structured
            else autodiff_blocks(part.kernel, rows, columns)
        )
        blocks = blocks + part.factor * own
    return _observed_entries(blocks, d, observed)


def _observed_entries(blocks: Array, d: int, observed: Observed) -> Array:
    """Return the rows and columns of the blocks that are observed."""
    wanted = [observed.value] + [observed.gradient] * d + [observed.hessian] * (blocks.shape[-1] - 1 - d)
    index = jnp.array([at for at, is_wanted in enumerate(wanted) if is_wanted])
    return blocks[..., index, :][..., index]
