"""An even bowl through values and slopes: where the bottom of the whole is, ripples aside.

y = c + a |x - m|^2 + ripples, the ripples independent of each other, with one variance for values and one for slopes,
both inferred. For a given a this is a linear regression on (1, x) with the prior m ~ N(0, ``REACH``^2), the spread of
the cube itself, so that where nothing speaks for a bowl its bottom may be anywhere; a is taken from a grid.

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
DEPTHS = 10.0 ** np.linspace(-2, 2, 25)  # a times p, in deviations of the values


@dataclass(frozen=True)
class Bowls:
    """Bowls of several depths: their probabilities, and the bottoms' means (k, p) and covariance roots (k, p, p)."""

    chances: Array
    means: Array
    roots: Array

    def bottom(self, rng: np.random.Generator) -> Array:
        """Return where the bottom may be, (p,), one draw from the belief."""
        k = int(rng.choice(len(self.chances), p=self.chances))
        return np.asarray(self.means[k] + self.roots[k] @ rng.standard_normal(self.means.shape[1]))


def fit_bowls(x: Array, y: Array, slopes: Array) -> Bowls:
    """Return the bowls through values y (n,), standardised, and slopes (n, p), NaN where there is none, at x (n, p)."""
    kept = spread_out(x)
    x, y, slopes = x[kept], y[kept], slopes[kept]
    found = [_fit(x, y, slopes, depth / x.shape[1]) for depth in DEPTHS]
    scores = np.array([score for score, _, _ in found])
    chances = np.exp(scores - scores.max())
    return Bowls(chances / chances.sum(), np.array([m for _, m, _ in found]), np.array([r for _, _, r in found]))


def _fit(x: Array, y: Array, slopes: Array, a: float) -> tuple[float, Array, Array]:
    """Return the log evidence of a depth, and the bottom's mean and covariance root.

    y - a x.x = c - 2 a x.m and slope - 2 a x = -2 a m: linear in (m, c).
    """
    n, p = x.shape
    points, columns = np.nonzero(np.isfinite(slopes))
    rest = [y - a * np.sum(x * x, axis=1), slopes[points, columns] - 2 * a * x[points, columns]]
    values = np.column_stack([-2 * a * x, np.ones(n)])
    counts = np.bincount(columns, minlength=p)
    grams = [values.T @ values, np.diag(np.append(4 * a**2 * counts, 0.0))]
    sums = np.append(-2 * a * np.bincount(columns, weights=rest[1], minlength=p), 0.0)
    moments = [values.T @ rest[0], sums]
    prior = np.append(np.full(p, REACH**-2.0), 1e-2)
    sizes = [n, len(points)]
    variances = [max(float(np.mean(each**2)), 1e-10) if len(each) else 1.0 for each in rest]
    for last in [*[False] * ROUNDS, True]:
        precision = np.diag(prior) + sum(gram / v for gram, v in zip(grams, variances, strict=True))
        moment = sum(m / v for m, v in zip(moments, variances, strict=True))
        root = np.linalg.cholesky(precision)
        mean = np.linalg.solve(precision, moment)
        if last:
            break
        covariance = np.linalg.inv(precision)
        for k in range(2):
            if sizes[k]:
                left = rest[k] @ rest[k] - 2 * moments[k] @ mean + mean @ grams[k] @ mean
                left += np.sum(covariance * grams[k])
                variances[k] = max(float(left) / sizes[k], 1e-10)
    fit = sum(float(each @ each) / v + len(each) * np.log(v) for each, v in zip(rest, variances, strict=True))
    score = -0.5 * fit + 0.5 * float(moment @ mean) - float(np.log(np.diagonal(root)).sum())
    inverse = np.linalg.inv(root).T  # precision^-1 = inverse inverse^T
    return score, mean[:p], np.linalg.cholesky((inverse @ inverse.T)[:p, :p])


def spread_out(x: Array) -> NDArray[np.intp]:
    """Return the points that are apart from all before them."""
    kept: list[int] = []
    for i in range(len(x)):
        if not kept or np.abs(x[kept] - x[i]).max(axis=1).min() > APART:
            kept.append(i)
    return np.array(kept)
