"""A global quadratic trend through values and gradients, and samples of its minimizer: where local searches start.

y = c + a |x - m|^2 + residual, a quadratic with the same curvature a in all directions and the minimizer m. Residuals
of a multimodal objective are modelled as independent, with one variance for values and one for gradients, both
inferred. Gradients follow Student's t with ``DEGREES`` degrees of freedom, so that a few very steep observations count
less: each observation has a weight, inferred with the rest. Local minima have a level and a variance of their own,
because they lie much closer to the trend than other points: a few of them locate m well. For a given a this is a linear
regression on (1, x). The prior is m ~ N(0, ``PRIOR_DEVIATION``^2), with the deviation of a uniform point of the cube:
without evidence for a trend its minimizer may be anywhere. The curvature a is integrated over a grid.

The trend need not be quadratic in y. It is in z = exp(k y) / k: with k > 0 this makes a cone or a bell quadratic, with
k < 0 a function that is flat at its minimum and steep around it. The residuals are those of y; in z they are larger by
the factor dz/dy, evaluated on the trend. The marginal likelihood of each k is that of y itself.

A Gaussian process on a multimodal function depends on which local minima it has resolved; this trend needs none of
them.

Symbols: n observations, p feature columns, theta = (m, c, level of local minima) with p + 2 entries.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sonde.arrays import Array, Index, Mask

ROUNDS = 5  # iterations of inferring the variances and the weights
DEGREES = 4.0  # the fewest degrees of freedom with a variance that is not ruled by the tails
MIN_DISTANCE = 0.1  # points closer than this in every coordinate may share their residual, and count once
PRIOR_DEVIATION = 0.29  # that of a uniform coordinate of the cube
MAX_POINTS = 128
MIN_VARIANCE = 1e-10
LOG_CURVATURES = np.linspace(-2, 2, 13)  # log10 of a times p, in deviations of the values
WARPS = (0.0, 0.5, 1.0, 1.5, -0.25, -0.5)  # k, per deviation of the values
MAX_EXPONENT = 50.0  # of exp(k y)
MAX_LOG_ODDS = 30.0  # against a trend: a less likely one is dropped
REFINEMENTS = 2  # of the grid around the best curvature: far values determine it to a percent


@dataclass(frozen=True)
class GlobalTrend:
    """A trend of one curvature and warp: its log marginal likelihood, and the Gaussian posterior of theta.

    The precision is D + V^T v^-1 V with D diagonal and a row of V for each value, so nothing of size p by p is needed.
    """

    score: float
    mean: Array  # (p + 2,)
    diagonal: Array  # D, (p + 2,)
    rows: Array  # V, (n, p + 2)
    variances: Array  # v, (n,)

    def sample(self, rng: np.random.Generator) -> Array:
        """Return a sample of theta by Matheron's rule: a sample of N(0, D^-1), conditioned on the values."""
        prior = rng.standard_normal(len(self.mean)) / np.sqrt(self.diagonal)
        values = self.rows @ prior + np.sqrt(self.variances) * rng.standard_normal(len(self.rows))
        scaled = self.rows / self.diagonal
        inner = self.rows @ scaled.T + np.diag(self.variances)
        return np.asarray(self.mean + prior - scaled.T @ np.linalg.solve(inner, values))


@dataclass(frozen=True)
class GlobalTrends:
    """A mixture of global trends, weighted by marginal likelihood."""

    components: tuple[GlobalTrend, ...]
    confidence: float  # that there is a trend at all: 1 - the odds of the flattest one to the best

    def sample_minimizer(self, rng: np.random.Generator) -> Array:
        """Return a sample of the minimizer, (p,), moved towards the posterior mean in proportion to the confidence.

        In p dimensions a sample is farther from the truth than the mean, by about the square root of 2 in nearly every
        coordinate.
        """
        scores = np.array([trend.score for trend in self.components])
        weights = np.exp(scores - scores.max())
        chosen = self.components[int(rng.choice(len(self.components), p=weights / weights.sum()))]
        sample = chosen.sample(rng)
        shrinkage = self.confidence * rng.random()
        return np.asarray((sample + shrinkage * (chosen.mean - sample))[:-2])


def fit_global_trends(x: Array, y: Array, gradients: Array, at_minimum: Mask) -> GlobalTrends:
    """Return the trends of standardised values y (n,) and gradients (n, p), NaN where unknown, at x (n, p).

    ``at_minimum`` (n,) says which points are local minima.
    """
    minima, others = np.flatnonzero(at_minimum)[-MAX_POINTS:], np.flatnonzero(~at_minimum)
    kept = np.concatenate([minima, others[spread_out(x[others], residual_range(x[minima]))]])
    x, y, at_minimum = x[kept], y[kept], at_minimum[kept]
    gradients = np.where(at_minimum[:, None], np.nan, gradients[kept])  # 0 at a local minimum, whatever the trend
    y = y - np.median(y)
    warped = [_Warped.of(k, y, gradients) for k in WARPS if abs(k) * np.abs(y).max() < MAX_EXPONENT]
    known = np.isfinite(gradients)
    all_or_none = bool(np.all(known.all(axis=1) == known.any(axis=1)))  # no gradient lacks only some columns
    gram = x @ x.T if x.shape[1] > MAX_POINTS and all_or_none else None
    step = float(LOG_CURVATURES[1] - LOG_CURVATURES[0])
    scores, found = np.full((len(warped), len(LOG_CURVATURES)), -np.inf), list[GlobalTrend]()
    for i, j in np.ndindex(scores.shape):
        trend = warped[i].fit(x, gram, at_minimum, float(LOG_CURVATURES[j]), step)
        scores[i, j] = trend.score
        found = _plausible([*found, trend])
    best, top = divmod(int(np.argmax(scores)), len(LOG_CURVATURES))
    centre = float(LOG_CURVATURES[top])
    for _ in range(REFINEMENTS):
        grid, step = centre + step * np.linspace(-0.8, 0.8, 9), step / 5
        finer = [warped[best].fit(x, gram, at_minimum, log_curvature, step) for log_curvature in grid]
        found, centre = _plausible(found + finer), float(grid[int(np.argmax([trend.score for trend in finer]))])
    odds = np.exp(min(0.0, scores[0, 0] - scores.max()))
    return GlobalTrends(tuple(found), 1.0 - float(odds))


def _plausible(trends: list[GlobalTrend]) -> list[GlobalTrend]:
    """Return the trends with a chance to be sampled; the others would only take memory, a row for every value."""
    best = max(trend.score for trend in trends)
    return [trend for trend in trends if trend.score > best - MAX_LOG_ODDS]


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
        """Return values y and gradients of y under the warp k."""
        z = np.exp(k * y) / k if k else y
        deviation = float(z.std()) or 1.0
        steepness = np.exp(k * y) / deviation
        zero = -float(z.mean()) / deviation
        return cls(k, z / deviation + zero, steepness[:, None] * gradients, steepness, zero)

    def steepness_at(self, z: Array) -> Array:
        """Return dz/dy at z, clipped to its range over the observations."""
        return np.clip(self.k * (z - self.zero), self.steepness.min(), self.steepness.max())

    def fit(self, x: Array, gram: Array | None, at_minimum: Mask, log_curvature: float, step: float) -> GlobalTrend:
        """Return the trend of one curvature, which stands for a ``step`` of the grid; ``gram`` is x x^T, to save time.

        z - a x.x = c - 2 a x.m and dz/dx - 2 a x = -2 a m are linear in theta.
        """
        n, p = x.shape
        a, known = 10.0**log_curvature / p, np.isfinite(self.gradients)
        quadratic, sizes = a * np.sum(x * x, axis=1), known.sum(axis=1)
        linear = np.where(known, self.gradients - 2 * a * x, 0.0)  # -2 a m + residual
        squares, size = np.sum(linear * linear, axis=1), int(sizes.sum())
        equations = np.column_stack([-2 * a * x, np.ones(n), at_minimum])
        prior = np.append(np.full(p, PRIOR_DEVIATION**-2.0), [1e-2, 1e-2])
        scale, weights = self.steepness, np.ones(n)
        # residual variances of values, (n,), and of gradients
        variances = np.full(n, max(float(np.mean(((self.z - quadratic) / scale) ** 2)), MIN_VARIANCE))
        gradient_variance = max(float(np.sum(squares / scale**2)) / max(size, 1), MIN_VARIANCE)
        for last in [*[False] * ROUNDS, True]:
            rows, rest = equations / scale[:, None], (self.z - quadratic) / scale
            diagonal, moment = prior.copy(), rows.T @ (rest / variances)
            diagonal[:p] += 4 * a**2 / gradient_variance * (weights / scale**2 @ known)
            moment[:p] -= 2 * a / gradient_variance * (weights / scale**2 @ linear)
            products = None if gram is None else 4 * a**2 * gram / np.outer(scale, scale)
            mean, spread, fitted, log_determinant = _linear_posterior(rows, variances, diagonal, moment, products)
            if last:
                break
            misfits = (rest - rows @ mean) ** 2 + fitted
            for each in (at_minimum, ~at_minimum):
                variances[each] = max(float(misfits[each].mean()), MIN_VARIANCE) if each.any() else 0.0
            if size:
                misfits = squares + 4 * a * (linear @ mean[:p]) + 4 * a**2 * (known @ (mean**2 + spread)[:p])
                misfits /= scale**2
                weights = (DEGREES + sizes) / (DEGREES + misfits / gradient_variance)
                gradient_variance = max(float(weights @ misfits) / size, MIN_VARIANCE)
            if self.k:
                scale = self.steepness_at(quadratic + equations @ mean)
        fit = float(rest @ (rest / variances)) + float(weights / scale**2 @ squares) / gradient_variance
        fit -= float(moment @ mean)
        log_scales = float(np.log(variances).sum() - np.log(prior).sum())
        fit += size * np.log(gradient_variance) + log_scales + log_determinant
        fit += float(DEGREES * weights.sum() - (DEGREES + sizes) @ np.log(weights))  # the density of the weights
        warped = float((1 + sizes) @ np.log(self.steepness / scale))  # the density of y is that of z times dz/dy
        return GlobalTrend(np.log(step) + warped - 0.5 * fit, mean, diagonal, rows, variances)


def _linear_posterior(
    rows: Array, variances: Array, diagonal: Array, moment: Array, products: Array | None = None
) -> tuple[Array, Array, Array, float]:
    """Return mean and variances of theta, posterior variances of the values, and log determinant of the precision.

    It inverts a matrix of the size of theta, or of the values where they are fewer. In the second case ``products``
    (n, n), the inner products of the rows over the columns of m, save O(n^2 p). They need equal precisions of m in
    ``diagonal``, and every variance of m is then replaced by their mean.
    """
    n, size = rows.shape
    if size <= n:
        precision = rows.T @ (rows / variances[:, None]) + np.diag(diagonal)
        covariance = np.linalg.inv(precision)
        fitted = np.sum((rows @ covariance) * rows, axis=1)
        return covariance @ moment, np.diagonal(covariance), fitted, float(np.linalg.slogdet(precision)[1])
    first = 0 if products is None else size - 2  # the first column that is multiplied here
    scaled = rows[:, first:] / diagonal[first:]
    inner = scaled @ rows[:, first:].T + np.diag(variances)
    if products is not None:
        inner += products / diagonal[0]
    inverse = np.linalg.inv(inner)
    mean = (moment - rows.T @ (inverse @ (rows @ (moment / diagonal)))) / diagonal
    spread = 1 / diagonal
    spread[first:] -= np.sum(scaled * (inverse @ scaled), axis=0)
    if products is not None:
        spread[:first] -= float(np.sum(inverse * products)) / diagonal[0] ** 2 / first
    fitted = variances - variances**2 * np.diagonal(inverse)
    log_determinant = np.linalg.slogdet(inner)[1] + np.log(diagonal).sum() - np.log(variances).sum()
    return mean, spread, fitted, float(log_determinant)


def residual_range(minima: Array) -> float:
    """Return the distance within which points share their residual: half that of neighbouring local minima."""
    if len(minima) < 2:
        return MIN_DISTANCE
    distances = np.array([np.abs(minima - minimum).max(axis=1) for minimum in minima])
    distances[np.diag_indices(len(minima))] = np.inf
    return min(MIN_DISTANCE, 0.5 * float(np.median(distances.min(axis=0))))


def spread_out(x: Array, distance: float = MIN_DISTANCE) -> Index:
    """Return the points farther than a distance from all before them; evenly thinned to at most ``MAX_POINTS``."""
    kept: list[int] = []
    for i in range(len(x)):
        if not kept or np.abs(x[kept] - x[i]).max(axis=1).min() > distance:
            kept.append(i)
    return np.array(kept)[np.unique(np.linspace(0, len(kept) - 1, min(MAX_POINTS, len(kept))).astype(np.intp))]
