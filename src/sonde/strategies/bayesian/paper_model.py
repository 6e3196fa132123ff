"""The model of Snoek et al. (2015): one network for the values of valid trials, and one for validity.

A trial is valid if it completed and meets the measured constraints. Both networks are trained on all results, and
hyperparameters are sampled for every suggestion.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from sonde.activity import doing
from sonde.arrays import Array, Integers
from sonde.sampling import Key, Stream
from sonde.space import Space
from sonde.strategies.bayesian.integrated_improvement import Improvement, Validity
from sonde.strategies.bayesian.predictions import Predictions
from sonde.strategies.bayesian.surrogate import Surrogate, best_points, features_of
from sonde.surrogates.basis.classifier import LINKS
from sonde.surrogates.basis.data import Table
from sonde.surrogates.basis.networks import Network
from sonde.surrogates.basis.regression import Hyperparameters
from sonde.surrogates.basis.single_network import (
    classifiers,
    draws_of,
    leave_one_out,
    posteriors_of,
    regression_on,
    trained,
)
from sonde.surrogates.exact.feasibility import combine
from sonde.surrogates.exact.region import Region
from sonde.surrogates.outputs import Scale
from sonde.surrogates.recent import Recent
from sonde.trials import History

DRAWS = 10  # samples of the hyperparameters
KEPT = 8  # networks in memory


@dataclass(frozen=True)
class PaperSurrogate(Surrogate):
    """The samples of the hyperparameters: of the values, and of the labels."""

    improvement: Improvement | None  # None: no trial is valid
    validity: Validity | None  # None: no trial is invalid


@dataclass
class PaperModel:
    """Fits the surrogate. ``failures`` is the likelihood of the labels: ``"noisy"`` or ``"noiseless"``."""

    failures: str
    _networks: Recent[Network] = field(default_factory=lambda: Recent(KEPT))

    def fit(self, space: Space, history: History, key: Key, region: Region | None = None) -> PaperSurrogate:
        """Return the surrogate of a history with completed trials, the same for any region."""
        return self._fit(space, history, key)[0]

    def predictions(self, space: Space, history: History) -> Predictions:
        """Return the predictions given all valid results, in the units of the values."""
        surrogate, numbers, given = self._fit(space, history, Key(0, 0))

        def left_out() -> tuple[Array, Array]:
            x = surrogate.features(history.units[numbers])
            return leave_one_out(self._network(x, surrogate.values, "squares"), x, surrogate.values, given)

        return Predictions(space, surrogate, numbers, left_out)

    def _fit(self, space: Space, history: History, key: Key) -> tuple[PaperSurrogate, Integers, list[Hyperparameters]]:
        """Return the surrogate, the trials whose values it models, and the samples of the hyperparameters."""
        features, rng, done = features_of(space), key.rng(Stream.HYPERPARAMETERS), history.completed
        valid = history.feasible[done.numbers]
        numbers = done.numbers[valid] if valid.any() else done.numbers
        units, scale = history.units[numbers], Scale.of(history.values[numbers])
        x, y = features(units), scale(history.values[numbers])
        network = self._network(x, y, "squares")
        regression = regression_on(network, x, y)
        given = draws_of(regression, DRAWS, rng)
        posteriors = posteriors_of(network, regression, given)
        validity = self._validity(space, history, rng)
        best = float(y.max()) if valid.any() else None
        surrogate = PaperSurrogate(
            features, scale, tuple(posteriors), y, best=best, incumbents=best_points(units, y, np.full(len(y), True)),
            feasibility=combine([validity.of_units(features)] if validity else []), validity=validity,
            improvement=None if best is None else Improvement.of(posteriors, best),
        )  # fmt: skip
        return surrogate, numbers, given

    def _validity(self, space: Space, history: History, rng: np.random.Generator) -> Validity | None:
        """Return the classifier of the labels."""
        done, failed = history.completed, history.failed
        valid = np.concatenate([history.feasible[done.numbers], np.zeros(len(failed), dtype=bool)])
        if valid.all():
            return None
        x = features_of(space)(np.concatenate([done.units, failed.units]))
        labels = np.where(valid, 1.0, -1.0)
        network = self._network(x, labels, "logistic")
        return Validity(network, tuple(classifiers(network, x, labels, DRAWS, rng)), LINKS[self.failures])

    def _network(self, x: Array, targets: Array, loss: str) -> Network:
        """Return the network trained on these data, in memory or trained now."""
        key = Table(x, targets, np.empty(0)).digest() + loss.encode()

        def train() -> Network:
            with doing(f"training a network on {len(x):,} results"):
                return trained(x, targets, loss)

        return self._networks.get_or_compute(key, train)
