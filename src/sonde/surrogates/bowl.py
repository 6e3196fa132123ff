"""An even bowl through values and slopes: where the bottom of the whole is, ripples aside.

y = c + a |x - m|^2 + ripples, the ripples independent of each other, with one variance for values and one for slopes,
both inferred. Bottoms of basins have a level and a variance of their own: they lie much closer to a bowl than what is
found on the hillsides, so a few of them tell where its bottom is. For a given a this is a linear regression on (1, x)
with the prior m ~ N(0, ``REACH``^2), the spread of the cube itself, so that where nothing speaks for a bowl its bottom
may be anywhere; a is taken from a grid.

What a Gaussian process makes of a rippled function depends on which ripples it has resolved; the bowl needs none of
them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

ROUNDS = 5  # of inferring the two variances
APART = 0.1  # points closer than this in every coordinate share their ripples, and count once
REACH = 0.29  # the deviation of a uniform coordinate of the cube
MOST = 128  # points
LEAST = 1e-10  # of a variance
DEPTHS = np.linspace(-2, 2, 25)  # log10 of a times p, in deviations of the values
FINER = 2  # times that depths around the best one are looked at more closely: far values tell it to a percent


@dataclass(frozen=True)
class Bowl:
    """A bowl of one depth: the log evidence for it, and the belief about (m, c), its bottom and levels.

    The precision is D + V^T v^-1 V with D diagonal and a row of V for each value, so nothing of size p by p is needed.
    """

    score: float
    mean: Array  # (p + 2,)
    diagonal: Array  # D, (p + 2,)
    rows: Array  # V, (n, p + 2)
    variances: Array  # v, (n,)

    def draw(self, rng: np.random.Generator) -> Array:
        """Return a draw of (m, c): one from D^-1, corrected by what the values would have made of it."""
        free = rng.standard_normal(len(self.mean)) / np.sqrt(self.diagonal)
        seen = self.rows @ free + np.sqrt(self.variances) * rng.standard_normal(len(self.rows))
        scaled = self.rows / self.diagonal
        inner = self.rows @ scaled.T + np.diag(self.variances)
        return np.asarray(self.mean + free - scaled.T @ np.linalg.solve(inner, seen))


@dataclass(frozen=True)
class Bowls:
    """Bowls of several depths."""

    each: tuple[Bowl, ...]

    def bottom(self, rng: np.random.Generator) -> Array:
        """Return where the bottom may be, (p,), one draw from the belief."""
        scores = np.array([bowl.score for bowl in self.each])
        chances = np.exp(scores - scores.max())
        chosen = self.each[int(rng.choice(len(self.each), p=chances / chances.sum()))]
        return chosen.draw(rng)[:-2]


def fit_bowls(x: Array, y: Array, slopes: Array, low: NDArray[np.bool_]) -> Bowls:
    """Return the bowls through values y (n,), standardised, and slopes (n, p), NaN where there is none, at x (n, p).

    Those that are ``low`` (n,) are bottoms of basins.
    """
    basins, others = np.flatnonzero(low)[-MOST:], np.flatnonzero(~low)
    kept = np.concatenate([basins, others[spread_out(x[others])]])
    x, y, low = x[kept], y[kept], low[kept]
    slopes = np.where(low[:, None], np.nan, slopes[kept])  # a bottom has none, whatever the bowl
    depths, step = DEPTHS, float(DEPTHS[1] - DEPTHS[0])
    bowls: list[Bowl] = []
    for _ in range(1 + FINER):
        bowls += [_fit(x, y, slopes, low, 10.0**depth / x.shape[1], np.log(step)) for depth in depths]
        best = depths[int(np.argmax([bowl.score for bowl in bowls[-len(depths) :]]))]
        depths, step = best + step * np.linspace(-0.8, 0.8, 9), step / 5
    return Bowls(tuple(bowls))


def _fit(x: Array, y: Array, slopes: Array, low: NDArray[np.bool_], a: float, weight: float) -> Bowl:
    """Return the bowl of a depth: y - a x.x = c - 2 a x.m and slope - 2 a x = -2 a m are linear in (m, c)."""
    n, p = x.shape
    told = np.isfinite(slopes)
    counts = np.append(told.sum(axis=0), [0.0, 0.0])
    rest = y - a * np.sum(x * x, axis=1)
    left = np.where(told, slopes - 2 * a * x, 0.0)
    sums, total, size = np.append(left.sum(axis=0), [0.0, 0.0]), float(np.sum(left * left)), int(told.sum())
    rows = np.column_stack([-2 * a * x, np.ones(n), low])
    prior = np.append(np.full(p, REACH**-2.0), [1e-2, 1e-2])
    # variances of the ripples
    values, steep = np.full(n, max(float(np.mean(rest**2)), LEAST)), max(total / max(size, 1), LEAST)
    for last in [*[False] * ROUNDS, True]:
        diagonal = prior + 4 * a**2 * counts / steep
        moment = rows.T @ (rest / values) - 2 * a * sums / steep
        scaled = rows / diagonal
        inner = rows @ scaled.T + np.diag(values)
        solved = np.linalg.solve(inner, scaled)
        mean = moment / diagonal - solved.T @ (rows @ (moment / diagonal))
        if last:
            break
        spread = 1 / diagonal - np.sum(scaled * solved, axis=0)  # variances of (m, c)
        share = 1 - values * np.diagonal(np.linalg.inv(inner))  # of each value, that the bowl itself takes up
        missed = (rest - rows @ mean) ** 2 + values * share
        for each in (low, ~low):
            values[each] = max(float(missed[each].mean()), LEAST) if each.any() else 0.0
        if size:
            misfit = total + 4 * a * float(sums @ mean) + 4 * a**2 * float(counts @ (mean**2 + spread))
            steep = max(misfit / size, LEAST)
    _, log_inner = np.linalg.slogdet(inner)
    fit = float(rest @ (rest / values)) + total / steep + size * np.log(steep) - float(moment @ mean)
    score = weight - 0.5 * (fit + log_inner + float(np.log(diagonal / prior).sum()))
    return Bowl(score, mean, diagonal, rows, values)


def spread_out(x: Array) -> NDArray[np.intp]:
    """Return the points that are apart from all before them, at most ``MOST`` of them, evenly chosen."""
    kept: list[int] = []
    for i in range(len(x)):
        if not kept or np.abs(x[kept] - x[i]).max(axis=1).min() > APART:
            kept.append(i)
    return np.array(kept)[np.unique(np.linspace(0, len(kept) - 1, min(MOST, len(kept))).astype(np.intp))]
