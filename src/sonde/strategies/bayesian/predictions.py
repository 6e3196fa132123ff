"""Predictions of a surrogate, in the units of the objective."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from sonde.arrays import Array, Integers
from sonde.space import Space
from sonde.strategies.bayesian.surrogate import Surrogate
from sonde.strategies.threads import one_thread


@dataclass(frozen=True)
class Predictions:
    """Predictions of future values, noise included, and of the function without noise."""

    space: Space
    surrogate: Surrogate
    numbers: Integers  # of the trials whose values the surrogate has seen
    left_out: Callable[[], tuple[Array, Array]]  # means and variances of each value, given all others
    averaged: Callable[[], Surrogate] | None = None  # with draws of the hyperparameters, for ``latent``

    def predict(self, rows: Array) -> tuple[Array, Array]:
        """Return means and standard deviations (m,) at rows (m, d)."""
        return self._moments(self.surrogate, rows)

    @one_thread()
    def latent(self, rows: Array) -> tuple[Array, Array, Array]:
        """Return means and standard deviations (m,) of the function itself, and those of what is left over as noise.

        Where few values are noisy, the most probable hyperparameters can be certain of a plane; draws are not.
        """
        surrogate = self.averaged() if self.averaged else self.surrogate
        means, deviations = self._moments(surrogate, rows, noisy=False)
        whole = self._moments(surrogate, rows)[1]
        return means, deviations, np.sqrt(np.maximum(whole**2 - deviations**2, 0.0))

    def _moments(self, surrogate: Surrogate, rows: Array, *, noisy: bool = True) -> tuple[Array, Array]:
        x = surrogate.features(self.space.codec.encode(rows)[0])
        parts = [(posterior.marginals(x), noisy * posterior.noise) for posterior in surrogate.posteriors]
        means = np.array([at.mean[:, 0] for at, _ in parts])
        variances = np.array([at.variance + noise for at, noise in parts])
        return surrogate.scale.restore(means.mean(axis=0), variances.mean(axis=0) + means.var(axis=0))

    def leave_one_out(self) -> tuple[Integers, Array, Array, Array]:
        """Return numbers, means, standard deviations and scores of the completed trials."""
        means, variances = self.left_out()
        scores = -(self.surrogate.values - means) / np.sqrt(variances)
        return self.numbers, *self.surrogate.scale.restore(means, variances), scores
