"""The best configuration. If values are noisy it is the one with the best posterior mean: the lowest value is chance.

A value is y = g + h + e: g is the function of the model, h the systematic residual that the model cannot represent, e
the noise. The model's noise variance is var h + var e. Where var e is known, declared by the user or estimated from
repeated configurations, the rest is var h. Then the mean y of a configuration's results is also evidence on h:
E[g + h] = g + w (y - g), with w = var h / (var h + var y). So a model that is too smooth near the best (a few values of
a million far away suffice) does no harm. Where the residual is all noise, w = 0.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sonde.activity import doing
from sonde.arrays import Array
from sonde.errors import NoResult, OptionError
from sonde.space import Space
from sonde.strategies import Strategy
from sonde.strategies.port import Model
from sonde.study.configurations import Configurations, configurations_of
from sonde.study.predicting import ModelOf
from sonde.trials import History, Trial

WAYS = ("model", "observed")
FEW = 3  # results below which no model is fitted
CONSIDERED = 1024  # configurations at most, those with the lowest means, so that predicting is fast


@dataclass(frozen=True)
class Choice:
    """The number of the best trial; posterior mean and standard deviation, if it was chosen by the model."""

    number: int
    mean: float | None = None
    std: float | None = None


class Best:
    """Finds the best trial of a growing history; the answer is cached until a new result arrives."""

    def __init__(self, strategy: Strategy, space: Space) -> None:
        self._fitted = ModelOf(strategy, space)
        self._found: dict[str, tuple[int, Choice]] = {}

    def choose(self, history: History, by: str | None = None) -> Choice | None:
        """Return the best trial; None if no completed trial meets its constraints."""
        way = chosen_way(history, by)
        results, found = self._found.get(way, (-1, None))
        if found is None or results != len(history.arrivals):
            found = self._choose(history, way)
            if found is not None:
                self._found[way] = (len(history.arrivals), found)
        return found

    def _choose(self, history: History, way: str) -> Choice | None:
        observed = history.best()
        if observed is None or way == "observed":
            return None if observed is None else Choice(observed)
        promising = configurations_of(history).best(CONSIDERED)
        means, variances = promising.means, promising.variances
        if len(history.completed) >= FEW:
            with doing(f"fitting a model to {len(history.completed):,} results"):
                means, variances = self._posterior(history, promising)
        i = int(np.argmin(means))
        return Choice(int(promising.first[i]), float(history.sign * means[i]), float(np.sqrt(variances[i])))

    def _posterior(self, history: History, tried: Configurations) -> tuple[Array, Array]:
        """Return posterior means and variances of the objective; those of the results if there is no model."""
        try:
            model = self._fitted(history)
        except NoResult:
            return tried.means, tried.variances
        mean, variance, unexplained = _moments(model, history.rows[tried.first])
        means, variances = with_residual(mean, variance, unexplained, tried)
        usable = np.isfinite(means) & np.isfinite(variances)
        return np.where(usable, means, tried.means), np.where(usable, variances, tried.variances)


def chosen_way(history: History, by: str | None) -> str:
    """Return how the best is chosen: as the user says; by default by the model if noise was declared or found."""
    if by is None:
        return "model" if history.noisy or history.noise_found else "observed"
    if by not in WAYS:
        raise OptionError(f"by must be one of {', '.join(WAYS)}, or None to let the results decide, got {by!r}")
    return by


def best_value(trial: Trial) -> float:
    """Return the value of a best trial: its posterior mean if it was chosen by the model."""
    value = trial.value if trial.mean is None else trial.mean
    return float("nan") if value is None else value


def with_residual(mean: Array, variance: Array, unexplained: Array, tried: Configurations) -> tuple[Array, Array]:
    """Return means and variances of g + h, from those of g and the variance that g leaves unexplained."""
    known = tried.variances > 0
    residual = np.where(tried.declared, unexplained, np.maximum(unexplained - tried.noise, 0.0))  # var h
    weight = np.where(known, residual / np.maximum(residual + tried.variances, 1e-300), 0.0)
    return mean + weight * (tried.means - mean), (1 - weight) ** 2 * variance + weight * tried.variances


def _moments(model: Model, rows: Array) -> tuple[Array, Array, Array]:
    """Return means and variances of the model's function, and the variance that it leaves unexplained.

    A user's own model may predict values only. Then the unexplained variance is unknown and counts as noise.
    """
    latent = getattr(model, "latent", None)
    if latent is None:
        mean, std = model.predict(rows)
        return mean, std**2, np.zeros_like(std)
    mean, std, unexplained = latent(rows)
    return mean, std**2, unexplained**2
