"""Ways to maximise an acquisition over pools, each with a budget in a unit of its own.

random: uniform pools. direct: evaluations of one pool each (more: SciPy ends its round). bfgs ("GD"): calls on fixed
base samples. adam ("SGD"): steps with 64 fresh base samples each. The last two climb from 32 starts (q-ES, which costs
many times what the others do: 8) sampled in proportion to the acquisition; the best end, on the fixed samples, is the
choice. The paper's "GD" is L-BFGS-B, start by start; ours keeps dense inverse Hessians and moves all starts in step.

The paper does not say how it samples starts. Later in a run q-EI and q-PI of uniform pools are zero to the last, with
zero gradient, and no ascent begins. So half of the candidates are uniform pools and half are points around the best
ones seen. ``nearby``, a control that the paper does not have, searches the same mixture without gradients.

Symbols: q points to a pool, d dimensions, B pools; a pool is (q, d), or flat (q d,) where an optimizer wants a vector.
"""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from benchmarks.acquisition.draws import DIMENSION
from sonde.acquisition.entropy import Entropy
from sonde.acquisition.montecarlo import MonteCarlo
from sonde.optimizers import adam, bfgs, choose_starts, direct

POOL = 8  # q
FRESH = 64  # base samples of a step of Adam
TOLERANCE = 1e-9  # gain of a step of BFGS that counts: late in a run all of q-EI is 1e-3
BLOCK = 64  # pools at a time: what fits in the cache
LOW, HIGH = np.zeros(POOL * DIMENSION), np.ones(POOL * DIMENSION)

Acquisition = MonteCarlo | Entropy
Search = Callable[[Acquisition, np.ndarray, int, np.random.Generator], np.ndarray]


def around(best: np.ndarray, count: int, rng: np.random.Generator) -> np.ndarray:
    """Return points (count, d) around the best ones (m, d), at distances from 0.003 to 0.3 to a coordinate."""
    scales = 10 ** rng.uniform(-2.5, -0.5, size=(count, 1))
    return np.clip(best[rng.integers(len(best), size=count)] + scales * rng.normal(size=(count, DIMENSION)), 0, 1)


def by_random(acquisition: Acquisition, best: np.ndarray, budget: int, rng: np.random.Generator) -> np.ndarray:
    """Return the best of ``budget`` uniform pools."""
    pools = rng.random((budget, POOL, DIMENSION))
    return pools[np.argmax(_values(acquisition, pools))]


def by_nearby(acquisition: Acquisition, best: np.ndarray, budget: int, rng: np.random.Generator) -> np.ndarray:
    """Return the best of ``budget`` pools, half of them uniform and half around the best points."""
    pools = _mixture(best, budget, rng)
    return pools[np.argmax(_values(acquisition, pools))]


def by_direct(acquisition: Acquisition, best: np.ndarray, budget: int, rng: np.random.Generator) -> np.ndarray:
    """Return the best pool of about ``budget`` evaluations of dividing rectangles."""
    found = direct(lambda flat: acquisition.values(flat.reshape(-1, POOL, DIMENSION)), LOW, HIGH, evaluations=budget)
    return found.reshape(POOL, DIMENSION)


def by_bfgs(acquisition: Acquisition, best: np.ndarray, budget: int, rng: np.random.Generator) -> np.ndarray:
    """Return the best end of ``budget`` calls on fixed base samples."""
    starts = _starts(acquisition, best, rng)
    ends, values = bfgs(
        lambda flat: _gradients(acquisition, flat), starts, LOW, HIGH, calls=budget, tolerance=TOLERANCE
    )
    return ends[np.argmax(values)].reshape(POOL, DIMENSION)


def by_adam(acquisition: Acquisition, best: np.ndarray, budget: int, rng: np.random.Generator) -> np.ndarray:
    """Return the best end of ``budget`` steps, each with base samples of its own."""
    small = replace(acquisition, samples=FRESH) if isinstance(acquisition, MonteCarlo) else acquisition
    starts = _starts(acquisition, best, rng)
    ends = adam(lambda step, flat: _gradients(small.fresh(step), flat), starts, LOW, HIGH, steps=budget)
    pools = ends.reshape(-1, POOL, DIMENSION)
    return pools[np.argmax(acquisition.values(pools))]


SEARCHES: dict[str, Search] = {
    "random": by_random,
    "direct": by_direct,
    "bfgs": by_bfgs,
    "adam": by_adam,
    "nearby": by_nearby,
}


def _starts(acquisition: Acquisition, best: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return starts (B, q d) in proportion to the acquisition; to its exponential where it may be negative."""
    plain = isinstance(acquisition, MonteCarlo)
    count, candidates = (32, 256) if plain else (8, 64)
    positive = plain and not acquisition.utility.signed
    pools = _mixture(best, candidates, rng)
    values = _values(acquisition, pools)
    with np.errstate(divide="ignore"):
        scores = np.log(np.maximum(values, 0.0)) if positive else values
    return pools[choose_starts(scores, count, rng, log=positive)].reshape(-1, POOL * DIMENSION)


def _mixture(best: np.ndarray, count: int, rng: np.random.Generator) -> np.ndarray:
    pools = rng.random((count, POOL, DIMENSION))
    pools[::2] = around(best, POOL * len(pools[::2]), rng).reshape(-1, POOL, DIMENSION)
    return pools


def _values(acquisition: Acquisition, pools: np.ndarray) -> np.ndarray:
    return np.concatenate([acquisition.values(pools[i : i + BLOCK]) for i in range(0, len(pools), BLOCK)])


def _gradients(acquisition: Acquisition, flat: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    values, gradients = acquisition.gradients(flat.reshape(-1, POOL, DIMENSION))
    return values, gradients.reshape(flat.shape)
