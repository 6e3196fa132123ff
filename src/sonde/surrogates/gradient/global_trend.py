"""An even bowl through values and gradients: where the bottom of the whole is, ripples aside.

y = c + a |x - m|^2 + ripples, the ripples independent of each other, with one variance for values and one for gradients,
both inferred. Where ripples are steep only here and there, steep results count less: the gradients of a result follow
Student's t with ``TAILS`` degrees of freedom, which is a weight for each result, inferred with the rest. Bottoms of
basins have a level and a variance of their own: they lie much closer to a bowl than what is found on the hillsides, so
a few of them tell where its bottom is. For a given a this is a linear regression on (1, x) with the prior
m ~ N(0, ``REACH``^2), the spread of the cube itself, so that where nothing speaks for a bowl its bottom may be
anywhere; a is taken from a grid.

Not every bowl is a parabola: z = exp(k y) / k is one for a cone or a bell (k > 0), and for what is flat at the bottom
and steep around it (k < 0). The ripples are those of y: in z they are as much larger as dz/dy is, taken on the bowl
itself. The evidence for each k is that for y as it was told.

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
WARPS = (0.0, 0.5, 1.0, 1.5, -0.25, -0.5)  # k, per deviation of the values
FURTHEST = 50.0  # k y at most
UNLIKELY = 30.0  # log odds against a bowl beyond which it is forgotten
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
class GlobalTrends:
    """GlobalTrends of several depths, and how sure it is that there is one at all."""

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


def fit_global_trends(x: Array, y: Array, gradients: Array, low: NDArray[np.bool_]) -> GlobalTrends:
    """Return the bowls through values y (n,), standardised, and gradients (n, p), NaN where there is none, at x (n, p).

    Those that are ``low`` (n,) are bottoms of basins.
    """
    basins, others = np.flatnonzero(low)[-MOST:], np.flatnonzero(~low)
    kept = np.concatenate([basins, others[spread_out(x[others], ripples_of(x[basins]))]])
    x, y, low = x[kept], y[kept], low[kept]
    gradients = np.where(low[:, None], np.nan, gradients[kept])  # a bottom has none, whatever the bowl
    y = y - np.median(y)
    warped = [_Warped.of(k, y, gradients) for k in WARPS if abs(k) * np.abs(y).max() < FURTHEST]
    told = np.isfinite(gradients)
    wide = x.shape[1] > MOST and bool(np.all(told.all(axis=1) == told.any(axis=1)))  # all columns know as much
    alike = x @ x.T if wide else None
    step = float(DEPTHS[1] - DEPTHS[0])
    scores, found = np.full((len(warped), len(DEPTHS)), -np.inf), list[Bowl]()
    for i, j in np.ndindex(scores.shape):
        bowl = warped[i].fit(x, alike, low, float(DEPTHS[j]), step)
        scores[i, j] = bowl.score
        found = _likely([*found, bowl])
    best, top = divmod(int(np.argmax(scores)), len(DEPTHS))
    centre = float(DEPTHS[top])
    for _ in range(FINER):
        depths, step = centre + step * np.linspace(-0.8, 0.8, 9), step / 5
        finer = [warped[best].fit(x, alike, low, depth, step) for depth in depths]
        found, centre = _likely(found + finer), float(depths[int(np.argmax([bowl.score for bowl in finer]))])
    odds = np.exp(min(0.0, scores[0, 0] - scores.max()))
    return GlobalTrends(tuple(found), 1.0 - float(odds))


def _likely(bowls: list[Bowl]) -> list[Bowl]:
    """Return the bowls that have a chance to be drawn: each one holds a row for every value."""
    best = max(bowl.score for bowl in bowls)
    return [bowl for bowl in bowls if bowl.score > best - UNLIKELY]


@dataclass(frozen=True)
class _Warped:
    """Values as z = exp(k y) / k, centred, and gradients of z, both in deviations of z."""

    k: float
    z: Array  # (n,)
    gradients: Array  # (n, p)
    steepness: Array  # dz/dy, (n,)
    zero: float  # where z = 0 was

    @classmethod
    def of(cls, k: float, y: Array, gradients: Array) -> _Warped:
        """Return values y and gradients of y at a warp."""
        z = np.exp(k * y) / k if k else y
        deviation = float(z.std()) or 1.0
        steepness = np.exp(k * y) / deviation
        zero = -float(z.mean()) / deviation
        return cls(k, z / deviation + zero, steepness[:, None] * gradients, steepness, zero)

    def steepness_at(self, z: Array) -> Array:
        """Return dz/dy, at most and at least what there is of it."""
        return np.clip(self.k * (z - self.zero), self.steepness.min(), self.steepness.max())

    def fit(self, x: Array, alike: Array | None, low: NDArray[np.bool_], depth: float, step: float) -> Bowl:
        """Return the bowl of a depth, which stands for a ``step`` of depths, given products of x, if they are of use.

        z - a x.x = c - 2 a x.m and dz/dx - 2 a x = -2 a m are linear in (m, c).
        """
        n, p = x.shape
        a, told = 10.0**depth / p, np.isfinite(self.gradients)
        even, sizes = a * np.sum(x * x, axis=1), told.sum(axis=1)
        left = np.where(told, self.gradients - 2 * a * x, 0.0)
        squares, size = np.sum(left * left, axis=1), int(sizes.sum())
        equations = np.column_stack([-2 * a * x, np.ones(n), low])
        prior = np.append(np.full(p, REACH**-2.0), [1e-2, 1e-2])
        scale, weights = self.steepness, np.ones(n)
        # variances of the ripples
        values = np.full(n, max(float(np.mean(((self.z - even) / scale) ** 2)), LEAST))
        steep = max(float(np.sum(squares / scale**2)) / max(size, 1), LEAST)
        for last in [*[False] * ROUNDS, True]:
            rows, rest = equations / scale[:, None], (self.z - even) / scale
            diagonal, moment = prior.copy(), rows.T @ (rest / values)
            diagonal[:p] += 4 * a**2 / steep * (weights / scale**2 @ told)
            moment[:p] -= 2 * a / steep * (weights / scale**2 @ left)
            products = None if alike is None else 4 * a**2 * alike / np.outer(scale, scale)
            mean, spread, unsure, volume = _belief(rows, values, diagonal, moment, products)
            if last:
                break
            missed = (rest - rows @ mean) ** 2 + unsure
            for each in (low, ~low):
                values[each] = max(float(missed[each].mean()), LEAST) if each.any() else 0.0
            if size:
                misfits = squares + 4 * a * (left @ mean[:p]) + 4 * a**2 * (told @ (mean**2 + spread)[:p])
                misfits /= scale**2
                weights = (TAILS + sizes) / (TAILS + misfits / steep)
                steep = max(float(weights @ misfits) / size, LEAST)
            if self.k:
                scale = self.steepness_at(even + equations @ mean)
        fit = float(rest @ (rest / values)) + float(weights / scale**2 @ squares) / steep - float(moment @ mean)
        fit += size * np.log(steep) + float(np.log(values).sum() - np.log(prior).sum()) + volume
        fit += float(TAILS * weights.sum() - (TAILS + sizes) @ np.log(weights))  # what the weights themselves cost
        warped = float((1 + sizes) @ np.log(self.steepness / scale))  # the density of y is that of z times dz/dy
        return Bowl(np.log(step) + warped - 0.5 * fit, mean, diagonal, rows, values)


def _belief(
    rows: Array, values: Array, diagonal: Array, moment: Array, products: Array | None = None
) -> tuple[Array, Array, Array, float]:
    """Return mean and variances of (m, c), those of the values on the bowl, and the log determinant of the precision.

    By a matrix of the size of (m, c), or of the values where they are fewer. There the products (n, n) of the rows as
    far as they are of m say it all where its precisions in ``diagonal`` are equal, but for its variances, of which all
    are the mean then.
    """
    n, size = rows.shape
    if size <= n:
        precision = rows.T @ (rows / values[:, None]) + np.diag(diagonal)
        covariance = np.linalg.inv(precision)
        unsure = np.sum((rows @ covariance) * rows, axis=1)
        return covariance @ moment, np.diagonal(covariance), unsure, float(np.linalg.slogdet(precision)[1])
    first = 0 if products is None else size - 2  # of the columns that are multiplied here
    scaled = rows[:, first:] / diagonal[first:]
    inner = scaled @ rows[:, first:].T + np.diag(values)
    if products is not None:
        inner += products / diagonal[0]
    inverse = np.linalg.inv(inner)
    mean = (moment - rows.T @ (inverse @ (rows @ (moment / diagonal)))) / diagonal
    spread = 1 / diagonal
    spread[first:] -= np.sum(scaled * (inverse @ scaled), axis=0)
    if products is not None:
        spread[:first] -= float(np.sum(inverse * products)) / diagonal[0] ** 2 / first
    unsure = values - values**2 * np.diagonal(inverse)
    volume = np.linalg.slogdet(inner)[1] + np.log(diagonal).sum() - np.log(values).sum()
    return mean, spread, unsure, float(volume)


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
