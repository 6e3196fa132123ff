"""The interfaces between the parts of a strategy: what a schedule needs of a model, and the loop of a schedule."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from sonde.sampling import Key
from sonde.space import Space
from sonde.strategies.bayesian.domain import Domain
from sonde.strategies.bayesian.surrogate import Surrogate
from sonde.strategies.bayesian.target import Target
from sonde.surrogates.exact.region import Region
from sonde.trials import History


class Fits(Protocol):
    """Fits surrogates."""

    def fit(self, space: Space, history: History, key: Key, region: Region | None) -> Surrogate:
        """Return the surrogate of a history with completed trials, to search a trust region; None: the whole space."""
        ...


class FitsEach(Protocol):
    """Fits the surrogates of several objectives."""

    def fit_each(self, space: Space, histories: Sequence[History], key: Key) -> list[Surrogate]:
        """Return the surrogate of each history, to search the whole space."""
        ...


class SurrogateModel(Fits, Protocol):
    """Fits surrogates, and says whether there are some of a trust region."""

    def has_regions(self, space: Space, history: History) -> bool:
        """Whether a trust region gets a surrogate of its own, rather than one of all results."""
        ...


class Schedule(Protocol):
    """Decides where to look for the next points."""

    def first(self, space: Space) -> int:
        """Return the size of the initial design."""
        ...

    def targets(self, domain: Domain, count: int, key: Key) -> list[Target | NDArray[np.float64]]:
        """Return a target for each of the next points, or the point (d,) itself where nothing is to be searched."""
        ...


class PointSearch(Protocol):
    """Finds points of high acquisition value."""

    def points(self, targets: Sequence[Target | NDArray[np.float64]], domain: Domain, key: Key) -> NDArray[np.float64]:
        """Return a point for each target, (q, d); targets that are points are kept."""
        ...
