"""Points of the unit cube as points of a Euclidean space, where distance means what it should.

A number is its unit, centred. A category with K choices is a corner of a simplex whose corners are at distance 1 from
each other, so that squared distances count differing categories (Hamming). An inactive parameter stands at ``IDLE``
in the cube, a constant, and does not matter among configurations without it.

Symbols: m points, d parameters, p feature columns.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

CENTRE = 0.5


@dataclass(frozen=True)
class Features:
    """The map. ``choices[k]`` is the number of categories of parameter k, 0 where it is a number."""

    choices: tuple[int, ...]

    @cached_property
    def groups(self) -> NDArray[np.intp]:
        """The parameter of each feature column, (p,)."""
        return np.repeat(np.arange(len(self.choices)), [_width(count) for count in self.choices])

    @cached_property
    def ordered(self) -> NDArray[np.bool_]:
        """Which feature columns are numbers, (p,)."""
        return np.array(self.choices)[self.groups] == 0

    def __call__(self, units: Array) -> Array:
        """Return features (..., p) of units (..., d)."""
        if not any(self.choices):
            return units - CENTRE
        columns = [_embed(units[..., k], count) for k, count in enumerate(self.choices)]
        return np.concatenate(columns, axis=-1)

    def pull(self, slopes: Array) -> Array:
        """Return slopes (..., d) in the units from slopes (..., p) in the features; 0 where there is no order."""
        if not any(self.choices):
            return slopes
        units = np.zeros((*slopes.shape[:-1], len(self.choices)))
        units[..., self.groups[self.ordered]] = slopes[..., self.ordered]
        return units


def _width(count: int) -> int:
    return count if count > 2 else 1


def _embed(units: Array, count: int) -> Array:
    if count == 0:
        return units[..., None] - CENTRE
    index = np.minimum((units * count).astype(int), count - 1)
    if count <= 2:
        return index[..., None].astype(float)
    return (index[..., None] == np.arange(count)) / np.sqrt(2.0)
