"""Means over samples, of numbers or of numbers known by their logarithms; acquisitions combined by them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from sonde.acquisition.port import Acquisition

Array = NDArray[np.float64]

LEAST = -1e100  # the logarithm of zero, finite so that an optimizer can compare it


def average(values: Array, *, log: bool, axis: int = -1) -> tuple[Array, Array]:
    """Return the mean over one axis and each entry's share in its slope (shares sum to one)."""
    if not log:
        return values.mean(axis=axis), np.broadcast_to(1.0 / values.shape[axis], values.shape)
    values = np.maximum(values, LEAST)
    top = values.max(axis=axis, keepdims=True)
    weights = np.exp(values - top)
    total = weights.sum(axis=axis, keepdims=True)
    mean = top + np.log(total / values.shape[axis])
    return mean.squeeze(axis), weights / total


class LogProbability(Protocol):
    """The logarithm of a probability at points (m, d): values (m,) and gradients (m, d)."""

    def __call__(self, units: Array) -> tuple[Array, Array]:
        """Return values and gradients."""
        ...


@dataclass(frozen=True)
class Average(Acquisition):
    """The mean over models, one acquisition each: hyperparameters marginalised (Snoek et al. 2012)."""

    parts: tuple[Acquisition, ...]

    @property
    def log(self) -> bool:  # type: ignore[override]
        """Whether the parts are logarithms."""
        return self.parts[0].log

    def fresh(self, step: int) -> Average:
        """Return the mean over the parts with other base samples."""
        return Average(tuple(part.fresh(step) for part in self.parts))

    def values(self, pools: Array) -> Array:
        """Return the mean of the parts."""
        return average(np.stack([part.values(pools) for part in self.parts]), log=self.log, axis=0)[0]

    def gradients(self, pools: Array) -> tuple[Array, Array]:
        """Return the mean of the parts and its gradient."""
        pairs = [part.gradients(pools) for part in self.parts]
        values, shares = average(np.stack([value for value, _ in pairs]), log=self.log, axis=0)
        return values, np.sum(shares[..., None, None] * np.stack([slope for _, slope in pairs]), axis=0)


@dataclass(frozen=True)
class Weighted(Acquisition):
    """An acquisition where points may be infeasible: times P(all of the pool are feasible).

    A logarithm gets log P added. A utility that may be negative (``signed``) gets log P added too, in units of
    the standardised values: multiplying would make a hopeless point of negative value better.
    """

    part: Acquisition
    feasible: LogProbability
    signed: bool = False

    @property
    def log(self) -> bool:  # type: ignore[override]
        """Whether the acquisition is a logarithm."""
        return self.part.log

    def fresh(self, step: int) -> Weighted:
        """Return the same with other base samples."""
        return replace(self, part=self.part.fresh(step))

    def values(self, pools: Array) -> Array:
        """Return the weighted value."""
        return self._combine(self.part.values(pools), None, pools)[0]

    def gradients(self, pools: Array) -> tuple[Array, Array]:
        """Return the weighted value and its gradient."""
        return self._combine(*self.part.gradients(pools), pools)

    def _combine(self, values: Array, gradients: Array | None, pools: Array) -> tuple[Array, Array]:
        chance, chance_slopes = Chance(self.feasible).gradients(pools)
        own = np.zeros_like(pools) if gradients is None else gradients
        if self.log or self.signed:
            return values + chance, own + chance_slopes
        probability = np.exp(chance)
        return probability * values, probability[:, None, None] * (own + values[:, None, None] * chance_slopes)


@dataclass(frozen=True)
class Chance(Acquisition):
    """log P(all of the pool are feasible) alone: what to look for while nothing feasible is known."""

    feasible: LogProbability
    log = True

    def values(self, pools: Array) -> Array:
        """Return log P."""
        return self.gradients(pools)[0]

    def gradients(self, pools: Array) -> tuple[Array, Array]:
        """Return log P and its gradient."""
        count, size, width = pools.shape
        logs, gradients = self.feasible(pools.reshape(-1, width))
        return logs.reshape(count, size).sum(axis=1), gradients.reshape(pools.shape)
