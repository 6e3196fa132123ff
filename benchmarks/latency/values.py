"""Part 2, and the second half of part 3: how high the searches get on one acquisition of one model.

The acquisition is Sonde's, of the model that Sonde fits; ``optimize_acqf`` of BoTorch and ``optimize_acqf_mixed`` of
Optuna, with the settings of ``tools``, see its values and gradients as if it were their own. Compared are the searches,
each over the whole cube; where to look, and after which model, is the strategy's business. Histories are Sobol points,
and the first n trials of a run, where the best points crowd. Differences are of log EI: 0.01 is one percent.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import groupby
from typing import Any, NamedTuple

import numpy as np
import torch
from botorch.acquisition import AcquisitionFunction
from botorch.models.deterministic import GenericDeterministicModel
from botorch.optim import optimize_acqf
from optuna._gp.acqf import BaseAcquisitionFunc
from optuna._gp.optim_mixed import optimize_acqf_mixed
from optuna._gp.search_space import SearchSpace
from optuna.distributions import FloatDistribution

from benchmarks.latency.timing import BATCH
from benchmarks.latency.tools import DIMENSION, SEARCH, SPACE, Array, evenly, sonde_ask, study_of, values_at
from sonde.acquisition.montecarlo import MonteCarlo
from sonde.acquisition.pointwise import Pointwise
from sonde.acquisition.port import Acquisition
from sonde.acquisition.utilities import UTILITIES
from sonde.sampling import Key
from sonde.strategies.bayesian.acquisitions import acquire
from sonde.strategies.bayesian.domain import Domain
from sonde.strategies.bayesian.exact_model import fit_exact
from sonde.strategies.bayesian.fantasies import Fantasies
from sonde.strategies.bayesian.joint_search import best_pool
from sonde.strategies.bayesian.point_search import best_point
from sonde.strategies.bayesian.surrogate import Surrogate
from sonde.strategies.bayesian.target import Box
from sonde.surrogates.exact.warm_starts import WarmStartedFits
from sonde.trials import History

Gains = dict[tuple[str, str], float]  # of our search on theirs

EQUAL = 1e-3  # logarithms closer than this are equal
FRESH = 4096  # samples, other than those searched on
BOUNDS = torch.tensor([[0.0] * DIMENSION, [1.0] * DIMENSION], dtype=torch.double)


class Value(torch.autograd.Function):
    """Sonde's acquisition of pools (B, q, d) as PyTorch sees it."""

    @staticmethod
    def forward(ctx: Any, pools: torch.Tensor, acquisition: Acquisition) -> torch.Tensor:
        """Return the values (B,)."""
        if not ctx.needs_input_grad[0]:
            return torch.from_numpy(acquisition.values(pools.detach().numpy()))
        values, gradients = acquisition.gradients(pools.detach().numpy())
        ctx.save_for_backward(torch.from_numpy(gradients))
        return torch.from_numpy(values)

    @staticmethod
    def backward(ctx: Any, *gradients: torch.Tensor) -> tuple[torch.Tensor, None]:
        """Return the gradients in the pools."""
        return gradients[0][:, None, None] * ctx.saved_tensors[0], None


class ForBotorch(AcquisitionFunction):
    """The acquisition for ``optimize_acqf``."""

    def __init__(self, acquisition: Acquisition) -> None:
        super().__init__(GenericDeterministicModel(lambda x: x))  # it wants a model, and asks it nothing
        self.acquisition = acquisition

    def forward(self, pools: torch.Tensor) -> torch.Tensor:
        """Return the values (B,) of pools (B, q, d)."""
        return Value.apply(pools, self.acquisition)


class ForOptuna(BaseAcquisitionFunc):
    """The acquisition for ``optimize_acqf_mixed``, with the lengthscales that it scales its steps by."""

    def __init__(self, acquisition: Acquisition, lengthscales: Array) -> None:
        super().__init__(lengthscales, SearchSpace({name: FloatDistribution(0, 1) for name in SPACE.names}))
        self.acquisition = acquisition

    def eval_acqf(self, x: torch.Tensor) -> torch.Tensor:
        """Return the values of points (..., d)."""
        return Value.apply(x.reshape(-1, 1, DIMENSION), self.acquisition).reshape(x.shape[:-1])


class Case(NamedTuple):
    """A history to search after, and its model."""

    kind: str
    n: int
    seed: int
    history: History
    surrogate: Surrogate

    @property
    def key(self) -> Key:
        """What Sonde's random numbers come from."""
        return Key(self.seed, self.n)

    @property
    def domain(self) -> Domain:
        """What has been tried, and nothing taken yet."""
        return Domain(SPACE, self.history)

    @property
    def box(self) -> Box:
        """The whole cube."""
        return Box(np.zeros(DIMENSION), np.ones(DIMENSION), self.surrogate.incumbents[:1])


def cases(sizes: Sequence[int], seeds: int) -> Iterator[Case]:
    """Yield histories of each kind and size."""
    for kind, make in (("Sobol", evenly), ("run", _run)):
        data = [make(max(sizes), seed) for seed in range(seeds)]
        chains = [WarmStartedFits() for _ in range(seeds)]  # one for each history: its fits build on each other
        for n in sizes:
            for seed, ((x, y), chain) in enumerate(zip(data, chains, strict=True)):
                history = study_of(x[:n], y[:n], seed, "sobol").history
                yield Case(kind, n, seed, history, fit_exact(SPACE, history, chain))


def _run(count: int, seed: int) -> tuple[Array, Array]:
    """Return the points and values of a run."""
    x, y = evenly(10, seed)
    tool = sonde_ask(x, y, 1, seed)
    while len(y) < count:
        points = next(tool) if len(y) == 10 else tool.send(y[-1:])
        x, y = np.concatenate([x, points]), np.concatenate([y, values_at(points)])
    return x, y


def one_point(sizes: Sequence[int], seeds: int) -> list[dict[str, Any]]:
    """Part 2: log EI at the point that each search returns."""

    def gains(case: Case) -> Gains:
        surrogate = case.surrogate
        judge = Pointwise("log_ei", surrogate.posteriors[0], surrogate.features, np.array([surrogate.best]))
        ours = by_sonde(case, 1)
        theirs = {"BoTorch": by_botorch(judge, 1, case.seed), "Optuna": by_optuna(judge, case)}
        return {("one point", name): _gain(judge, ours, point) for name, point in theirs.items()}

    return _summaries(cases(sizes, seeds), gains)


def batches(sizes: Sequence[int], seeds: int) -> list[dict[str, Any]]:
    """Part 3: q-log-EI of the pool that each search returns, on the samples searched on and on fresh ones."""

    def gains(case: Case) -> Gains:
        surrogate, greedy = case.surrogate, by_sonde(case, BATCH)
        judge = MonteCarlo(
            UTILITIES["log_ei"], surrogate.posteriors[0], surrogate.features, float(surrogate.best or 0.0),
            np.empty((0, DIMENSION)), BATCH, seed=case.seed,
        )  # fmt: skip
        found = best_pool(judge, case.domain, case.box, case.key, size=BATCH, method="bfgs", guess=greedy)
        joint = greedy if found is None else found
        theirs = by_botorch(judge, BATCH, case.seed)
        fresh = replace(judge, samples=FRESH, seed=case.seed + 1)
        return {
            ("joint", "BoTorch"): _gain(judge, joint, theirs),
            ("greedy", "BoTorch"): _gain(judge, greedy, theirs),
            ("joint, fresh samples", "BoTorch"): _gain(fresh, joint, theirs),
            ("greedy, fresh samples", "BoTorch"): _gain(fresh, greedy, theirs),
        }

    return _summaries(cases(sizes, seeds), gains)


def by_sonde(case: Case, count: int) -> Array:
    """Return the points (count, d) that Sonde's search finds, each with those before it under way."""
    surrogate, domain, nothing = case.surrogate, case.domain, np.empty((0, DIMENSION))
    fantasies = Fantasies.of(surrogate.posteriors[0], float(surrogate.best or 0.0), count - 1, case.seed)
    chosen: list[Array] = []
    for offset in range(count):
        if chosen:
            fantasies.add(surrogate.features(chosen[-1]))
        one = acquire("log_ei", surrogate, nothing, [fantasies], nothing, size=1, seed=case.seed)
        point = best_point(one, domain, case.box, case.key.at(offset))
        if point is None:
            raise RuntimeError(f"no new point was found in {case.kind} history {case.seed} of {case.n}")
        domain.take(point)
        chosen.append(point)
    return np.array(chosen)


def by_botorch(acquisition: Acquisition, count: int, seed: int) -> Array:
    """Return the pool (q, d) that BoTorch's search finds."""
    torch.manual_seed(seed)
    pool: Array = optimize_acqf(ForBotorch(acquisition), BOUNDS, q=count, **SEARCH)[0].numpy()
    return pool


def by_optuna(acquisition: Acquisition, case: Case) -> Array:
    """Return the point (1, d) that Optuna's search finds, started as by its sampler: at the best trial too."""
    lengthscales = np.exp(case.surrogate.posteriors[0].covariance.theta[:DIMENSION])
    point, _ = optimize_acqf_mixed(
        ForOptuna(acquisition, lengthscales), warmstart_normalized_params_array=case.surrogate.incumbents[:1],
        rng=np.random.RandomState(case.seed),
    )  # fmt: skip
    return point[None]


def _gain(judge: Acquisition, ours: Array, theirs: Array) -> float:
    return float(judge.values(ours[None])[0] - judge.values(theirs[None])[0])


def _summaries(histories: Iterator[Case], gains: Callable[[Case], Gains]) -> list[dict[str, Any]]:
    """Return a row for each kind of history, size and pair of searches."""
    rows = []
    for (kind, n), group in groupby(histories, key=lambda case: (case.kind, case.n)):
        found = [gains(case) for case in group]
        for ours, theirs in found[0]:
            gain = np.array([each[ours, theirs] for each in found])
            rows.append({
                "history": kind, "n": n, "ours": ours, "theirs": theirs, "cases": len(gain),
                "mean ours - theirs": float(gain.mean()), "worst": float(gain.min()), "best": float(gain.max()),
                "share ours >= theirs": float(np.mean(gain >= -EQUAL)),
                "reached": "yes" if gain.mean() >= -EQUAL else "NO",
            })  # fmt: skip
    return rows
