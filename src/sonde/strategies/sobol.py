"""Quasi-random search: trial i takes point i of one scrambled Sobol sequence."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sonde.sampling import Key, sobol
from sonde.space import Space
from sonde.strategies.initial_design import central_side, first_count
from sonde.strategies.novelty import novel_rows
from sonde.strategies.port import Strategy
from sonde.trials import History

CENTRE = 0.5


class Sobol(Strategy):
    """Quasi-random search, which covers the space more evenly than random draws."""

    name = "sobol"

    def suggest(self, space: Space, history: History, count: int, key: Key) -> NDArray[np.float64]:
        """Return the points of the Sobol sequence at the numbers of the trials."""
        return novel_rows(space, history, self._points(space, count, key), key)

    def _points(self, space: Space, count: int, key: Key) -> NDArray[np.float64]:
        return sobol(key.number, count, len(space), seed=key.seed)

    def explain(self, space: Space, history: History) -> str:
        """Say what it does."""
        return "spreads configurations evenly over the space by a scrambled Sobol sequence"


class CentreFirst(Sobol):
    """A Sobol sequence whose first point is the centre of the space: there, no minimum is farther than half a side."""

    def _points(self, space: Space, count: int, key: Key) -> NDArray[np.float64]:
        points = super()._points(space, count, key)
        points[: max(0, 1 - key.number)] = CENTRE
        return points


class AroundCentre(CentreFirst):
    """The continuous coordinates of the initial design fill a box around the centre of the space."""

    def _points(self, space: Space, count: int, key: Key) -> NDArray[np.float64]:
        points = super()._points(space, count, key)
        initial = np.arange(key.number, key.number + count)[:, None] < first_count(space)
        boxed = initial & np.array([axis.continuous for axis in space.codec.axes])
        return np.where(boxed, CENTRE + central_side(space) * (points - CENTRE), points)
