"""The best configuration: where values are noisy, by the posterior mean, because the lowest value seen is then chance.

A value is g + h + e: the model's function, what it cannot explain, and noise. The model takes h and e for one; where
the noise was told, or repetitions show it, h is the rest, and the mean of the results of a configuration says
something about it: the mean of g + h is g + w (y - g), w = var h / (var h + var y). So a model that is far too smooth
near the best (a few values of a million elsewhere will do) does no harm, and noise that is all there is has w = 0.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sonde.activity import doing
from sonde.errors import NoResult, OptionError
from sonde.space import Space
from sonde.strategies import Strategy
from sonde.strategies.port import Model
from sonde.study.configurations import Configurations, configurations_of
from sonde.study.predicting import Modelled
from sonde.trials import History, Trial

Array = NDArray[np.float64]

WAYS = ("model", "observed")
FEW = 3  # with fewer results there is nothing to model
CONSIDERED = 1024  # configurations at most, those with the lowest means: predicting takes no time


@dataclass(frozen=True)
class Choice:
    """A trial by its number; mean and standard deviation of what is believed of it, where it was chosen by that."""

    number: int
    mean: float | None = None
    std: float | None = None


class Best:
    """Finds the best trial of a history that grows; what was found is kept until more results come."""

    def __init__(self, strategy: Strategy, space: Space) -> None:
        self._modelled = Modelled(strategy, space)
        self._found: dict[str, tuple[int, Choice]] = {}

    def choose(self, history: History, by: str | None = None) -> Choice | None:
        """Return the best trial; None where no completed trial meets its constraints."""
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
        tried = configurations_of(history)
        promising = tried.best(CONSIDERED)
        means, variances = promising.means, promising.variances
        if len(history.completed) >= FEW:
            with doing(f"fitting a model to {len(history.completed):,} results"):
                means, variances = self._believed(history, promising)
        place = int(np.argmin(means))
        return Choice(int(promising.first[place]), float(history.sign * means[place]), float(np.sqrt(variances[place])))

    def _believed(self, history: History, tried: Configurations) -> tuple[Array, Array]:
        """Return means and variances of the function at configurations; those of their results without a model."""
        try:
            model = self._modelled(history)
        except NoResult:
            return tried.means, tried.variances
        mean, variance, left_over = _moments(model, history.rows[tried.first])
        means, variances = with_rest(mean, variance, left_over, tried)
        usable = np.isfinite(means) & np.isfinite(variances)
        return np.where(usable, means, tried.means), np.where(usable, variances, tried.variances)


def chosen_way(history: History, by: str | None) -> str:
    """Return by what the best is chosen: by the model where noise was told or found, unless the user says."""
    if by is None:
        return "model" if history.noisy or history.noise_found else "observed"
    if by not in WAYS:
        raise OptionError(f"by must be one of {', '.join(WAYS)}, or None to let the results decide, got {by!r}")
    return by


def best_value(trial: Trial) -> float:
    """Return the value of a best trial: what is believed of it, where it was chosen by that."""
    value = trial.value if trial.mean is None else trial.mean
    return float("nan") if value is None else value


def with_rest(mean: Array, variance: Array, left_over: Array, tried: Configurations) -> tuple[Array, Array]:
    """Return means and variances of g + h, from those of g and the variance that the model leaves over."""
    known = tried.variances > 0
    rest = np.where(tried.told, left_over, np.maximum(left_over - tried.noise, 0.0))
    weight = np.where(known, rest / np.maximum(rest + tried.variances, 1e-300), 0.0)
    return mean + weight * (tried.means - mean), (1 - weight) ** 2 * variance + weight * tried.variances


def _moments(model: Model, rows: Array) -> tuple[Array, Array, Array]:
    """Return means and variances of the model's function, and the variance that it leaves over.

    A model of the user's own may predict values only; what it leaves over is then not known, and is noise.
    """
    latent = getattr(model, "latent", None)
    if latent is None:
        mean, std = model.predict(rows)
        return mean, std**2, np.zeros_like(std)
    mean, std, left_over = latent(rows)
    return mean, std**2, left_over**2
