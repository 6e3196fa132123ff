"""Pairwise coefficients, computed once for many products: a few (n, m) arrays instead of an n d by m d matrix.

For k = phi(z) they are phi, its gradient g in the scalars z, and its second derivatives H between the scalars that vary
with x and those that vary with y. A product with them costs three matrix products; the rest is negligible.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax.numpy as jnp
from jax import Array

from sonde.kernels.pairwise import (
    centred_points,
    directional_arrays,
    first_derivatives,
    scalar_arrays,
    second_derivatives,
    values,
)
from sonde.kernels.products import Orders, Weights, assemble_gradient
from sonde.kernels.structure import Structure


class Coefficients(NamedTuple):
    """phi (n, m) and its derivatives in the scalars of each pair.

    ``gradient`` has one (n, m) array for each scalar. ``hessian[a][b]`` is (n, m) where scalar a varies with x and
    scalar b with y, and None elsewhere.
    """

    phi: Array
    gradient: list[Array]
    hessian: list[list[Any]]


def coefficients(structure: Structure, rows: Array, columns: Array) -> Coefficients:
    """Return the coefficients of all pairs."""
    if not structure.scalars:  # a constant
        return Coefficients(jnp.full((len(rows), len(columns)), structure.flat_phi(), rows.dtype), [], [])
    z = scalar_arrays(structure, centred_points(structure, rows, columns), rows, columns)
    second = second_derivatives(structure, z)
    names = structure.scalars
    hessian = [
        [second[a][b] if names[a].of_x and names[b].of_y else None for b in range(len(names))]
        for a in range(len(names))
    ]
    return Coefficients(values(structure, z), first_derivatives(structure, z), hessian)


def kept_product(
    structure: Structure, kept: Coefficients, rows: Array, columns: Array, weights: Weights, orders: Orders
) -> tuple[Array, Array]:
    """Return h and its gradient at the rows from kept coefficients."""
    views = centred_points(structure, rows, columns)
    value = jnp.zeros(len(rows), rows.dtype)
    q = [jnp.zeros((), rows.dtype)] * len(kept.gradient)
    if weights.value is not None:
        value = value + kept.phi @ weights.value
        q = [weights.value * each for each in kept.gradient]
    if weights.gradient is not None:
        s = directional_arrays(structure, views, columns, weights.gradient)
        along = [(b, one) for b, one in enumerate(s) if structure.scalars[b].of_y]
        if orders.value:
            value = value + sum(jnp.sum(kept.gradient[b] * one, axis=1) for b, one in along)
        q = [
            q[a] + sum(line[b] * one for b, one in along if line[b] is not None) for a, line in enumerate(kept.hessian)
        ]
    if not orders.gradient:
        return value, jnp.zeros_like(rows)
    shape = (len(rows), len(columns))
    q = [jnp.broadcast_to(one, shape) for one in q]
    return value, assemble_gradient(structure, views, rows, columns, weights.gradient, q, kept.gradient)
