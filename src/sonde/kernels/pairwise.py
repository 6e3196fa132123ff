"""The scalars of all pairs of points, and the derivatives of a kernel in them.

Symbols: n rows x_i, m columns y_j, d inputs; u = u(x) mapped to r dimensions. Arrays over pairs are (n, m).

The mean c of the columns is subtracted from all points before inner products are taken, because
r.r = x.x - 2 x.y + y.y has a relative error that grows like |x|^2 / r.r. The inner products of the original points
follow from those of the centred points x', y': x.y = x'.y' + x'.c + y'.c + c.c.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array

from sonde.kernels.structure import Scalar, Structure


@dataclass(frozen=True)
class CentredPoints:
    """Rows and columns under one input map u, with the mean c of the columns subtracted."""

    x: Array  # (n, r)
    y: Array  # (m, r)
    centre: Array  # (r,)

    @property
    def x_raw(self) -> Array:
        """The rows, not centred."""
        return self.x + self.centre

    @property
    def y_raw(self) -> Array:
        """The columns, not centred."""
        return self.y + self.centre

    def scalars(self) -> dict[str, Array]:
        """Return xx, xy, yy and rr of all pairs."""
        products = self.x @ self.y.T
        xx, yy = jnp.sum(self.x**2, axis=1)[:, None], jnp.sum(self.y**2, axis=1)[None, :]
        xc, yc, cc = (self.x @ self.centre)[:, None], (self.y @ self.centre)[None, :], self.centre @ self.centre
        return {
            "rr": jnp.maximum(xx - 2 * products + yy, 0.0),
            "xy": products + xc + yc + cc,
            "xx": xx + 2 * xc + cc,
            "yy": yy + 2 * yc + cc,
        }

    def directional(self, vectors: Array) -> dict[str, Array]:
        """Return the derivatives of the scalars in y along v_j, (m, r)."""
        along = self.x @ vectors.T  # x'_i . v_j
        own = jnp.sum(self.y * vectors, axis=1)[None, :]
        centre = (vectors @ self.centre)[None, :]
        return {"rr": 2 * (own - along), "xy": along + centre, "yy": 2 * (own + centre)}


def centred_points(structure: Structure, rows: Array, columns: Array) -> list[CentredPoints]:
    """Return the centred points of each map."""
    views = []
    for mapping in structure.maps:
        y = mapping.rows(columns)
        centre = jnp.mean(y, axis=0)
        views.append(CentredPoints(mapping.rows(rows) - centre, y - centre, centre))
    return views


def scalar_arrays(structure: Structure, views: list[CentredPoints], rows: Array, columns: Array) -> list[Array]:
    """Return the needed scalars of all pairs, each (n, m), in the order of ``structure.scalars``."""
    pairs = [view.scalars() for view in views]
    sides = {
        "fx": [feature.rows(rows).reshape(len(rows), 1) for feature in structure.features],
        "fy": [feature.rows(columns).reshape(1, len(columns)) for feature in structure.features],
    }

    def array(scalar: Scalar) -> Array:
        return sides[scalar.name][scalar.owner] if scalar.name in sides else pairs[scalar.owner][scalar.name]

    shape = (len(rows), len(columns))
    return [jnp.broadcast_to(array(scalar), shape) for scalar in structure.scalars]


def directional_arrays(structure: Structure, views: list[CentredPoints], columns: Array, vectors: Array) -> list[Array]:
    """Return the derivatives of the scalars in y along v_j, in the order of ``structure.scalars``."""
    along = [
        view.directional(mapping.jvp(columns, vectors)) for view, mapping in zip(views, structure.maps, strict=True)
    ]
    values = [feature.jvp(columns, vectors).reshape(1, len(columns)) for feature in structure.features]
    shape = (len(views[0].x) if views else 1, len(columns))

    def array(scalar: Scalar) -> Array:
        if scalar.name == "fy":
            return values[scalar.owner]
        if not scalar.of_y:
            return jnp.zeros((1, 1), columns.dtype)
        return along[scalar.owner][scalar.name]

    return [jnp.broadcast_to(array(scalar), shape) for scalar in structure.scalars]


def over_pairs(function: Any) -> Any:
    """Return a function of (n, m) arrays from one of the scalars of one pair."""
    return jax.vmap(jax.vmap(function))
