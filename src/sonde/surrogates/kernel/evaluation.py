"""Kernels and their derivatives at all pairs of points, in JAX: arrays of NumPy in, arrays of NumPy out.

XLA compiles a function once for every shape of its arguments, in tenths of a second, seconds for the gradients of a
fit. So numbers of points are padded to a few ``SIZES``, and only a history that has grown to the next one compiles
anew. Padding repeats a point and is cut off again, or has the weight 0.

Symbols: x (m, p), y (n, p) points, W weights with the shape of what they multiply.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from sonde.arrays import Array
from sonde.kernels import Kernel
from sonde.kernels.multiply import in_blocks

SIZES = (32, 64, 128, 320, *(512 * 2**power for power in range(20)))  # fits have at most 320 points
BLOCK = 2**22  # numbers of an array of all pairs and columns that are made at a time
WIDE = 8  # columns


def in_double(function: Callable[..., Any], kernel: Kernel, *arrays: Array) -> Any:
    """Return ``function(kernel, *arrays)`` in float64, whatever JAX is configured to."""
    with jax.enable_x64(True):
        return jax.tree.map(np.asarray, function(kernel, *arrays))


def padded(points: Array) -> Array:
    """Return points with the last one repeated until their number is one of the sizes."""
    widths = [(0, _room(len(points), points.shape[-1])), *[(0, 0)] * (points.ndim - 1)]
    return np.pad(points, widths, mode="edge" if len(points) else "constant")


def filled(weights: Array, *axes: int, width: int) -> Array:
    """Return weights with zeros in these axes until their lengths are sizes of points of so many columns."""
    return np.pad(weights, [(0, _room(size, width) * (axis in axes)) for axis, size in enumerate(weights.shape)])


def _room(size: int, width: int) -> int:
    sizes = SIZES if width <= WIDE else (8, *SIZES)  # padding is dear where a point has many derivatives
    return sizes[bisect_left(sizes, size)] - size


def values(kernel: Kernel, x: Array, y: Array) -> Array:
    """Return k(x_i, y_j), (..., m, n)."""
    if x.ndim == 2:
        return np.asarray(in_double(_values, kernel, padded(x), padded(y))[: len(x), : len(y)])
    return np.asarray(in_double(_batched_values, kernel, padded(x), padded(y))[: len(x)])


def values_vjp(kernel: Kernel, x: Array, y: Array, weights: Array) -> Array:
    """Return sum_j W_ij dk(x_i, y_j) / dx_i, (..., m, p)."""
    if x.ndim == 2:
        found = in_double(_values_vjp, kernel, padded(x), padded(y), filled(weights, 0, 1, width=x.shape[1]))
    else:
        found = in_double(_batched_values_vjp, kernel, padded(x), padded(y), filled(weights, 0, width=x.shape[-1]))
    return np.asarray(found[: len(x)])


def diagonal(kernel: Kernel, x: Array) -> tuple[Array, Array]:
    """Return k(x, x), (m,), and its gradient in x, (m, p)."""
    value, gradient = in_double(_diagonal, kernel, padded(x))
    return value[: len(x)], gradient[: len(x)]


def gradients(kernel: Kernel, x: Array, y: Array) -> Array:
    """Return dk(x_i, y_j) / dy_j, (m, n, p)."""
    return np.asarray(in_double(_gradients, kernel, padded(x), padded(y))[: len(x), : len(y)])


def gradients_vjp(kernel: Kernel, x: Array, y: Array, weights: Array) -> Array:
    """Return sum_jc W_ijc d/dx_i dk(x_i, y_j) / dy_jc, (m, p)."""
    found = in_double(_gradients_vjp, kernel, padded(x), padded(y), filled(weights, 0, 1, width=x.shape[1]))
    return np.asarray(found[: len(x)])


def mixed(kernel: Kernel, x: Array, y: Array) -> Array:
    """Return d^2 k / dx dy of all pairs, (m, p, n, p)."""
    return np.asarray(in_double(_mixed, kernel, padded(x), padded(y))[: len(x), :, : len(y)])


def within_column(kernel: Kernel, x: Array, column: int) -> Array:
    """Return d^2 k / dx_c dy_c of all pairs of x in one column, (n, n)."""
    axis = np.eye(x.shape[1])[column]
    return np.asarray(in_double(_within_column, kernel, padded(x), axis)[: len(x), : len(x)])


def parameter_gradients(kernel: Kernel, x: Array, at: Array, weights: tuple[Array, Array, Array]) -> list[Array]:
    """Return the gradients of sum(W K) in the parameters, K the covariances of values at x and of gradients ``at``.

    The weights are those of values (n, n), of values with gradients (n, g, p), and of gradients (g, p, g, p).
    """
    if not len(at):
        return list(in_double(_value_gradients, kernel, padded(x), filled(weights[0], 0, 1, width=x.shape[1])))
    blocks = (
        filled(each, *axes, width=x.shape[1]) for each, axes in zip(weights, ((0, 1), (0, 1), (0, 2)), strict=True)
    )
    return list(in_double(_parameter_gradients, kernel, padded(x), padded(at), *blocks))


def _all_pairs(function: Callable[[Any, Any], Any], x: Any, y: Any) -> Any:
    """Return ``function(x_i, y_j)`` of all pairs, some rows at a time where their arrays would be large."""
    return in_blocks(jax.vmap(lambda a: jax.vmap(lambda b: function(a, b))(y)), x, max(1, BLOCK // y.size))


def _weighted(kernel: Kernel, x: Any, y: Any, weights: Any) -> Any:
    def row(a: Any, w: Any) -> Any:
        return jax.grad(lambda a: w @ jax.vmap(lambda b: kernel(a, b))(y))(a)

    return jax.vmap(row)(x, weights)


_values = eqx.filter_jit(_all_pairs)
_values_vjp = eqx.filter_jit(_weighted)


@eqx.filter_jit
def _batched_values(kernel: Kernel, x: Any, y: Any) -> Any:
    return jax.vmap(lambda a, b: _all_pairs(kernel, a, b))(x, y)


@eqx.filter_jit
def _batched_values_vjp(kernel: Kernel, x: Any, y: Any, weights: Any) -> Any:
    return jax.vmap(lambda a, b, w: _weighted(kernel, a, b, w))(x, y, weights)


@eqx.filter_jit
def _diagonal(kernel: Kernel, x: Any) -> Any:
    return jax.vmap(jax.value_and_grad(lambda a: kernel(a, a)))(x)


def _by_second(kernel: Kernel, x: Any, y: Any) -> Any:
    return _all_pairs(jax.grad(kernel, argnums=1), x, y)


_gradients = eqx.filter_jit(_by_second)


@eqx.filter_jit
def _gradients_vjp(kernel: Kernel, x: Any, y: Any, weights: Any) -> Any:
    def row(a: Any, w: Any) -> Any:
        def along(a: Any) -> Any:
            each = jax.vmap(lambda b, v: jax.jvp(lambda b: kernel(a, b), (b,), (v,))[1])(y, w)
            return jnp.sum(each)

        return jax.grad(along)(a)

    return jax.vmap(row)(x, weights)


@eqx.filter_jit
def _within_column(kernel: Kernel, x: Any, axis: Any) -> Any:
    def of_pair(a: Any, b: Any) -> Any:
        return jax.jvp(lambda a: jax.jvp(lambda b: kernel(a, b), (b,), (axis,))[1], (a,), (axis,))[1]

    return _all_pairs(of_pair, x, x)


@eqx.filter_jit
def _mixed(kernel: Kernel, x: Any, y: Any) -> Any:
    # plain differentiation: the entries of a whole matrix cost more than the structure of the kernel would save
    blocks = _all_pairs(jax.jacfwd(jax.grad(kernel, argnums=1), argnums=0), x, y)
    return jnp.transpose(blocks, (0, 3, 1, 2))


@eqx.filter_jit
def _value_gradients(kernel: Kernel, x: Any, weights: Any) -> Any:
    return _leaf_gradients(lambda kernel: jnp.vdot(weights, _all_pairs(kernel, x, x)), kernel)


@eqx.filter_jit
def _parameter_gradients(kernel: Kernel, x: Any, at: Any, of_values: Any, of_both: Any, of_gradients: Any) -> Any:
    axes = jnp.eye(x.shape[1])

    def of_pair(kernel: Kernel, a: Any, b: Any, weights: Any) -> Any:
        def along(axis: Any, row: Any) -> Any:
            return jax.jvp(lambda a: jax.jvp(lambda b: kernel(a, b), (b,), (row,))[1], (a,), (axis,))[1]

        return jnp.sum(jax.vmap(along)(axes, weights))

    def total(kernel: Kernel) -> Any:
        def row(a: Any, weights: Any) -> Any:
            return jnp.sum(jax.vmap(lambda b, w: of_pair(kernel, a, b, w), (0, 1))(at, weights))

        whole = jnp.vdot(of_values, _all_pairs(kernel, x, x)) + 2 * jnp.vdot(of_both, _by_second(kernel, x, at))
        return whole + jnp.sum(jax.vmap(row)(at, of_gradients))

    return _leaf_gradients(total, kernel)


def _leaf_gradients(function: Callable[[Kernel], Any], kernel: Kernel) -> Any:
    differentiate: Any = eqx.filter_grad
    return jax.tree.leaves(differentiate(function)(kernel))
