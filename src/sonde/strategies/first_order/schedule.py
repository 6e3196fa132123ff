"""The schedule of ``fobo``: which trials go to the global model, a local search, a new start or a discrete change."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sonde.space import Space
from sonde.strategies.bayesian.domain import SAME, Domain
from sonde.strategies.first_order.local_search import LocalSearch

Array = NDArray[np.float64]

STARTS = 2  # starts worse than the median are continued in pairs: the better one of so many
HIGH_DIMENSION = 40  # with more parameters a global model has too many hyperparameters and observations to fit
CHANGES = 32  # random changes of a point, of which the first new one is tried
AROUND = 0.1  # distance in every continuous coordinate within which a combination counts as tried


class ActiveSearch(NamedTuple):
    """A local search that waits for its next trial."""

    side: float  # of its trust region
    centre: Array  # its best point, (d,)
    number: int  # that trial's number
    converged: bool
    other_minima: Array  # local minima that other searches have found, (k, d)


def is_high_dimensional(space: Space) -> bool:
    """Whether there are too many parameters for a global model."""
    return len(space) > HIGH_DIMENSION


def searching_locally(space: Space, domain: Domain, numbers: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return which trials (n,) belong to local searches.

    These are the odd trials; in high dimension all trials or, if not all parameters are continuous, the even ones.
    """
    if not is_high_dimensional(space):
        return np.asarray(numbers % 2 == 1)
    return np.asarray(domain.free.all() | (numbers % 2 == 0))


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


def continues_search(active: list[ActiveSearch], index: int) -> bool:
    """Whether the local trial of this index continues a search; otherwise it is a new start.

    A converged search, which works on the last digits of the incumbent, gets every other one.
    """
    return bool(active) and (not active[0].converged or index % 2 == 0)


def changed_point(domain: Domain, point: Array, rng: np.random.Generator) -> Array | None:
    """Return a point (d,) with one discrete coordinate changed; None if no new one is found.

    A combination that was tried nearby is not new, even if the continuous coordinates differ a little.
    """
    active = domain.snap(point[None])[1][0]
    discrete = np.flatnonzero(active & ~domain.free)
    if not len(discrete):
        return None
    # parameters that become active by the change get random values
    changed = np.where(active, point, rng.random((CHANGES, len(point))))
    changed[np.arange(CHANGES), rng.choice(discrete, CHANGES)] = rng.random(CHANGES)
    changed = domain.snap(changed)[0]
    around = np.all(np.abs(domain.tried - point)[:, active & domain.free] <= AROUND, axis=1)
    tried = domain.tried[around][:, ~domain.free]
    return next(
        (each for each in changed if not np.any(np.all(np.abs(tried - each[~domain.free]) <= SAME, axis=1))), None
    )
