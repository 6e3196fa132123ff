"""An even bowl through values and slopes: where the bottom of the whole is, ripples aside.

y = c + a |x - m|^2 + ripples, the ripples independent of each other, with one variance for values and one for slopes,
both inferred. Where ripples are steep only here and there, steep results count less: the slopes of a result follow
Student's t with ``TAILS`` degrees of freedom, which is a weight for each result, inferred with the rest. Bottoms of
basins have a level and a variance of their own: they lie much closer to a bowl than what is found on the hillsides, so
a few of them tell where its bottom is. For a given a this is a linear regression on (1, x) with the prior
m ~ N(0, ``REACH``^2), the spread of the cube itself, so that where nothing speaks for a bowl its bottom may be
anywhere; a is taken from a grid.

Not every bowl is a parabola: exp(k y) / k is one for a cone or a bell (k > 0), and for what is flat at the bottom and
steep around it (k < 0). The evidence for each k is that for y as it was told.

What a Gaussian process makes of a rippled function depends on which ripples it has resolved; the bowl needs none of
them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

ROUNDS = 5  # of inferring the two variances and the weights
TAILS = 4.0  # the fewest degrees of freedom with a variance that is not ruled by the tails
APART = 0.1  # points closer than this in every coordinate may share their ripples, and count once
REACH = 0.29  # the deviation of a uniform coordinate of the cube
MOST = 128  # points
LEAST = 1e-10  # of a variance
DEPTHS = np.linspace(-2, 2, 13)  # log10 of a times p, in deviations of the values
WARPS = (0.0, 0.5, 1.0, 1.5, -0.5)  # k, per deviation of the values
FURTHEST = 50.0  # k y at most
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
    """Bowls of several depths, and how sure it is that there is one at all."""

    each: tuple[Bowl, ...]
    sure: float  # 1 - the odds of the flattest to the best

    def bottom(self, rng: np.random.Generator) -> Array:
        """Return where the bottom may be, (p,): a draw from the belief or, as far as it is sure, nearer to its mean.

        In p dimensions a draw is farther off than the mean by about the square root of 2 in nearly every coordinate.
        """
        scores = np.array([bowl.score for bowl in self.each])
        chances = np.exp(scores - scores.max())
        chosen = self.each[int(rng.choice(len(self.each), p=chances / chances.sum()))]
        drawn = chosen.draw(rng)
        nearer = self.sure * rng.random()
        return np.asarray((drawn + nearer * (chosen.mean - drawn))[:-2])


def fit_bowls(x: Array, y: Array, slopes: Array, low: NDArray[np.bool_]) -> Bowls:
    """Return the bowls through values y (n,), standardised, and slopes (n, p), NaN where there is none, at x (n, p).

    Those that are ``low`` (n,) are bottoms of basins.
    """
    basins, others = np.flatnonzero(low)[-MOST:], np.flatnonzero(~low)
    kept = np.concatenate([basins, others[spread_out(x[others], ripples_of(x[basins]))]])
    x, y, low = x[kept], y[kept], low[kept]
    slopes = np.where(low[:, None], np.nan, slopes[kept])  # a bottom has none, whatever the bowl
    sizes = 1 + np.isfinite(slopes).sum(axis=1)
    y = y - np.median(y)
    warped = [_Warped.of(k, y, slopes, sizes) for k in WARPS if abs(k) * np.abs(y).max() < FURTHEST]
    step = float(DEPTHS[1] - DEPTHS[0])
    bowls = [[each.fit(x, low, depth, step) for depth in DEPTHS] for each in warped]
    tops = [max(range(len(DEPTHS)), key=lambda i: each[i].score) for each in bowls]
    best = max(range(len(warped)), key=lambda i: bowls[i][tops[i]].score)
    found, centre = [bowl for each in bowls for bowl in each], float(DEPTHS[tops[best]])
    for _ in range(FINER):
        depths, step = centre + step * np.linspace(-0.8, 0.8, 9), step / 5
        finer = [warped[best].fit(x, low, depth, step) for depth in depths]
        found, centre = found + finer, float(depths[int(np.argmax([bowl.score for bowl in finer]))])
    odds = np.exp(min(0.0, bowls[0][0].score - max(bowl.score for each in bowls for bowl in each)))
    return Bowls(tuple(found), 1.0 - float(odds))


@dataclass(frozen=True)
class _Warped:
    """Values (n,) and slopes (n, p) as exp(k y) / k and standardised, and the log density that this takes from them."""

    y: Array
    slopes: Array
    jacobian: float

    @classmethod
    def of(cls, k: float, y: Array, slopes: Array, sizes: NDArray[np.intp]) -> _Warped:
        """Return what is left of values y and slopes, so many (n,) of a result in all."""
        warped = np.exp(k * y) / k if k else y
        deviation = float(warped.std()) or 1.0
        factor = k * y - np.log(deviation)  # its logarithm
        return cls((warped - warped.mean()) / deviation, np.exp(factor)[:, None] * slopes, float(sizes @ factor))

    def fit(self, x: Array, low: NDArray[np.bool_], depth: float, step: float) -> Bowl:
        """Return the bowl of a depth, which stands for a ``step`` of depths."""
        return _fit(x, self.y, self.slopes, low, 10.0**depth / x.shape[1], np.log(step) + self.jacobian)


def _fit(x: Array, y: Array, slopes: Array, low: NDArray[np.bool_], a: float, weight: float) -> Bowl:
    """Return the bowl of a depth: y - a x.x = c - 2 a x.m and slope - 2 a x = -2 a m are linear in (m, c)."""
    n, p = x.shape
    told = np.isfinite(slopes)
    rest = y - a * np.sum(x * x, axis=1)
    left = np.where(told, slopes - 2 * a * x, 0.0)
    squares, sizes = np.sum(left * left, axis=1), told.sum(axis=1)
    size, weights = int(sizes.sum()), np.ones(n)
    rows = np.column_stack([-2 * a * x, np.ones(n), low])
    prior = np.append(np.full(p, REACH**-2.0), [1e-2, 1e-2])
    # variances of the ripples
    values, steep = np.full(n, max(float(np.mean(rest**2)), LEAST)), max(float(squares.sum()) / max(size, 1), LEAST)
    for last in [*[False] * ROUNDS, True]:
        counts, sums = (np.append(weights @ each, [0.0, 0.0]) for each in (told, left))
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
            misfits = squares + 4 * a * (left @ mean[:p]) + 4 * a**2 * (told @ (mean**2 + spread)[:p])
            weights = (TAILS + sizes) / (TAILS + misfits / steep)
            steep = max(float(weights @ misfits) / size, LEAST)
    _, log_inner = np.linalg.slogdet(inner)
    fit = float(rest @ (rest / values)) + float(weights @ squares) / steep + size * np.log(steep) - float(moment @ mean)
    fit += float(TAILS * weights.sum() - (TAILS + sizes) @ np.log(weights))  # what the weights themselves cost
    score = weight - 0.5 * (fit + log_inner + float(np.log(diagonal / prior).sum()))
    return Bowl(score, mean, diagonal, rows, values)


def ripples_of(bottoms: Array) -> float:
    """Return within which distance points share their ripples: halfway from one bottom to the next, or ``APART``."""
    if len(bottoms) < 2:
        return APART
    distances = np.array([np.abs(bottoms - bottom).max(axis=1) for bottom in bottoms])
    distances[np.diag_indices(len(bottoms))] = np.inf
    return min(APART, 0.5 * float(np.median(distances.min(axis=0))))


def spread_out(x: Array, apart: float = APART) -> NDArray[np.intp]:
    """Return the points that are apart from all before them, at most ``MOST`` of them, evenly chosen."""
    kept: list[int] = []
    for i in range(len(x)):
        if not kept or np.abs(x[kept] - x[i]).max(axis=1).min() > apart:
            kept.append(i)
    return np.array(kept)[np.unique(np.linspace(0, len(kept) - 1, min(MOST, len(kept))).astype(np.intp))]
