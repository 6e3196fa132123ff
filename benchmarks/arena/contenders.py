"""The optimizers, each as its authors recommend it, behind one signature.

A contender is written as a generator that yields a point and is sent what is told of it, or as a function of a game
that calls it with points. Of a batch all points are asked for before the first one is evaluated. Those that know no
failures are told the problem's ``worst`` value instead. Every library is imported when its contender starts.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Generator
from contextlib import closing, suppress
from functools import partial
from importlib.metadata import version
from typing import Any

import numpy as np

from benchmarks.arena import peers
from benchmarks.arena.bayesian import botorch
from benchmarks.arena.problems import Point, Problem, Told
from benchmarks.arena.spaces import drawn, settled
from benchmarks.arena.variants import variant
from benchmarks.optuna_space import suggested

Points = Generator[list[Any], float, None]
Recipe = Callable[[Problem, int, int], Points]
Player = Callable[["Game", int, int], None]  # of a game, its budget and a seed

REFUSED = 10  # points for each evaluation that a contender may propose although they are known not to be allowed


class SpentError(Exception):
    """All evaluations have been used."""


class Game:
    """A problem that is played: it keeps the scores, and the processor seconds that its evaluations took."""

    def __init__(self, problem: Problem, budget: int) -> None:
        self.problem, self.budget = problem, budget
        self.scores: list[float] = []
        self.evaluating = 0.0
        self._refused = 0

    def __call__(self, x: Point) -> Told:
        """Evaluate a point; one that is known not to be allowed fails, and does not count."""
        if self.problem.allowed and not self.problem.allowed(x):
            self._refused += 1
            if self._refused > REFUSED * self.budget:
                self.scores += [math.inf] * (self.budget - len(self.scores))
                raise SpentError
            return Told(math.nan)
        started = time.process_time()
        told = self.problem(x)
        self.evaluating += time.process_time() - started
        self.scores.append(told.score)
        if len(self.scores) == self.budget:
            raise SpentError
        return told


def play(name: str, problem: Problem, budget: int, seed: int) -> tuple[list[float], float]:
    """Return the scores of a contender's evaluations, in order, and the processor seconds of suggestions."""
    game = Game(problem, budget)
    started = time.process_time()
    with suppress(SpentError):
        _entry(name)[0](game, budget, seed)
    return game.scores, time.process_time() - started - game.evaluating


def played(recipe: Recipe) -> Player:
    """Make a player of a generator."""

    def play(game: Game, budget: int, seed: int) -> None:
        with closing(recipe(game.problem, budget, seed)) as source:
            x = next(source)
            while True:
                x = source.send(game(x))

    return play


def random(problem: Problem, budget: int, seed: int) -> Points:
    """Uniform draws."""
    rng = np.random.default_rng(seed)
    parameters = problem.space.parameters
    while True:
        units = rng.random(len(parameters))
        values = {name: drawn(each, unit) for (name, each), unit in zip(parameters.items(), units, strict=True)}
        yield settled(problem.space, values)


def optuna_tpe(problem: Problem, budget: int, seed: int) -> Points:
    """Optuna's default."""
    import optuna

    yield from _optuna(problem, optuna.samplers.TPESampler(seed=seed, constraints_func=_constraints_of(problem)))


def optuna_gp(problem: Problem, budget: int, seed: int) -> Points:
    """Optuna's Gaussian process, told where there is no noise."""
    import optuna

    options: dict[str, Any] = {"deterministic_objective": not problem.noisy}
    yield from _optuna(
        problem, optuna.samplers.GPSampler(seed=seed, constraints_func=_constraints_of(problem), **options)
    )


def optuna_cmaes(problem: Problem, budget: int, seed: int) -> Points:
    """Optuna's CMA-ES, with margin where there are integers, and a generation for each batch."""
    import optuna

    mixed = any(kind == "int" for kind, _, _ in problem.variables)
    size = problem.batch if problem.batch > 1 else None
    yield from _optuna(problem, optuna.samplers.CmaEsSampler(seed=seed, with_margin=mixed, popsize=size))


def _constraints_of(problem: Problem) -> Callable[[Any], Any] | None:
    """Return what tells Optuna a trial's constraints, where some are measured."""
    return (lambda trial: trial.user_attrs[CONSTRAINTS]) if problem.constraints else None


CONSTRAINTS = "constraints"


def _optuna(problem: Problem, sampler: Any) -> Points:
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    study = optuna.create_study(sampler=sampler)
    while True:
        trials = [study.ask() for _ in range(problem.batch)]
        points = [settled(problem.space, suggested(trial, problem.space)) for trial in trials]
        for trial, x in zip(trials, points, strict=True):
            told = yield x
            if isinstance(told, Told) and told.constraints:
                trial.set_user_attr(CONSTRAINTS, told.constraints)
            study.tell(trial, float(told) if math.isfinite(told) else problem.worst)


def cma_es(problem: Problem, budget: int, seed: int) -> Points:
    """CMA-ES on the unit cube from its centre, step size 0.3; with margin where there are integers."""
    from cmaes import CMA, CMAwM

    mean, bounds = np.full(problem.dimension, 0.5), np.tile([0.0, 1.0], (problem.dimension, 1))
    steps = np.array([1 / (high - low) if kind == "int" else 0.0 for kind, low, high in problem.variables])
    mixed = bool(steps.any())
    options: dict[str, Any] = {"seed": seed, "population_size": problem.batch if problem.batch > 1 else None}
    optimizer = CMAwM(mean, 0.3, bounds, steps, **options) if mixed else CMA(mean, 0.3, bounds, **options)
    while True:
        asked = [optimizer.ask() if mixed else [optimizer.ask()] * 2 for _ in range(optimizer.population_size)]
        generation = []
        for units, own in asked:  # the point, and what to tell it by
            told = yield [variable.nearest(unit) for variable, unit in zip(problem.variables, units, strict=True)]
            generation.append((own, problem.plain(told)))
        optimizer.tell(generation)


def sonde(problem: Problem, budget: int, seed: int, *, strategy: Any = "auto") -> Points:
    """A study in memory, asked for a batch at a time."""
    from sonde import Study

    space, names = problem.space, problem.space.names
    if allowed := problem.allowed:
        space = space.where(lambda chosen: allowed([chosen[name] for name in names]))
    study = Study(space, seed=seed, strategy=strategy)
    while True:
        for trial in study.ask(problem.batch):
            told = yield [trial.get(name) for name in names]
            more = {}
            if isinstance(told, Told) and math.isfinite(told):
                more = {"gradient": told.gradient}
                more |= {"constraints": {f"c{i}": each for i, each in enumerate(told.constraints)} or None}
            study.tell(trial, float(told), **more)


def _searched(name: str) -> Player:
    """Return one of the searches over bits that ``benchmarks.igo`` compares."""

    def search(game: Game, budget: int, seed: int) -> None:
        from benchmarks.igo.contenders import CONTENDERS

        CONTENDERS[name](lambda bits: -float(game(bits.tolist())), game.problem.dimension, budget, seed)

    return search


RECIPES: dict[str, tuple[Player, str]] = {  # each with the distribution it comes in
    "random": (played(random), "numpy"),
    "optuna-tpe": (played(optuna_tpe), "optuna"),
    "optuna-gp": (played(optuna_gp), "optuna"),
    "optuna-cmaes": (played(optuna_cmaes), "optuna"),
    "botorch": (played(botorch), "botorch"),
    "botorch-exact": (played(partial(botorch, exact=True)), "botorch"),
    "smac": (played(peers.smac), "smac"),
    "cmaes": (played(cma_es), "cmaes"),
    "catcma": (played(peers.catcma), "cmaes"),
    "nevergrad": (played(peers.nevergrad), "nevergrad"),
    "l-bfgs-b": (peers.l_bfgs_b, "scipy"),
    "l-bfgs-b-centre": (partial(peers.l_bfgs_b, centre=True), "scipy"),
    "one-plus-one": (_searched("one-plus-one"), "numpy"),
    "ga": (_searched("ga"), "numpy"),
    "bits-catcma": (_searched("catcma"), "cmaes"),
    "bits-nevergrad": (_searched("ng-opt"), "nevergrad"),
    "sonde": (played(sonde), "sonde"),
}


def edition(name: str) -> str:
    """Return the distribution and version a contender comes in."""
    distribution = _entry(name)[1]
    return f"{distribution} {version(distribution)}"


def ours(name: str) -> bool:
    """Return whether a contender is Sonde."""
    return _entry(name)[1] == "sonde"


def _entry(name: str) -> tuple[Player, str]:
    if name.startswith("sonde:gp/"):
        return played(partial(sonde, strategy=variant(name.removeprefix("sonde:gp/")))), "sonde"
    if name.startswith("sonde:"):
        return played(partial(sonde, strategy=name.removeprefix("sonde:"))), "sonde"
    if name not in RECIPES:
        raise SystemExit(f"contenders are {', '.join(RECIPES)}, sonde:<strategy> and sonde:gp/<variant>, got {name!r}")
    return RECIPES[name]
