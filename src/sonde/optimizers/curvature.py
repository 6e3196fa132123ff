"""What a quasi-Newton method knows of the curvature, for many starts in step: the inverse Hessian H after BFGS updates.

``Dense`` keeps H itself: with tens of coordinates, one batched product costs less than a recursion. ``Pairs`` keeps the
steps s and changes y that made it, and multiplies by the two loops of limited memory (Nocedal 1980), with every pair
kept: the same H in O(B D) a pair instead of O(B D^2), for hundreds of coordinates.

Symbols: B starts, D coordinates, k pairs; r = 1 / s.y, zero where a pair is of no use to a start.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

MOST_DENSE = 256  # coordinates


@dataclass(frozen=True)
class Dense:
    """H (B, D, D), zero where ``curved`` (B,) is False: nothing is known yet."""

    inverse: Array
    curved: Mask

    def times(self, vectors: Array) -> Array:
        """Return H v for each start."""
        return (self.inverse @ vectors[:, :, None])[:, :, 0]

    def updated(self, step: Array, change: Array) -> Dense:
        """Return it after one more step (B, D) and change of the gradient (B, D)."""
        return Dense(*update(self.inverse, self.curved, step, change))

    def of(self, on: Mask) -> Dense:
        """Return that of some of the starts."""
        return Dense(self.inverse[on], self.curved[on])


@dataclass(frozen=True)
class Pairs:
    """The pairs (k, B, D), their r (k, B), and the scale (B,) of the first H, as ``Dense`` takes it."""

    steps: tuple[Array, ...]
    changes: tuple[Array, ...]
    rates: tuple[Array, ...]
    scale: Array
    curved: Mask

    def times(self, vectors: Array) -> Array:
        """Return H v for each start."""
        result, shares = vectors.copy(), []
        for step, change, rate in zip(self.steps[::-1], self.changes[::-1], self.rates[::-1], strict=True):
            shares.append(rate * _dot(step, result))
            result -= shares[-1][:, None] * change
        result *= self.scale[:, None]
        for step, change, rate, share in zip(self.steps, self.changes, self.rates, shares[::-1], strict=True):
            result += (share - rate * _dot(change, result))[:, None] * step
        return result

    def updated(self, step: Array, change: Array) -> Pairs:
        """Return it after one more step (B, D) and change of the gradient (B, D)."""
        usable, rate, scale = _usable(step, change)
        return Pairs(
            (*self.steps, step),
            (*self.changes, change),
            (*self.rates, np.where(usable, rate, 0.0)),
            np.where(usable & ~self.curved, scale, self.scale),
            self.curved | usable,
        )

    def of(self, on: Mask) -> Pairs:
        """Return that of some of the starts."""
        steps, changes, rates = (tuple(one[on] for one in kept) for kept in (self.steps, self.changes, self.rates))
        return Pairs(steps, changes, rates, self.scale[on], self.curved[on])


def unknown(count: int, width: int) -> Dense | Pairs:
    """Return what is known of the curvature before the first step of so many starts."""
    nothing = np.zeros(count, dtype=bool)
    if width <= MOST_DENSE:
        return Dense(np.zeros((count, width, width)), nothing)
    return Pairs((), (), (), np.zeros(count), nothing)


def update(inverse: Array, curved: Mask, step: Array, change: Array) -> tuple[Array, Mask]:
    """Return H after the update (I - r s y^T) H (I - r y s^T) + r s s^T, r = 1 / s.y; kept where s.y is too small."""
    usable, rate, scale = _usable(step, change)
    first = usable & ~curved
    if first.any():
        inverse = np.where(first[:, None, None], scale[:, None, None] * np.eye(step.shape[1]), inverse)
    moved = (inverse @ change[:, :, None])[:, :, 0]  # H y
    both = rate[:, None, None] * (moved[:, :, None] * step[:, None, :])
    stretch = rate * (1 + rate * _dot(change, moved))
    grown = inverse - both - both.swapaxes(1, 2) + stretch[:, None, None] * (step[:, :, None] * step[:, None, :])
    return np.where(usable[:, None, None], grown, inverse), curved | usable


def _usable(step: Array, change: Array) -> tuple[Mask, Array, Array]:
    """Return which pairs can be used, r, and the scale of a first H: s.y / y.y."""
    product, norm = _dot(step, change), _dot(change, change)
    usable = (product > 1e-10 * norm) & (norm > 0)
    rate = 1 / np.where(usable, product, 1.0)
    return usable, rate, np.where(usable, product, 0.0) / np.where(usable, norm, 1.0)


def _dot(left: Array, right: Array) -> Array:
    return np.einsum("bd,bd->b", left, right)
