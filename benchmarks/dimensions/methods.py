"""The methods of the comparison by dimension: each evaluates an objective on the unit cube until it is stopped."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any
from unittest import mock

import numpy as np

from benchmarks.dimensions.functions import Objective

if TYPE_CHECKING:
    from sonde.surrogates.priors import TiedPrior


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


def sonde(
    objective: Objective, d: int, budget: int, seed: int, *, hyperparameters: str = "auto", batch: int = 1
) -> None:  # fmt: skip
    import sonde

    space = sonde.Space({f"x{i}": sonde.Float(0, 1) for i in range(d)})
    strategy = "gp" if hyperparameters == "auto" else sonde.GP(hyperparameters=hyperparameters)
    study = sonde.Study(space, seed=seed, strategy=strategy)
    while True:
        for trial in study.ask(batch):
            study.tell(trial, objective(np.array([trial[name] for name in space.names])))


def first_release(objective: Objective, d: int, budget: int, seed: int, *, batch: int = 1) -> None:
    """Run Sonde 0.1.0, whose source is to be first on the path."""
    from importlib.util import find_spec

    if find_spec("sonde.arrays"):  # a later module
        raise RuntimeError("the source of Sonde 0.1.0 is not on the path")
    sonde(objective, d, budget, seed, batch=batch)


def _scales_of_the_cube(dimension: int, side: float) -> TiedPrior:
    """Return the prior in which the length scales do not depend on the region, in units of the region."""
    from sonde.surrogates.priors import region_prior

    prior = region_prior(dimension, side)
    prior.location[:dimension] -= 0.5 * np.log(side)
    return prior


@contextmanager
def _changed(variant: str) -> Iterator[None]:
    """Leave out a part of the trust region's model or of the initial design."""
    from sonde.strategies import initial_design
    from sonde.strategies.bayesian import schedule
    from sonde.surrogates import priors
    from sonde.surrogates.exact import region

    tiny = (-60.0, 1.0, -60.0, -59.0)
    changes: dict[str, tuple[Any, str, Any]] = {
        "sonde: no misfits": (priors, "MISFIT", tiny),
        "sonde: equal misfits": (region, "FARTHEST", 1e-6),
        "sonde: misfits without limit": (region, "FARTHEST", np.inf),
        "sonde: no quadratic": (priors, "REGION_TREND", tiny),
        "sonde: untied": (priors, "DEPARTURE", 1e3),
        "sonde: scales of the cube": (region, "region_prior", _scales_of_the_cube),
        "sonde: one start": (region, "STARTS", region.STARTS[:1]),
        "sonde: no censoring": (region, "SHARED", 10**9),
        "sonde: no logarithm": (region, "KAPPA", 1e6),  # linear
        "sonde: design in the cube": (initial_design, "DIAGONAL", 1e9),
        "sonde: explores from the start": (schedule, "narrow_side", lambda d: 10.0),
        "sonde: explores alike in any dimension": (schedule, "narrow_side", lambda d: 2.0**-7),
        "sonde: never explores": (schedule, "narrow_side", lambda d: 0.0),
    }
    with mock.patch.object(*changes[variant]):
        yield


def without(objective: Objective, d: int, budget: int, seed: int, *, variant: str) -> None:
    """Run Sonde without one of its parts."""
    with _changed(variant):
        sonde(objective, d, budget, seed)


VARIANTS = ("sonde: no misfits", "sonde: equal misfits", "sonde: misfits without limit", "sonde: no quadratic",
            "sonde: untied", "sonde: scales of the cube", "sonde: one start", "sonde: no censoring",
            "sonde: no logarithm", "sonde: design in the cube", "sonde: explores from the start",
            "sonde: explores alike in any dimension", "sonde: never explores")  # fmt: skip
METHODS: dict[str, Callable[[Objective, int, int, int], None]] = {
    "random": random, "cobyla": partial(local, method="COBYLA", rhobeg=0.2, tol=1e-12), "cmaes": cmaes,
    "nevergrad": nevergrad, "bobyqa": bobyqa, "optuna-gp": optuna_gp, "turbo": turbo,
    "sonde-0.1.0": first_release, "sonde-0.1.0 by 8": partial(first_release, batch=8),
    "sonde by 8": partial(sonde, batch=8), "sonde-all": partial(sonde, hyperparameters="draw"), "sonde": sonde,
    **{variant: partial(without, variant=variant) for variant in VARIANTS},
}  # fmt: skip
