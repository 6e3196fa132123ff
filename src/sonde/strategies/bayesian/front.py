"""The surrogates of several objectives, and the Pareto front of what they say about the results so far.

Symbols: m points of the front, K objectives; outcomes are on the scales of the surrogates, higher is better.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sonde.arrays import Array
from sonde.pareto.boxes import Boxes
from sonde.pareto.fronts import non_dominated
from sonde.pareto.hypervolume import reference_point
from sonde.strategies.bayesian.surrogate import NOISY, Surrogate
from sonde.surrogates.exact.feasibility import Feasibility
from sonde.surrogates.outputs import Scale
from sonde.surrogates.port import Posterior
from sonde.trials import History


@dataclass(frozen=True)
class FrontSurrogate:
    """A surrogate of each objective, the front, and the reference point: what is worse than it does not interest."""

    parts: tuple[Surrogate, ...]
    front: Array  # (m, K)
    reference: Array  # (K,)
    incumbents: Array  # (m, d): the points of the unit cube on the front
    feasibility: Feasibility | None
    best: float | None  # None where no trial meets its constraints

    @classmethod
    def of(cls, parts: tuple[Surrogate, ...], history: History, margin: float) -> FrontSurrogate:
        """Return it for a history with completed trials; ``margin`` is that of the reference point."""
        done = history.completed
        usable = history.feasible[done.numbers]
        outcomes = history.outcomes[done.numbers]
        reference = reference_of(history, outcomes[usable] if usable.any() else outcomes, margin)
        noisy = [bool(np.any(history.of(k).noise > 0)) for k in range(len(parts))]
        columns = zip(parts, outcomes.T, noisy, strict=True)
        modelled = np.stack([_modelled(part, done.units, column, own) for part, column, own in columns], axis=1)
        kept = np.flatnonzero(usable)
        kept = kept[non_dominated(modelled[kept])] if len(kept) else np.arange(len(usable))
        scaled = [part.scale(reference[k : k + 1])[0] for k, part in enumerate(parts)]
        return cls(
            parts, modelled[kept] if usable.any() else modelled[:0], np.array(scaled), done.units[kept],
            parts[0].feasibility, 0.0 if usable.any() else None,
        )  # fmt: skip

    @property
    def draws(self) -> tuple[tuple[Posterior, ...], ...]:
        """The posteriors of all objectives for each draw of the hyperparameters; who has fewer draws repeats them."""
        count = max(len(part.posteriors) for part in self.parts)
        return tuple(tuple(part.posteriors[i % len(part.posteriors)] for part in self.parts) for i in range(count))

    def weights(self, boxes: Boxes) -> Array:
        """Return what one unit of each side of the boxes (b, K) is in the units of the objectives, up to constants.

        The improvement is measured in the units of the objectives, also where a surrogate is of the logarithm.
        """
        return np.stack([_unit(part.scale, boxes.low[:, k], boxes.high[:, k]) for k, part in enumerate(self.parts)], 1)


def reference_of(history: History, outcomes: Array, margin: float) -> Array:
    """Return the reference point (K,), lower is better: the thresholds, or ``margin`` ranges above the front.

    While no result meets all thresholds, the reference point is between them and the latter: as far from the thresholds
    as the nearest result is (goal attainment, Gembicki and Haimes 1975), and ``margin`` farther. A model is not good at
    what is far better than its data.
    """
    above, limits = -reference_point(-outcomes, margin), history.objectives.thresholds
    known = limits < above  # of those that are worse, or not declared, none is missed
    if known.any():
        distance = ((outcomes - limits) / (above - limits))[:, known].max(axis=1).min()
        share = min(distance + margin, 1.0) if distance > 0 else 0.0
        limits = np.where(known, limits + share * (above - limits), limits)
    return np.where(np.isnan(limits), above, limits)


def _modelled(part: Surrogate, units: Array, values: Array, noisy: bool) -> Array:
    """Return the values on the surrogate's scale; where noise was found or declared, what it makes of them."""
    if not noisy and part.posteriors[0].noise <= NOISY:
        return part.scale(values)
    return part.posteriors[0].marginals(part.features(units)).mean[:, 0]


def _unit(scale: Scale, low: Array, high: Array) -> Array:
    """Return the mean slope of the inverse of a scale between two values; beyond the front, over one unit."""
    if scale.floor is None:
        return np.ones(len(low))
    high = np.where(np.isinf(high), low + 1, high)
    none = np.zeros(len(low))
    gained = scale.restore(low, none)[0] - scale.restore(high, none)[0]
    return np.maximum(gained / scale.range / np.maximum(high - low, 1e-12), 1e-300)
