"""BoTorch's recipe for several objectives, one point at a time on the unit cube.

A Sobol design of 2 (d + 1) points; then a ``SingleTaskGP`` as it comes for every objective and constraint, and the
logarithm of the noisy expected hypervolume improvement (qLogNEHVI), with the reference point that BoTorch infers from
the feasible front, or from all points while there is none. With integers or categories the acquisition is maximized in
turns over lattice and floats.

BoTorch compiles a part of qLogNEHVI in C++ when it is first used, and is some three times slower without a compiler. It
takes minutes of one core. If it is killed meanwhile, the file ``lock`` that it leaves in ``~/.cache/torch_extensions``
makes every later run wait for ever: delete it.

References
----------
Daulton, Balandat, Bakshy: Parallel Bayesian optimization of multiple noisy objectives with expected hypervolume
improvement, 2021.
Ament et al.: Unexpected improvements to expected improvement for Bayesian optimization, 2023.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

from benchmarks.objectives.problems import Measured, Problem
from benchmarks.objectives.variables import Value

RESTARTS = 10
RAW_SAMPLES = 128
SAMPLES = 128  # Monte Carlo


def botorch(problem: Problem, budget: int, seed: int) -> Generator[list[Value], Measured, None]:
    """Yield the design, then what the model prefers."""
    import torch

    torch.manual_seed(seed)
    variables = problem.variables
    sobol = torch.quasirandom.SobolEngine(len(variables), scramble=True, seed=seed)
    design = sobol.draw(2 * (len(variables) + 1), dtype=torch.double).tolist()
    lattice = {i: variable.places for i, variable in enumerate(variables) if variable.kind != "float"}
    points: list[list[float]] = []
    outcomes: list[list[float]] = []
    while True:
        if design:
            x = [variable.drawn(unit) for variable, unit in zip(variables, design.pop(0), strict=True)]
        else:
            units = suggest(points, outcomes, problem.objectives, lattice)
            x = [variable.nearest(unit) for variable, unit in zip(variables, units, strict=True)]
        objectives, constraints = yield x
        points.append([variable.unit(value) for variable, value in zip(variables, x, strict=True)])
        outcomes.append([*(-objectives), *constraints])


def suggest(
    points: list[list[float]], outcomes: list[list[float]], objectives: int, lattice: dict[int, list[float]]
) -> list[float]:
    """Return the point of largest acquisition; outcomes are objectives, to be large, then constraints."""
    import torch
    from botorch.optim import optimize_acqf, optimize_acqf_mixed_alternating

    x, y = (torch.tensor(each, dtype=torch.double) for each in (points, outcomes))
    acquisition = _acquisition(_model(x, y), x, y, objectives)
    bounds = torch.tensor([[0.0], [1.0]], dtype=torch.double).expand(2, x.shape[1])
    search: dict[str, Any] = {"q": 1, "num_restarts": RESTARTS, "raw_samples": RAW_SAMPLES}
    if lattice:
        best, _ = optimize_acqf_mixed_alternating(acquisition, bounds, discrete_dims=lattice, **search)
    else:
        best, _ = optimize_acqf(acquisition, bounds, **search)
    units: list[float] = best[0].tolist()
    return units


def _model(x: Any, y: Any) -> Any:
    from botorch.fit import fit_gpytorch_mll
    from botorch.models import ModelListGP, SingleTaskGP
    from gpytorch.mlls import SumMarginalLogLikelihood

    model = ModelListGP(*(SingleTaskGP(x, each[:, None]) for each in y.T))
    fit_gpytorch_mll(SumMarginalLogLikelihood(model.likelihood, model))
    return model


def _acquisition(model: Any, x: Any, y: Any, objectives: int) -> Any:
    import torch
    from botorch.acquisition.multi_objective.logei import qLogNoisyExpectedHypervolumeImprovement
    from botorch.acquisition.multi_objective.objective import IdentityMCMultiOutputObjective
    from botorch.sampling import SobolQMCNormalSampler
    from botorch.utils.multi_objective import infer_reference_point, is_non_dominated

    values, constraints = y[:, :objectives], y[:, objectives:]
    feasible = (constraints <= 0).all(dim=1)
    kept = values[feasible] if feasible.any() else values
    levels = range(objectives, y.shape[1])
    return qLogNoisyExpectedHypervolumeImprovement(
        model, infer_reference_point(kept[is_non_dominated(kept)]), x,
        sampler=SobolQMCNormalSampler(torch.Size([SAMPLES])),
        objective=IdentityMCMultiOutputObjective(outcomes=list(range(objectives))),
        constraints=[lambda z, i=i: z[..., i] for i in levels] or None,
        prune_baseline=True,
    )  # fmt: skip
