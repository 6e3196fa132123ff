"""One run of figure 2: one task, acquisition function and inner optimizer; and budgets of equal run time.

As in the paper's appendix B, the time of random search with its number of batches, on a preliminary task, is the target
for the budgets of the others. Time is processor time: wall-clock time if nothing else runs on the core.
"""

import time
from typing import NamedTuple

import numpy as np

from benchmarks.acquisition.draws import COVARIANCE, DIMENSION, FEATURES, draw
from benchmarks.acquisition.searches import BATCH, SEARCHES, Acquisition, around
from sonde.acquisition.entropy import Entropy
from sonde.acquisition.montecarlo import MonteCarlo
from sonde.acquisition.pointwise import Pointwise
from sonde.acquisition.utilities import UTILITIES
from sonde.optimizers import choose_starts
from sonde.surrogates.gaussian_process.posterior import ExactPosterior

NAMES = {"ei": "q-EI", "ucb": "q-UCB", "pi": "q-PI", "sr": "q-SR", "es": "q-ES"}
SAMPLES = 128  # fixed base samples
REPRESENTERS, OUTCOMES, INNER = 24, 8, 32  # of q-ES
TEMPERATURE = 0.05  # of q-ES, the library's own; the paper's 0.01 is nearly a step for so few samples
FIRST = {"direct": 400, "bfgs": 20, "adam": 40}  # budgets that matching starts from
PRELIMINARY = 1000  # the task that budgets are set on; no result is from it


class Run(NamedTuple):
    """What to run."""

    acquisition: str
    optimizer: str
    task: int
    budget: int
    evaluations: int


class Found(NamedTuple):
    """Best values after the first q observations and after every suggestion, and seconds of every suggestion."""

    best: list[float]
    seconds: list[float]


def execute(run: Run) -> tuple[Run, Found]:
    """Suggest batches until the evaluations are used up. All optimizers start from the same observations."""
    function = draw(run.task)
    units = np.random.default_rng([run.task, 3]).random((BATCH, DIMENSION))
    values = function(units)
    best, seconds = [float(values.max())], []
    while len(units) + BATCH <= run.evaluations:
        batch, taken = choose(run.acquisition, run.optimizer, run.budget, units, values, run.task)
        units, values = np.concatenate([units, batch]), np.concatenate([values, function(batch)])
        best.append(float(values.max()))
        seconds.append(taken)
    return run, Found(best, seconds)


def choose(
    name: str, optimizer: str, budget: int, units: np.ndarray, values: np.ndarray, seed: int
) -> tuple[np.ndarray, float]:
    """Return the next batch (q, d) and the seconds that it took."""
    started = time.process_time()
    rng = np.random.default_rng([seed, len(units)])
    acquisition = acquire(name, units, values, seed=int(rng.integers(2**31)))
    batch = SEARCHES[optimizer](acquisition, _leaders(units, values), budget, rng)
    return batch, time.process_time() - started


def acquire(name: str, units: np.ndarray, values: np.ndarray, seed: int) -> Acquisition:
    """Return the acquisition function after values (n,) at units (n, d)."""
    posterior, nothing = ExactPosterior.of(COVARIANCE, FEATURES(units), values), np.empty((0, DIMENSION))
    if name != "es":
        return MonteCarlo(UTILITIES[name], posterior, FEATURES, float(values.max()), nothing, BATCH, SAMPLES, seed)
    representers = _representers(posterior, units, values, np.random.default_rng([seed, 2]))
    return Entropy(posterior, FEATURES, representers, BATCH, nothing, OUTCOMES, INNER, seed, TEMPERATURE)


def _representers(
    posterior: ExactPosterior, units: np.ndarray, values: np.ndarray, rng: np.random.Generator
) -> np.ndarray:
    """Return likely maximizers, sampled in proportion to EI from uniform points and neighbours of the best."""
    points = np.concatenate([rng.random((512, DIMENSION)), around(_leaders(units, values), 256, rng)])
    scores = Pointwise("log_ei", posterior, FEATURES, np.array([values.max()])).values(points[:, None, :])
    return points[choose_starts(scores, REPRESENTERS, rng, log=True)]


def _leaders(units: np.ndarray, values: np.ndarray) -> np.ndarray:
    return units[np.argsort(-values)[:4]]


def seconds(name: str, optimizer: str, budget: int, evaluations: int) -> float:
    """Return the mean time of a suggestion over five sizes of the preliminary task."""
    function, taken = draw(PRELIMINARY), []
    for size in np.linspace(BATCH, evaluations - BATCH, 5).astype(int).tolist():
        units = np.random.default_rng([PRELIMINARY, size]).random((size, DIMENSION))
        taken.append(choose(name, optimizer, budget, units, function(units), PRELIMINARY)[1])
    return float(np.mean(taken))


def budgets(name: str, batches: int, evaluations: int) -> dict[str, tuple[int, float]]:
    """Return the budget of each optimizer and the seconds of a suggestion, matched to random search."""
    seconds(name, "random", 1, evaluations)  # the first call of anything is slower
    target = float(np.median([seconds(name, "random", batches, evaluations) for _ in range(3)]))
    same = {"random": (batches, target), "nearby": (batches, target)}
    return same | {kind: _match(name, kind, target, evaluations) for kind in FIRST}


def _match(name: str, optimizer: str, target: float, evaluations: int) -> tuple[int, float]:
    """Return the budget whose time is nearest to the target, by regula falsi; ``begin`` is the time of budget 1."""
    begin = seconds(name, optimizer, 1, evaluations)
    budget, tried = FIRST[optimizer], []
    for _ in range(4):
        tried.append((budget, seconds(name, optimizer, budget, evaluations)))
        if abs(tried[-1][1] / target - 1) < 0.07:
            break
        share = max(target - begin, 0.0) / max(tried[-1][1] - begin, 1e-3)
        budget = max(1, round(budget * min(share, 8.0)))
    return min(tried, key=lambda pair: abs(pair[1] - target))
