"""SMAC3, CatCMA, Nevergrad and L-BFGS-B, each as its authors recommend it."""

from __future__ import annotations

import logging
import math
import tempfile
from collections.abc import Generator
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.arena.problems import Problem, Told
from benchmarks.arena.spaces import active, between, levels, settled

if TYPE_CHECKING:
    import sonde
    from benchmarks.arena.contenders import Game

Points = Generator[list[Any], float, None]


def smac(problem: Problem, budget: int, seed: int) -> Points:
    """SMAC3's facade for hyperparameters: a random forest and log expected improvement, with conditions.

    With a seed it is reproducible under a fixed PYTHONHASHSEED only.
    """
    from smac import HyperparameterOptimizationFacade, Scenario
    from smac.runhistory import StatusType, TrialValue

    with tempfile.TemporaryDirectory() as folder:
        scenario = Scenario(
            _configuration_space(problem.space, seed),
            output_directory=folder,  # type: ignore[arg-type]
            deterministic=not problem.noisy,
            crash_cost=problem.worst,
            n_trials=budget,
            seed=seed,
        )
        optimizer = HyperparameterOptimizationFacade(scenario, logging_level=logging.ERROR)
        while True:
            asked = [optimizer.ask() for _ in range(problem.batch)]
            for each in asked:
                chosen = dict(each.config)
                told = yield [chosen.get(name) for name in problem.space.names]
                crash = TrialValue(cost=problem.worst, status=StatusType.CRASHED)
                feasible = told.feasible if isinstance(told, Told) else math.isfinite(told)
                optimizer.tell(each, TrialValue(cost=float(told)) if feasible else crash)


def _configuration_space(space: sonde.Space, seed: int) -> Any:
    """Return a space as ConfigSpace states it; stepped floats are ordinals."""
    from ConfigSpace import AndConjunction, Categorical, ConfigurationSpace, Float, InCondition, Integer

    from sonde import Float as OurFloat
    from sonde import Int as OurInt

    made = ConfigurationSpace(seed=seed)
    for name, each in space.parameters.items():
        if isinstance(each, OurInt) and each.step == 1:
            made.add(Integer(name, (each.low, each.high), log=each.log))
        elif isinstance(each, OurFloat) and each.step is None:
            made.add(Float(name, (each.low, each.high), log=each.log))
        elif each.ordered:
            made.add(Categorical(name, levels(each), ordered=True))
        else:
            made.add(Categorical(name, levels(each)))
    for name, each in space.parameters.items():
        conditions = [
            InCondition(made[name], made[parent], list(wanted) if isinstance(wanted, list | tuple) else [wanted])
            for parent, wanted in (each.when or {}).items()
        ]
        if conditions:
            made.add(conditions[0] if len(conditions) == 1 else AndConjunction(*conditions))
    return made


def catcma(problem: Problem, budget: int, seed: int) -> Points:
    """CatCMA with margin with its defaults; it has no conditions, so inactive parameters have no effect."""
    from cmaes import CatCMAwM

    parameters = problem.space.parameters
    every = {name: levels(each) for name, each in parameters.items()}
    floats = [name for name, own in every.items() if own is None]
    categories = [name for name, own in every.items() if own and (not parameters[name].ordered or len(own) == 2)]
    lattice = [name for name, own in every.items() if own and name not in categories]
    optimizer = CatCMAwM(
        x_space=[[0.0, 1.0]] * len(floats) or None,
        z_space=[range(len(every[name] or ())) for name in lattice] or None,
        c_space=[len(every[name] or ()) for name in categories] or None,
        population_size=problem.batch if problem.batch > 1 else None,
        seed=seed,
    )
    while True:
        asked = [optimizer.ask() for _ in range(optimizer.population_size)]
        generation = []
        for each in asked:
            values: dict[str, Any] = {}
            if floats:
                values |= {name: between(parameters[name], unit) for name, unit in zip(floats, each.x, strict=True)}
            if lattice:
                values |= {name: every[name][int(i)] for name, i in zip(lattice, each.z, strict=True)}
            if categories:
                values |= {name: every[name][int(np.argmax(row))] for name, row in zip(categories, each.c, strict=True)}
            generation.append((each, problem.plain((yield settled(problem.space, values)))))
        optimizer.tell(generation)


def nevergrad(problem: Problem, budget: int, seed: int) -> Points:
    """Nevergrad's own choice of optimizer; a condition is a choice between groups of parameters."""
    import nevergrad

    parameters = _nested(problem.space)
    parameters.random_state.seed(seed)
    parameters.function.deterministic = not problem.noisy
    optimizer = nevergrad.optimizers.NGOpt(parameters, budget=budget, num_workers=problem.batch)
    while True:
        asked = [optimizer.ask() for _ in range(problem.batch)]
        for each in asked:
            values: dict[str, Any] = {}
            for name, value in each.value.items():
                values |= value if isinstance(value, dict) else {name: value}
            told = yield [values.get(name) for name in problem.space.names]
            if isinstance(told, Told) and told.constraints:
                optimizer.tell(each, float(told), constraint_violation=[max(0.0, c) for c in told.constraints])
            else:
                optimizer.tell(each, problem.plain(told))


def _nested(space: sonde.Space) -> Any:
    """Return a space as Nevergrad states it. Conditions are on one parameter, and not nested."""
    import nevergrad

    parents = {parent for each in space.parameters.values() for parent in each.when or {}}
    made = {name: _scalar(each) for name, each in space.parameters.items() if not each.when and name not in parents}
    for parent in parents:
        groups = [
            {parent: choice}
            | {
                name: _scalar(each)
                for name, each in space.parameters.items()
                if each.when and active(each, {parent: choice})
            }
            for choice in levels(space[parent]) or ()
        ]
        made[parent] = nevergrad.p.Choice([nevergrad.p.Dict(**group) for group in groups])
    return nevergrad.p.Dict(**made)


def _scalar(parameter: Any) -> Any:
    """Return a parameter as Nevergrad states it."""
    import nevergrad

    from sonde import Float, Int

    if not parameter.ordered:
        return nevergrad.p.Choice(levels(parameter))
    if parameter.step not in (None, 1) or (isinstance(parameter, Float) and parameter.step):
        return nevergrad.p.TransitionChoice(levels(parameter))
    kind = nevergrad.p.Log if parameter.log else nevergrad.p.Scalar
    made = kind(lower=parameter.low, upper=parameter.high)
    return made.set_integer_casting() if isinstance(parameter, Int) else made


def l_bfgs_b(game: Game, budget: int, seed: int, *, centre: bool = False) -> None:
    """SciPy's L-BFGS-B on the gradients told, from random points again and again; or from the centre first."""
    from scipy.optimize import minimize

    low, high = (
        np.array(ends) for ends in zip(*((each.low, each.high) for each in game.problem.variables), strict=True)
    )
    rng = np.random.default_rng(seed)
    start = (low + high) / 2 if centre else rng.uniform(low, high)

    def evaluate(x: Any) -> tuple[float, Any]:
        told = game(x.tolist())
        return float(told), np.array(told.gradient)

    while True:
        minimize(evaluate, start, jac=True, method="L-BFGS-B", bounds=list(zip(low, high, strict=True)))
        start = rng.uniform(low, high)
