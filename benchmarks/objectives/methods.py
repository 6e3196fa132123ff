"""The methods, each as its authors recommend it: generators that yield a point and are sent what was measured there.

Constraints are told to every method as numbers that are at most zero where they are met. Every library is imported when
its method starts.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.objectives.bayesian import botorch
from benchmarks.objectives.problems import Measured, Problem
from benchmarks.objectives.variables import Value

Array = NDArray[np.float64]
Points = Generator[list[Value], Measured, None]
Method = Callable[[Problem, int, int], Points]

POPULATION = 20  # of NSGA-II: Optuna's 50 would leave two generations of a hundred evaluations


class Played(NamedTuple):
    """What a run measured."""

    objectives: Array  # (n, objectives)
    constraints: Array  # (n, constraints)
    seconds: float  # of the processor for a suggestion, with telling, on average

    @property
    def feasible(self) -> NDArray[np.bool_]:
        """Which evaluations met all constraints."""
        return np.all(self.constraints <= 0, axis=1)


def play(problem: Problem, name: str, budget: int) -> Played:
    """Run a method until the budget is used."""
    source = METHODS[name](problem, budget, problem.key)
    measured: list[Measured] = []
    seconds = 0.0
    while len(measured) < budget:
        started = time.process_time()
        point = source.send(measured[-1]) if measured else next(source)
        seconds += time.process_time() - started
        measured.append(problem(point))
    source.close()
    objectives, constraints = (np.array(each, dtype=np.float64) for each in zip(*measured, strict=True))
    return Played(objectives, constraints, seconds / budget)


def random(problem: Problem, budget: int, seed: int) -> Points:
    """Uniform draws."""
    rng = np.random.default_rng(seed)
    while True:
        units = rng.random(len(problem.variables))
        yield [variable.drawn(unit) for variable, unit in zip(problem.variables, units, strict=True)]


def optuna_gp(problem: Problem, budget: int, seed: int) -> Points:
    """Optuna's Gaussian process, told that the functions have no noise."""
    import optuna

    yield from _optuna(problem, optuna.samplers.GPSampler(seed=seed, deterministic_objective=True))


def optuna_tpe(problem: Problem, budget: int, seed: int) -> Points:
    """Optuna's TPE."""
    import optuna

    yield from _optuna(problem, optuna.samplers.TPESampler(seed=seed))


def optuna_nsga2(problem: Problem, budget: int, seed: int) -> Points:
    """NSGA-II, Optuna's default."""
    import optuna

    yield from _optuna(problem, optuna.samplers.NSGAIISampler(seed=seed, population_size=POPULATION))


def distributions(problem: Problem) -> dict[str, Any]:
    """Return the box as Optuna states it."""
    from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

    return {
        name: CategoricalDistribution(choices)
        if kind == "choice"
        else IntDistribution(int(low), int(high), log=log)
        if kind == "int"
        else FloatDistribution(low, high, log=log)
        for name, kind, low, high, log, choices in problem.variables
    }


def _optuna(problem: Problem, sampler: Any) -> Points:
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    ranges = distributions(problem)
    study = optuna.create_study(sampler=sampler, directions=["minimize"] * problem.objectives)
    while True:
        trial = study.ask(ranges)
        objectives, constraints = yield [trial.params[name] for name in ranges]
        for i, level in enumerate(constraints):
            trial.set_constraint(str(i), level)
        study.tell(trial, objectives.tolist())


def sonde(problem: Problem, budget: int, seed: int, *, strategy: Any = "auto") -> Points:
    """A study in memory, asked for one trial at a time."""
    import sonde

    space = problem.space
    study = sonde.Study(space, objectives=["minimize"] * problem.objectives, seed=seed, strategy=strategy)
    while True:
        trial = study.ask()
        objectives, constraints = yield [trial[name] for name in space.names]
        study.tell(trial, named(objectives), constraints=named(constraints) or None)


def named(values: Array) -> dict[str, float]:
    """Return values by the names that Sonde gives to a list: "0", "1", ..."""
    return {str(i): float(value) for i, value in enumerate(values)}


METHODS: dict[str, Method] = {
    "random": random, "optuna-nsga2": optuna_nsga2, "optuna-tpe": optuna_tpe, "optuna-gp": optuna_gp,
    "botorch": botorch, "sonde": sonde, "sonde-gp": partial(sonde, strategy="gp"),
}  # fmt: skip
