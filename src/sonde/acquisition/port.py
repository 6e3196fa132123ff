"""What a search of an acquisition function needs to know about it."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


class Acquisition(ABC):
    """How much is expected of evaluating a pool of q points together. Higher is better.

    ``log`` says whether values are logarithms, and so how they combine with each other and with probabilities.
    """

    log: bool = False

    def fresh(self, step: int) -> Acquisition:
        """Return the same with other base samples; itself, where there are none."""
        return self

    @abstractmethod
    def values(self, pools: Array) -> Array:
        """Return the values (B,) of pools (B, q, d) in the unit cube."""

    @abstractmethod
    def gradients(self, pools: Array) -> tuple[Array, Array]:
        """Return the values (B,) and their gradients (B, q, d)."""
