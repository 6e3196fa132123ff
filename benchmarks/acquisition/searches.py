"""Inner optimizers of an acquisition function over batches of points, each with a budget in its own unit.

random: uniform batches. direct: evaluations of one batch each (or more: SciPy completes its iteration). bfgs ("GD"):
calls on fixed base samples. adam ("SGD"): steps with 64 new base samples each. The last two start from 32 batches
(q-ES, which costs many times more: 8), sampled in proportion to the acquisition value. The best end, on the fixed
samples, is selected. The paper's "GD" is L-BFGS-B, one start after the other; ours keeps dense inverse Hessians and
moves all starts together.

The paper does not say how it samples starts. Later in a run q-EI and q-PI are zero with zero gradient at all uniform
batches, so no ascent can start. Therefore half of the candidates are uniform batches and half are points around the
best observations. ``nearby``, a control that the paper does not have, searches the same mixture without gradients.

Symbols: q points of a batch, d parameters, B batches; a batch is (q, d), or flat (q d,) for an optimizer of vectors.
"""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from benchmarks.acquisition.draws import DIMENSION
from sonde.acquisition.entropy import Entropy
from sonde.acquisition.montecarlo import MonteCarlo
from sonde.optimizers import adam, bfgs, choose_starts, direct

BATCH = 8  # q
FRESH = 64  # base samples of a step of Adam
TOLERANCE = 1e-9  # gain of a step of BFGS that counts: late in a run all of q-EI is 1e-3
BLOCK = 64  # batches at a time: they fit in the cache
LOW, HIGH = np.zeros(BATCH * DIMENSION), np.ones(BATCH * DIMENSION)

Acquisition = MonteCarlo | Entropy
Search = Callable[[Acquisition, np.ndarray, int, np.random.Generator], np.ndarray]


def around(best: np.ndarray, count: int, rng: np.random.Generator) -> np.ndarray:
    """Return points (count, d) around the best ones (m, d), at distances from 0.003 to 0.3 to a coordinate."""
    scales = 10 ** rng.uniform(-2.5, -0.5, size=(count, 1))
    return np.clip(best[rng.integers(len(best), size=count)] + scales * rng.normal(size=(count, DIMENSION)), 0, 1)


def by_random(acquisition: Acquisition, best: np.ndarray, budget: int, rng: np.random.Generator) -> np.ndarray:
    """Return the best of ``budget`` uniform batches."""
    batches = rng.random((budget, BATCH, DIMENSION))
    return batches[np.argmax(_values(acquisition, batches))]


def by_nearby(acquisition: Acquisition, best: np.ndarray, budget: int, rng: np.random.Generator) -> np.ndarray:
    """Return the best of ``budget`` batches, half of them uniform and half around the best points."""
    batches = _mixture(best, budget, rng)
    return batches[np.argmax(_values(acquisition, batches))]


def by_direct(acquisition: Acquisition, best: np.ndarray, budget: int, rng: np.random.Generator) -> np.ndarray:
    """Return the best batch of about ``budget`` evaluations of dividing rectangles."""
    found = direct(lambda flat: acquisition.values(flat.reshape(-1, BATCH, DIMENSION)), LOW, HIGH, evaluations=budget)
    return found.reshape(BATCH, DIMENSION)


def by_bfgs(acquisition: Acquisition, best: np.ndarray, budget: int, rng: np.random.Generator) -> np.ndarray:
    """Return the best end of ``budget`` calls on fixed base samples."""
    starts = _starts(acquisition, best, rng)
    ends, values = bfgs(
        lambda flat: _gradients(acquisition, flat), starts, LOW, HIGH, calls=budget, tolerance=TOLERANCE
    )
    return ends[np.argmax(values)].reshape(BATCH, DIMENSION)


def by_adam(acquisition: Acquisition, best: np.ndarray, budget: int, rng: np.random.Generator) -> np.ndarray:
    """Return the best end of ``budget`` steps, each with base samples of its own."""
    small = replace(acquisition, samples=FRESH) if isinstance(acquisition, MonteCarlo) else acquisition
    starts = _starts(acquisition, best, rng)
    ends = adam(lambda step, flat: _gradients(small.fresh(step), flat), starts, LOW, HIGH, steps=budget)
    batches = ends.reshape(-1, BATCH, DIMENSION)
    return batches[np.argmax(acquisition.values(batches))]


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
    batches = _mixture(best, candidates, rng)
    values = _values(acquisition, batches)
    with np.errstate(divide="ignore"):
        scores = np.log(np.maximum(values, 0.0)) if positive else values
    return batches[choose_starts(scores, count, rng, log=positive)].reshape(-1, BATCH * DIMENSION)


def _mixture(best: np.ndarray, count: int, rng: np.random.Generator) -> np.ndarray:
    batches = rng.random((count, BATCH, DIMENSION))
    batches[::2] = around(best, BATCH * len(batches[::2]), rng).reshape(-1, BATCH, DIMENSION)
    return batches


def _values(acquisition: Acquisition, batches: np.ndarray) -> np.ndarray:
    return np.concatenate([acquisition.values(batches[i : i + BLOCK]) for i in range(0, len(batches), BLOCK)])


def _gradients(acquisition: Acquisition, flat: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    values, gradients = acquisition.gradients(flat.reshape(-1, BATCH, DIMENSION))
    return values, gradients.reshape(flat.shape)
