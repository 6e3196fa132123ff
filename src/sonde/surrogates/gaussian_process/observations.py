"""The layout of a vector of observations: the values of a function, some partial derivatives, some curvatures.

The vector holds the values at all points, then the partial derivatives, then the curvatures (entries of Hessians). Any
derivative may be missing: a partial derivative is a pair (point, column), a curvature a triple (point, column, column).

Symbols: n points, p columns, K partial derivatives, H curvatures, N = n + K + H observations.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np

from sonde.arrays import Array, Index


@dataclass(frozen=True)
class OrderBlock:
    """Observations of one order of derivative: their points, and a column for each derivative."""

    points: Index
    columns: tuple[Index, ...]

    @property
    def order(self) -> int:
        """The number of derivatives."""
        return len(self.columns)


def _none(rows: int) -> Index:
    return np.empty((rows, 0), dtype=np.intp)


def one_hot(index: Index, size: int) -> Array:
    """Return (N, size) with a one at each row's index; a product with it sums by index."""
    return np.asarray(index[:, None] == np.arange(size), dtype=float)


class DerivativePairs(NamedTuple):
    """Parts of the matrix of values and gradients that do not depend on hyperparameters."""

    differences: Array  # of all (value, derivative) in the column of the derivative, (n, K)
    points: Index  # flat index of the two points of all (derivative, derivative), (K, K)
    same: Array  # 1 where two derivatives are of one column, (K, K)


@dataclass(frozen=True)
class ObservationLayout:
    """Points x (n, p), gradients (2, K): point and column of each; curvatures (3, H): point and two columns of each."""

    x: Array
    gradients: Index = field(default_factory=lambda: _none(2))
    curvatures: Index = field(default_factory=lambda: _none(3))

    def __len__(self) -> int:
        return len(self.x) + self.gradients.shape[1] + self.curvatures.shape[1]

    @cached_property
    def orders(self) -> tuple[OrderBlock, OrderBlock, OrderBlock]:
        """Values, partial derivatives and curvatures."""
        values = OrderBlock(np.arange(len(self.x)), ())
        return (
            values,
            OrderBlock(self.gradients[0], (self.gradients[1],)),
            OrderBlock(self.curvatures[0], (self.curvatures[1], self.curvatures[2])),
        )

    @property
    def highest(self) -> int:
        """The highest order of derivative that was observed."""
        return max(block.order for block in self.orders if len(block.points) or not block.order)

    @property
    def values(self) -> slice:
        """The slice of the values in a vector of observations."""
        return slice(0, len(self.x))

    @property
    def gradient_entries(self) -> slice:
        """The slice of the partial derivatives."""
        return slice(len(self.x), len(self.x) + self.gradients.shape[1])

    @property
    def curvature_entries(self) -> slice:
        """The slice of the curvatures."""
        return slice(len(self.x) + self.gradients.shape[1], len(self))

    @property
    def points(self) -> Index:
        """The point of each observation, (N,)."""
        return np.concatenate([block.points for block in self.orders])

    @cached_property
    def by_point(self) -> Array:
        """The matrix (K, n) that sums partial derivatives by point."""
        return one_hot(self.gradients[0], len(self.x))

    @cached_property
    def by_column(self) -> Array:
        """The matrix (K, p) that sums partial derivatives by column."""
        return one_hot(self.gradients[1], self.x.shape[1])

    @cached_property
    def pairs(self) -> DerivativePairs:
        """All pairs with a partial derivative."""
        points, columns = self.gradients
        differences = self.x[:, columns] - self.x[points, columns]
        same = (columns[:, None] == columns).astype(float)
        return DerivativePairs(differences, points[:, None] * len(self.x) + points, same)

    @cached_property
    def trends(self) -> dict[tuple[str, float], Array]:
        """The covariances (N, N) under trends of variance 1, by name and rho: ``covariance`` computes them once."""
        return {}
