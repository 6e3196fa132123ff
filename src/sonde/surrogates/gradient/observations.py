"""What was seen of a function, and where: its values, some of its gradients, some of its curvatures.

A vector of observations holds the values of all points, then the gradients, then the curvatures. Any slope may be missing:
a slope is a pair (point, column), a curvature a triple.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Index = NDArray[np.intp]


@dataclass(frozen=True)
class Seen:
    """Observations of one order: their points, and a column for each derivative that was taken."""

    points: Index
    columns: tuple[Index, ...]

    @property
    def order(self) -> int:
        """How many derivatives were taken."""
        return len(self.columns)


def _none(rows: int) -> Index:
    return np.empty((rows, 0), dtype=np.intp)


def one_hot(index: Index, size: int) -> Array:
    """Return (N, size) with a one where a row's index is, to sum by."""
    return np.asarray(index[:, None] == np.arange(size), dtype=float)


@dataclass(frozen=True)
class ObservationLayout:
    """Points x (n, p), gradients (2, K): point and column of each; curvatures (3, H): point and two columns of each."""

    x: Array
    gradients: Index = field(default_factory=lambda: _none(2))
    bends: Index = field(default_factory=lambda: _none(3))

    def __len__(self) -> int:
        return len(self.x) + self.gradients.shape[1] + self.bends.shape[1]

    @cached_property
    def orders(self) -> tuple[Seen, Seen, Seen]:
        """The observations by order."""
        values = Seen(np.arange(len(self.x)), ())
        return (
            values,
            Seen(self.gradients[0], (self.gradients[1],)),
            Seen(self.bends[0], (self.bends[1], self.bends[2])),
        )

    @property
    def highest(self) -> int:
        """The highest order that was seen."""
        return max(seen.order for seen in self.orders if len(seen.points) or not seen.order)

    @property
    def values(self) -> slice:
        """Where the values stand in a vector of observations."""
        return slice(0, len(self.x))

    @property
    def gradient_entries(self) -> slice:
        """Where the gradients stand."""
        return slice(len(self.x), len(self.x) + self.gradients.shape[1])

    @property
    def curvature_entries(self) -> slice:
        """Where the curvatures stand."""
        return slice(len(self.x) + self.gradients.shape[1], len(self))

    @property
    def points(self) -> Index:
        """The point of each observation, (N,)."""
        return np.concatenate([each.points for each in self.orders])

    @cached_property
    def by_point(self) -> Array:
        """(K, n): which slope is of which point, to sum by."""
        return one_hot(self.gradients[0], len(self.x))

    @cached_property
    def by_column(self) -> Array:
        """(K, p): which slope is of which column, to sum by."""
        return one_hot(self.gradients[1], self.x.shape[1])
