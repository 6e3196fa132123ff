"""Averages of acquisition functions over samples or models, and their product with the probability of feasibility.

An acquisition function may be given by its logarithm (``log``); its average is then a log-mean-exp.

Symbols: B batches of q points, d parameters.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from sonde.acquisition.port import Acquisition
from sonde.arrays import Array

LogProbability = Callable[[Array], tuple[Array, Array]]  # at units (m, d): values (m,) and gradients (m, d)

LEAST = -1e100  # stands for the logarithm of zero: finite, so that an optimizer can compare it


def average(values: Array, *, log: bool, axis: int = -1) -> tuple[Array, Array]:
    """Return the mean over one axis and its derivatives in the entries, which sum to one."""
    if not log:
        return values.mean(axis=axis), np.broadcast_to(1.0 / values.shape[axis], values.shape)
    values = np.maximum(values, LEAST)
    largest = values.max(axis=axis, keepdims=True)
    weights = np.exp(values - largest)
    total = weights.sum(axis=axis, keepdims=True)
    mean = largest + np.log(total / values.shape[axis])
    return mean.squeeze(axis), weights / total


@dataclass(frozen=True)
class Average(Acquisition):
    """The mean of an acquisition function over models: hyperparameters are integrated out (Snoek et al. 2012)."""

    parts: tuple[Acquisition, ...]

    @property
    def log(self) -> bool:  # type: ignore[override]
        """Whether the values of the parts are logarithms."""
        return self.parts[0].log

    def fresh(self, step: int) -> Average:
        return Average(tuple(part.fresh(step) for part in self.parts))

    def values(self, batches: Array) -> Array:
        return average(np.stack([part.values(batches) for part in self.parts]), log=self.log, axis=0)[0]

    def gradients(self, batches: Array) -> tuple[Array, Array]:
        pairs = [part.gradients(batches) for part in self.parts]
        values, shares = average(np.stack([value for value, _ in pairs]), log=self.log, axis=0)
        return values, np.sum(shares[..., None, None] * np.stack([gradient for _, gradient in pairs]), axis=0)


@dataclass(frozen=True)
class FeasibilityWeighted(Acquisition):
    """An acquisition function times P(all points of the batch are feasible).

    If values are logarithms, log P is added. To a utility that may be negative (``signed``) log P is added too, in
    units of the standardized values: a product with a small P would make a negative value better.
    """

    part: Acquisition
    feasible: LogProbability
    signed: bool = False

    @property
    def log(self) -> bool:  # type: ignore[override]
        """Whether the values are logarithms."""
        return self.part.log

    def fresh(self, step: int) -> FeasibilityWeighted:
        return replace(self, part=self.part.fresh(step))

    def values(self, batches: Array) -> Array:
        return self._combine(self.part.values(batches), None, batches)[0]

    def gradients(self, batches: Array) -> tuple[Array, Array]:
        return self._combine(*self.part.gradients(batches), batches)

    def _combine(self, values: Array, gradients: Array | None, batches: Array) -> tuple[Array, Array]:
        log_p, log_p_gradients = ProbabilityOfFeasibility(self.feasible).gradients(batches)
        own = np.zeros_like(batches) if gradients is None else gradients
        if self.log or self.signed:
            return values + log_p, own + log_p_gradients
        probability = np.exp(log_p)
        return probability * values, probability[:, None, None] * (own + values[:, None, None] * log_p_gradients)


@dataclass(frozen=True)
class ProbabilityOfFeasibility(Acquisition):
    """log P(all points of the batch are feasible): the acquisition function while no feasible point is known."""

    feasible: LogProbability
    log = True

    def values(self, batches: Array) -> Array:
        return self.gradients(batches)[0]

    def gradients(self, batches: Array) -> tuple[Array, Array]:
        count, size, width = batches.shape
        logs, gradients = self.feasible(batches.reshape(-1, width))
        return logs.reshape(count, size).sum(axis=1), gradients.reshape(batches.shape)
