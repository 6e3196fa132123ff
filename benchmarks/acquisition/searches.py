"""Four ways to maximise an acquisition over pools, each with a budget in a unit of its own.

random: uniform pools. direct: evaluations of one pool each (more: SciPy ends its round). lbfgs ("GD"): iterations on
fixed base samples. adam ("SGD"): steps with 64 fresh base samples each. The last two climb from 32 starts sampled in
proportion to the acquisition; the best end, on the fixed samples, is the choice.

q-ES costs many times what the others do, and climbs from 8.

Symbols: q points to a pool, d dimensions, B pools; a pool is (q, d), or flat (q d,) where an optimizer wants a vector.
"""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from benchmarks.acquisition.draws import DIMENSION
from sonde.acquisition.entropy import Entropy
from sonde.acquisition.montecarlo import MonteCarlo
from sonde.optimizers import adam, choose_starts, direct, lbfgs

POOL = 8  # q
FRESH = 64  # base samples of a step of Adam
BLOCK = 64  # pools at a time: what fits in the cache
LOW, HIGH = np.zeros(POOL * DIMENSION), np.ones(POOL * DIMENSION)

Acquisition = MonteCarlo | Entropy
Search = Callable[[Acquisition, int, np.random.Generator], np.ndarray]


def by_random(acquisition: Acquisition, budget: int, rng: np.random.Generator) -> np.ndarray:
    """Return the best of ``budget`` uniform pools."""
    pools, values = _uniform(acquisition, budget, rng)
    return pools[np.argmax(values)]


def by_direct(acquisition: Acquisition, budget: int, rng: np.random.Generator) -> np.ndarray:
    """Return the best pool of about ``budget`` evaluations of dividing rectangles."""
    found = direct(lambda flat: acquisition.values(flat.reshape(-1, POOL, DIMENSION)), LOW, HIGH, evaluations=budget)
    return found.reshape(POOL, DIMENSION)


def by_lbfgs(acquisition: Acquisition, budget: int, rng: np.random.Generator) -> np.ndarray:
    """Return the best end of ``budget`` iterations on fixed base samples."""
    starts = _starts(acquisition, rng)
    ends, values = lbfgs(lambda flat: _slopes(acquisition, flat), starts, LOW, HIGH, iterations=budget)
    return ends[np.argmax(values)].reshape(POOL, DIMENSION)


def by_adam(acquisition: Acquisition, budget: int, rng: np.random.Generator) -> np.ndarray:
    """Return the best end of ``budget`` steps, each with base samples of its own."""
    small = replace(acquisition, samples=FRESH) if isinstance(acquisition, MonteCarlo) else acquisition
    starts = _starts(acquisition, rng)
    ends = adam(lambda step, flat: _slopes(small.fresh(step), flat), starts, LOW, HIGH, steps=budget)
    pools = ends.reshape(-1, POOL, DIMENSION)
    return pools[np.argmax(acquisition.values(pools))]


SEARCHES: dict[str, Search] = {"random": by_random, "direct": by_direct, "lbfgs": by_lbfgs, "adam": by_adam}


def _starts(acquisition: Acquisition, rng: np.random.Generator) -> np.ndarray:
    """Return starts (B, q d) in proportion to the acquisition; to its exponential where it may be negative."""
    plain = isinstance(acquisition, MonteCarlo)
    count, candidates = (32, 256) if plain else (8, 64)
    positive = plain and not acquisition.utility.signed
    pools, values = _uniform(acquisition, candidates, rng)
    with np.errstate(divide="ignore"):
        scores = np.log(np.maximum(values, 0.0)) if positive else values
    return pools[choose_starts(scores, count, rng, log=positive)].reshape(-1, POOL * DIMENSION)


def _uniform(acquisition: Acquisition, count: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    pools = rng.random((count, POOL, DIMENSION))
    return pools, np.concatenate([acquisition.values(pools[i : i + BLOCK]) for i in range(0, count, BLOCK)])


def _slopes(acquisition: Acquisition, flat: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    values, slopes = acquisition.slopes(flat.reshape(-1, POOL, DIMENSION))
    return values, slopes.reshape(flat.shape)
