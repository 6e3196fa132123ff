"""Features: the map from points of the unit cube to a Euclidean space in which kernels measure distance.

A numeric parameter becomes its unit-cube coordinate minus 1/2. A categorical parameter becomes a corner of a simplex
whose corners are at distance 1 from each other (a scaled one-hot encoding), so squared distances count differing
categories (Hamming distance). With more than ``CORNERS`` choices, the corners are random points in ``CORNERS``
dimensions, at distance 1 up to a few percent: a column for each of 10,000 choices would cost too much. An inactive
parameter has a constant coordinate in the cube, so it does not matter among configurations without it.

Input warping (Snoek et al. 2014): a numeric parameter may be warped first, by the Kumaraswamy distribution function
w(u) = 1 - (1 - u^a)^b. An objective that is steep near one end of a range, such as a learning rate on a linear scale,
becomes about equally smooth everywhere, as a stationary kernel assumes.

Symbols: n or m points, d parameters, p feature columns, units (n, d) points of the unit cube, u one coordinate.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from sonde.arrays import Array, Index, Mask

CENTRE = 0.5
CORNERS = 256
EDGE = 1e-6  # coordinates are clipped so far from 0 and 1, where the derivative of a warp may be infinite


@dataclass(frozen=True)
class Features:
    """The feature map. ``choices[k]`` is the number of choices of parameter k, 0 where it is numeric.

    ``warp`` is log a of each parameter, then log b of each; entries of categorical parameters are not used. Empty: no
    warp. With an ``origin``, a point of the unit cube, features are differences from its features, those of numeric
    parameters in units of ``side``.
    """

    choices: tuple[int, ...]
    warp: tuple[float, ...] = ()
    origin: tuple[float, ...] = ()
    side: float = 1.0

    @cached_property
    def groups(self) -> Index:
        """The parameter of each feature column, (p,)."""
        return np.repeat(np.arange(len(self.choices)), [_width(count) for count in self.choices])

    @cached_property
    def ordered(self) -> Mask:
        """Which feature columns belong to numeric parameters, (p,)."""
        return np.array(self.choices)[self.groups] == 0

    def __call__(self, units: Array) -> Array:
        """Return features (..., p) of units (..., d)."""
        return (self._embedded(units) - self._embedded_origin) / self._sides if self.origin else self._embedded(units)

    def _embedded(self, units: Array) -> Array:
        if self.warp:
            units = np.where(self._numeric, self._warped(units)[0], units)
        if not any(self.choices):
            return units - CENTRE
        columns = [_embed(units[..., k], count) for k, count in enumerate(self.choices)]
        return np.concatenate(columns, axis=-1)

    def vjp(self, gradients: Array, units: Array) -> Array:
        """Return gradients (..., d) at ``units`` from gradients (..., p) in the features; 0 for categories."""
        gathered = self._gather(gradients / self._sides if self.origin else gradients)
        return gathered * self._warped(units)[1] if self.warp else gathered

    def warp_vjp(self, gradients: Array, units: Array) -> Array:
        """Return gradients (2 d,) in ``warp`` from gradients (n, p) in the features of units (n, d)."""
        _, _, by_a, by_b = self._warped(units)
        gathered = self._gather(gradients)
        return np.concatenate([np.sum(gathered * by_a, axis=0), np.sum(gathered * by_b, axis=0)])

    @cached_property
    def _embedded_origin(self) -> Array:
        return self._embedded(np.array(self.origin))

    @cached_property
    def _sides(self) -> Array:
        return np.where(self.ordered, self.side, 1.0)

    @cached_property
    def _numeric(self) -> Mask:
        return np.array(self.choices) == 0

    def _gather(self, gradients: Array) -> Array:
        """Return gradients (..., d) of the numeric parameters from gradients (..., p); 0 for categories."""
        if not any(self.choices):
            return gradients
        gathered = np.zeros((*gradients.shape[:-1], len(self.choices)))
        gathered[..., self.groups[self.ordered]] = gradients[..., self.ordered]
        return gathered

    def _warped(self, units: Array) -> tuple[Array, Array, Array, Array]:
        """Return w(u) and its derivatives in u, log a and log b."""
        a, b = np.exp(np.reshape(self.warp, (2, -1)))
        u = np.clip(units, EDGE, 1 - EDGE)
        logs = np.log(u)
        power = np.exp(a * logs)  # u^a
        log_rest = np.log1p(-power)  # log(1 - u^a)
        survival = np.exp(b * log_rest)  # (1 - u^a)^b
        slope = a * b * power * np.exp((b - 1) * log_rest)  # u dw / du
        return 1 - survival, slope / u, slope * logs, -b * log_rest * survival


def _width(count: int) -> int:
    """Return the number of feature columns of a parameter with so many choices."""
    return min(count, CORNERS) if count > 2 else 1


def _embed(units: Array, count: int) -> Array:
    """Return the feature columns (..., width) of one parameter."""
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
    """Return a random row of +1 and -1 for each choice, (count, CORNERS); two rows differ in about half of them."""
    return np.random.default_rng(count).choice(np.array([-1, 1], dtype=np.int8), size=(count, CORNERS))
