"""The starts of local searches: samples of the minimizer of a global quadratic trend."""

from __future__ import annotations

import numpy as np

from sonde.arrays import Array, Integers
from sonde.sampling import Key, Stream
from sonde.space import Space
from sonde.strategies.bayesian.domain import Domain
from sonde.strategies.bayesian.surrogate import features_of
from sonde.strategies.first_order.active_searches import is_high_dimensional
from sonde.strategies.first_order.gradient_model import GradientModel
from sonde.surrogates.features import CENTRE
from sonde.surrogates.gradient.global_trend import GlobalTrends, fit_global_trends
from sonde.surrogates.outputs import Scale
from sonde.trials import History


def incumbent(history: History) -> Array:
    """Return the best point so far, (d,)."""
    done = history.completed
    return np.asarray(done.units[int(np.argmin(history.feasible_values[done.numbers]))])


class SearchStarts:
    """Samples starts, with one fit of the global trends for all starts of a batch."""

    def __init__(self, model: GradientModel) -> None:
        self._model = model
        self._last_trends: tuple[History, int, GlobalTrends] | None = None

    def sample(self, domain: Domain, minima: Integers, trial: Key) -> Array:
        """Return the start of a local search: a sample of the minimizer of the global trend.

        Discrete parameters are random; in high dimension, without a model to choose them, mostly the incumbent's.
        """
        space, history = domain.space, domain.history
        features, rng = features_of(space), trial.rng(Stream.LOCAL_STARTS)
        minimizer = self._global_trends(space, history, minima).sample_minimizer(rng)
        point = rng.random(len(space))
        if is_high_dimensional(space):
            best = incumbent(history)
            discrete = ~domain.continuous
            kept = discrete & domain.project(best[None])[1][0] & (rng.random(len(space)) * np.sum(discrete) > 1)
            point[kept] = best[kept]
        columns = features.groups[features.ordered]
        continuous = domain.continuous[columns]
        point[columns[continuous]] = np.clip(minimizer + CENTRE, 0.0, 1.0)[continuous]
        return np.asarray(domain.project(point[None])[0][0])

    def _global_trends(self, space: Space, history: History, minima: Integers) -> GlobalTrends:
        """Return the global trends of all observations, given the trials at known minima: one fit for a batch."""
        last = self._last_trends
        if last is None or last[0] is not history or last[1] != history.revision:
            self._last_trends = None  # not two at a time in memory
            observations, ordered = self._model.observations(space, history), features_of(space).ordered
            scale = Scale.of(observations.values)
            gradients = -scale.slope(observations.values)[:, None] * observations.gradients[:, ordered]
            at_minimum = np.isin(history.completed.numbers, minima)
            trends = fit_global_trends(observations.x[:, ordered], -scale(observations.values), gradients, at_minimum)
            self._last_trends = last = history, history.revision, trends
        return last[2]
