"""Fantasies of pending points: samples of their values, on which the surrogate is conditioned (Snoek et al. 2012)."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from sonde.acquisition.sampling import base_samples
from sonde.arrays import Array
from sonde.surrogates.port import Posterior

FANTASIES = 32
SURE = 1e-9  # noise variance of a fantasy


@dataclass
class Fantasies:
    """The posterior with pending points: S fantasies of each, sampled jointly, one point after the other."""

    posterior: Posterior
    best: Array  # (S,)
    base: Array  # (S, f), a column for each pending point
    _used: int = field(default=0)

    @classmethod
    def of(cls, posterior: Posterior, best: float, room: int, seed: int) -> Fantasies:
        """Return the posterior without pending points, and with room for so many."""
        return cls(posterior, np.array([best]), base_samples(FANTASIES, room, seed) if room else np.empty((1, 0)))

    def add(self, x: Array) -> None:
        """Condition on the outcomes of a point with features (p,), the next row of L z.

        They are values of the function itself, without noise: improvement is a question of those.
        """
        marginals = self.posterior.marginals(x[None])
        outcomes = marginals.mean[0] + np.sqrt(marginals.variance) * self.base[:, self._used]
        self.posterior = self.posterior.condition(x[None], outcomes[None], SURE - self.posterior.noise)
        self.best = np.maximum(self.best, outcomes)
        self._used += 1
