"""Sobol' indices by pick-freeze: main effects, total effects and total interactions of independent inputs.

Functional ANOVA writes f(u) as a sum of a constant, functions of one input, of two inputs, and so on, orthogonal to
each other (Sobol' 1993). The variance of f is the sum of their variances. The main effect S_i is the share of the
function of input i alone, the total effect T_i that of all functions in which i occurs, and the total interaction of i
and j that of all functions in which both occur (Liu and Owen 2006).

A and B are independent points. A_i is A with input i taken from B, A_ij with both. Then

    S_i  = E[f(B) (f(A_i) - f(A))] / Var f                  (Saltelli et al. 2010)
    T_i  = E[(f(A) - f(A_i))^2] / 2 Var f                   (Jansen 1999)
    I_ij = E[(f(A) - f(A_i) - f(A_j) + f(A_ij))^2] / 4 Var f  (Liu and Owen 2006)

Symbols: n points, d inputs, c of them measured, p pairs, s functions.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from sonde.arrays import Array, Index
from sonde.sampling.sobol import sobol

Pairs = Sequence[tuple[int, int]]


class Effects(NamedTuple):
    """Main effects (c, s) and total effects (c, s), as shares of a variance; NaN where that is 0."""

    main: Array
    total: Array


class Design:
    """The points of n rows of A and B: a scrambled Sobol sequence in 2 d dimensions."""

    def __init__(self, count: int, dimension: int, *, seed: int = 0) -> None:
        points = sobol(0, count, 2 * dimension, seed=seed)
        self.a, self.b = points[:, :dimension], points[:, dimension:]

    def single(self, columns: Sequence[int]) -> Array:
        """Return A, B and A_i of each column: (2 + c, n, d)."""
        return np.stack([self.a, self.b, *(self._mixed([column]) for column in columns)])

    def double(self, pairs: Pairs) -> Array:
        """Return A_ij of each pair: (p, n, d)."""
        return np.array([self._mixed(list(pair)) for pair in pairs]).reshape(len(pairs), *self.a.shape)

    def _mixed(self, columns: list[int]) -> Array:
        points = self.a.copy()
        points[:, columns] = self.b[:, columns]
        return points


def effects(values: Array, whole: Array) -> Effects:
    """Return the effects of values (2 + c, n, s) at the points of ``Design.single``, as shares of variances (s,)."""
    a, b, mixed = (part - values[:2].mean(axis=(0, 1)) for part in (values[0], values[1], values[2:]))
    main = np.mean(b * (mixed - a), axis=1)
    total = np.mean((a - mixed) ** 2, axis=1) / 2
    return Effects(_share(main, whole), _share(total, whole))


def interactions(values: Array, both: Array, places: Pairs, whole: Array) -> Array:
    """Return the total interactions (p, s) of pairs of measured inputs, by their places among the c.

    ``values`` (2 + c, n, s) are those of ``effects``, ``both`` (p, n, s) those at the points of ``Design.double``.
    """
    parts = [
        np.mean((values[0] - values[2 + i] - values[2 + j] + double) ** 2, axis=0) / 4
        for (i, j), double in zip(places, both, strict=True)
    ]
    return _share(np.array(parts).reshape(len(places), values.shape[2]), whole)


def variances(values: Array) -> Array:
    """Return the variances (s,) of the values (2 + c, n, s) at the points of ``Design.single``."""
    return np.asarray(values[:2].reshape(-1, values.shape[2]).var(axis=0))


def resampled(count: int, times: int, rng: np.random.Generator) -> Index:
    """Return the rows (n, s) of a bootstrap: for each of s functions, n rows drawn with replacement."""
    return rng.integers(count, size=(count, times))


def picked(values: Array, rows: Index) -> Array:
    """Return values (k, n, s) at the rows (n, s) of a bootstrap."""
    return np.asarray(np.take_along_axis(values, rows[None], axis=1))


def _share(part: Array, whole: Array) -> Array:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(whole > 0, part / whole, np.nan)
