"""bbob-noisy: functions of bbob under the three noise models of its definition, each moderate or severe.

COCO's own suite of that name does not tell values without noise, so the noise is written here from the formulas. The
functions are those of bbob, whose ellipsoid has the condition 1e6, not 1e4. Regret is measured without noise, at the
best point evaluated.

References
----------
Finck, Hansen, Ros, Auger: Real-parameter black-box optimization benchmarking: noisy functions definitions, 2009.
"""

import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np

from benchmarks.arena.problems import Point, Problem, Told, coco

Noise = Callable[[float, np.random.Generator], float]  # of a value above the optimum

LEAST = 1e-8  # below it a value is told as it is
MODERATE = (1, 8)  # of bbob: sphere, Rosenbrock
SEVERE = (
    1,
    8,
    7,
    10,
    14,
    17,
    19,
    21,
)  # and step ellipsoid, ellipsoid, powers, Schaffer, Griewank-Rosenbrock, Gallagher


def gaussian(f: float, rng: np.random.Generator, *, beta: float) -> float:
    """Multiply by a log-normal factor."""
    return f * math.exp(beta * rng.standard_normal())


def uniform(f: float, rng: np.random.Generator, *, alpha: float, beta: float) -> float:
    """Multiply by a uniform factor, and by one of at least 1 that grows towards the optimum."""
    return f * rng.random() ** beta * max(1.0, (1e9 / (f + 1e-99)) ** (alpha * rng.random()))


def cauchy(f: float, rng: np.random.Generator, *, alpha: float, p: float) -> float:
    """Add an outlier now and then, on top of a constant that lets it be negative."""
    outlier = rng.standard_normal() / (abs(rng.standard_normal()) + 1e-199) if rng.random() < p else 0.0
    return f + alpha * max(0.0, 1000.0 + outlier)


def noises(dimension: int) -> list[tuple[int, Noise]]:
    """Return the function of bbob and the noise of each number from 101 on, in the order of the definition."""
    alpha = 0.49 + 1 / dimension
    moderate: list[Noise] = [
        partial(gaussian, beta=0.01),
        partial(uniform, alpha=0.01 * alpha, beta=0.01),
        partial(cauchy, alpha=0.01, p=0.05),
    ]
    severe: list[Noise] = [
        partial(gaussian, beta=1.0),
        partial(uniform, alpha=alpha, beta=1.0),
        partial(cauchy, alpha=1.0, p=0.2),
    ]
    levels = ((MODERATE, moderate), (SEVERE, severe))
    return [(function, noise) for functions, own in levels for function in functions for noise in own]


FUNCTIONS = range(101, 101 + 3 * (len(MODERATE) + len(SEVERE)))


def noisy(suite: str, function: int, dimension: int, seed: int) -> Problem:
    """Return a function of bbob-noisy in the instance that belongs to the seed."""
    base, noise = noises(dimension)[function - FUNCTIONS[0]]
    source = coco("bbob", base, dimension, seed)
    optimum = source.optimum or 0.0
    rng = np.random.default_rng([function, dimension, seed])

    def evaluate(x: Point) -> Told:
        exact = source(x)
        excess = exact - optimum
        disturbed = noise(excess, rng) + 1.01 * LEAST if excess >= LEAST else excess
        return Told(optimum + disturbed, exact=float(exact))

    return replace(source, suite=suite, function=function, evaluate=evaluate, noisy=True)
