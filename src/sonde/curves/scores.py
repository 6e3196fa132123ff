"""Normal scores: values replaced by the normal quantiles of their ranks.

They do not change under any increasing transformation of the values, so losses over decades, units and inf
need no care.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr, ndtri

from sonde.arrays import Array


@dataclass(frozen=True)
class NormalScores:
    """The transformation by the ranks among sorted values (n,)."""

    ordered: Array

    @classmethod
    def among(cls, values: Array) -> NormalScores:
        """Return the transformation by the ranks among values."""
        return cls(np.sort(values))

    def __call__(self, values: Array) -> Array:
        """Return the scores of values; equal ones have the score of their middle rank."""
        below = np.searchsorted(self.ordered, values, side="left")
        not_above = np.searchsorted(self.ordered, values, side="right")
        scores: Array = ndtri((0.5 * (below + not_above) + 0.5) / (len(self.ordered) + 1))
        return scores

    def inverse(self, scores: Array) -> Array:
        """Return the values of scores, linear between the finite ones that are known and never beyond them."""
        known = self.ordered[np.isfinite(self.ordered)]
        ranks = ndtr(scores) * (len(self.ordered) + 1) - 1
        values: Array = np.interp(ranks, np.arange(len(known)), known)
        return values
