"""A trial of figure 2: pools chosen on one task by one acquisition and one inner optimizer; and budgets set to a time.

As in the paper's appendix B, the time that random search takes with its number of pools, on a preliminary task, is the
target to which the budgets of the others are set. Time is that of the process on its core: equal to the clock's
where nothing else runs there, and comparable where something does.
"""

import time
from typing import NamedTuple

import numpy as np

from benchmarks.acquisition.draws import COVARIANCE, DIMENSION, FEATURES, draw
from benchmarks.acquisition.searches import POOL, SEARCHES, Acquisition, around
from sonde.acquisition.entropy import Entropy
from sonde.acquisition.montecarlo import MonteCarlo
from sonde.acquisition.pointwise import Pointwise
from sonde.acquisition.utilities import UTILITIES
from sonde.optimizers import choose_starts
from sonde.surrogates.exact.gp import ExactPosterior

NAMES = {"ei": "q-EI", "ucb": "q-UCB", "pi": "q-PI", "sr": "q-SR", "es": "q-ES"}
SAMPLES = 128  # fixed base samples
REPRESENTERS, OUTCOMES, INNER = 24, 8, 32  # of q-ES
TEMPERATURE = 0.05  # of q-ES, the library's own; the paper's 0.01 is nearly a step for so few samples
FIRST = {"direct": 400, "bfgs": 20, "adam": 40}  # budgets that matching begins from
PRELIMINARY = 1000  # the task that budgets are set on; no result is from it


class Trial(NamedTuple):
    """What to run."""

    acquisition: str
    optimizer: str
    task: int
    budget: int
    evaluations: int


class Found(NamedTuple):
    """The best value after the first q observations and after every choice, and the seconds of every choice."""

    best: list[float]
    seconds: list[float]


def run(trial: Trial) -> tuple[Trial, Found]:
    """Choose pools until the evaluations are used up. All optimizers begin from the same observations."""
    function = draw(trial.task)
    units = np.random.default_rng([trial.task, 3]).random((POOL, DIMENSION))
    values = function(units)
    best, seconds = [float(values.max())], []
    while len(units) + POOL <= trial.evaluations:
        pool, taken = choose(trial.acquisition, trial.optimizer, trial.budget, units, values, trial.task)
        units, values = np.concatenate([units, pool]), np.concatenate([values, function(pool)])
        best.append(float(values.max()))
        seconds.append(taken)
    return trial, Found(best, seconds)


def choose(
    name: str, optimizer: str, budget: int, units: np.ndarray, values: np.ndarray, seed: int
) -> tuple[np.ndarray, float]:
    """Return the next pool (q, d) and the seconds it took to choose it."""
    started = time.process_time()
    rng = np.random.default_rng([seed, len(units)])
    acquisition = acquire(name, units, values, seed=int(rng.integers(2**31)))
    pool = SEARCHES[optimizer](acquisition, _leaders(units, values), budget, rng)
    return pool, time.process_time() - started


def acquire(name: str, units: np.ndarray, values: np.ndarray, seed: int) -> Acquisition:
    """Return the acquisition after values (n,) at units (n, d)."""
    posterior, nothing = ExactPosterior.of(COVARIANCE, FEATURES(units), values), np.empty((0, DIMENSION))
    if name != "es":
        return MonteCarlo(UTILITIES[name], posterior, FEATURES, float(values.max()), nothing, POOL, SAMPLES, seed)
    representers = _representers(posterior, units, values, np.random.default_rng([seed, 2]))
    return Entropy(posterior, FEATURES, representers, POOL, nothing, OUTCOMES, INNER, seed, TEMPERATURE)


def _representers(
    posterior: ExactPosterior, units: np.ndarray, values: np.ndarray, rng: np.random.Generator
) -> np.ndarray:
    """Return points where the maximum may be: in proportion to EI, of uniform ones and neighbours of the best."""
    points = np.concatenate([rng.random((512, DIMENSION)), around(_leaders(units, values), 256, rng)])
    promise = Pointwise("log_ei", posterior, FEATURES, np.array([values.max()])).values(points[:, None, :])
    return points[choose_starts(promise, REPRESENTERS, rng, log=True)]


def _leaders(units: np.ndarray, values: np.ndarray) -> np.ndarray:
    return units[np.argsort(-values)[:4]]


def seconds(name: str, optimizer: str, budget: int, evaluations: int) -> float:
    """Return the mean time of a choice over five sizes of the preliminary task."""
    function, taken = draw(PRELIMINARY), []
    for size in np.linspace(POOL, evaluations - POOL, 5).astype(int).tolist():
        units = np.random.default_rng([PRELIMINARY, size]).random((size, DIMENSION))
        taken.append(choose(name, optimizer, budget, units, function(units), PRELIMINARY)[1])
    return float(np.mean(taken))


def budgets(name: str, pools: int, evaluations: int) -> dict[str, tuple[int, float]]:
    """Return each optimizer's budget and the seconds of a choice, near those of random search with so many pools."""
    seconds(name, "random", 1, evaluations)  # the first call of anything is slower
    target = float(np.median([seconds(name, "random", pools, evaluations) for _ in range(3)]))
    same = {"random": (pools, target), "nearby": (pools, target)}
    return same | {kind: _match(name, kind, target, evaluations) for kind in FIRST}


def _match(name: str, optimizer: str, target: float, evaluations: int) -> tuple[int, float]:
    """Return the budget whose time came nearest, by regula falsi from what it takes to begin."""
    begin = seconds(name, optimizer, 1, evaluations)
    budget, tried = FIRST[optimizer], []
    for _ in range(4):
        tried.append((budget, seconds(name, optimizer, budget, evaluations)))
        if abs(tried[-1][1] / target - 1) < 0.07:
            break
        share = max(target - begin, 0.0) / max(tried[-1][1] - begin, 1e-3)
        budget = max(1, round(budget * min(share, 8.0)))
    return min(tried, key=lambda pair: abs(pair[1] - target))
