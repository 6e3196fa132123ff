"""Quasi-random search: trial i takes point i of one scrambled Sobol sequence."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sonde.sampling import Key, sobol
from sonde.space import Space
from sonde.strategies.novelty import novel_rows
from sonde.strategies.port import Strategy
from sonde.trials import History


class Sobol(Strategy):
    """Quasi-random search, which covers the space more evenly than random draws."""

    name = "sobol"

    def suggest(self, space: Space, history: History, count: int, key: Key) -> NDArray[np.float64]:
        """Return the points of the Sobol sequence at the numbers of the trials."""
        return novel_rows(space, history, sobol(key.number, count, len(space), seed=key.seed), key)

    def explain(self, space: Space, history: History) -> str:
        """Say what it does."""
        return "spreads configurations evenly over the space by a scrambled Sobol sequence"
