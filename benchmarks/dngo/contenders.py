"""The optimizers under comparison: the paper's methods in current libraries, and Sonde.

Recipes are generators as in the arena: they yield a point and are sent its value. Their time is measured separately
from that of the evaluations. A failed evaluation is sent as inf: Sonde records a failure, Optuna's TPE the worst value,
and SMAC a crash.
"""

import logging
import math
import tempfile
import time
import warnings
import zlib
from collections.abc import Callable
from importlib.metadata import version
from typing import Any, NamedTuple

from benchmarks.arena.contenders import Points, optuna_tpe, random, sonde
from benchmarks.arena.problems import Problem
from benchmarks.dngo.problems import Task

SMAC = "smac>=2.4"

Recipe = Callable[[Task, Problem, int], Points]


class Run(NamedTuple):
    """The observed values, and the seconds of suggestions and of evaluations."""

    values: list[float]
    suggesting: float
    evaluating: float


def play(name: str, task: Task, seed: int) -> Run:
    """Run a contender on all evaluations of a task."""
    from sonde.errors import OddHistory

    problem = task.problem()
    values: list[float] = []
    suggesting = evaluating = 0.0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", OddHistory)  # most settings of the logistic regression diverge
        source = recipe(name)(task, problem, key(task, seed))
        while len(values) < task.budget:
            started = time.perf_counter()
            x = source.send(values[-1]) if values else next(source)
            suggested = time.perf_counter()
            values.append(problem(x))
            suggesting += suggested - started
            evaluating += time.perf_counter() - suggested
    source.close()
    return Run(values, suggesting, evaluating)


def key(task: Task, seed: int) -> int:
    """Return a seed that differs between tasks, so that one lucky initial design does not favour the whole table.

    Contenders share it, so Sonde's strategies share their initial designs.
    """
    return zlib.crc32(f"{task.name} {seed}".encode()) >> 1


def smac(task: Task, problem: Problem, seed: int) -> Points:
    """SMAC3 as its authors set it up for hyperparameters: a random forest and log expected improvement.

    With a seed it is reproducible under a fixed PYTHONHASHSEED only.
    """
    try:
        from ConfigSpace import ConfigurationSpace
        from smac import HyperparameterOptimizationFacade, Scenario
        from smac.runhistory import StatusType, TrialValue
    except ModuleNotFoundError as missing:
        raise ModuleNotFoundError(f"the contender smac needs its library: pip install '{SMAC}'") from missing

    kinds = {"float": float, "int": int}
    box = {f"x{i}": (kinds[kind](low), kinds[kind](high)) for i, (kind, low, high) in enumerate(problem.variables)}
    with tempfile.TemporaryDirectory() as folder:
        scenario = Scenario(
            ConfigurationSpace(box, seed=seed),
            output_directory=folder,  # type: ignore[arg-type]
            deterministic=True,
            crash_cost=task.worst,
            n_trials=task.budget,
            seed=seed,
        )
        optimizer = HyperparameterOptimizationFacade(scenario, logging_level=logging.ERROR)
        while True:
            asked = optimizer.ask()
            value = yield [asked.config[name] for name in box]
            crash = TrialValue(cost=task.worst, status=StatusType.CRASHED)
            optimizer.tell(asked, TrialValue(cost=value) if math.isfinite(value) else crash)


def _dngo_networks(task: Task, problem: Problem, seed: int) -> Points:
    """DNGO on networks from the first results on; ``dngo`` is the exact Gaussian process up to 256 results."""
    from sonde import DNGO

    yield from sonde(problem, task.budget, seed, strategy=DNGO("networks"))


def _dngo_paper(task: Task, problem: Problem, seed: int) -> Points:
    """The method of the paper as printed."""
    from sonde import DNGO

    yield from sonde(problem, task.budget, seed, strategy=DNGO.paper())


def _arena(played: Callable[..., Points], **options: Any) -> Recipe:
    """Return a recipe of the arena as a function of the task."""
    return lambda task, problem, seed: played(problem, task.budget, seed, **options)


CONTENDERS: dict[str, tuple[Recipe, str, str]] = {  # each with its distribution and its column in the paper
    "dngo": (_arena(sonde, strategy="dngo"), "sonde", "DNGO"),
    "dngo-networks": (_dngo_networks, "sonde", "DNGO"),
    "dngo-paper": (_dngo_paper, "sonde", "DNGO"),
    "gp": (_arena(sonde, strategy="gp"), "sonde", "Spearmint"),
    "auto": (_arena(sonde, strategy="auto"), "sonde", ""),
    "optuna-tpe": (_arena(optuna_tpe), "optuna", "TPE"),
    "smac": (smac, "smac", "SMAC"),
    "random": (_arena(random), "numpy", ""),
}


FORMS = {"dngo-paper": " (as printed)", "dngo-networks": " (failures by networks too)"}


def recipe(name: str) -> Recipe:
    """Return the recipe of a contender; another name is one of Sonde's strategies."""
    return CONTENDERS[name][0] if name in CONTENDERS else _arena(sonde, strategy=name)


def edition(name: str) -> str:
    """Return the distribution and version a contender comes in, and its form where that has changed in between."""
    distribution = CONTENDERS[name][1] if name in CONTENDERS else "sonde"
    return f"{distribution} {version(distribution)}{FORMS.get(name, '')}"


def counterpart(name: str) -> str:
    """Return the paper's method to compare a contender with; empty if there is none."""
    return CONTENDERS[name][2] if name in CONTENDERS else ""
