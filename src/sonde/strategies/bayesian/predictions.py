"""A belief as predictions of values, in their own units."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sonde.space import Space
from sonde.strategies.bayesian.model import Surrogate
from sonde.strategies.threads import one_thread

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Predictions:
    """Predictions of values that will be seen, noise included, and of the function behind them."""

    space: Space
    belief: Surrogate
    numbers: NDArray[np.int64]  # of the trials whose values the belief has seen
    left_out: Callable[[], tuple[Array, Array]]  # means and variances of each value, given all others
    averaged: Callable[[], Surrogate] | None = None  # the belief over draws of the hyperparameters, for ``latent``

    def predict(self, rows: Array) -> tuple[Array, Array]:
        """Return means and standard deviations (m,) at rows (m, d)."""
        return self._moments(self.belief, rows)

    @one_thread()
    def latent(self, rows: Array) -> tuple[Array, Array, Array]:
        """Return means and standard deviations (m,) of the function itself, and those of what is left over as noise.

        Where few values are noisy, the most probable hyperparameters can be certain of a plane; draws are not.
        """
        belief = self.averaged() if self.averaged else self.belief
        means, deviations = self._moments(belief, rows, noisy=False)
        whole = self._moments(belief, rows)[1]
        return means, deviations, np.sqrt(np.maximum(whole**2 - deviations**2, 0.0))

    def _moments(self, belief: Surrogate, rows: Array, *, noisy: bool = True) -> tuple[Array, Array]:
        x = belief.features(self.space.codec.encode(rows)[0])
        parts = [(posterior.marginals(x), noisy * posterior.noise) for posterior in belief.posteriors]
        means = np.array([at.mean[:, 0] for at, _ in parts])
        variances = np.array([at.variance + noise for at, noise in parts])
        return belief.scale.restore(means.mean(axis=0), variances.mean(axis=0) + means.var(axis=0))

    def leave_one_out(self) -> tuple[NDArray[np.int64], Array, Array, Array]:
        """Return numbers, means, standard deviations and scores of the completed trials."""
        means, variances = self.left_out()
        scores = -(self.belief.values - means) / np.sqrt(variances)
        return self.numbers, *self.belief.scale.restore(means, variances), scores
