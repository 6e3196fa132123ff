"""Whose turn a trial of ``fobo`` is: that of the whole model, of a descent under way, of a start or of a change."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sonde.space import Space
from sonde.strategies.bayesian.domain import SAME, Domain
from sonde.strategies.first_order.local_search import LocalSearch

Array = NDArray[np.float64]

STARTS = 2  # of which the better one is followed, where both are worse than half of what is known
WIDE = 40  # parameters beyond which a model of everything has too many numbers to learn
CHANGES = 32  # of a point, of which the first that is new is tried
AROUND = 0.1  # of a point, in every coordinate


class Going(NamedTuple):
    """A descent under way: its region's side, its best point (d,) and that trial's number."""

    side: float
    centre: Array
    number: int
    resting: bool
    others: Array  # bottoms of others (k, d)


def is_wide(space: Space) -> bool:
    """Whether there are too many parameters for a model of everything."""
    return len(space) > WIDE


def searching_locally(space: Space, field: Domain, numbers: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return which trials (n,) descend: odd ones, in a wide space all or, where not all is continuous, even ones."""
    if not is_wide(space):
        return np.asarray(numbers % 2 == 1)
    return np.asarray(field.free.all() | (numbers % 2 == 0))


def followed(descents: list[LocalSearch], values: Array) -> list[LocalSearch]:
    """Return the descents that may have a trial, given the values of all results.

    Only the best of all works on its last digits. After the first bottom a start that is worse than half of what is
    known waits for another, and the better one is followed.
    """
    finite = values[np.isfinite(values)]
    lowest, middle = np.min(finite, initial=np.inf), np.median(finite) if len(finite) else np.inf
    starts = sum(each.fresh for each in descents)
    choosy = starts < STARTS and any(each.at_bottom for each in descents)
    return [
        each
        for each in descents
        if not each.over
        and not (each.resting and values[each.best] > lowest)
        and not (choosy and each.fresh and values[each.best] > middle)
    ]


def goes_on(going: list[Going], turn: int) -> bool:
    """Whether a turn is for the next descent and not for a start: the last digits of the best have every other one."""
    return bool(going) and (not going[0].resting or turn % 2 == 0)


def changed_point(field: Domain, point: Array, rng: np.random.Generator) -> Array | None:
    """Return a point (d,) with one coordinate that is not continuous moved; None if none is found that is new.

    What was tried around there is not tried again as the last digits of the others change.
    """
    active = field.snap(point[None])[1][0]
    moved, fixed = np.flatnonzero(active & ~field.free), ~field.free
    if not len(moved):
        return None
    others = np.where(active, point, rng.random((CHANGES, len(point))))  # what a choice calls for has any value
    others[np.arange(CHANGES), rng.choice(moved, CHANGES)] = rng.random(CHANGES)
    others = field.snap(others)[0]
    around = np.all(np.abs(field.tried - point)[:, active & field.free] <= AROUND, axis=1)
    known = field.tried[around][:, fixed]
    return next((each for each in others if not np.any(np.all(np.abs(known - each[fixed]) <= SAME, axis=1))), None)
