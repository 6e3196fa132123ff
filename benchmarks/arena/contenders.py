"""The optimizers, each as its authors recommend it, behind one signature.

A contender is written as a generator that yields a point and is sent its value; ``_play`` turns it into a function of
(problem, budget, seed) that returns all values in order. Every library is imported when its contender starts.
"""

from collections.abc import Callable, Generator
from functools import partial
from importlib.metadata import version
from typing import Any

import numpy as np

from benchmarks.arena.bayesian import botorch
from benchmarks.arena.problems import Problem
from benchmarks.arena.variants import variant

Points = Generator[list[float], float, None]
Contender = Callable[[Problem, int, int], list[float]]
Recipe = Callable[[Problem, int, int], Points]


def random(problem: Problem, budget: int, seed: int) -> Points:
    """Uniform draws."""
    rng = np.random.default_rng(seed)
    while True:
        units = rng.random(problem.dimension)
        yield [variable.drawn(unit) for variable, unit in zip(problem.variables, units, strict=True)]


def optuna_tpe(problem: Problem, budget: int, seed: int) -> Points:
    """Optuna's default."""
    import optuna

    yield from _optuna(problem, optuna.samplers.TPESampler(seed=seed))


def optuna_gp(problem: Problem, budget: int, seed: int) -> Points:
    """Optuna's Gaussian process, told that the functions have no noise."""
    import optuna

    yield from _optuna(problem, optuna.samplers.GPSampler(seed=seed, deterministic_objective=True))


def _optuna(problem: Problem, sampler: Any) -> Points:
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    ranges: dict[str, optuna.distributions.BaseDistribution] = {
        f"x{i}": optuna.distributions.IntDistribution(int(low), int(high))
        if kind == "int"
        else optuna.distributions.FloatDistribution(low, high)
        for i, (kind, low, high) in enumerate(problem.variables)
    }
    study = optuna.create_study(sampler=sampler)
    while True:
        trial = study.ask(ranges)
        study.tell(trial, (yield [trial.params[name] for name in ranges]))


def cma_es(problem: Problem, budget: int, seed: int) -> Points:
    """CMA-ES on the unit cube from its centre, step size 0.3; with margin where there are integers."""
    from cmaes import CMA, CMAwM

    mean, bounds = np.full(problem.dimension, 0.5), np.tile([0.0, 1.0], (problem.dimension, 1))
    steps = np.array([1 / (high - low) if kind == "int" else 0.0 for kind, low, high in problem.variables])
    mixed = bool(steps.any())
    optimizer = CMAwM(mean, 0.3, bounds, steps, seed=seed) if mixed else CMA(mean, 0.3, bounds, seed=seed)
    while True:
        generation = []
        for _ in range(optimizer.population_size):
            units, told = optimizer.ask() if mixed else [optimizer.ask()] * 2  # the point, and what to tell it by
            x = [variable.nearest(unit) for variable, unit in zip(problem.variables, units, strict=True)]
            generation.append((told, (yield x)))
        optimizer.tell(generation)


def nevergrad(problem: Problem, budget: int, seed: int) -> Points:
    """Nevergrad's own choice of optimizer."""
    import nevergrad

    scalars = [nevergrad.p.Scalar(lower=variable.low, upper=variable.high) for variable in problem.variables]
    for scalar, variable in zip(scalars, problem.variables, strict=True):
        if variable.kind == "int":
            scalar.set_integer_casting()
    box = nevergrad.p.Tuple(*scalars)
    box.random_state.seed(seed)
    optimizer = nevergrad.optimizers.NGOpt(box, budget=budget)
    while True:
        point = optimizer.ask()
        optimizer.tell(point, (yield list(point.value)))


def sonde(problem: Problem, budget: int, seed: int, *, strategy: Any = "auto") -> Points:
    """A study in memory, asked for one trial at a time."""
    from sonde import Study

    space = problem.space
    study = Study(space, seed=seed, strategy=strategy)
    while True:
        trial = study.ask()
        study.tell(trial, (yield [trial[name] for name in space.names]))


def _play(recipe: Recipe, problem: Problem, budget: int, seed: int) -> list[float]:
    """Evaluate what is yielded until the budget is used."""
    source = recipe(problem, budget, seed)
    values = [problem(next(source))]
    while len(values) < budget:
        values.append(problem(source.send(values[-1])))
    return values


RECIPES: dict[str, tuple[Recipe, str]] = {  # each with the distribution it comes in
    "random": (random, "numpy"),
    "optuna-tpe": (optuna_tpe, "optuna"),
    "optuna-gp": (optuna_gp, "optuna"),
    "botorch": (botorch, "botorch"),
    "botorch-exact": (partial(botorch, exact=True), "botorch"),
    "cmaes": (cma_es, "cmaes"),
    "nevergrad": (nevergrad, "nevergrad"),
    "sonde": (sonde, "sonde"),
}


def contender(name: str) -> Contender:
    """Return the contender of a name; ``sonde:tpe`` is Sonde with that strategy."""
    return partial(_play, _recipe(name)[0])


def edition(name: str) -> str:
    """Return the distribution and version a contender comes in."""
    distribution = _recipe(name)[1]
    return f"{distribution} {version(distribution)}"


def _recipe(name: str) -> tuple[Recipe, str]:
    if name.startswith("sonde:gp/"):
        return partial(sonde, strategy=variant(name.removeprefix("sonde:gp/"))), "sonde"
    if name.startswith("sonde:"):
        return partial(sonde, strategy=name.removeprefix("sonde:")), "sonde"
    if name not in RECIPES:
        raise SystemExit(f"contenders are {', '.join(RECIPES)}, sonde:<strategy> and sonde:gp/<variant>, got {name!r}")
    return RECIPES[name]
