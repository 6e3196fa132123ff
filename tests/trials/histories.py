"""Rows of changes and histories, built by hand."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sonde.space import Space
from sonde.trials import Changes, History, Outcome, State
from sonde.trials.trial import pack_row

Row = tuple[Any, ...]


def changed(
    number: int,
    row: NDArray[np.float64],
    outcome: Outcome | State,
    revision: int = 0,
    seconds: float | None = None,
) -> Row:
    """What storage reports of a trial: where it is, or what was told of it."""
    told = outcome if isinstance(outcome, Outcome) else Outcome(outcome)
    constraints = None if told.constraints is None else dict(told.constraints)
    return (number, told.state.value, revision, pack_row(row), told.value, told.noise, told.gradient, told.hessian,
            constraints, told.objectives, seconds)  # fmt: skip


def history_of(
    space: Space, trials: Iterable[tuple[Mapping[str, Any], Outcome | State]] = (), *, sign: float = 1.0
) -> History:
    """A history of (configuration, outcome) pairs, numbered from zero."""
    history = History(space, sign)
    rows = [changed(number, space.row(params), outcome) for number, (params, outcome) in enumerate(trials)]
    history.update(Changes(len(rows), rows))
    return history


def add_pending(history: History, rows: NDArray[np.float64]) -> None:
    """Let the history know of suggestions that are running."""
    first = len(history)
    changes = [changed(first + offset, row, State.RUNNING) for offset, row in enumerate(rows)]
    history.update(Changes(history.revision + 1, changes))
