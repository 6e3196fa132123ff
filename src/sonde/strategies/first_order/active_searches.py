"""The local searches of a history: which of them wait for a trial, and which minima they have found."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sonde.arrays import Array, Integers, Mask
from sonde.space import Space
from sonde.strategies.bayesian.domain import Domain
from sonde.strategies.first_order.local_search import Evaluated, LocalSearch, replay

FIRST = 2  # trials of the initial design: with gradients each tells as much as d + 1 values
STARTS = 2  # starts worse than the median are continued in pairs: the better one of so many
HIGH_DIMENSION = 40  # with more parameters a global model has too many hyperparameters and observations to fit


class ActiveSearch(NamedTuple):
    """A local search that waits for its next trial."""

    side: float  # of its trust region
    caution: float  # standard deviations to add to the posterior mean
    centre: Array  # its best point, (d,)
    number: int  # that trial's number
    converged: bool
    other_minima: Array  # local minima that other searches have found, (k, d)


class Searches(NamedTuple):
    """The state of all local searches."""

    waiting: list[ActiveSearch]  # those without a pending trial, the lowest first
    minima: Integers  # the trials at known local minima
    first: bool  # no search has ended yet, and all trials belong to the first ones


def is_high_dimensional(space: Space) -> bool:
    """Whether there are too many parameters for a global model."""
    return len(space) > HIGH_DIMENSION


def searching_locally(domain: Domain, numbers: Integers, *, alternating: bool = False) -> Mask:
    """Return which trials (n,) belong to local searches.

    These are the odd trials; in high dimension all trials or, if not all parameters are continuous, the even ones,
    unless they are ``alternating`` with a global model.
    """
    if alternating or not is_high_dimensional(domain.space):
        return np.asarray(numbers % 2 == 1)
    return np.asarray(domain.continuous.all() | (numbers % 2 == 0))


def active_searches(searches: list[LocalSearch], values: Array) -> list[LocalSearch]:
    """Return the local searches that may get a trial, given the values of all trials.

    Of the converged ones only that of the incumbent continues. Once a local minimum is known, a start that is worse
    than the median waits for a second start, and the better of the two is continued.
    """
    finite = values[np.isfinite(values)]
    lowest, median = np.min(finite, initial=np.inf), np.median(finite) if len(finite) else np.inf
    starts = sum(each.only_start for each in searches)
    waiting = starts < STARTS and any(each.at_minimum for each in searches)
    return [
        each
        for each in searches
        if not each.finished
        and not (each.converged and values[each.best] > lowest)
        and not (waiting and each.only_start and values[each.best] > median)
    ]


def local_searches(domain: Domain, *, alternating: bool = False) -> Searches:
    """Return the local searches of a history."""
    history = domain.history
    numbers = np.sort(history.arrivals)
    requested = searching_locally(domain, numbers, alternating=alternating)
    values = history.feasible_values[numbers]
    units, gradients = history.units[numbers], history.unit_gradients(numbers)
    discrete = np.unique(units[:, ~domain.continuous], axis=0, return_inverse=True)[1].ravel()
    every = bool(domain.continuous.all()) and not alternating  # until a search has ended, every trial is a local one
    trials = Evaluated(values, units[:, domain.continuous], gradients[:, domain.continuous], requested, discrete, every)
    searches = [each for each in replay(trials, FIRST) if np.isfinite(values[each.best])]
    active = active_searches(searches, values)
    minima = np.unique([each.best for each in searches if each.at_minimum]).astype(np.intp)
    first = every and not any(each.complete for each in searches)
    local = searching_locally(domain, history.pending.numbers, alternating=alternating) | first
    pending = history.pending.units[local]
    waiting = []
    for each in sorted(active, key=lambda each: (each.converged, float(values[each.best]))):
        centre = units[each.best]
        half_side = np.where(domain.continuous, each.side / 2, 0.0) + 1e-9
        if not np.any(np.all(np.abs(pending - centre) <= half_side, axis=1)):
            others = minima[minima != each.best]
            waiting.append(
                ActiveSearch(each.side, each.caution, centre, int(numbers[each.best]), each.converged, units[others])
            )
    return Searches(waiting, numbers[minima], first)
