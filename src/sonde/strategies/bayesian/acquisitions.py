"""The acquisition function of a name: in closed form where there is one, by Monte Carlo where there is not.

``log_ei`` and ``ei`` have a closed form at one point, with or without pending points (``pointwise``); ``pi``, ``ucb``
and ``sr`` without pending points. Everything else is Monte Carlo, with the pending points as fixed rows of the batch.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from sonde.acquisition.averages import Average, FeasibilityWeighted, ProbabilityOfFeasibility
from sonde.acquisition.closed import FORMULAS
from sonde.acquisition.entropy import Entropy
from sonde.acquisition.hypervolume import LARGEST, ExpectedHypervolumeImprovement, MonteCarloHypervolumeImprovement
from sonde.acquisition.montecarlo import MonteCarlo
from sonde.acquisition.pointwise import Pointwise
from sonde.acquisition.port import Acquisition
from sonde.acquisition.utilities import UTILITIES, Utility
from sonde.arrays import Array
from sonde.errors import OptionError
from sonde.extras import require
from sonde.pareto.boxes import undominated_boxes
from sonde.sampling import Key, Stream
from sonde.strategies.bayesian.fantasies import Fantasies, FrontFantasies
from sonde.strategies.bayesian.front import FrontSurrogate
from sonde.strategies.bayesian.surrogate import Surrogate

NAMES = (*UTILITIES, "es")
FANTASISED = ("log_ei", "ei")  # in closed form with pending points too
REPRESENTERS = 40


def check_acquisition(acquisition: str | Utility | Callable[..., Any]) -> str | Utility:
    """Return the name or utility to use; a JAX function becomes a utility."""
    if isinstance(acquisition, Utility):
        return acquisition
    if callable(acquisition):
        require("jax", extra="jax")
        from sonde.acquisition.by_jax import differentiated

        return Utility(differentiated(acquisition), signed=True)
    if acquisition not in NAMES:
        raise OptionError(
            f"acquisition must be one of {', '.join(NAMES)}, or a function of (mean, spread, best), got {acquisition!r}"
        )
    return acquisition


def needs_fantasies(acquisition: str | Utility) -> bool:
    """Whether pending points enter through fantasies rather than as rows of the batch."""
    return acquisition in FANTASISED


def scored_together(surrogate: Surrogate | FrontSurrogate, count: int) -> bool:
    """Whether so many points, pending ones included, have an acquisition value together."""
    return isinstance(surrogate, Surrogate) or count <= LARGEST


def acquire(
    acquisition: str | Utility, surrogate: Surrogate | FrontSurrogate, pending: Array,
    fantasies: Sequence[Fantasies | FrontFantasies], net: Array, *, size: int, seed: int,
) -> Acquisition:  # fmt: skip
    """Return the acquisition function of ``size`` new points, with pending points (f, d).

    ``net`` are points spread over the space, among which entropy search asks where the maximum is.
    """
    if surrogate.best is None and surrogate.feasibility is not None:
        return ProbabilityOfFeasibility(surrogate.feasibility)
    if isinstance(surrogate, FrontSurrogate):
        fronts = [each for each in fantasies if isinstance(each, FrontFantasies)]
        whole, signed = _hypervolume_improvement(surrogate, pending, fronts, size, seed), False
    else:
        own = [each for each in fantasies if isinstance(each, Fantasies)]
        whole, signed = _improvement(acquisition, surrogate, pending, own, net, size=size, seed=seed)
    return whole if surrogate.feasibility is None else FeasibilityWeighted(whole, surrogate.feasibility, signed=signed)


def fantasies_of(surrogate: Surrogate | FrontSurrogate, room: int, seed: int) -> list[Fantasies] | list[FrontFantasies]:
    """Return fantasies for each draw of the hyperparameters, with room for so many pending points."""
    if surrogate.best is None:
        return []
    if isinstance(surrogate, FrontSurrogate):
        return [FrontFantasies.of(surrogate, posteriors, room, seed) for posteriors in surrogate.draws]
    return [Fantasies.of(posterior, surrogate.best, room, seed) for posterior in surrogate.posteriors]


def add_pending(
    surrogate: Surrogate | FrontSurrogate, fantasies: Sequence[Fantasies | FrontFantasies], points: Array
) -> None:
    """Condition on fantasies of points (m, d) that became pending, failures included."""
    if not fantasies or not len(points):
        return
    success = np.ones(len(points)) if surrogate.feasibility is None else np.exp(surrogate.feasibility(points)[0])
    for each in fantasies:
        for point, probability in zip(points, success.tolist(), strict=True):
            if isinstance(each, FrontFantasies):
                each.add(point, probability)
            elif isinstance(surrogate, Surrogate):
                each.add(surrogate.features(point), probability)


def _hypervolume_improvement(
    surrogate: FrontSurrogate, pending: Array, fantasies: Sequence[FrontFantasies], size: int, seed: int
) -> Acquisition:
    """Return the expected improvement of the hypervolume: in closed form at one point, else by Monte Carlo."""
    features = tuple(part.features for part in surrogate.parts)
    if size == 1:
        parts: list[Acquisition] = []
        for each in fantasies:
            every, posteriors = each.boxes, tuple(part.posterior for part in each.parts)
            own = tuple(surrogate.weights(boxes) for boxes in every)
            parts.append(ExpectedHypervolumeImprovement(posteriors, features, every, own))
    else:
        boxes = undominated_boxes(surrogate.front, surrogate.reference)
        weights = surrogate.weights(boxes)
        parts = [
            MonteCarloHypervolumeImprovement(own, features, boxes, pending, size, seed=seed, weights=weights)
            for own in surrogate.draws
        ]
    return parts[0] if len(parts) == 1 else Average(tuple(parts))


def _improvement(
    acquisition: str | Utility, surrogate: Surrogate, pending: Array, fantasies: Sequence[Fantasies], net: Array, *,
    size: int, seed: int,
) -> tuple[Acquisition, bool]:  # fmt: skip
    """Return the acquisition function of one objective, and whether its values may be negative."""
    signed = False
    if size == 1 and needs_fantasies(acquisition):
        parts: list[Acquisition] = [
            Pointwise(str(acquisition), each.posterior, surrogate.features, each.best) for each in fantasies
        ]
    elif size == 1 and not len(pending) and acquisition in FORMULAS:
        best = np.array([surrogate.best])
        parts = [Pointwise(str(acquisition), each, surrogate.features, best) for each in surrogate.posteriors]
        signed = UTILITIES[str(acquisition)].signed
    elif acquisition == "es":
        representers = _representers(surrogate, net, seed)
        parts = [
            Entropy(posterior, surrogate.features, representers, size, pending, seed=seed)
            for posterior in surrogate.posteriors
        ]
    else:
        utility = UTILITIES[acquisition] if isinstance(acquisition, str) else acquisition
        signed = utility.signed
        parts = [
            MonteCarlo(utility, posterior, surrogate.features, surrogate.best or 0.0, pending, size, seed=seed)
            for posterior in surrogate.posteriors
        ]
    return parts[0] if len(parts) == 1 else Average(tuple(parts)), signed


def _representers(surrogate: Surrogate, net: Array, seed: int) -> Array:
    """Return points where the maximum may be: drawn from the net in proportion to the expected improvement."""
    improvement = Pointwise("log_ei", surrogate.posteriors[0], surrogate.features, np.array([surrogate.best]))
    promise = improvement.values(net[:, None, :]) + Key(seed, 0).rng(Stream.REPRESENTERS).gumbel(size=len(net))
    return net[np.argsort(-promise, kind="stable")[:REPRESENTERS]]
