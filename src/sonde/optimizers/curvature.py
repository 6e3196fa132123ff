"""The inverse Hessian approximation H of BFGS, for many starts at once.

``DenseInverse`` stores H itself: with tens of coordinates, one batched product costs less than a recursion.
``PairInverse`` stores the steps s and the changes y of the gradient that define it, and multiplies by the two-loop
recursion of L-BFGS (Nocedal 1980) over all pairs: the same H in O(B D) per pair instead of O(B D^2), for hundreds of
coordinates.

Symbols: B starts, D coordinates, k pairs (s, y) of a step and a change of the gradient; r = 1 / s.y, zero where a start
cannot use a pair.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sonde.arrays import Array, Mask

MOST_DENSE = 256  # up to so many coordinates, H is stored itself


@dataclass(frozen=True)
class DenseInverse:
    """H (B, D, D), zero where ``curved`` (B,) is False: no curvature is known yet."""

    inverse: Array
    curved: Mask

    def times(self, vectors: Array) -> Array:
        """Return H v for each start."""
        return (self.inverse @ vectors[:, :, None])[:, :, 0]

    def updated(self, step: Array, change: Array) -> DenseInverse:
        """Return H after one more pair of a step (B, D) and a change of the gradient (B, D).

        It is (I - r s y^T) H (I - r y s^T) + r s s^T, r = 1 / s.y; unchanged if s.y is too small.
        """
        usable, rate, scale = _usable(step, change)
        inverse, first = self.inverse, usable & ~self.curved
        if first.any():
            inverse = np.where(first[:, None, None], scale[:, None, None] * np.eye(step.shape[1]), inverse)
        product = (inverse @ change[:, :, None])[:, :, 0]  # H y
        both = rate[:, None, None] * (product[:, :, None] * step[:, None, :])
        weight = rate * (1 + rate * _dot(change, product))
        updated = inverse - both - both.swapaxes(1, 2) + weight[:, None, None] * (step[:, :, None] * step[:, None, :])
        return DenseInverse(np.where(usable[:, None, None], updated, inverse), self.curved | usable)

    def rows(self, chosen: Mask) -> DenseInverse:
        """Return H of some of the starts."""
        return DenseInverse(self.inverse[chosen], self.curved[chosen])


@dataclass(frozen=True)
class PairInverse:
    """H as its pairs (k, B, D), their r (k, B), and the scale (B,) of the initial H, as in ``DenseInverse``."""

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

    def updated(self, step: Array, change: Array) -> PairInverse:
        """Return H after one more pair of a step (B, D) and a change of the gradient (B, D)."""
        usable, rate, scale = _usable(step, change)
        return PairInverse(
            (*self.steps, step),
            (*self.changes, change),
            (*self.rates, np.where(usable, rate, 0.0)),
            np.where(usable & ~self.curved, scale, self.scale),
            self.curved | usable,
        )

    def rows(self, chosen: Mask) -> PairInverse:
        """Return H of some of the starts."""
        stored = (self.steps, self.changes, self.rates)
        steps, changes, rates = (tuple(each[chosen] for each in arrays) for arrays in stored)
        return PairInverse(steps, changes, rates, self.scale[chosen], self.curved[chosen])


def initial(count: int, width: int) -> DenseInverse | PairInverse:
    """Return H of ``count`` starts with ``width`` coordinates before their first step: no curvature is known."""
    curved = np.zeros(count, dtype=bool)
    if width <= MOST_DENSE:
        return DenseInverse(np.zeros((count, width, width)), curved)
    return PairInverse((), (), (), np.zeros(count), curved)


def _usable(step: Array, change: Array) -> tuple[Mask, Array, Array]:
    """Return which pairs can be used, r, and the scale s.y / y.y of the initial H."""
    product, norm = _dot(step, change), _dot(change, change)
    usable = (product > 1e-10 * norm) & (norm > 0)
    rate = 1 / np.where(usable, product, 1.0)
    return usable, rate, np.where(usable, product, 0.0) / np.where(usable, norm, 1.0)


def _dot(left: Array, right: Array) -> Array:
    return np.einsum("bd,bd->b", left, right)
