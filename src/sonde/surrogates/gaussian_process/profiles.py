"""Isotropic covariances as functions of the squared distance s = r.r, and their derivatives in s.

Every entry of ``PROFILES`` is k(s) with k(0) = 1. ``smooth`` says how often sample paths can be differentiated: once is
enough to learn from gradients, twice is needed for Hessians (Ament & Gomes 2022, appendix A). A derivative that divides
by r uses max(r, ``NEAR``): the factors that it is multiplied by go to zero faster.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from sonde.arrays import Array

ROOT5, ROOT7 = np.sqrt(5.0), np.sqrt(7.0)
NEAR = 1e-12  # the smallest divisor


class Profile(NamedTuple):
    """A covariance as a function of the squared distance."""

    derivatives: Callable[[Array, int], list[Array]]  # k, k', k'', ... up to an order
    smooth: int  # times that sample paths can be differentiated
    slope: float  # k'(0)
    in_place: Callable[[Array, float], tuple[Array, Array]] | None = None  # ``values``, in less time

    def values(self, s: Array, scale: float) -> tuple[Array, Array]:
        """Return ``scale`` k and ``scale`` k' / k'(0); s may be overwritten."""
        if self.in_place is not None:
            return self.in_place(s, scale)
        value, first = self.derivatives(s, 1)
        return scale * value, (scale / self.slope) * first


def _matern52(s: Array, order: int) -> list[Array]:
    r = np.sqrt(s)
    decay = np.exp(-ROOT5 * r)
    rows: list[Callable[[], Array]] = [
        lambda: (1 + ROOT5 * r + (5 / 3) * s) * decay,
        lambda: (-5 / 6) * (1 + ROOT5 * r) * decay,
        lambda: (25 / 12) * decay,
        lambda: (-25 * ROOT5 / 24) * decay / np.maximum(r, NEAR),
    ]
    return [row() for row in rows[: order + 1]]


def _matern52_in_place(s: Array, scale: float) -> tuple[Array, Array]:
    """Return ``scale`` k and ``scale`` (1 + sqrt5 r) exp(-sqrt5 r): two arrays, where ``_matern52`` makes ten."""
    distances = np.sqrt(s, out=s)
    distances *= ROOT5
    decay = np.negative(distances)
    np.exp(decay, out=decay)
    decay *= scale
    values = distances * decay
    first = decay + values
    values *= distances
    values /= 3.0
    values += first
    return values, first


def _matern72(s: Array, order: int) -> list[Array]:
    r = np.sqrt(s)
    decay = np.exp(-ROOT7 * r)
    rows: list[Callable[[], Array]] = [
        lambda: (1 + ROOT7 * r + (14 / 5) * s + (7 * ROOT7 / 15) * s * r) * decay,
        lambda: (-7 / 10) * (1 + ROOT7 * r + (7 / 3) * s) * decay,
        lambda: (49 / 60) * (1 + ROOT7 * r) * decay,
        lambda: (-343 / 120) * decay,
        lambda: (343 * ROOT7 / 240) * decay / np.maximum(r, NEAR),
    ]
    return [row() for row in rows[: order + 1]]


def _rbf(s: Array, order: int) -> list[Array]:
    decay = np.exp(-0.5 * s)
    return [(-0.5) ** power * decay for power in range(order + 1)]


def _rational_quadratic(s: Array, order: int) -> list[Array]:
    """(1 + s / 2 a)^-a with a = 1."""
    inverse = 1 / (1 + 0.5 * s)
    found, factor = [inverse], 1.0
    for power in range(1, order + 1):
        factor *= -0.5 * power
        found.append(factor * inverse ** (power + 1))
    return found


PROFILES = {
    "matern52": Profile(_matern52, 1, -5 / 6, _matern52_in_place),
    "matern72": Profile(_matern72, 2, -7 / 10),
    "rbf": Profile(_rbf, 1000, -1 / 2),
    "rational_quadratic": Profile(_rational_quadratic, 1000, -1 / 2),
}
