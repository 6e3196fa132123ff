"""The one small port that every method implements."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np
from numpy.typing import NDArray

from sonde.sampling import Key
from sonde.space import Space
from sonde.trials import History


class Strategy(ABC):
    """Chooses what to try next.

    A strategy may keep caches, but the same space, history, count and key give the same rows in any process.
    """

    name: str

    @abstractmethod
    def suggest(self, space: Space, history: History, count: int, key: Key) -> NDArray[np.float64]:
        """Return ``count`` rows of the codec, feasible and distinct from each other and from the history.

        On a finite space that is nearly used up, as many as are left; none if it is used up.
        """

    @abstractmethod
    def explain(self, space: Space, history: History) -> str:
        """Say in a sentence what this strategy does here, and why."""
