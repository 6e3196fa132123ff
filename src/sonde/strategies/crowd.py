"""A batch beside hundreds of points under way: chosen from one pool, all of whose beliefs are kept up to date.

A search for each point would condition the belief anew each time. Here the covariances of the pool with all points
under way are whitened at once (a Cholesky factor of theirs), outcomes of these are imagined jointly, and each point
chosen changes means and variances of the whole pool by one column: O(B (c + j)) for the j-th of them.

A model with c columns is certain of everything after c noiseless outcomes, and would then put the rest anywhere. What
it cannot represent is modelled besides: a Matern-5/2 process with a share of the pool's variance, which keeps the
points of a large batch apart.

Symbols: B points of the pool, J under way, S fantasies, c columns of a belief's spread.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular

from sonde.acquisition.averages import LEAST, average
from sonde.acquisition.closed import FORMULAS
from sonde.acquisition.sampling import base_samples
from sonde.sampling import Key
from sonde.strategies.acquire import acquire
from sonde.strategies.belief import Belief, Fantasies
from sonde.strategies.field import Field
from sonde.strategies.search import Box, candidates, climb, point_values
from sonde.surrogates.evidence import factorise
from sonde.surrogates.posterior import Posterior

Array = NDArray[np.float64]

POOL = 2048  # points, or a few times those wanted
SPARE = 3
CLIMBED, CALLS = 16, 25  # so many of them are climbed from, with so many evaluations
TINY = 1e-12
FANTASIES = 16
SHARE = 0.1  # of the pool's mean variance: what the model cannot represent
REACH = 0.2  # lengthscale of that, times the square root of the number of parameters
SEEN_AS = 1e-6  # noise variance of imagined outcomes


def fill(aims: Sequence[tuple[Belief, Box]], field: Field, pending: Array, key: Key) -> Array:
    """Return a point for each aim, each with those before it and the pending ones under way."""
    belief = aims[0][0]
    boxes = {id(box): box for _, box in aims}
    pools = {name: _pool(belief, field, box, len(aims), key) for name, box in boxes.items()}
    if not any(len(pool) for pool in pools.values()):
        return np.empty((0, pending.shape[1]))
    points = np.concatenate(list(pools.values()))
    owner = np.repeat(list(pools), [len(pool) for pool in pools.values()])
    outlook = _Outlook(belief, points, pending, room=len(aims), seed=key.seed)
    chosen: list[Array] = []
    free = np.ones(len(points), dtype=bool)
    for _, box in aims:
        worth = np.where(free & (owner == id(box)), outlook.worth(), -np.inf)
        found = _first_new(points, worth, field, free)
        if found is None:
            continue
        chosen.append(points[found])
        field.take(points[found])
        free[found] = False
        outlook.add(found)
    return np.array(chosen).reshape(-1, pending.shape[1])


class _Outlook:
    """Beliefs about the points of a pool while more and more points are under way, averaged over posteriors."""

    def __init__(self, belief: Belief, points: Array, pending: Array, *, room: int, seed: int) -> None:
        self._best = belief.best
        both = np.concatenate([points, pending])
        logs = np.zeros(len(both)) if belief.feasibility is None else belief.feasibility(both)[0]
        self._log_chance = logs[: len(points)]
        x = belief.features(both)
        share = max(2, FANTASIES // len(belief.posteriors))
        base = base_samples(share, len(pending) + room, seed) if len(pending) + room else np.empty((share, 0))
        luck = np.random.default_rng([seed, 13]).random((share, len(pending) + room))
        self._parts = [
            _Part(posterior, x, len(points), np.exp(logs), 0.0 if belief.best is None else belief.best, base, luck)
            for posterior in belief.posteriors
        ]

    def worth(self) -> Array:
        """Return the logarithm of the expected improvement times the chance of working, (B,)."""
        if self._best is None:  # nothing works yet: what may work, and is not known
            return self._log_chance + 0.5 * np.log(self._parts[0].variance)
        logs = [part.log_improvement() for part in self._parts]
        return average(np.stack(logs), log=True, axis=0)[0] + np.maximum(self._log_chance, LEAST)

    def add(self, chosen: int) -> None:
        """Count a point of the pool as under way."""
        for part in self._parts:
            part.add(chosen)


class _Part:
    """One posterior's beliefs: means (B, S), variances (B,), and columns V with covariance = prior - V V^T."""

    def __init__(
        self, posterior: Posterior, x: Array, size: int, chance: Array, best: float, base: Array, luck: Array
    ) -> None:
        self._pool, self._x, self._size, self._chance = posterior.pool(x), x, size, chance
        self._base, self._luck = base, luck
        members, under_way = np.arange(size), np.arange(size, len(x))
        variance = self._pool.variance
        self._extra = SHARE * float(variance[:size].mean())
        self.variance = variance[:size] + self._extra
        self.mean = np.repeat(self._pool.mean[:size, None], len(base), axis=1)
        self.best = np.full(len(base), best)
        self._columns = np.zeros((size, base.shape[1]))
        self._used = len(under_way)
        if not len(under_way):
            return
        within = self._covariance(under_way, under_way)
        within[np.diag_indices(len(within))] += SEEN_AS
        factor = factorise(within)
        columns = solve_triangular(factor, self._covariance(under_way, members), lower=True).T
        draws = base[:, : self._used].T  # outcomes are mean + L z, and what they tell the pool is V z
        outcomes = self._pool.mean[size:, None] + factor @ draws
        working = self._chance[size:, None] > self._luck[:, : self._used].T
        self.best = np.maximum(best, np.where(working, outcomes, -np.inf).max(axis=0))
        self.mean += columns @ draws
        self._columns[:, : self._used] = columns
        self.variance = np.maximum(self.variance - np.sum(columns**2, axis=1), TINY)

    def _covariance(self, rows: NDArray[np.intp], columns: NDArray[np.intp]) -> Array:
        """Return the model's covariance and that of what it cannot represent."""
        a, b = self._x[rows], self._x[columns]
        squares = np.sum(a * a, axis=1)[:, None] + np.sum(b * b, axis=1) - 2 * a @ b.T
        r = np.sqrt(5 * np.maximum(squares, 0.0) / (REACH**2 * self._x.shape[1]))
        return np.asarray(self._pool.covariance(rows, columns) + self._extra * (1 + r + r * r / 3) * np.exp(-r))

    def log_improvement(self) -> Array:
        """Return the logarithm of the expected improvement, averaged over fantasies, (B,)."""
        values, _, _ = FORMULAS["log_ei"](self.mean, np.sqrt(self.variance)[:, None], self.best)
        return average(values, log=True)[0]

    def add(self, chosen: int) -> None:
        """Imagine outcomes of one point, and change the pool's beliefs by them."""
        known = self._columns[:, : self._used]
        covariance = self._covariance(np.arange(self._size), np.array([chosen]))[:, 0] - known @ known[chosen]
        deviation = np.sqrt(self.variance[chosen] + SEEN_AS)
        column, draws = covariance / deviation, self._base[:, self._used]
        outcomes = self.mean[chosen] + deviation * draws
        working = self._chance[chosen] > self._luck[:, self._used]
        self.best = np.where(working, np.maximum(self.best, outcomes), self.best)
        self.mean += np.outer(column, draws)
        self._columns[:, self._used] = column
        self.variance = np.maximum(self.variance - column**2, TINY)
        self._used += 1


def _pool(belief: Belief, field: Field, box: Box, wanted: int, key: Key) -> Array:
    """Return points to choose from: spread over the box, around the best, and at the ends of a few climbs."""
    points = candidates(field, box, key, max(POOL, SPARE * wanted))
    if not len(points) or field.listed is not None:
        return points
    alone = acquire(
        "log_ei", belief, points[:0],
        [Fantasies.of(each, belief.best or 0.0, 0, key.seed) for each in belief.posteriors],
        points[:0], size=1, seed=key.seed,
    )  # fmt: skip
    starts = points[np.argsort(-point_values(alone, points), kind="stable")[:CLIMBED]]
    climbed = climb(alone, field, box, starts, calls=CALLS)
    return np.concatenate([climbed[box.away(climbed, field.free)], points])


def _first_new(points: Array, worth: Array, field: Field, free: NDArray[np.bool_]) -> int | None:
    """Return the best point that is none of those tried; what has been tried is not looked at again."""
    while True:
        best = int(np.argmax(worth))
        if not np.isfinite(worth[best]):
            return None
        if field.novel(points[best]):
            return best
        worth[best], free[best] = -np.inf, False
