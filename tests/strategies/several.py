"""Histories of several objectives for the tests of strategies."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tests.trials.histories import changed

from sonde.space import Float, Space
from sonde.trials import Changes, History, Outcome, State, to_outcome
from sonde.trials.objectives import Objectives

Array = NDArray[np.float64]

PLANE = Space(x=Float(0, 1), y=Float(0, 1))
NAMES = "abcdefg"


def objectives(count: int = 2, *, maximize: str = "", thresholds: Mapping[str, float] | None = None) -> Objectives:
    """Objectives with the names a, b, ...; those in ``maximize`` are maximized."""
    directions = {name: "maximize" if name in maximize else "minimize" for name in NAMES[:count]}
    return Objectives.of(several=directions, thresholds=thresholds)


TWO = objectives()


def history_of(
    space: Space, trials: Sequence[tuple[Mapping[str, Any], Any]] = (), declared: Objectives = TWO
) -> History:
    """A history of configurations with what was told of each: values, an ``Evaluation``, an outcome or a state."""
    history = History(space, objectives=declared)
    judged = [
        (space.row(params), told if isinstance(told, Outcome | State) else to_outcome(told, space, declared))
        for params, told in trials
    ]
    rows = [changed(number, row, outcome, number + 1) for number, (row, outcome) in enumerate(judged)]
    history.update(Changes(len(rows), rows))
    return history


def distances(point: Array, count: int = 2) -> list[float]:
    """Squared distances to ``count`` places on the diagonal of the cube: the best trade-offs are between them."""
    return [float(np.sum((point - place) ** 2)) for place in np.linspace(0.2, 0.8, count)]


def evaluated(
    count: int,
    loss: Callable[[Array], Any] = distances,
    space: Space = PLANE,
    declared: Objectives = TWO,
    *,
    seed: int = 0,
) -> History:
    """A history of random points; the loss is a function of the unit cube."""
    points = space.codec.project(np.random.default_rng(seed).random((count, len(space))))[0]
    rows = space.codec.decode(points)
    points, rows = points[space.feasible_rows(rows)], rows[space.feasible_rows(rows)]
    trials = [(space.codec.configuration(row), loss(point)) for row, point in zip(rows, points, strict=True)]
    return history_of(space, trials, declared)
