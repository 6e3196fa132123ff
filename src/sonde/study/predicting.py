"""Predictions of the surrogate model, and its leave-one-out diagnosis."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from sonde.arrays import Array, Integers
from sonde.errors import NoResult, OptionError
from sonde.html import card, scatter, table
from sonde.space import Space
from sonde.strategies import Strategy
from sonde.strategies.port import Model
from sonde.strategies.registry import make_strategy
from sonde.trials import History

SHOWN = 20  # predictions in a notebook
EXACT = 1000  # results up to which a strategy without a model gets an exact Gaussian process


class Prediction(NamedTuple):
    """Predictive mean and standard deviation of the value: numbers for one configuration, arrays for a list."""

    mean: Any
    std: Any

    def _repr_html_(self) -> str:
        means, stds = np.atleast_1d(self.mean).tolist(), np.atleast_1d(self.std).tolist()
        rows = list(zip(means, stds, strict=True))
        more = f"<div>{len(rows):,} predictions in all</div>" if len(rows) > SHOWN else ""
        if np.ndim(self.mean) == 0:
            return card("Prediction", [("value", f"{means[0]:.6g} ± {stds[0]:.3g}")])
        return card("Predictions", [], more=table(rows[:SHOWN], ["mean", "std"]) + more)


@dataclass(frozen=True)
class Diagnosis:
    """The values of completed trials and their leave-one-out predictions."""

    numbers: Integers
    values: Array
    means: Array
    stds: Array
    scores: Array  # (value - mean) / std on the model's own scale: standard normal if the model is right

    @property
    def coverage(self) -> float:
        """Share of values within the predicted 95% interval; 0.95 if the model is right."""
        return float(np.mean(np.abs(self.scores) <= 1.96))

    @property
    def correlation(self) -> float:
        """Spearman's rank correlation between values and predictions: 1 if the order is right, NaN if there is none."""
        if not (np.ptp(self.values) and np.ptp(self.means)):  # no order
            return math.nan
        return float(np.corrcoef(_ranks(self.values), _ranks(self.means))[0, 1])

    def _repr_html_(self) -> str:
        facts = [
            ("results", len(self.values)),
            ("rank correlation", f"{self.correlation:.2f}"),
            ("within the 95% interval", f"{100 * self.coverage:.0f}%"),
        ]
        drawn = scatter(self.values, self.means, what="prediction without the trial (up) over its value (right)")
        return card("Leave-one-out predictions", facts, drawn)

    def __str__(self) -> str:
        worst = int(np.argmax(np.abs(self.scores)))
        return (
            f"leave-one-out over {len(self.values)} results: rank correlation {self.correlation:.2f}, "
            f"{100 * self.coverage:.0f}% within the predicted 95% interval; "
            f"largest error: trial {self.numbers[worst]}, {abs(self.scores[worst]):.1f} standard deviations"
        )


def _ranks(values: Array) -> Array:
    """Return the ranks of values; equal ones have the mean of theirs."""
    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    return np.asarray((np.cumsum(counts) - (counts - 1) / 2)[place])


def predict(
    model_of: ModelOf, space: Space, history: History, params: Mapping[str, Any] | Sequence[Mapping[str, Any]]
) -> Prediction:
    """Return the predictions for one configuration or several."""
    single = isinstance(params, Mapping)
    several = [params] if isinstance(params, Mapping) else list(params) if isinstance(params, Sequence) else [None]
    if not all(isinstance(each, Mapping) for each in several):
        raise OptionError(f"predict takes the parameters of a configuration or a list of them, got {params!r}")
    rows = np.array([space.row(each) for each in several]).reshape(-1, len(space))
    mean, std = model_of(history).predict(rows)
    mean = history.sign * mean
    return Prediction(float(mean[0]), float(std[0])) if single else Prediction(mean, std)


def diagnose(model_of: ModelOf, history: History) -> Diagnosis:
    """Return the leave-one-out predictions."""
    if len(history.completed) < 3:
        raise NoResult(f"a diagnosis needs 3 completed trials, there are {len(history.completed)}; tell more results")
    numbers, means, stds, scores = model_of(history).leave_one_out()
    values = history.values[numbers]
    return Diagnosis(numbers, history.sign * values, history.sign * means, stds, history.sign * scores)


class ModelOf:
    """Fits the surrogate model of a strategy to the history of a study; the models of the last one are kept.

    For a strategy without a model it is a Gaussian process; for more than ``EXACT`` results, Bayesian linear
    regression on radial basis functions.
    """

    def __init__(self, strategy: Strategy, space: Space) -> None:
        self._strategy, self._space = strategy, space
        self._substitutes: dict[str, Strategy] = {}  # kept, because a strategy may have caches
        self._models: dict[bytes, Model] = {}  # by the values of an objective and their noise
        self._revision = -1  # of the history that they are of

    def __call__(self, history: History) -> Model:
        """Return the model of a history; raise ``NoResult`` if there is none."""
        if not len(history.completed):
            raise NoResult("nothing can be predicted before a trial has completed; tell a result first")
        if history.revision != self._revision:
            self._revision = history.revision
            self._models.clear()
        told = history.values.tobytes() + history.noise.tobytes()
        if told not in self._models:
            self._models[told] = self._fit(history)
        return self._models[told]

    def _fit(self, history: History) -> Model:
        model = self._strategy.model(self._space, history) or self._substitute(history).model(self._space, history)
        if model is None:  # a user's own strategy may decline
            raise NoResult(f"strategy {self._strategy.name!r} has no model of these results")
        return model

    def _substitute(self, history: History) -> Strategy:
        name, options = ("gp", {}) if len(history.completed) <= EXACT else ("dngo", {"basis": "radial"})
        if name not in self._substitutes:
            self._substitutes[name] = make_strategy(name, **options)
        return self._substitutes[name]
