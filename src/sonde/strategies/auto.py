"""The automatic choice: an ordered table of (condition, strategy, reason). The first row that applies is taken."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sonde.sampling import Key
from sonde.space import Space
from sonde.strategies.port import Strategy
from sonde.strategies.sobol import Sobol
from sonde.trials import History


class Row(NamedTuple):
    """One line of the table."""

    applies: Callable[[Space, History], bool]
    strategy: Strategy
    reason: str


TABLE = (Row(lambda space, history: True, Sobol(), "no model-based strategy fits this study"),)


class Auto(Strategy):
    """Chooses by the table."""

    name = "auto"

    def suggest(self, space: Space, history: History, count: int, key: Key) -> NDArray[np.float64]:
        """Let the strategy that applies suggest."""
        return self._row(space, history).strategy.suggest(space, history, count, key)

    def explain(self, space: Space, history: History) -> str:
        """Name the strategy and the reason."""
        row = self._row(space, history)
        return f"{row.strategy.name}, because {row.reason}: {row.strategy.explain(space, history)}"

    def _row(self, space: Space, history: History) -> Row:
        return next(row for row in TABLE if row.applies(space, history))
