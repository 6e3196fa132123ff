"""The model and the schedule for several objectives: a surrogate of each, the whole space, one acquisition function.

With more than ``MOST`` objectives the boxes above a front are too many, and in a large batch conditioning on each point
is too dear. Then the objectives become one by a random augmented Chebyshev scalarisation, anew for every batch (Knowles
2006), and everything is as with one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from sonde.arrays import Array, Integers
from sonde.sampling import Key, Stream
from sonde.space import Space
from sonde.strategies.bayesian.domain import Domain
from sonde.strategies.bayesian.front import FrontSurrogate
from sonde.strategies.bayesian.large_batch import LARGE
from sonde.strategies.bayesian.loop import Loop
from sonde.strategies.bayesian.port import Fits
from sonde.strategies.bayesian.search import Search
from sonde.strategies.bayesian.target import Box, Target
from sonde.strategies.initial_design import first_count
from sonde.strategies.sobol import CentreFirst
from sonde.trials import History

MARGINS = (0.1, 1.0)  # of the reference point above the front, in ranges of the front
MOST = 5  # objectives whose hypervolume is modelled
SUM = 0.05  # share of the sum in the augmented Chebyshev scalarisation


class FrontModel:
    """Fits a surrogate of each objective, by a model that is made for it."""

    def __init__(self, make: Callable[[], Fits]) -> None:
        self._make = make
        self._models: list[Fits] = []

    def fit(self, space: Space, history: History, key: Key) -> dict[float, FrontSurrogate]:
        """Return the surrogates of a history with completed trials, and their front, by margin of the reference."""
        views = [history.of(k) for k in range(len(history.objectives))]
        self._models += [self._make() for _ in views[len(self._models) :]]
        parts = [model.fit(space, view, key, None) for model, view in zip(self._models, views, strict=False)]
        return {margin: FrontSurrogate.of(tuple(parts), history, margin) for margin in MARGINS}


@dataclass(frozen=True)
class FrontSchedule:
    """Searches the whole space for the highest expected improvement of the hypervolume.

    Where the ends of the front are is not known. A reference point close to it makes the search look between the ends
    that are known, one far from it beyond them: they alternate.
    """

    model: FrontModel

    def first(self, space: Space) -> int:
        """Return the size of the initial design."""
        return first_count(space)

    def targets(self, domain: Domain, count: int, key: Key) -> list[Target | NDArray[np.float64]]:
        """Return a target for each point."""
        low, high = np.zeros(len(domain.space)), np.ones(len(domain.space))
        fitted = self.model.fit(domain.space, domain.history, key)
        targets = [Target(fitted[each], Box(low, high, fitted[each].incumbents)) for each in MARGINS]
        return [targets[key.at(offset).number % len(MARGINS)] for offset in range(count)]


@dataclass(frozen=True)
class SeveralObjectives:
    """The loop of several objectives, made of the model, the search and the loop of one."""

    make: Callable[[], Fits]
    search: Search
    one: Loop
    loop: Loop = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "loop", Loop(FrontSchedule(FrontModel(self.make)), self.search, CentreFirst()))

    def suggest(self, space: Space, history: History, count: int, key: Key) -> NDArray[np.float64]:
        """Return ``count`` rows."""
        few = len(history.objectives) <= MOST and len(history.pending) + count <= LARGE
        if few and self.search.batch != "thompson":
            return self.loop.suggest(space, history, count, key)
        return self.one.suggest(space, scalarised(history, key), count, key)

    def explain(self, history: History) -> str:
        """Say what it does."""
        names = history.objectives.names
        if len(names) > MOST:
            return f"maximises the expected improvement of random trade-offs between {len(names)} objectives"
        models = f"models {len(history.completed)} values of each of {', '.join(names)}"
        return f"{models} and maximises the expected improvement of the hypervolume"


def scalarised(history: History, key: Key) -> History:
    """Return the history of one random trade-off between the objectives."""
    weights = key.rng(Stream.WEIGHTS).dirichlet(np.ones(len(history.objectives)))
    return history.with_values(chebyshev(history.outcomes, history.completed.numbers, weights))


def chebyshev(outcomes: Array, completed: Integers, weights: Array) -> Array:
    """Return the augmented Chebyshev scalarisation (n,) of outcomes (n, K), lower is better, in ranges of their own."""
    if not len(completed):
        return np.full(len(outcomes), np.nan)
    known = outcomes[completed] / 2  # the range of huge values is finite
    low, ranges = known.min(axis=0), np.ptp(known, axis=0)
    shares = weights * (outcomes / 2 - low) / np.where(ranges > 0, ranges, 1.0)
    return np.asarray(shares.max(axis=1) + SUM * shares.sum(axis=1))
