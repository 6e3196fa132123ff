"""Points of the unit cube as points of a Euclidean space, where distance means what it should.

A number is its unit, centred. A category with K choices is a corner of a simplex whose corners are at distance 1 from
each other, so that squared distances count differing categories (Hamming). Of more than ``CORNERS`` choices the corners
are random points of so many dimensions, at distance 1 up to a few percent: 10,000 columns would be lost time. An
inactive parameter stands at ``IDLE`` in the cube, a constant, and does not matter among configurations without it.

A number may be warped first, by w(u) = 1 - (1 - u^a)^b (Snoek et al. 2014): what is steep near one end of a range, such
as a rate on a linear scale, is then as smooth as elsewhere, which is what the covariance takes for granted.

Symbols: m points, d parameters, p feature columns.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

CENTRE = 0.5
CORNERS = 256
EDGE = 1e-6  # a warp is taken so far from the ends, where its slope may be infinite


@dataclass(frozen=True)
class Features:
    """The map. ``choices[k]`` is the number of categories of parameter k, 0 where it is a number.

    ``warp`` are log a of each parameter, then log b of each; those of categories are not used. Empty: no warp.
    """

    choices: tuple[int, ...]
    warp: tuple[float, ...] = ()

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
        if self.warp:
            units = np.where(self._numbers, self._warped(units)[0], units)
        if not any(self.choices):
            return units - CENTRE
        columns = [_embed(units[..., k], count) for k, count in enumerate(self.choices)]
        return np.concatenate(columns, axis=-1)

    def vjp(self, gradients: Array, units: Array) -> Array:
        """Return gradients (..., d) at ``units`` from gradients (..., p) in the features; 0 where there is no order."""
        pulled = self._gather(gradients)
        return pulled * self._warped(units)[1] if self.warp else pulled

    def warp_vjp(self, gradients: Array, units: Array) -> Array:
        """Return gradients (2 d,) in the warp from gradients (n, p) in the features of units (n, d)."""
        _, _, by_a, by_b = self._warped(units)
        pulled = self._gather(gradients)
        return np.concatenate([np.sum(pulled * by_a, axis=0), np.sum(pulled * by_b, axis=0)])

    @cached_property
    def _numbers(self) -> NDArray[np.bool_]:
        return np.array(self.choices) == 0

    def _gather(self, gradients: Array) -> Array:
        if not any(self.choices):
            return gradients
        gathered = np.zeros((*gradients.shape[:-1], len(self.choices)))
        gathered[..., self.groups[self.ordered]] = gradients[..., self.ordered]
        return gathered

    def _warped(self, units: Array) -> tuple[Array, Array, Array, Array]:
        """Return w(u) and its gradients in u, log a and log b."""
        a, b = np.exp(np.reshape(self.warp, (2, -1)))
        inside = np.clip(units, EDGE, 1 - EDGE)
        logs = np.log(inside)
        power = np.exp(a * logs)
        rest = np.log1p(-power)
        left = np.exp(b * rest)  # (1 - u^a)^b
        steep = a * b * power * np.exp((b - 1) * rest)
        return 1 - left, steep / inside, steep * logs, -b * rest * left


def _width(count: int) -> int:
    return min(count, CORNERS) if count > 2 else 1


def _embed(units: Array, count: int) -> Array:
    if count == 0:
        return units[..., None] - CENTRE
    index = np.minimum((units * count).astype(int), count - 1)
    if count <= 2:
        return index[..., None].astype(float)
    if count > CORNERS:
        return _signs(count)[index] / np.sqrt(2.0 * CORNERS)
    return (index[..., None] == np.arange(count)) / np.sqrt(2.0)


@lru_cache(maxsize=8)
def _signs(count: int) -> NDArray[np.int8]:
    """Return a row of +1 and -1 for each choice, (count, CORNERS); two rows differ in about half of their places."""
    return np.random.default_rng(count).choice(np.array([-1, 1], dtype=np.int8), size=(count, CORNERS))
