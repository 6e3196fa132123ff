"""The methods: each evaluates cells of a table until it is stopped."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from benchmarks.factorials.tables import Level, Steps, Table

Objective = Callable[[Sequence[Level]], float]


def random(objective: Objective, table: Table, seed: int) -> None:
    """Draw cells, none of them twice."""
    rng, seen = np.random.default_rng(seed), set()
    every = [each.levels if isinstance(each, Steps) else list(each) for each in table.factors.values()]
    while True:
        drawn = tuple(int(rng.integers(len(levels))) for levels in every)
        if drawn not in seen:
            seen.add(drawn)
            objective([levels[i] for levels, i in zip(every, drawn, strict=True)])


def sonde(objective: Objective, table: Table, seed: int, *, strategy: Any = "auto") -> None:
    import sonde

    space = table.space
    study = sonde.Study(space, seed=seed, strategy=strategy)
    while True:
        trial = study.ask()
        study.tell(trial, objective([trial[name] for name in space.names]))


def optuna_gp(objective: Objective, table: Table, seed: int) -> None:
    """Run Optuna's Gaussian process, told where there is no noise."""
    import optuna

    _optuna(objective, table, optuna.samplers.GPSampler(seed=seed, deterministic_objective=not table.noise))


def optuna_tpe(objective: Objective, table: Table, seed: int) -> None:
    import optuna

    _optuna(objective, table, optuna.samplers.TPESampler(seed=seed))


def _optuna(objective: Objective, table: Table, sampler: Any) -> None:
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    study = optuna.create_study(sampler=sampler)
    while True:
        trial = study.ask()
        study.tell(trial, objective([_suggested(trial, *each) for each in table.factors.items()]))


def _suggested(trial: Any, name: str, factor: Any) -> Level:
    if not isinstance(factor, Steps):
        return trial.suggest_categorical(name, list(factor))  # type: ignore[no-any-return]
    suggest = trial.suggest_int if factor.whole else trial.suggest_float
    return suggest(name, factor.low, factor.high, step=factor.step)  # type: ignore[no-any-return]


METHODS: dict[str, Callable[[Objective, Table, int], None]] = {
    "sonde": sonde, "optuna-gp": optuna_gp, "optuna-tpe": optuna_tpe, "random": random,
}  # fmt: skip
