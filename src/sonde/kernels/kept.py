"""Coefficients of all pairs, computed once and kept for many products: a few (n, m) arrays instead of n d by m d.

What is kept of k = phi(z) is phi itself, the slopes g in each scalar, and the second derivatives H between the
scalars that vary with x and those that vary with y. A product then costs the three matrix products and nothing else
of note.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax.numpy as jnp
from jax import Array

from sonde.kernels.pairwise import (
    directional_arrays,
    first_derivatives,
    mapped,
    scalar_arrays,
    second_derivatives,
    values,
)
from sonde.kernels.products import Orders, Weights, assemble_gradient
from sonde.kernels.structure import Structure


class Coefficients(NamedTuple):
    """phi (n, m); slopes, one (n, m) for each scalar; bends[a][b] for a of x and b of y, None elsewhere."""

    phi: Array
    slopes: list[Array]
    bends: list[list[Any]]


def coefficients(structure: Structure, rows: Array, columns: Array) -> Coefficients:
    """Return the coefficients of all pairs."""
    if not structure.scalars:  # a constant
        return Coefficients(jnp.full((len(rows), len(columns)), structure.flat_phi(), rows.dtype), [], [])
    z = scalar_arrays(structure, mapped(structure, rows, columns), rows, columns)
    second = second_derivatives(structure, z)
    names = structure.scalars
    bends = [
        [second[a][b] if names[a].of_x and names[b].of_y else None for b in range(len(names))]
        for a in range(len(names))
    ]
    return Coefficients(values(structure, z), first_derivatives(structure, z), bends)


def kept_product(
    structure: Structure, kept: Coefficients, rows: Array, columns: Array, weights: Weights, orders: Orders
) -> tuple[Array, Array]:
    """Return h and its gradient at the rows from kept coefficients."""
    views = mapped(structure, rows, columns)
    value = jnp.zeros(len(rows), rows.dtype)
    q = [jnp.zeros((), rows.dtype)] * len(kept.slopes)
    if weights.value is not None:
        value = value + kept.phi @ weights.value
        q = [weights.value * slope for slope in kept.slopes]
    if weights.gradient is not None:
        s = directional_arrays(structure, views, columns, weights.gradient)
        along = [(b, one) for b, one in enumerate(s) if structure.scalars[b].of_y]
        if orders.value:
            value = value + sum(jnp.sum(kept.slopes[b] * one, axis=1) for b, one in along)
        q = [q[a] + sum(line[b] * one for b, one in along if line[b] is not None) for a, line in enumerate(kept.bends)]
    if not orders.gradient:
        return value, jnp.zeros_like(rows)
    shape = (len(rows), len(columns))
    q = [jnp.broadcast_to(one, shape) for one in q]
    return value, assemble_gradient(structure, views, rows, columns, weights.gradient, q, kept.slopes)
