"""The four searches of Wilson et al. (2017), section 3, for pools of any size.

``bfgs`` ascends on fixed base samples ("GD"), ``adam`` on fresh ones at every step ("SGD"), ``random`` takes the best
of 2^15 pools, ``direct`` divides rectangles. The two that ascend end below the two that do not in
``benchmarks/acquisition/inner_optimizers.py``, neither clearly ahead of the other; the first is the default because it
is done sooner.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from sonde.acquisition.port import Acquisition
from sonde.arrays import Array
from sonde.optimizers import adam, choose_starts, direct
from sonde.sampling import Key, Stream
from sonde.strategies.bayesian.domain import Domain
from sonde.strategies.bayesian.point_search import ascend, back_inside, candidates
from sonde.strategies.bayesian.target import Box

RAW = 128  # pools from which the starts of an ascent are chosen
STARTS = 4
RANDOM_POOLS = 2**15
ADAM_STEPS = 256
DIRECT_EVALUATIONS = 2000


def best_pool(
    acquisition: Acquisition, domain: Domain, box: Box, key: Key, *, size: int, method: str, guess: Array | None = None
) -> Array | None:
    """Return the pool (q, d) of highest acquisition that ``method`` finds; ``guess`` (q, d) is one to start from."""
    points = candidates(domain, box, key, count=RAW * 2)
    if not len(points):
        return None
    pools = SEARCHES[method](acquisition, domain, box, points, size, key, guess)
    return np.asarray(pools[int(np.argmax(acquisition.values(pools)))])


def _ascending(
    acquisition: Acquisition, domain: Domain, box: Box, points: Array, size: int, key: Key, guess: Array | None
) -> Array:
    starts = _starts(acquisition, points, size, key, guess)
    return np.concatenate([starts, ascend(acquisition, domain, box, starts)])


def _stochastic(
    acquisition: Acquisition, domain: Domain, box: Box, points: Array, size: int, key: Key, guess: Array | None
) -> Array:
    starts = _starts(acquisition, points, size, key, guess)
    flat = starts.reshape(-1, points.shape[1])
    moving = domain.project(flat)[1] & domain.continuous
    low, high = (np.where(moving, bound, flat).reshape(len(starts), -1) for bound in (box.low, box.high))

    def function(step: int, pools: Array) -> tuple[Array, Array]:
        value, slope = acquisition.fresh(step).gradients(pools.reshape(starts.shape))
        return value, slope.reshape(pools.shape)

    reached = adam(function, starts.reshape(len(starts), -1), low, high, steps=ADAM_STEPS)
    inside = back_inside(domain, flat, domain.project(reached.reshape(flat.shape))[0]).reshape(starts.shape)
    return np.concatenate([starts, inside])


def _random(
    acquisition: Acquisition, domain: Domain, box: Box, points: Array, size: int, key: Key, guess: Array | None
) -> Array:
    many = candidates(domain, box, key, count=RANDOM_POOLS // 8)
    pools = _drawn(many, RANDOM_POOLS, size, key)
    blocks = [acquisition.values(pools[i : i + 512]) for i in range(0, len(pools), 512)]
    return pools[[int(np.argmax(np.concatenate(blocks)))]]


def _dividing(
    acquisition: Acquisition, domain: Domain, box: Box, points: Array, size: int, key: Key, guess: Array | None
) -> Array:
    low, high = (np.tile(bound, size) for bound in (box.low, box.high))

    def projected(flat: Array) -> Array:
        near = domain.project(flat.reshape(-1, points.shape[1]))[0]
        return near.reshape(-1, size, points.shape[1])

    def values(flat: Array) -> Array:
        pools = projected(flat)
        inside = domain.feasible(pools.reshape(-1, points.shape[1])).reshape(len(pools), size).all(axis=1)
        return np.where(inside, acquisition.values(pools), -1e6)

    fallback = _drawn(points, 1, size, key)
    found = projected(direct(values, low, high, evaluations=DIRECT_EVALUATIONS))
    return found if domain.feasible(found[0]).all() else fallback


def _starts(acquisition: Acquisition, points: Array, size: int, key: Key, guess: Array | None) -> Array:
    pools = _drawn(points, RAW, size, key)
    count = STARTS if guess is None else 1  # beside a good guess, one other start is insurance enough
    chosen = pools[choose_starts(acquisition.values(pools), count, key.rng(Stream.BATCH_STARTS), log=acquisition.log)]
    return chosen if guess is None else np.concatenate([guess[None], chosen])


def _drawn(points: Array, count: int, size: int, key: Key) -> Array:
    """Return ``count`` pools (count, size, d) of candidates drawn at random."""
    return points[key.rng(Stream.BATCHES).integers(len(points), size=(count, size))]


Search = Callable[[Acquisition, Domain, Box, Array, int, Key, "Array | None"], Array]
SEARCHES: dict[str, Search] = {"bfgs": _ascending, "adam": _stochastic, "random": _random, "direct": _dividing}
