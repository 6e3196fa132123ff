"""A belief as predictions of values, in their own units."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sonde.space import Space
from sonde.strategies.belief import Belief

Array = NDArray[np.float64]


@dataclass(frozen=True)
class BelievedValues:
    """Predictions of values that will be seen, noise included."""

    space: Space
    belief: Belief
    numbers: NDArray[np.int64]  # of the trials whose values the belief has seen
    left_out: Callable[[], tuple[Array, Array]]  # means and variances of each value, given all others

    def predict(self, rows: Array) -> tuple[Array, Array]:
        """Return means and standard deviations (m,) at rows (m, d)."""
        x = self.belief.features(self.space.codec.encode(rows)[0])
        beliefs = [(posterior.marginals(x), posterior.noise) for posterior in self.belief.posteriors]
        means = np.array([belief.mean[:, 0] for belief, _ in beliefs])
        variances = np.array([belief.variance + noise for belief, noise in beliefs])
        return self.belief.scale.restore(means.mean(axis=0), variances.mean(axis=0) + means.var(axis=0))

    def leave_one_out(self) -> tuple[NDArray[np.int64], Array, Array, Array]:
        """Return numbers, means, standard deviations and scores of the completed trials."""
        means, variances = self.left_out()
        scores = -(self.belief.values - means) / np.sqrt(variances)
        return self.numbers, *self.belief.scale.restore(means, variances), scores
