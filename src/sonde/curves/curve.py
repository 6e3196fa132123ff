"""A learning curve: the values that a trial reported on its way, lower is better.

Reports come late, out of order and twice. A curve has them sorted by step; of two at one step, the last to come counts.
A value that is not finite says that the training diverged, and is worse than any other: it is kept as inf.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from sonde.arrays import Array


@dataclass(frozen=True)
class Curve:
    """Values (m,) at increasing steps (m,); lower is better, inf where the training diverged."""

    steps: Array
    values: Array

    @classmethod
    def of(cls, reports: Iterable[tuple[float, float]]) -> Curve:
        """Return the curve of reports (step, value), in the order in which they came."""
        last = {float(step): float(value) for step, value in reports if np.isfinite(step)}
        steps = np.array(sorted(last), dtype=float)
        values = np.array([last[step] for step in steps.tolist()], dtype=float)
        return cls(steps, diverged_as_inf(values))

    @property
    def last_step(self) -> float:
        """The step of the last report; -inf if there is none."""
        return float(self.steps[-1]) if len(self.steps) else -np.inf

    def at(self, steps: Array) -> Array:
        """Return the values at steps, linear between reports; NaN before the first report and after the last.

        Between a finite value and inf, it is inf.
        """
        if not len(self.steps):
            return np.full(len(steps), np.nan)
        with np.errstate(invalid="ignore"):
            values = np.interp(steps, self.steps, self.values)
        values[np.isnan(values)] = np.inf
        values[(steps < self.steps[0]) | (steps > self.steps[-1])] = np.nan
        return values

    def best(self) -> Curve:
        """Return the curve of the best value so far."""
        return Curve(self.steps, np.minimum.accumulate(self.values))


def diverged_as_inf(values: Array) -> Array:
    """Return values with inf in place of those that are not finite."""
    return np.where(np.isfinite(values), values, np.inf)
