"""Whole searches: each suggests, trains and stops until the steps of a run are spent, all with their defaults.

All report after every step and ask whether to stop after every step but the last.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any

from benchmarks.curves.models import Configuration, Problem


class Run:
    """Trainings of a problem, until so many steps are spent."""

    def __init__(self, problem: Problem, steps: int) -> None:
        self.problem, self.steps = problem, steps
        self.spent = self.started = self.stopped = 0
        self.ends: list[tuple[int, float]] = []  # of trials that ran to their end: the steps spent by then, the error
        self.seconds = 0.0  # of the processor, for trainings

    def train(
        self, params: Configuration, report: Callable[[int, float], Any], should_stop: Callable[[], bool]
    ) -> float | None:
        """Return the final error of a configuration; None if it was stopped."""
        errors = self.problem.errors(params)
        for step in range(1, self.problem.steps + 1):
            if self.spent == self.steps:
                raise SpentError
            self.started += step == 1
            began = time.process_time()
            error = next(errors)
            self.seconds += time.process_time() - began
            self.spent += 1
            report(step, error)
            if step < self.problem.steps and should_stop():
                self.stopped += 1
                return None
        self.ends.append((self.spent, error))
        return error


class SpentError(Exception):
    """All steps are spent."""


Search = Callable[[Run, int], None]


def search(name: str, problem: Problem, steps: int, seed: int) -> Run:
    """Return the run of a search."""
    run = Run(problem, steps)
    with suppress(SpentError):
        SEARCHES[name](run, seed)
    return run


def sonde(run: Run, seed: int, *, strategy: str = "auto", stopping: str = "auto") -> None:
    """A study in memory."""
    import sonde

    study = sonde.Study(run.problem.space, seed=seed, strategy=strategy, stopping=stopping)
    study.optimize(
        lambda trial: run.train(trial.params, trial.report, trial.should_stop),
        run.steps + 1, catch=(), progress=False,
    )  # fmt: skip


def tpe(run: Run, seed: int, *, pruner: str = "NopPruner") -> None:
    """Optuna's TPE, with a pruner."""
    import optuna

    from benchmarks.optuna_space import suggested

    def objective(trial: optuna.Trial) -> float:
        def report(step: int, error: float) -> None:
            trial.report(error, step)

        error = run.train(suggested(trial, run.problem.space), report, trial.should_prune)
        if error is None:
            raise optuna.TrialPruned
        return error

    optuna.logging.set_verbosity(optuna.logging.CRITICAL)  # the end of a run is an exception
    told = {"max_resource": run.problem.steps} if pruner == "HyperbandPruner" else {}
    study = optuna.create_study(
        sampler=optuna.samplers.TPESampler(seed=seed), pruner=getattr(optuna.pruners, pruner)(**told)
    )
    study.optimize(objective, run.steps + 1)


SEARCHES: dict[str, Search] = {
    "sonde": sonde,
    "sonde-none": partial(sonde, stopping="none"),
    "random": partial(sonde, strategy="random", stopping="none"),
    "tpe": tpe,
    "tpe-halving": partial(tpe, pruner="SuccessiveHalvingPruner"),
    "tpe-median": partial(tpe, pruner="MedianPruner"),
    "tpe-hyperband": partial(tpe, pruner="HyperbandPruner"),
}
