"""Histories of the unit square for the tests of the loop's parts."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from tests.trials.histories import history_of

from sonde.space import Float, Space
from sonde.trials import Evaluation, History, Outcome, to_outcome

Array = NDArray[np.float64]

PLANE = Space(x=Float(0, 1), y=Float(0, 1))


def bowl(point: Array) -> float:
    """A loss with its minimum at (0.3, 0.3)."""
    return float(np.sum((point - 0.3) ** 2))


def evaluated(
    count: int, loss: Callable[[Array], float | Evaluation | Outcome] = bowl, space: Space = PLANE, *, seed: int = 0
) -> History:
    """A history of random points; the loss is a function of the unit cube."""
    points = space.codec.project(np.random.default_rng(seed).random((count, len(space))))[0]
    told = [loss(point) for point in points]
    outcomes = [each if isinstance(each, Outcome) else to_outcome(each, space) for each in told]
    rows = space.codec.decode(points)
    return history_of(space, zip([space.codec.configuration(row) for row in rows], outcomes, strict=True))
