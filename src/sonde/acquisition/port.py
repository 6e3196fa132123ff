"""The interface of an acquisition function, as the search for its maximum uses it."""

from __future__ import annotations

from abc import ABC, abstractmethod

from sonde.arrays import Array


class Acquisition(ABC):
    """The expected utility of evaluating a batch of q points together. Higher is better.

    ``log`` says whether values are logarithms, which decides how they are averaged and multiplied by probabilities.
    """

    log: bool = False

    def fresh(self, step: int) -> Acquisition:
        """Return it with other base samples, for stochastic gradient ascent; itself, where it has none."""
        return self

    @abstractmethod
    def values(self, batches: Array) -> Array:
        """Return the values (B,) of batches (B, q, d) in the unit cube."""

    @abstractmethod
    def gradients(self, batches: Array) -> tuple[Array, Array]:
        """Return the values (B,) and their gradients (B, q, d)."""
