"""Which acquisition answers a name: in closed form where there is one, by Monte Carlo where there is not.

``log_ei`` and ``ei`` are closed at one point also with points under way (``pointwise``); ``pi``, ``ucb`` and ``sr``
with nothing under way. All else is the Monte Carlo skeleton with the points under way as fixed rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sonde.acquisition.averages import Average, FeasibilityWeighted, ProbabilityOfFeasibility
from sonde.acquisition.closed import FORMULAS
from sonde.acquisition.entropy import Entropy
from sonde.acquisition.montecarlo import MonteCarlo
from sonde.acquisition.pointwise import Pointwise
from sonde.acquisition.port import Acquisition
from sonde.acquisition.utilities import UTILITIES, Utility
from sonde.errors import OptionError
from sonde.extras import require
from sonde.strategies.bayesian.model import Fantasies, Surrogate

Array = NDArray[np.float64]

NAMES = (*UTILITIES, "es")
FANTASISED = ("log_ei", "ei")  # closed at one point also with points under way
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
    """Whether points under way enter through fantasies rather than as rows of the pool."""
    return acquisition in FANTASISED


def acquire(
    acquisition: str | Utility, belief: Surrogate, under_way: Array, fantasies: Sequence[Fantasies], net: Array, *,
    size: int, seed: int,
) -> Acquisition:  # fmt: skip
    """Return the acquisition of ``size`` new points, with points (f, d) under way.

    ``net`` are points spread over the space, among which entropy search asks where the maximum is.
    """
    if belief.best is None and belief.feasibility is not None:
        return ProbabilityOfFeasibility(belief.feasibility)
    signed = False
    if size == 1 and needs_fantasies(acquisition):
        parts: list[Acquisition] = [
            Pointwise(str(acquisition), each.posterior, belief.features, each.best) for each in fantasies
        ]
    elif size == 1 and not len(under_way) and acquisition in FORMULAS:
        best = np.array([belief.best])
        parts = [Pointwise(str(acquisition), each, belief.features, best) for each in belief.posteriors]
        signed = UTILITIES[str(acquisition)].signed
    elif acquisition == "es":
        representers = _representers(belief, net, seed)
        parts = [
            Entropy(posterior, belief.features, representers, size, under_way, seed=seed)
            for posterior in belief.posteriors
        ]
    else:
        utility = UTILITIES[acquisition] if isinstance(acquisition, str) else acquisition
        signed = utility.signed
        parts = [
            MonteCarlo(utility, posterior, belief.features, belief.best or 0.0, under_way, size, seed=seed)
            for posterior in belief.posteriors
        ]
    whole = parts[0] if len(parts) == 1 else Average(tuple(parts))
    return whole if belief.feasibility is None else FeasibilityWeighted(whole, belief.feasibility, signed=signed)


def _representers(belief: Surrogate, net: Array, seed: int) -> Array:
    """Return points where the maximum may be: drawn from the net in proportion to the expected improvement."""
    improvement = Pointwise("log_ei", belief.posteriors[0], belief.features, np.array([belief.best]))
    promise = improvement.values(net[:, None, :]) + np.random.default_rng([seed, 11]).gumbel(size=len(net))
    return net[np.argsort(-promise, kind="stable")[:REPRESENTERS]]
