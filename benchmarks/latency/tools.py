"""Sonde, Optuna and BoTorch behind one signature: a history and a batch size give a generator of batches.

Optuna's ``GPSampler`` is told that there is no noise. BoTorch has a ``SingleTaskGP`` as it comes, fitted anew at each
step (starting from the step before saves nothing here), log EI in closed form or q-log-EI on 256 samples, and the
search of its tutorial on closed loops: 10 restarts from 512 raw samples, five at a time, of at most 200 iterations.
"""

from collections.abc import Generator
from typing import Any

import numpy as np
from numpy.typing import NDArray

import sonde
from benchmarks.functions import hartmann6
from sonde.sampling import Key, sobol
from sonde.strategies import Strategy
from sonde.strategies.bayesian.gp import GP

Array = NDArray[np.float64]
Tool = Generator[Array, Array, None]

DIMENSION = 6
SPACE = sonde.Space({f"x{i}": sonde.Float(0, 1) for i in range(DIMENSION)})
SEARCH: dict[str, Any] = {"num_restarts": 10, "raw_samples": 512, "options": {"batch_limit": 5, "maxiter": 200}}
SAMPLES = 256


def evenly(count: int, seed: int) -> tuple[Array, Array]:
    """Return Sobol points (count, 6) and their values."""
    x = sobol(0, count, DIMENSION, seed=seed)
    return x, values_at(x)


def values_at(x: Array) -> Array:
    """Return the values (count,) of points."""
    return np.array([hartmann6(point) for point in x])


def study_of(x: Array, y: Array, seed: int, strategy: str | Strategy = "gp") -> sonde.Study:
    """Return a study in memory with these results."""
    study = sonde.Study(SPACE, seed=seed, strategy=strategy)
    study.add_trials(_results(x, y))
    return study


def sonde_ask(x: Array, y: Array, count: int, seed: int, *, strategy: str | Strategy = "gp") -> Tool:
    """Sonde as it is used, through ``Study.ask``."""
    study = study_of(x, y, seed, strategy)
    while True:
        trials = study.ask(count)
        told = yield np.array([list(trial.params.values()) for trial in trials])
        for trial, value in zip(trials, told.tolist(), strict=True):
            study.tell(trial, value)


def sonde_suggest(x: Array, y: Array, count: int, seed: int) -> Tool:
    """Sonde's strategy alone."""
    study, strategy = study_of(x, y, seed, "sobol"), GP()
    while True:
        history = study.history
        points = strategy.suggest(SPACE, history, count, Key(seed, len(history)))
        study.add_trials(_results(points, (yield points)))


def _results(x: Array, y: Array) -> list[dict[str, Any]]:
    return [
        {"params": dict(zip(SPACE.names, point, strict=True)), "value": value}
        for point, value in zip(x.tolist(), y.tolist(), strict=True)
    ]


def optuna_gp(x: Array, y: Array, count: int, seed: int) -> Tool:
    """Optuna's Gaussian process; it has no joint batches."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    sampler = optuna.samplers.GPSampler(seed=seed, deterministic_objective=True)
    study = optuna.create_study(sampler=sampler)
    ranges = {name: optuna.distributions.FloatDistribution(0, 1) for name in SPACE.names}
    study.add_trials(
        [
            optuna.trial.create_trial(params=result["params"], distributions=ranges, value=result["value"])
            for result in _results(x, y)
        ]
    )
    while True:
        trials = [study.ask(ranges) for _ in range(count)]
        told = yield np.array([[trial.params[name] for name in ranges] for trial in trials])
        for trial, value in zip(trials, told.tolist(), strict=True):
            study.tell(trial, value)


def botorch_gp(x: Array, y: Array, count: int, seed: int) -> Tool:
    """BoTorch's tutorial on one objective without constraints."""
    import torch
    from botorch.acquisition import LogExpectedImprovement, qLogExpectedImprovement
    from botorch.fit import fit_gpytorch_mll
    from botorch.models import SingleTaskGP
    from botorch.optim import optimize_acqf
    from botorch.sampling.normal import SobolQMCNormalSampler
    from gpytorch.mlls import ExactMarginalLogLikelihood

    torch.manual_seed(seed)
    bounds = torch.tensor([[0.0] * DIMENSION, [1.0] * DIMENSION], dtype=torch.double)
    while True:
        inputs, outputs = torch.tensor(x), -torch.tensor(y).unsqueeze(-1)
        model = SingleTaskGP(inputs, outputs)
        fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
        if count == 1:
            acquisition = LogExpectedImprovement(model, best_f=outputs.max())
        else:
            sampler = SobolQMCNormalSampler(torch.Size([SAMPLES]), seed=seed)
            acquisition = qLogExpectedImprovement(model, best_f=outputs.max(), sampler=sampler)
        points = optimize_acqf(acquisition, bounds, q=count, **SEARCH)[0].numpy()
        told = yield points
        x, y = np.concatenate([x, points]), np.concatenate([y, told])
