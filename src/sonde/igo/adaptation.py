"""How noisy the natural gradient is, and what follows: more samples, or shorter steps.

s accumulates the whitened gradient in units of what pure noise would give; gamma is the squared norm expected of noise.
A squared norm above alpha gamma says that the signal can be heard: the reference size lambda_r falls; below, it grows.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = NDArray[np.float64]

ALPHA = 1.5


@dataclass
class Adaptation:
    """The accumulated signal and the sample size it asks for, between two bounds."""

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
        """How many times the smallest size is called for."""
        return self.reference / self.smallest

    def learn(self, whitened: Array, beta: float, noise: float) -> None:
        """Take in a whitened gradient whose squared norm would be ``noise`` without a signal."""
        keep, take = 1 - beta, beta * (2 - beta)
        fresh = math.sqrt(take / noise) * whitened  # eq. (10), with eq. (11) for the noise
        self.s = fresh if self.s is None else keep * self.s + fresh
        self.gamma = keep**2 * self.gamma + take
        grown = self.reference * math.exp(beta * (self.gamma - float(self.s @ self.s) / self.alpha))  # eq. (12)
        self.reference = min(max(grown, self.smallest), self.largest)
