"""BoTorch's recipe of today on the unit cube.

A Sobol design of twice as many points as variables; then ``SingleTaskGP`` as it comes (squared exponential,
lengthscale priors that grow with the dimension, noise inferred, values standardized), and the logarithm of expected
improvement; of a batch, its Monte Carlo form, one point after another. With integers the acquisition is maximized in
turns over lattice and floats, as BoTorch's ``should_use_mixed_alternating_optimizer`` advises for more than ten
combinations. ``exact`` tells the model that there is no noise, where by default it infers how much.
"""

from collections.abc import Generator
from typing import Any

from benchmarks.arena.problems import Problem

RESTARTS = 4
RAW_SAMPLES = 128
EXACT = 1e-6  # of the values' variance: what keeps the matrix of an exact model well conditioned


def botorch(problem: Problem, budget: int, seed: int, *, exact: bool = False) -> Generator[list[float], float, None]:
    """Yield the design, then what the model prefers."""
    import torch

    torch.manual_seed(seed)
    sobol = torch.quasirandom.SobolEngine(problem.dimension, scramble=True, seed=seed)
    design = sobol.draw(max(5, 2 * problem.dimension), dtype=torch.double).tolist()
    points: list[list[float]] = []
    values: list[float] = []
    while True:
        if design:
            asked = [[v.drawn(unit) for v, unit in zip(problem.variables, units, strict=True)] for units in design]
            design = []
        else:
            seen = torch.tensor(points, dtype=torch.double), -torch.tensor(values, dtype=torch.double).unsqueeze(-1)
            best = _suggest(problem, *seen, exact)
            asked = [[v.nearest(unit) for v, unit in zip(problem.variables, units, strict=True)] for units in best]
        for x in asked:
            values.append(problem.plain((yield x)))
            points.append(
                [(value - low) / (high - low) for value, (_, low, high) in zip(x, problem.variables, strict=True)]
            )


def _suggest(problem: Problem, x: Any, y: Any, exact: bool) -> list[list[float]]:
    """Fit the model to values that are to be large, and return the batch of largest acquisition."""
    import torch
    from botorch.acquisition import LogExpectedImprovement, qLogExpectedImprovement
    from botorch.fit import fit_gpytorch_mll
    from botorch.models import SingleTaskGP
    from botorch.optim import optimize_acqf, optimize_acqf_mixed_alternating
    from gpytorch.mlls import ExactMarginalLogLikelihood

    model = SingleTaskGP(x, y, EXACT * y.var().expand_as(y) if exact else None)
    fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
    several = problem.batch > 1
    acquisition = (qLogExpectedImprovement if several else LogExpectedImprovement)(model, best_f=y.max())
    bounds = torch.tensor([[0.0], [1.0]], dtype=torch.double).expand(2, problem.dimension)
    search: dict[str, Any] = {"q": problem.batch, "num_restarts": RESTARTS, "raw_samples": RAW_SAMPLES}
    if lattice := _lattice(problem):
        best, _ = optimize_acqf_mixed_alternating(acquisition, bounds, discrete_dims=lattice, **search)
    else:
        best, _ = optimize_acqf(acquisition, bounds, sequential=several, **search)
    units: list[list[float]] = best.tolist()
    return units


def _lattice(problem: Problem) -> dict[int, list[float]]:
    """Return the places in [0, 1] of each integer variable's values."""
    return {
        i: [step / int(high - low) for step in range(int(high - low) + 1)]
        for i, (kind, low, high) in enumerate(problem.variables)
        if kind == "int"
    }
