"""What the study believes about configurations, and how far it can be trusted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sonde.errors import NoResult, OptionError
from sonde.space import Space
from sonde.strategies import Strategy
from sonde.strategies.port import Model
from sonde.strategies.registry import make_strategy
from sonde.trials import History

Array = NDArray[np.float64]

EXACT = 1000  # results at most of which an exact process stands in for a strategy without a model


class Prediction(NamedTuple):
    """Mean and standard deviation of the value: numbers for one configuration, arrays for a list."""

    mean: Any
    std: Any


@dataclass(frozen=True)
class Diagnosis:
    """Each completed trial's value beside what the model predicts for it from all the others."""

    numbers: NDArray[np.int64]
    values: Array
    means: Array
    stds: Array
    scores: Array  # (value - mean) / std on the model's own scale: standard normal where the model is right

    @property
    def coverage(self) -> float:
        """Share of values within the predicted 95% band; 0.95 where the model is right."""
        return float(np.mean(np.abs(self.scores) <= 1.96))

    @property
    def correlation(self) -> float:
        """Rank correlation between values and predictions: 1 where the order is predicted right."""
        ranks = np.argsort(np.argsort([self.values, self.means], kind="stable"), kind="stable")
        return float(np.corrcoef(ranks[0], ranks[1])[0, 1])

    def __str__(self) -> str:
        worst = int(np.argmax(np.abs(self.scores)))
        return (
            f"leave-one-out over {len(self.values)} results: rank correlation {self.correlation:.2f}, "
            f"{100 * self.coverage:.0f}% within the predicted 95% band; "
            f"farthest off is trial {self.numbers[worst]}, by {abs(self.scores[worst]):.1f} deviations"
        )


def predict(
    strategy: Strategy, space: Space, history: History, params: Mapping[str, Any] | Sequence[Mapping[str, Any]]
) -> Prediction:
    """Return what is believed about one configuration or several."""
    single = isinstance(params, Mapping)
    several = [params] if isinstance(params, Mapping) else list(params) if isinstance(params, Sequence) else [None]
    if not all(isinstance(each, Mapping) for each in several):
        raise OptionError(f"predict takes the parameters of a configuration or a list of them, got {params!r}")
    rows = np.array([space.row(each) for each in several]).reshape(-1, len(space))
    mean, std = _model(strategy, space, history).predict(rows)
    mean = history.sign * mean
    return Prediction(float(mean[0]), float(std[0])) if single else Prediction(mean, std)


def diagnose(strategy: Strategy, space: Space, history: History) -> Diagnosis:
    """Return the leave-one-out predictions."""
    if len(history.completed) < 3:
        raise NoResult(f"a diagnosis needs 3 completed trials, there are {len(history.completed)}; tell more results")
    numbers, means, stds, scores = _model(strategy, space, history).leave_one_out()
    values = history.values[numbers]
    return Diagnosis(numbers, history.sign * values, history.sign * means, stds, history.sign * scores)


def _model(strategy: Strategy, space: Space, history: History) -> Model:
    return Modelled(strategy, space)(history)


class Modelled:
    """A strategy's model of a history; where it has none, a Gaussian process, or radial units on many results."""

    def __init__(self, strategy: Strategy, space: Space) -> None:
        self._strategy, self._space = strategy, space
        self._others: dict[str, Strategy] = {}  # kept, because a strategy may have caches

    def __call__(self, history: History) -> Model:
        """Return the model after a history."""
        if not len(history.completed):
            raise NoResult("nothing can be predicted before a trial has completed; tell a result first")
        model = self._strategy.model(self._space, history) or self._other(history).model(self._space, history)
        if model is None:  # a strategy of the user's own may answer so for reasons of its own
            raise NoResult(f"strategy {self._strategy.name!r} has no model of these results")
        return model

    def _other(self, history: History) -> Strategy:
        name, options = ("gp", {}) if len(history.completed) <= EXACT else ("dngo", {"basis": "radial"})
        if name not in self._others:
            self._others[name] = make_strategy(name, **options)
        return self._others[name]
