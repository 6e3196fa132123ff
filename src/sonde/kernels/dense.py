"""Whole matrices, for small sizes: the blocks of values, gradients and Hessians of all pairs.

By structure, the block of gradients is (g_xy - 2 g_rr) J_x' J_y + sum_ab H_ab (grad_x a) (grad_y b)', where a and b are
scalars of the kernel and g, H the gradient and Hessian of phi in them. ``products`` multiplies by the same blocks
without forming them. Kernels without known structure, and Hessians, use plain automatic differentiation.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from jax import Array

from sonde.kernels.kernel import Kernel
from sonde.kernels.pairwise import CentredPoints, centred_points
from sonde.kernels.products import coefficients
from sonde.kernels.structure import Scalar, Structure


def structured_blocks(structure: Structure, rows: Array, columns: Array) -> Array:
    """Return the (n, m, 1 + d, 1 + d) blocks of values and gradients, by structure."""
    views = centred_points(structure, rows, columns)
    kept = coefficients(structure, rows, columns)
    n, m, d = len(rows), len(columns), rows.shape[1]
    jacobians = [(own.jacobians(rows), own.jacobians(columns)) for own in structure.maps]
    left = [_gradient(structure, views, jacobians, rows, scalar, "x") for scalar in structure.scalars]
    right = [_gradient(structure, views, jacobians, columns, scalar, "y") for scalar in structure.scalars]
    of_x = of_y = jnp.zeros((n, m, d), rows.dtype)
    mixed = jnp.zeros((n, m, d, d), rows.dtype)
    for a, scalar in enumerate(structure.scalars):
        if left[a] is not None:
            of_x = of_x + kept.gradient[a][..., None] * left[a]
            line = [(b, second) for b, second in enumerate(kept.hessian[a]) if second is not None]
            along = sum((second[..., None] * right[b] for b, second in line), jnp.zeros((n, m, d), rows.dtype))
            mixed = mixed + left[a][..., :, None] * along[..., None, :]
        if right[a] is not None:
            of_y = of_y + kept.gradient[a][..., None] * right[a]
        if scalar.name in ("xy", "rr"):
            factor = kept.gradient[a] * (1.0 if scalar.name == "xy" else -2.0)
            at_x, at_y = jacobians[scalar.owner]
            mixed = mixed + factor[..., None, None] * jnp.einsum("ira,jrb->ijab", at_x, at_y)
    top = jnp.concatenate([kept.phi[..., None], of_y], axis=2)[..., None, :]
    return jnp.concatenate([top, jnp.concatenate([of_x[..., None], mixed], axis=3)], axis=2)


def _gradient(
    structure: Structure,
    views: list[CentredPoints],
    jacobians: list[tuple[Array, Array]],
    points: Array,
    scalar: Scalar,
    side: str,
) -> Any:
    """Return the gradient of a scalar in x (or y), broadcastable to (n, m, d); None where it does not vary."""
    if not (scalar.of_x if side == "x" else scalar.of_y):
        return None
    if scalar.name in ("fx", "fy"):
        gradient = structure.features[scalar.owner].jacobians(points).reshape(points.shape)
        return gradient[:, None, :] if side == "x" else gradient[None, :, :]
    view, (at_x, at_y) = views[scalar.owner], jacobians[scalar.owner]
    difference = view.x[:, None, :] - view.y[None, :, :]
    if side == "x":
        inside = {"xx": 2 * view.x_raw[:, None, :], "xy": view.y_raw[None, :, :], "rr": 2 * difference}[scalar.name]
        return jnp.einsum("ird,ijr->ijd", at_x, jnp.broadcast_to(inside, difference.shape))
    inside = {"yy": 2 * view.y_raw[None, :, :], "xy": view.x_raw[:, None, :], "rr": -2 * difference}[scalar.name]
    return jnp.einsum("jrd,ijr->ijd", at_y, jnp.broadcast_to(inside, difference.shape))


def autodiff_blocks(kernel: Kernel, rows: Array, columns: Array) -> Array:
    """Return the same blocks for any kernel, by automatic differentiation."""

    def block(x: Array, y: Array) -> Array:
        value, (of_x, of_y) = jax.value_and_grad(kernel, argnums=(0, 1))(x, y)
        mixed = jax.jacfwd(jax.grad(kernel, argnums=0), argnums=1)(x, y)
        return jnp.block([[value.reshape(1, 1), of_y[None, :]], [of_x[:, None], mixed]])

    return jax.vmap(lambda x: jax.vmap(lambda y: block(x, y))(columns))(rows)


def autodiff_second_blocks(kernel: Kernel, rows: Array, columns: Array) -> Array:
    """Return the (n, m, p, p) blocks of values, gradients and Hessians (upper triangle, row by row)."""
    d = rows.shape[1]
    upper = jnp.triu_indices(d)

    def jet(function: Any, point: Array) -> Array:
        gradient, hessian = jax.grad(function)(point), jax.hessian(function)(point)
        return jnp.concatenate([function(point)[None], gradient, hessian[upper]])

    def block(x: Array, y: Array) -> Array:
        def of_x(x: Array) -> Array:
            return jet(lambda y: kernel(x, y), y)

        first, second = jax.jacfwd(of_x)(x), jax.jacfwd(jax.jacfwd(of_x))(x)
        return jnp.concatenate([of_x(x)[None, :], first.T, second[:, upper[0], upper[1]].T])

    return jax.vmap(lambda x: jax.vmap(lambda y: block(x, y))(columns))(rows)
