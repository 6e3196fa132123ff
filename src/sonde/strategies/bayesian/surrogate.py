"""The surrogate of a study: posteriors of the objective, the incumbents, and the probability of feasibility."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sonde.arrays import Array, Integers, Mask
from sonde.space import Space
from sonde.surrogates.exact.feasibility import Feasibility, combine, learn_constraint, learn_success
from sonde.surrogates.features import Features
from sonde.surrogates.outputs import Scale
from sonde.surrogates.port import Posterior
from sonde.trials import History

PROMISING = 256  # values at most among which the best is sought where there is noise
NOISY = 1e-4  # noise variance above which the best observed value may be chance


@dataclass(frozen=True)
class Surrogate:
    """Posteriors of the objective, one for each draw of the hyperparameters, and the probability of feasibility."""

    features: Features
    scale: Scale
    posteriors: tuple[Posterior, ...]
    values: Array  # (n,), on the model's scale: higher is better
    best: float | None  # the best feasible value so far, on that scale; None: there is none
    incumbents: Array  # (m, d): the best points, best first
    feasibility: Feasibility | None


def features_of(space: Space) -> Features:
    """Return the features of a space: how many choices a parameter without order has."""
    return Features(tuple(0 if each.ordered else int(each.axis.size) for each in space.parameters.values()))


def best_value(posterior: Posterior, x: Array, y: Array, usable: Mask) -> float | None:
    """Return the best value seen; where there is noise, the best of what the model makes of the values."""
    if not usable.any():
        return None
    if posterior.noise <= NOISY:
        return float(np.max(y[usable]))
    promising = np.flatnonzero(usable)
    if len(promising) > PROMISING:  # a value far from the best is not the best by luck
        promising = promising[np.argpartition(-y[promising], PROMISING)[:PROMISING]]
    return float(np.max(posterior.marginals(x[promising]).mean[:, 0]))


def best_points(units: Array, y: Array, usable: Mask, count: int = 3) -> Array:
    """Return the best points, feasible ones first."""
    return units[np.argsort(-np.where(usable, y, y - 1e6), kind="stable")[:count]]


def fit_feasibility(features: Features, history: History, failures: str = "noisy") -> Feasibility | None:
    """Return the probability of feasibility; None where nothing failed and no constraint was measured.

    ``failures`` are ``"noisy"`` or ``"noiseless"``: the same configuration always fails or never.
    """
    done, failed = history.completed, history.failed
    conditions = [
        learn_constraint(features, done.units[rows], levels)
        for rows, levels in measured_constraints(history, done.numbers).values()
    ]
    if len(failed):
        units = np.concatenate([done.units, failed.units])
        conditions.insert(0, learn_success(features, units, np.arange(len(units)) < len(done), failures))
    return combine(conditions)


def measured_constraints(history: History, numbers: Integers) -> dict[str, tuple[list[int], Array]]:
    """Return, for each constraint that was told of these trials, which of them it was told of, and its levels."""
    if not history.constraints:
        return {}
    told = [history.constraints.get(number, {}) for number in numbers.tolist()]
    found = {}
    for name in sorted({name for levels in told for name in levels}):
        rows = [i for i, levels in enumerate(told) if name in levels]
        found[name] = (rows, np.array([told[i][name] for i in rows]))
    return found
