"""The rate at which a search has improved on the incumbent recently."""

from __future__ import annotations

import math

MEMORY = 4  # the decay time of the weights, in observations for each free parameter


class SuccessRate:
    """The share of improvements among the observations of a search, with exponentially decaying weights.

    Before the first observation the rate is 1 / n for n free parameters. The class keeps two sums of
    exp((arrival - reference) / decay) over the arrivals, so observations may be added in any order and the rate can be
    read at any time.
    """

    def __init__(self, free: int) -> None:
        self._free, self._decay = free, float(MEMORY * free)
        self._tried = self._better = 0.0
        self._reference = 0.0

    def add(self, arrival: int, *, better: bool) -> None:
        """Count an observation."""
        if arrival - self._reference > 100 * self._decay:  # before the exponential overflows
            decayed = self._decayed(arrival)
            self._tried, self._better, self._reference = self._tried * decayed, self._better * decayed, float(arrival)
        weight = math.exp((arrival - self._reference) / self._decay)
        self._tried += weight
        self._better += weight * better

    def rate(self, now: int) -> float:
        """Return the rate after ``now`` observations of all searches."""
        decayed = self._decayed(now)
        return (self._better * decayed + 1) / (self._tried * decayed + self._free)

    def _decayed(self, now: float) -> float:
        return math.exp((self._reference - now) / self._decay)
