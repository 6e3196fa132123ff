"""The model and the schedule for several objectives: a surrogate of each, the whole space, one acquisition function.

With more than ``MOST`` objectives the boxes above a front are too many, and in a large batch conditioning on each point
is too dear. Then the objectives become one by a random augmented Chebyshev scalarisation, anew for every batch (Knowles
2006), and everything is as with one. So they do where the acquisition function or Thompson sampling is of one number.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from sonde.arrays import Array, Integers
from sonde.sampling import Key, Stream
from sonde.space import Space
from sonde.strategies.bayesian.acquisitions import needs_fantasies
from sonde.strategies.bayesian.domain import Domain
from sonde.strategies.bayesian.front import FrontSurrogate
from sonde.strategies.bayesian.large_batch import LARGE
from sonde.strategies.bayesian.loop import Loop
from sonde.strategies.bayesian.port import Fits, FitsEach
from sonde.strategies.bayesian.search import Search
from sonde.strategies.bayesian.surrogate import Surrogate
from sonde.strategies.bayesian.target import Box, Target
from sonde.strategies.initial_design import first_count
from sonde.strategies.port import Strategy
from sonde.strategies.sobol import CentreFirst
from sonde.trials import History

MARGINS = (0.1, 1.0)  # of the reference point above the front, in ranges of the front
MOST = 5  # objectives whose hypervolume is modelled
SUM = 0.05  # share of the sum in the augmented Chebyshev scalarisation


class Separately:
    """Fits a surrogate of each objective by a model of its own."""

    def __init__(self, make: Callable[[], Fits]) -> None:
        self._make = make
        self._models: list[Fits] = []

    def fit_each(self, space: Space, histories: Sequence[History], key: Key) -> list[Surrogate]:
        """Return the surrogate of each history."""
        self._models += [self._make() for _ in histories[len(self._models) :]]
        return [model.fit(space, own, key, None) for model, own in zip(self._models, histories, strict=False)]


@dataclass(frozen=True)
class FrontModel:
    """The surrogates of all objectives, with their front."""

    models: FitsEach

    def fit(self, space: Space, history: History, key: Key) -> dict[float, FrontSurrogate]:
        """Return the surrogates of a history with completed trials, and their front, by margin of the reference."""
        views = [history.of(k) for k in range(len(history.objectives))]
        parts = self.models.fit_each(space, views, key)
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
    """The loop of several objectives, made of the models, the search and the loop of one."""

    models: FitsEach
    search: Search
    one: Loop | Strategy  # of a scalarisation
    loop: Loop = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "loop", Loop(FrontSchedule(FrontModel(self.models)), self.search, CentreFirst()))

    def suggest(self, space: Space, history: History, count: int, key: Key) -> NDArray[np.float64]:
        """Return ``count`` rows."""
        if self._has_front(history) and len(history.pending) + count <= LARGE:
            return self.loop.suggest(space, history, count, key)
        return self.one.suggest(space, scalarised(history, key), count, key)

    def _has_front(self, history: History) -> bool:
        """Whether the improvement of the hypervolume is maximised, in all but large batches."""
        improves = self.search.batch != "thompson" and needs_fantasies(self.search.acquisition)
        return improves and len(history.objectives) <= MOST

    def explain(self, history: History) -> str:
        """Say what it does."""
        names = history.objectives.names
        if not self._has_front(history):
            improves = needs_fantasies(self.search.acquisition)
            what = "the expected improvement" if improves else self.search.acquisition_name
            if self.search.batch == "thompson":
                what = "functions drawn from the posterior"
            return f"maximises {what} of random trade-offs between {len(names)} objectives"
        models = f"models {len(history.completed)} values of each of {', '.join(names)}"
        return f"{models} and maximises the expected improvement of the hypervolume"


def scalarised(history: History, key: Key) -> History:
    """Return the history of one random trade-off between the objectives."""
    weights = key.rng(Stream.WEIGHTS).dirichlet(np.ones(len(history.objectives)))
    noise = np.stack([history.of(k).noise for k in range(len(history.objectives))], axis=1)
    units = weights / spans(history.outcomes[history.completed.numbers], history.objectives.thresholds)
    return history.with_values(*chebyshev(history.outcomes, noise, history.completed.numbers, units))


def spans(outcomes: Array, thresholds: Array) -> Array:
    """Return the range of interest of each objective (K,): from its best outcome (n, K) to its threshold or the worst.

    Ranges are halved, so that those of huge values are finite.
    """
    if not len(outcomes):
        return np.ones(len(thresholds))
    best, worst = outcomes.min(axis=0) / 2, outcomes.max(axis=0) / 2
    last = np.where(thresholds / 2 > best, np.minimum(thresholds / 2, worst), worst)  # none is NaN
    return np.where(last > best, last - best, 1.0)


def chebyshev(outcomes: Array, noise: Array, completed: Integers, units: Array) -> tuple[Array, Array]:
    """Return the augmented Chebyshev scalarisation of outcomes (n, K), lower is better: units (K,) are weights / spans.

    Its noise (n,) is that of the outcomes to first order; NaN where none was declared.
    """
    if not len(completed):
        return np.full(len(outcomes), np.nan), np.full(len(outcomes), np.nan)
    shares = units * (outcomes / 2 - outcomes[completed].min(axis=0) / 2)
    slopes = units * (SUM + (shares == shares.max(axis=1, keepdims=True)))
    declared = ~np.isnan(noise).all(axis=1)
    deviations = np.where(declared, np.sqrt(np.sum((slopes * np.nan_to_num(noise / 2)) ** 2, axis=1)), np.nan)
    return shares.max(axis=1) + SUM * shares.sum(axis=1), deviations
