"""Closed-form acquisition functions of one point, averaged over fantasies.

With pending points, the posterior is conditioned on s samples of their outcomes (fantasies): the variance is the same
for all of them, the means and the incumbent differ. The average of EI over fantasies is, up to a constant, the q-EI of
the pending points and the new point, with the integral over the new point in closed form:
max(0, max(y_pending, y) - best) = max(0, max(y_pending) - best) + max(0, y - best_s).

Symbols: B batches of one point, s fantasies, best_s the incumbent in fantasy s.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sonde.acquisition.averages import average
from sonde.acquisition.closed import FORMULAS
from sonde.acquisition.port import Acquisition
from sonde.arrays import Array
from sonde.surrogates.features import Features
from sonde.surrogates.port import Marginals, Posterior


@dataclass(frozen=True)
class Pointwise(Acquisition):
    """The closed form of that name (see ``closed``), at batches of one point."""

    formula: str
    posterior: Posterior
    features: Features
    best: Array  # (s,)

    @property
    def log(self) -> bool:  # type: ignore[override]
        """Whether the formula is a logarithm."""
        return self.formula.startswith("log_")

    def values(self, batches: Array) -> Array:
        return self._evaluate(batches)[1]

    def gradients(self, batches: Array) -> tuple[Array, Array]:
        predicted, value, mean_gradient, deviation_gradient = self._evaluate(batches)
        variance_gradient = deviation_gradient / (2 * np.sqrt(predicted.variance))
        return value, self.features.vjp(predicted.vjp(mean_gradient, variance_gradient)[:, None, :], batches)

    def _evaluate(self, batches: Array) -> tuple[Marginals, Array, Array, Array]:
        """Return the posterior, the averages (B,), and their derivatives in means (B, s) and deviations (B,)."""
        predicted = self.posterior.marginals(self.features(batches[:, 0, :]))
        deviation = np.sqrt(predicted.variance)[:, None]
        value, mean_gradient, deviation_gradient = FORMULAS[self.formula](predicted.mean, deviation, self.best)
        value, weights = average(value, log=self.log)
        return predicted, value, weights * mean_gradient, np.sum(weights * deviation_gradient, axis=-1)
