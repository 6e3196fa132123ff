"""The methods of figure 5, and Sonde's own.

The paper's seven begin at the same random point in runs of one seed; Sonde's begin as they do. SciPy's L-BFGS-B has its
default tolerances and the bounds of the box; every evaluation of its line searches counts.
"""

import time
import zlib
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize

from benchmarks.fobo.algorithm1 import algorithm_1
from benchmarks.fobo.functions import Function
from benchmarks.fobo.objective import Objective, Spent

Method = Callable[[Objective, np.random.Generator], None]


class Run(NamedTuple):
    """Best values so far, how many evaluations were made, and CPU seconds (those of evaluations are microseconds)."""

    best: np.ndarray
    evaluations: int
    seconds: float


def play(name: str, function: Function, d: int, seed: int, budget: int, seconds: float = np.inf) -> Run:
    """Run a method for a budget of evaluations, and at most so many seconds of wall time."""
    rng = np.random.default_rng([zlib.crc32(f"{function.name} {d}".encode()), seed])
    function(np.zeros(d))  # finds the highest value once, outside of the timing
    objective, started = Objective(function, d, budget, seconds), time.process_time()
    with suppress(Spent):
        METHODS[name](objective, rng)
    return Run(objective.best(), len(objective.values), time.process_time() - started)


def random(objective: Objective, rng: np.random.Generator) -> None:
    """Uniform draws."""
    while True:
        objective(rng.uniform(-1, 1, objective.d))


def lbfgs(objective: Objective, rng: np.random.Generator) -> None:
    """L-BFGS from a random point; it ends where it converges."""
    minimize(
        objective, rng.uniform(-1, 1, objective.d), jac=True, method="L-BFGS-B", bounds=[(-1, 1)] * objective.d,
    )  # fmt: skip


def lbfgs_restarted(objective: Objective, rng: np.random.Generator) -> None:
    """L-BFGS from one random point after another."""
    while True:
        lbfgs(objective, rng)


def sonde(objective: Objective, rng: np.random.Generator, *, strategy: str, gradients: bool) -> None:
    """A study in memory, asked for one trial at a time."""
    from sonde import Float, Space, Study

    space = Space({f"x{i}": Float(-1, 1) for i in range(objective.d)})
    study = Study(space, seed=int(rng.integers(2**31)), strategy=strategy)
    while True:
        trial = study.ask()
        value, gradient = objective(np.array([trial[name] for name in space.names]))
        study.tell(trial, value, gradient=gradient if gradients else None)


METHODS: dict[str, Method] = {
    "random": random,
    "lbfgs": lbfgs,
    "lbfgs-r": lbfgs_restarted,
    "fobo-paper": partial(algorithm_1, gradients=True, quadratic=False),
    "fobo-q-paper": partial(algorithm_1, gradients=True, quadratic=True),
    "bo": partial(algorithm_1, gradients=False, quadratic=False),
    "bo-q": partial(algorithm_1, gradients=False, quadratic=True),
    "fobo": partial(sonde, strategy="fobo", gradients=True),
    "gp": partial(sonde, strategy="gp", gradients=False),
}
