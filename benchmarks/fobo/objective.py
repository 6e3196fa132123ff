"""A function with a budget of evaluations, and the values that a method has evaluated."""

import time

import numpy as np
from numpy.typing import NDArray

from benchmarks.fobo.functions import Function

Array = NDArray[np.float64]


class Spent(Exception):
    """The budget is used up."""


class Objective:
    """A function of d variables that may be evaluated so many times, and for so many seconds."""

    def __init__(self, function: Function, d: int, budget: int, seconds: float = np.inf) -> None:
        self.function, self.d, self.budget = function, d, budget
        self.end = time.perf_counter() + seconds
        self.values: list[float] = []

    def __call__(self, x: Array) -> tuple[float, Array]:
        """Return the value and the gradient at x (d,)."""
        if len(self.values) == self.budget or time.perf_counter() > self.end:
            raise Spent
        value, gradient = self.function(x)
        self.values.append(float(value))
        return self.values[-1], gradient

    def best(self) -> Array:
        """Return the best values so far, (budget,); a method that stopped early keeps its last one."""
        best = np.minimum.accumulate(self.values)
        return np.pad(best, (0, self.budget - len(best)), mode="edge")
