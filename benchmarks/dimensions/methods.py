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


def turbo(objective: Objective, d: int, budget: int, seed: int) -> None:
    """Run TuRBO-1 (Eriksson et al. 2019) on BoTorch's Gaussian process, with one Thompson sample a trial."""
    import torch
    from botorch.fit import fit_gpytorch_mll
    from botorch.models import SingleTaskGP
    from gpytorch.mlls import ExactMarginalLogLikelihood
    from torch.quasirandom import SobolEngine

    torch.manual_seed(seed)
    torch.set_default_dtype(torch.float64)
    side, successes, failures, patience = 0.8, 0, 0, max(4, d)
    units = SobolEngine(d, scramble=True, seed=seed).draw(2 * d, dtype=torch.float64)
    values = torch.tensor([[objective(unit.numpy())] for unit in units])
    while True:
        model = SingleTaskGP(units, -(values - values.mean()) / values.std())
        fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
        best = units[values.argmin()]
        lengths = model.covar_module.lengthscale.detach().squeeze()
        sides = side * lengths / lengths.log().mean().exp()
        low, high = (best - sides / 2).clamp(0, 1), (best + sides / 2).clamp(0, 1)
        count = min(100 * d, 5000)
        candidates = low + (high - low) * SobolEngine(d, scramble=True).draw(count, dtype=torch.float64)
        moved = torch.rand(count, d) <= min(20.0 / d, 1.0)
        moved[torch.arange(count), torch.randint(d, (count,))] = True
        candidates = torch.where(moved, candidates, best)
        with torch.no_grad():
            sampled = model.posterior(candidates).rsample().squeeze()
        unit = candidates[sampled.argmax()]
        value = objective(unit.numpy())
        improved = value < float(values.min()) - 1e-3 * abs(float(values.min()))
        successes, failures = (successes + 1, 0) if improved else (0, failures + 1)
        units, values = torch.cat([units, unit[None]]), torch.cat([values, torch.tensor([[value]])])
        if successes == 3:
            side, successes = min(2 * side, 1.6), 0
        if failures == patience:
            side, failures = side / 2, 0
        if side < 2.0**-7:  # start again elsewhere
            side, successes, failures = 0.8, 0, 0
            units = SobolEngine(d, scramble=True).draw(2 * d, dtype=torch.float64)
            values = torch.tensor([[objective(unit.numpy())] for unit in units])


def sonde(objective: Objective, d: int, budget: int, seed: int, *, hyperparameters: str = "auto") -> None:
    import sonde

    space = sonde.Space({f"x{i}": sonde.Float(0, 1) for i in range(d)})
    strategy = "gp" if hyperparameters == "auto" else sonde.GP(hyperparameters=hyperparameters)
    study = sonde.Study(space, seed=seed, strategy=strategy)
    while True:
        trial = study.ask()
        study.tell(trial, objective(np.array([trial[name] for name in space.names])))


def first_release(objective: Objective, d: int, budget: int, seed: int) -> None:
    """Run Sonde 0.1.0, whose source is to be first on the path."""
    from importlib.util import find_spec

    if find_spec("sonde.arrays"):  # a later module
        raise RuntimeError("the source of Sonde 0.1.0 is not on the path")
    sonde(objective, d, budget, seed)


METHODS: dict[str, Callable[[Objective, int, int, int], None]] = {
    "random": random, "cobyla": partial(local, method="COBYLA", rhobeg=0.2, tol=1e-12), "cmaes": cmaes,
    "nevergrad": nevergrad, "bobyqa": bobyqa, "optuna-gp": optuna_gp, "turbo": turbo,
    "sonde-0.1.0": first_release, "sonde-all": partial(sonde, hyperparameters="draw"), "sonde": sonde,
}  # fmt: skip
