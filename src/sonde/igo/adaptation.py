"""Adaptation of the sample size, or of the step size, to the noise of the natural gradient.

s accumulates whitened gradients, divided by the norm that pure noise would have; gamma is the expected squared norm of
s under pure noise. Where |s|^2 is above alpha gamma, the signal is strong and the reference sample size lambda_r falls;
where it is below, lambda_r grows.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from sonde.arrays import Array

ALPHA = 1.5


@dataclass
class Adaptation:
    """The accumulated signal s, and the reference sample size lambda_r between two bounds."""

    smallest: float
    largest: float
    alpha: float = ALPHA
    reference: float = field(init=False)  # lambda_r
    gamma: float = field(default=0.0, init=False)
    s: Array | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        self.reference = self.smallest

    @property
    def growth(self) -> float:
        """lambda_r as a multiple of the smallest size."""
        return self.reference / self.smallest

    def learn(self, whitened: Array, beta: float, noise: float) -> None:
        """Add a whitened gradient; ``noise`` is its expected squared norm without a signal."""
        keep, take = 1 - beta, beta * (2 - beta)
        fresh = math.sqrt(take / noise) * whitened  # eq. (10), with eq. (11) for the noise
        self.s = fresh if self.s is None else keep * self.s + fresh
        self.gamma = keep**2 * self.gamma + take
        grown = self.reference * math.exp(beta * (self.gamma - float(self.s @ self.s) / self.alpha))  # eq. (12)
        self.reference = min(max(grown, self.smallest), self.largest)
