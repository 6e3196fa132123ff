"""Random search: independent uniform draws from the unit cube."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sonde.sampling import Key, Stream
from sonde.space import Space
from sonde.strategies.novelty import novel_rows
from sonde.strategies.port import Strategy
from sonde.trials import History


class Random(Strategy):
    """Random search."""

    name = "random"

    def suggest(self, space: Space, history: History, count: int, key: Key) -> NDArray[np.float64]:
        """Draw each trial from its own random stream, so that a batch equals as many single asks."""
        units = np.array([key.at(offset).rng(Stream.UNIFORM).random(len(space)) for offset in range(count)])
        return novel_rows(space, history, units, key)

    def explain(self, space: Space, history: History) -> str:
        """Say what it does."""
        return "draws configurations uniformly at random (uniform in the logarithm on log scales)"
