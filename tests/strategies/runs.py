"""Histories that grow trial by trial, as a storage reports them, with the strategy ``"igo"`` or without."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tests.trials.histories import Row, changed

from sonde.sampling import Key
from sonde.space import Bool, Space
from sonde.strategies.natural_gradient.igo import IGO
from sonde.strategies.natural_gradient.observation_log import ObservationLog
from sonde.trials import Changes, Evaluation, History, Outcome, State, to_outcome

Array = NDArray[np.float64]
Loss = Callable[[Array], float]


def bits(count: int) -> Space:
    return Space({f"b{i}": Bool() for i in range(count)})


def zeros(row: Array) -> float:
    """OneMax as a loss: the number of zeros."""
    return float(np.sum(row == 0))


class Run:
    """A history with a strategy; ``again`` is what another process sees that opens the same study."""

    def __init__(self, space: Space, *, seed: int = 0, sign: float = 1.0, **settings: Any) -> None:
        self.space, self.seed, self.settings = space, seed, settings
        self.strategy = IGO(**settings)
        self.history = History(space, sign)
        self.reported: dict[int, Row] = {}

    def suggest(self, count: int = 1) -> Array:
        return self.strategy.suggest(self.space, self.history, count, Key(self.seed, len(self.history)))

    def ask(self, count: int = 1) -> list[int]:
        return [self.add(row) for row in self.suggest(count)]

    def add(self, row: Array, outcome: float | Evaluation | Outcome | State = State.RUNNING) -> int:
        """Add a trial to the history, whoever suggested it."""
        number = len(self.history)
        self._report(number, row, outcome)
        return number

    def tell(self, number: int, outcome: float | Evaluation | Outcome | State) -> None:
        self._report(number, self.history.rows[number].copy(), outcome)

    def again(self) -> Run:
        other = Run(self.space, seed=self.seed, sign=self.history.sign, **self.settings)
        other.reported = dict(self.reported)
        other.history.update(Changes(self.history.revision, list(self.reported.values())))
        return other

    def _report(self, number: int, row: Array, outcome: float | Evaluation | Outcome | State) -> None:
        judged = outcome if isinstance(outcome, Outcome | State) else to_outcome(outcome, self.space)
        revision = self.history.revision + 1
        self.reported[number] = changed(number, row, judged, revision)
        self.history.update(Changes(revision, [self.reported[number]]))


class Observed:
    """Observations that arrive one by one, for the test of a single search."""

    def __init__(self, space: Space) -> None:
        self.run, self.log = Run(space), ObservationLog()

    def add(self, row: Array, outcome: float | Evaluation | Outcome | State) -> ObservationLog:
        self.run.add(row, outcome)
        self.log.update(self.run.history)
        return self.log
