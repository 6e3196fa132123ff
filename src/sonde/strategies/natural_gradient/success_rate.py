"""How often a search has found something better lately."""

from __future__ import annotations

import math

MEMORY = 4  # so many times the number of free parameters, in results


class SuccessRate:
    """The share of improvements among the results of a search, recent ones counting more; at first, one in n.

    Sums of exp((place - reference) / span) over places of results: what is added in any order is known at any time.
    """

    def __init__(self, free: int) -> None:
        self._free, self._span = free, float(MEMORY * free)
        self._tried = self._better = 0.0
        self._reference = 0.0

    def add(self, place: int, *, better: bool) -> None:
        """Count a result."""
        if place - self._reference > 100 * self._span:  # before the exponential grows too large
            faded = self._fading(place)
            self._tried, self._better, self._reference = self._tried * faded, self._better * faded, float(place)
        weight = math.exp((place - self._reference) / self._span)
        self._tried += weight
        self._better += weight * better

    def rate(self, now: int) -> float:
        """Return the rate when so many results are there."""
        faded = self._fading(now)
        return (self._better * faded + 1) / (self._tried * faded + self._free)

    def _fading(self, now: float) -> float:
        return math.exp((self._reference - now) / self._span)
