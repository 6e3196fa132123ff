"""A batch beside hundreds of points under way: chosen from one pool, all of whose beliefs are kept up to date.

A search for each point would condition the belief anew each time. Here the covariances of the pool with all points
under way are whitened at once (a Cholesky factor of theirs), outcomes of these are imagined jointly, and each point
chosen changes means and variances of the whole pool by one column: O(B (c + j)) for the j-th of them.

A model with c columns is certain of everything after c noiseless outcomes, and would then put the rest anywhere. What
it cannot represent is modelled besides: a Matern-5/2 process with a share of the pool's variance, which keeps the
points of a large batch apart.

Whether a point under way fails is imagined as well (a_MCEI of Snoek et al. 2015): then it is no new best.

Symbols: B points of the pool, J under way, S fantasies, c columns of a belief's spread.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular

from sonde.acquisition.averages import LEAST, average
from sonde.acquisition.closed import FORMULAS
from sonde.acquisition.sampling import base_samples
from sonde.sampling import Key
from sonde.strategies.bayesian.acquisitions import acquire
from sonde.strategies.bayesian.domain import Domain
from sonde.strategies.bayesian.model import Fantasies, Surrogate
from sonde.strategies.bayesian.search import Box, candidates, climb, point_values
from sonde.surrogates.linear_algebra import factorise
from sonde.surrogates.port import Posterior

Array = NDArray[np.float64]

POOL = 2048  # points, or a few times those wanted
SPARE = 3
CLIMBED, CALLS = 16, 25  # so many of them are climbed from, with so many evaluations
TINY = 1e-12
APART = 0.01  # of the box: points of one batch are not closer than this
REFINED, NEAR = 16, 96  # around the first so many points chosen, so many more are looked at
_THOMPSON, _NEAR = 14, 15  # purposes of the key's streams
FANTASIES = 16
SHARE = 0.1  # of the pool's mean variance: what the model cannot represent
REACH = 0.2  # lengthscale of that, times the square root of the number of parameters
SEEN_AS = 1e-6  # noise variance of imagined outcomes


def fill(
    aims: Sequence[tuple[Surrogate, Box]], field: Domain, pending: Array, key: Key, *, thompson: bool = False
) -> Array:
    """Return a point for each aim, each with those before it and the pending ones under way.

    With ``thompson``, each is the best point of a function drawn from the belief instead, whatever is under way.
    """
    belief = aims[0][0]
    boxes = {id(box): box for _, box in aims}
    pools = {name: _pool(belief, field, box, len(aims), key) for name, box in boxes.items()}
    points = np.concatenate(list(pools.values()))
    owner = np.repeat(list(pools), [len(pool) for pool in pools.values()])
    if not len(points):
        return points
    outlook: _Outlook | _Draws = (
        _Draws(belief, points, len(aims), key) if thompson else _Outlook(belief, points, pending, len(aims), key.seed)
    )
    chosen: list[Array] = []
    free = _apart(points, pending, boxes.values())
    for offset, (_, box) in enumerate(aims):
        if isinstance(outlook, _Outlook) and offset < REFINED and field.listed is None:
            best = points[int(np.argmax(np.where(free & (owner == id(box)), outlook.worth(), -np.inf)))]
            near = _around(best, field, box, key.at(offset))
            outlook.extend(near)
            points, owner = np.concatenate([points, near]), np.concatenate([owner, np.full(len(near), id(box))])
            free = np.concatenate([free, _apart(near, np.array([*pending, *chosen]), [box])])
        found = _first_new(points, np.where(free & (owner == id(box)), outlook.worth(), -np.inf), field, free)
        if found is None:
            continue
        chosen.append(points[found])
        field.take(points[found])
        free &= _apart(points, points[[found]], [box])
        outlook.add(found)
    return np.array(chosen).reshape(-1, pending.shape[1])


class _Draws:
    """Functions drawn from the belief, one for each point to choose: Thompson sampling."""

    def __init__(self, belief: Surrogate, points: Array, count: int, key: Key) -> None:
        rng, x = key.rng(_THOMPSON), belief.features(points)
        pools = [posterior.pool(x) for posterior in belief.posteriors]
        self._functions = np.concatenate([pool.draw(rng, -(-count // len(pools))) for pool in pools], axis=1)
        if belief.feasibility is not None:  # what works is drawn as well; -1e6 where it does not
            chance = np.exp(belief.feasibility(points)[0])[:, None]
            self._functions -= np.where(chance > rng.random(self._functions.shape), 0.0, 1e6)
        self._used = 0

    def worth(self) -> Array:
        """Return the next function at the points of the pool."""
        return self._functions[:, self._used].copy()

    def add(self, chosen: int) -> None:
        """Go on to the next function."""
        self._used = min(self._used + 1, self._functions.shape[1] - 1)


class _Outlook:
    """Beliefs about the points of a pool while more and more points are under way, averaged over posteriors."""

    def __init__(self, belief: Surrogate, points: Array, pending: Array, room: int, seed: int) -> None:
        self._belief = belief
        share = max(2, FANTASIES // len(belief.posteriors))
        base = base_samples(share, len(pending) + room, seed)
        luck = np.random.default_rng([seed, 13]).random((share, len(pending) + room))
        self._log_chance = self._log_chances(points)
        chance = np.exp(self._log_chances(pending))
        under_way = belief.features(pending)
        self._parts = [
            _Part(posterior, belief.features(points), under_way, chance, belief.best or 0.0, base, luck)
            for posterior in belief.posteriors
        ]

    def _log_chances(self, points: Array) -> Array:
        if self._belief.feasibility is None or not len(points):
            return np.zeros(len(points))
        return np.maximum(self._belief.feasibility(points)[0], LEAST)

    def worth(self) -> Array:
        """Return the logarithm of the expected improvement times the chance of working, (B,)."""
        if self._belief.best is None:  # nothing works yet: what may work, and is not known
            return self._log_chance + 0.5 * np.log(self._parts[0].variance)
        logs = [part.log_improvement() for part in self._parts]
        return average(np.stack(logs), log=True, axis=0)[0] + self._log_chance

    def extend(self, points: Array) -> None:
        """Add points to the pool."""
        self._log_chance = np.concatenate([self._log_chance, self._log_chances(points)])
        for part in self._parts:
            part.extend(self._belief.features(points))

    def add(self, chosen: int) -> None:
        """Count a point of the pool as under way."""
        for part in self._parts:
            part.add(chosen, float(np.exp(self._log_chance[chosen])))


class _Part:
    """One posterior's beliefs: means (B, S), variances (B,), and columns V with covariance = prior - V V^T.

    ``factor`` is the Cholesky factor of the covariance of the points under way: a pool point's row of V, and its
    deviation, become the next row of it when the point is chosen.
    """

    def __init__(
        self, posterior: Posterior, x: Array, under_way: Array, chance: Array, best: float, base: Array, luck: Array
    ) -> None:
        self._posterior, self._base, self._luck = posterior, base, luck
        self._used, size = len(under_way), base.shape[1]
        self._x = np.concatenate([under_way, x])  # those under way from the start, then the pool
        self._first = self._used  # where the pool begins
        self._under_way = list(range(self._used))
        self._pool = posterior.pool(self._x)
        self._extra = SHARE * float(self._pool.variance[self._first :].mean())
        self._factor = np.eye(size)
        self.best = np.full(len(base), best)
        if self._used:
            within = self._covariance(np.arange(self._used), np.arange(self._used))
            within[np.diag_indices(self._used)] += SEEN_AS
            self._factor[: self._used, : self._used] = factorise(within)
            outcomes = self._pool.mean[: self._used, None] + self._known_factor() @ self._draws()
            working = chance[:, None] > luck[:, : self._used].T
            self.best = np.maximum(best, np.where(working, outcomes, -np.inf).max(axis=0))
        self._columns, self.mean, self.variance = self._believed(np.arange(self._first, len(self._x)))

    def _known_factor(self) -> Array:
        return self._factor[: self._used, : self._used]

    def _draws(self) -> Array:
        """Base samples of the points under way, (used, S): outcomes are mean + L z, and tell the pool V z."""
        return self._base[:, : self._used].T

    def _believed(self, rows: NDArray[np.intp]) -> tuple[Array, Array, Array]:
        """Return the columns, means and variances of points, given those under way."""
        columns = np.zeros((len(rows), self._base.shape[1]))
        if self._used:
            covariance = self._covariance(np.array(self._under_way), rows)
            columns[:, : self._used] = solve_triangular(self._known_factor(), covariance, lower=True).T
        mean = self._pool.mean[rows, None] + columns[:, : self._used] @ self._draws()
        variance = self._pool.variance[rows] + self._extra - np.sum(columns**2, axis=1)
        return columns, mean, np.maximum(variance, TINY)

    def _nearness(self, rows: NDArray[np.intp], columns: NDArray[np.intp]) -> Array:
        """Return a Matern-5/2 correlation: of what the model cannot represent."""
        a, b = self._x[rows], self._x[columns]
        squares = np.sum(a * a, axis=1)[:, None] + np.sum(b * b, axis=1) - 2 * a @ b.T
        r = np.sqrt(5 * np.maximum(squares, 0.0) / (REACH**2 * self._x.shape[1]))
        return np.asarray((1 + r + r * r / 3) * np.exp(-r))

    def _covariance(self, rows: NDArray[np.intp], columns: NDArray[np.intp]) -> Array:
        """Return the model's covariance and that of what it cannot represent."""
        return np.asarray(self._pool.covariance(rows, columns) + self._extra * self._nearness(rows, columns))

    def log_improvement(self) -> Array:
        """Return the logarithm of the expected improvement, averaged over fantasies, (B,)."""
        values, _, _ = FORMULAS["log_ei"](self.mean, np.sqrt(self.variance)[:, None], self.best)
        return average(values, log=True)[0]

    def extend(self, x: Array) -> None:
        """Add points to the pool."""
        rows = np.arange(len(self._x), len(self._x) + len(x))
        self._x = np.concatenate([self._x, x])
        self._pool = self._posterior.pool(self._x)
        columns, mean, variance = self._believed(rows)
        self._columns = np.concatenate([self._columns, columns])
        self.mean, self.variance = np.concatenate([self.mean, mean]), np.concatenate([self.variance, variance])

    def add(self, chosen: int, chance: float) -> None:
        """Imagine outcomes of one point, and change the pool's beliefs by them."""
        known, row = self._columns[:, : self._used], self._first + chosen
        everywhere, here = np.arange(self._first, len(self._x)), np.array([row])
        covariance = self._covariance(everywhere, here)[:, 0]
        deviation = np.sqrt(self.variance[chosen] + SEEN_AS)
        column, draws = (covariance - known @ known[chosen]) / deviation, self._base[:, self._used]
        outcomes = self.mean[chosen] + deviation * draws
        working = chance > self._luck[:, self._used]
        self.best = np.where(working, np.maximum(self.best, outcomes), self.best)
        self._factor[self._used, : self._used + 1] = [*known[chosen], deviation]
        self._under_way.append(row)
        self.mean += np.outer(column, draws)
        self._columns[:, self._used] = column
        self.variance = np.maximum(self.variance - column**2, TINY)
        self._used += 1


def _around(point: Array, field: Domain, box: Box, key: Key) -> Array:
    """Return feasible points near a point of the pool."""
    near = np.clip(field.spread(point[None], NEAR, key.rng(_NEAR)), box.low, box.high)
    near, _ = field.snap(near)
    return near[box.away(near, field.free) & field.feasible(near)]


def _pool(belief: Surrogate, field: Domain, box: Box, wanted: int, key: Key) -> Array:
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


def _apart(points: Array, taken: Array, boxes: Iterable[Box]) -> NDArray[np.bool_]:
    """Return which points keep a distance from those that are taken, in the narrowest box, on some axis."""
    least = APART * np.min([box.high - box.low for box in boxes], axis=0)
    free = np.ones(len(points), dtype=bool)
    for one in taken:
        free &= np.any(np.abs(points - one) > least, axis=1)
    return free


def _first_new(points: Array, worth: Array, field: Domain, free: NDArray[np.bool_]) -> int | None:
    """Return the best point that is none of those tried; what has been tried is not looked at again."""
    while True:
        best = int(np.argmax(worth))
        if not np.isfinite(worth[best]):
            return None
        if field.novel(points[best]):
            return best
        worth[best], free[best] = -np.inf, False
