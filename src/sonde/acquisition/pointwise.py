"""A closed form at each point, averaged over fantasies.

With points under way, the belief is conditioned on S samples of their outcomes: the variance is the same for all, the
means and the best value differ. Averaging EI over the samples is the q-EI of pending and new point with the new point's
integral done exactly: max(0, max(y_pending, y) - best) = max(0, max(y_pending) - best) + max(0, y - best_s).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sonde.acquisition.averages import average
from sonde.acquisition.closed import FORMULAS
from sonde.acquisition.port import Acquisition
from sonde.surrogates.features import Features
from sonde.surrogates.port import Marginals, Posterior

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Pointwise(Acquisition):
    """The formula of that name (see ``closed``) at pools of one point."""

    formula: str
    posterior: Posterior
    features: Features
    best: Array  # (S,)

    @property
    def log(self) -> bool:  # type: ignore[override]
        """Whether the formula is a logarithm."""
        return self.formula.startswith("log_")

    def values(self, pools: Array) -> Array:
        """Return the average over fantasies."""
        return self._evaluate(pools)[1]

    def gradients(self, pools: Array) -> tuple[Array, Array]:
        """Return the average and its gradient."""
        belief, value, mean_gradient, deviation_slope = self._evaluate(pools)
        variance_gradient = deviation_slope / (2 * np.sqrt(belief.variance))
        return value, self.features.vjp(belief.vjp(mean_gradient, variance_gradient)[:, None, :], pools)

    def _evaluate(self, pools: Array) -> tuple[Marginals, Array, Array, Array]:
        belief = self.posterior.marginals(self.features(pools[:, 0, :]))
        deviation = np.sqrt(belief.variance)[:, None]
        value, mean_gradient, deviation_slope = FORMULAS[self.formula](belief.mean, deviation, self.best)
        value, shares = average(value, log=self.log)
        return belief, value, shares * mean_gradient, np.sum(shares * deviation_slope, axis=-1)
