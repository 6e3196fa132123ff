"""Selection of a large batch from one candidate set, next to hundreds of pending points.

A search for each point would condition the surrogate anew each time. Here the outcomes of all pending points are
fantasized jointly, and one Cholesky factor of their covariance conditions all candidates on them. Each selected point
then updates the means and variances of all candidates by one column: O(m (c + j)) for the j-th point.

A linear model with c columns is certain of everything after c noiseless outcomes, and would then place the rest
arbitrarily. A Matern-5/2 residual with a share of the candidates' variance models what the basis cannot represent. It
keeps the points of a large batch apart.

Failures of pending points are fantasized as well (a_MCEI of Snoek et al. 2015): a failed point is no new incumbent.

Symbols: m candidates, r pending points, q points to select, s fantasies, c columns of a linear posterior, p features.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from scipy.linalg import solve_triangular

from sonde.acquisition.averages import LEAST, average
from sonde.acquisition.closed import h, log_h_far
from sonde.acquisition.sampling import base_samples
from sonde.arrays import Array, Index, Mask
from sonde.sampling import Key, Stream
from sonde.strategies.bayesian.acquisitions import acquire
from sonde.strategies.bayesian.domain import Domain
from sonde.strategies.bayesian.fantasies import Fantasies
from sonde.strategies.bayesian.point_search import candidates, improve, point_values
from sonde.strategies.bayesian.surrogate import Surrogate
from sonde.strategies.bayesian.target import Box, Target
from sonde.surrogates.linear_algebra import factorise
from sonde.surrogates.port import Posterior

LARGE = 64  # more points than this, pending ones included, are a large batch
CANDIDATES, PER_POINT = 2048, 3  # the number of candidates: 2048, or 3 for each point to select if that is more
STARTS, CALLS = 16, 25  # local searches that add candidates, and the evaluations of each
TINY = 1e-12  # the least variance
MIN_DISTANCE = 0.01  # of points of one batch, in sides of the box
REFINED, NEIGHBOURS = 16, 96  # for the first 16 points, 96 candidates are added around the best one
FANTASIES = 16
RESIDUAL = 0.1  # variance of the residual, as a share of the candidates' mean variance
LENGTH_SCALE = 0.2  # of the residual, times the square root of the number of features
NEAR = -4.0  # standard deviations from the incumbent: below, the leading term of h is enough to compare by
FANTASY_NOISE = 1e-6  # noise variance of fantasized outcomes


def select_large_batch(
    targets: Sequence[Target], domain: Domain, pending: Array, key: Key, *, thompson: bool = False
) -> Array:
    """Return a point (q, d) for each target, given the pending points and those before it.

    With ``thompson``, each point maximises a function drawn from the posterior instead, whatever is pending. All
    targets share the surrogate of the first. Fewer points are returned if the candidates run out.
    """
    surrogate = targets[0].surrogate
    assert isinstance(surrogate, Surrogate)  # several objectives are scalarised for a large batch
    boxes = {id(target.box): target.box for target in targets}
    sets = {name: _candidate_set(surrogate, domain, box, len(targets), key) for name, box in boxes.items()}
    points = np.concatenate(list(sets.values()))
    owner = np.repeat(list(sets), [len(each) for each in sets.values()])
    if not len(points):
        return points
    scores: _ExpectedImprovement | _ThompsonSamples = (
        _ThompsonSamples(surrogate, points, len(targets), key)
        if thompson
        else _ExpectedImprovement(surrogate, points, pending, len(targets), key.seed)
    )
    selected: list[Array] = []
    allowed = _distant(points, pending, boxes.values())
    for offset, box in enumerate(target.box for target in targets):
        if isinstance(scores, _ExpectedImprovement) and offset < REFINED and domain.listed is None:
            best = points[int(np.argmax(np.where(allowed & (owner == id(box)), scores.values(), -np.inf)))]
            near = _neighbours(best, domain, box, key.at(offset))
            scores.extend(near)
            points, owner = np.concatenate([points, near]), np.concatenate([owner, np.full(len(near), id(box))])
            allowed = np.concatenate([allowed, _distant(near, np.array([*pending, *selected]), [box])])
        values = np.where(allowed & (owner == id(box)), scores.values(), -np.inf)
        found = _best_novel(points, values, domain, allowed)
        if found is None:
            continue
        selected.append(points[found])
        domain.take(points[found])
        allowed &= _distant(points, points[[found]], [box])
        scores.add(found)
    return np.array(selected).reshape(-1, pending.shape[1])


class _ThompsonSamples:
    """Thompson sampling: a function drawn from the posterior for each point to select."""

    def __init__(self, surrogate: Surrogate, points: Array, count: int, key: Key) -> None:
        rng, x = key.rng(Stream.THOMPSON), surrogate.features(points)
        marginals = [posterior.pool(x) for posterior in surrogate.posteriors]
        share = -(-count // len(marginals))
        self._functions = np.concatenate([each.draw(rng, share) for each in marginals], axis=1)
        if surrogate.feasibility is not None:  # success is drawn as well; a failure costs 1e6
            probability = np.exp(surrogate.feasibility(points)[0])[:, None]
            self._functions -= np.where(probability > rng.random(self._functions.shape), 0.0, 1e6)
        self._used = 0

    def values(self) -> Array:
        """Return the current function at the candidates, (m,)."""
        return self._functions[:, self._used].copy()

    def add(self, chosen: int) -> None:
        """Continue with the next function."""
        self._used = min(self._used + 1, self._functions.shape[1] - 1)


class _ExpectedImprovement:
    """Expected improvement of candidates while points become pending, averaged over fantasies and posteriors."""

    def __init__(self, surrogate: Surrogate, points: Array, pending: Array, count: int, seed: int) -> None:
        self._surrogate = surrogate
        share = max(2, FANTASIES // len(surrogate.posteriors))
        base = base_samples(share, len(pending) + count, seed)
        uniforms = Key(seed, 0).rng(Stream.PENDING_FAILURES).random((share, len(pending) + count))
        self._log_probability = self._log_probabilities(points)
        probability = np.exp(self._log_probabilities(pending))
        x_pending, best = surrogate.features(pending), surrogate.best or 0.0
        self._parts = [
            _ConditionedCandidates(
                posterior, surrogate.features(points), x_pending, probability, best, base, uniforms
            )
            for posterior in surrogate.posteriors
        ]  # fmt: skip

    def _log_probabilities(self, points: Array) -> Array:
        if self._surrogate.feasibility is None or not len(points):
            return np.zeros(len(points))
        return np.maximum(self._surrogate.feasibility(points)[0], LEAST)

    def values(self) -> Array:
        """Return the log of expected improvement times probability of success, (m,)."""
        if self._surrogate.best is None:  # no trial has succeeded: probable success times standard deviation
            return self._log_probability + 0.5 * np.log(self._parts[0].variance)
        logs = [part.log_improvement() for part in self._parts]
        return average(np.stack(logs), log=True, axis=0)[0] + self._log_probability

    def extend(self, points: Array) -> None:
        """Add candidates."""
        self._log_probability = np.concatenate([self._log_probability, self._log_probabilities(points)])
        for part in self._parts:
            part.extend(self._surrogate.features(points))

    def add(self, chosen: int) -> None:
        """Make a candidate a pending point."""
        for part in self._parts:
            part.add(chosen, float(np.exp(self._log_probability[chosen])))


class _ConditionedCandidates:
    """One posterior at the candidates, given fantasies of the pending points: means (m, s) and variances (m,).

    Conditioning subtracts V V^T from the covariance of the candidates. ``factor`` is the Cholesky factor of the
    covariance of the pending points. When a candidate is selected, its row of V and its standard deviation become the
    next row of the factor.
    """

    def __init__(
        self, posterior: Posterior, x: Array, pending: Array, probability: Array, best: float, base: Array,
        uniforms: Array,
    ) -> None:  # fmt: skip
        self._base, self._uniforms = base, uniforms
        self._used, size = len(pending), base.shape[1]
        self._x = np.concatenate([pending, x])  # the initial pending points, then the candidates
        self._first = self._used  # index of the first candidate
        self._pending = list(range(self._used))
        self._pool = posterior.pool(self._x)
        self._residual = RESIDUAL * float(self._pool.variance[self._first :].mean())
        self._factor = np.eye(size)
        self.best = np.full(len(base), best)
        if self._used:
            within = self._covariance(np.arange(self._used), np.arange(self._used))
            within[np.diag_indices(self._used)] += FANTASY_NOISE
            self._factor[: self._used, : self._used] = factorise(within)
            outcomes = self._pool.mean[: self._used, None] + self._pending_factor() @ self._pending_samples()
            succeeded = probability[:, None] > uniforms[:, : self._used].T
            self.best = np.maximum(best, np.where(succeeded, outcomes, -np.inf).max(axis=0))
        self._columns, self.mean, self.variance = self._conditioned(np.arange(self._first, len(self._x)))

    def _pending_factor(self) -> Array:
        return self._factor[: self._used, : self._used]

    def _pending_samples(self) -> Array:
        """Base samples z of the pending points (r, s): outcomes are mean + L z, and candidates' means move by V z."""
        return self._base[:, : self._used].T

    def _conditioned(self, rows: Index) -> tuple[Array, Array, Array]:
        """Return rows of V, means and variances of candidates, given the fantasies of the pending points."""
        columns = np.zeros((len(rows), self._base.shape[1]))
        if self._used:
            covariance = self._covariance(np.array(self._pending), rows)
            columns[:, : self._used] = solve_triangular(self._pending_factor(), covariance, lower=True).T
        mean = self._pool.mean[rows, None] + columns[:, : self._used] @ self._pending_samples()
        variance = self._pool.variance[rows] + self._residual - np.sum(columns**2, axis=1)
        return columns, mean, np.maximum(variance, TINY)

    def _correlation(self, rows: Index | slice, columns: Index) -> Array:
        """Return the Matern-5/2 correlation of the residual."""
        a, b = self._x[rows], self._x[columns]
        squares = np.sum(a * a, axis=1)[:, None] + np.sum(b * b, axis=1) - 2 * a @ b.T
        r = np.sqrt(5 * np.maximum(squares, 0.0) / (LENGTH_SCALE**2 * self._x.shape[1]))
        return np.asarray((1 + r + r * r / 3) * np.exp(-r))

    def _covariance(self, rows: Index | slice, columns: Index) -> Array:
        """Return the covariance of the model plus that of the residual."""
        return np.asarray(self._pool.covariance(rows, columns) + self._residual * self._correlation(rows, columns))

    def log_improvement(self) -> Array:
        """Return the log expected improvement, averaged over fantasies, (m,)."""
        deviation = np.sqrt(self.variance)
        z = (self.mean - self.best) / deviation[:, None]
        logs, near = np.log(deviation), z.max(axis=1) > NEAR
        logs[near] += np.log(h(z[near]).mean(axis=1))
        logs[~near] += average(log_h_far(z[~near]), log=True)[0]
        return np.asarray(logs)

    def extend(self, x: Array) -> None:
        """Add candidates."""
        rows = np.arange(len(self._x), len(self._x) + len(x))
        self._x = np.concatenate([self._x, x])
        self._pool = self._pool.extended(x)
        columns, mean, variance = self._conditioned(rows)
        self._columns = np.concatenate([self._columns, columns])
        self.mean, self.variance = np.concatenate([self.mean, mean]), np.concatenate([self.variance, variance])

    def add(self, chosen: int, probability: float) -> None:
        """Fantasize outcomes of one candidate and condition all candidates on them."""
        known, row = self._columns[:, : self._used], self._first + chosen
        covariance = self._covariance(slice(self._first, None), np.array([row]))[:, 0]
        deviation = np.sqrt(self.variance[chosen] + FANTASY_NOISE)
        column, samples = (covariance - known @ known[chosen]) / deviation, self._base[:, self._used]
        outcomes = self.mean[chosen] + deviation * samples
        succeeded = probability > self._uniforms[:, self._used]
        self.best = np.where(succeeded, np.maximum(self.best, outcomes), self.best)
        self._factor[self._used, : self._used + 1] = [*known[chosen], deviation]
        self._pending.append(row)
        self.mean += np.outer(column, samples)
        self._columns[:, self._used] = column
        self.variance = np.maximum(self.variance - column**2, TINY)
        self._used += 1


def _neighbours(point: Array, domain: Domain, box: Box, key: Key) -> Array:
    """Return feasible points near a candidate."""
    near = np.clip(domain.spread(point[None], NEIGHBOURS, key.rng(Stream.NEIGHBOURS)), box.low, box.high)
    near, _ = domain.project(near)
    return near[box.allows(near, domain.continuous) & domain.feasible(near)]


def _candidate_set(surrogate: Surrogate, domain: Domain, box: Box, count: int, key: Key) -> Array:
    """Return candidates: spread over the box, around the incumbents, and local maxima of expected improvement."""
    points = candidates(domain, box, key, max(CANDIDATES, PER_POINT * count))
    if not len(points) or domain.listed is not None:
        return points
    acquisition = acquire(
        "log_ei", surrogate, points[:0],
        [Fantasies.of(each, surrogate.best or 0.0, 0, key.seed) for each in surrogate.posteriors],
        points[:0], size=1, seed=key.seed,
    )  # fmt: skip
    starts = points[np.argsort(-point_values(acquisition, points), kind="stable")[:STARTS]]
    maxima = improve(acquisition, domain, box, starts, calls=CALLS)
    return np.concatenate([maxima[box.allows(maxima, domain.continuous)], points])


def _distant(points: Array, taken: Array, boxes: Iterable[Box]) -> Mask:
    """Return which points differ from all taken ones by the minimum distance, in the narrowest box, on some axis."""
    least = MIN_DISTANCE * np.min([box.high - box.low for box in boxes], axis=0)
    distant = np.ones(len(points), dtype=bool)
    for one in taken:
        distant &= np.any(np.abs(points - one) > least, axis=1)
    return distant


def _best_novel(points: Array, values: Array, domain: Domain, allowed: Mask) -> int | None:
    """Return the index of the best point that has not been tried; points that have are excluded from ``allowed``."""
    while True:
        best = int(np.argmax(values))
        if not np.isfinite(values[best]):
            return None
        if domain.novel(points[best]):
            return best
        values[best], allowed[best] = -np.inf, False
