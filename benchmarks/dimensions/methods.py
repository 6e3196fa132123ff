"""The methods of the comparison by dimension: each evaluates an objective on the unit cube until it is stopped."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from benchmarks.dimensions.functions import Objective


def random(objective: Objective, d: int, budget: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    while True:
        objective(rng.random(d))


def local(objective: Objective, d: int, budget: int, seed: int, *, method: str, **options: Any) -> None:
    """Run a method of SciPy from the centre, then from random points."""
    from scipy.optimize import minimize

    rng, start = np.random.default_rng(seed), np.full(d, 0.5)
    while True:
        minimize(objective, start, method=method, bounds=[(0, 1)] * d, options={"maxiter": budget, **options})
        start = rng.random(d)


def bobyqa(objective: Objective, d: int, budget: int, seed: int) -> None:
    """Run Py-BOBYQA from the centre, then from random points."""
    import pybobyqa

    rng, start = np.random.default_rng(seed), np.full(d, 0.5)
    while True:
        pybobyqa.solve(objective, start, bounds=(np.zeros(d), np.ones(d)), rhobeg=0.2, rhoend=1e-9, maxfun=2 * budget)
        start = np.clip(rng.random(d), 0.01, 0.99)  # it wants room on both sides


def optuna_gp(objective: Objective, d: int, budget: int, seed: int) -> None:
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    study = optuna.create_study(sampler=optuna.samplers.GPSampler(seed=seed))
    while True:
        trial = study.ask()
        study.tell(trial, objective(np.array([trial.suggest_float(f"x{i}", 0, 1) for i in range(d)])))


def cmaes(objective: Objective, d: int, budget: int, seed: int) -> None:
    from cmaes import CMA

    optimizer = CMA(np.full(d, 0.5), 0.3, np.tile([0.0, 1.0], (d, 1)), seed=seed)
    while True:
        points = [optimizer.ask() for _ in range(optimizer.population_size)]
        optimizer.tell([(point, objective(point)) for point in points])


def nevergrad(objective: Objective, d: int, budget: int, seed: int) -> None:
    import nevergrad

    box = nevergrad.p.Array(shape=(d,), lower=0.0, upper=1.0)
    box.random_state.seed(seed)
    optimizer = nevergrad.optimizers.NGOpt(box, budget=budget)
    while True:
        point = optimizer.ask()
        optimizer.tell(point, objective(point.value))


def sonde(objective: Objective, d: int, budget: int, seed: int, *, hyperparameters: str = "auto") -> None:
    import sonde

    space = sonde.Space({f"x{i}": sonde.Float(0, 1) for i in range(d)})
    study = sonde.Study(space, seed=seed, strategy=sonde.GP(hyperparameters=hyperparameters))
    while True:
        trial = study.ask()
        study.tell(trial, objective(np.array([trial[name] for name in space.names])))


METHODS: dict[str, Callable[[Objective, int, int, int], None]] = {
    "random": random, "cobyla": partial(local, method="COBYLA", rhobeg=0.2, tol=1e-12), "cmaes": cmaes,
    "nevergrad": nevergrad, "bobyqa": bobyqa, "optuna-gp": optuna_gp,
    "sonde-all": partial(sonde, hyperparameters="draw"), "sonde": sonde,
}  # fmt: skip
