"""Fantasies of pending points: samples of their values, on which the surrogate is conditioned (Snoek et al. 2012)."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from sonde.acquisition.sampling import base_samples
from sonde.arrays import Array
from sonde.pareto.boxes import Boxes, undominated_boxes
from sonde.strategies.bayesian.front import FrontSurrogate
from sonde.surrogates.port import Posterior

FANTASIES = 32
FRONTS = 8  # of several objectives: each fantasy has boxes of its own
SURE = 1e-9  # noise variance of a fantasy


@dataclass
class Fantasies:
    """The posterior with pending points: S fantasies of each, sampled jointly, one point after the other."""

    posterior: Posterior
    best: Array  # (S,)
    base: Array  # (S, f), a column for each pending point
    _used: int = field(default=0)

    @classmethod
    def of(cls, posterior: Posterior, best: float, room: int, seed: int) -> Fantasies:
        """Return the posterior without pending points, and with room for so many."""
        return cls(posterior, np.array([best]), base_samples(FANTASIES, room, seed) if room else np.empty((1, 0)))

    def add(self, x: Array) -> Array:
        """Condition on the outcomes (S,) of a point with features (p,), the next row of L z, and return them.

        They are values of the function itself, without noise: improvement is a question of those.
        """
        marginals = self.posterior.marginals(x[None])
        outcomes = marginals.mean[0] + np.sqrt(marginals.variance) * self.base[:, self._used]
        self.posterior = self.posterior.condition(x[None], outcomes[None], SURE - self.posterior.noise)
        self.best = np.maximum(self.best, outcomes)
        self._used += 1
        return np.asarray(outcomes)


@dataclass
class FrontFantasies:
    """The posteriors of several objectives with pending points, and the front in each fantasy."""

    surrogate: FrontSurrogate
    parts: tuple[Fantasies, ...]  # one for each objective
    outcomes: list[Array] = field(default_factory=list)  # (S, K) of each pending point

    @classmethod
    def of(cls, surrogate: FrontSurrogate, posteriors: tuple[Posterior, ...], room: int, seed: int) -> FrontFantasies:
        """Return the posteriors of one draw of the hyperparameters, and with room for so many pending points."""
        none = np.array([-np.inf])
        # columns of one sequence: the sequences of neighbouring seeds are not independent
        base = base_samples(FRONTS, room * len(posteriors), seed) if room else np.empty((1, 0))
        columns = np.split(base, len(posteriors), axis=1)
        return cls(
            surrogate,
            tuple(Fantasies(*each) for each in zip(posteriors, [none] * len(posteriors), columns, strict=True)),
        )

    def add(self, point: Array) -> None:
        """Condition on the outcomes of a point (d,) of the unit cube."""
        pairs = zip(self.parts, self.surrogate.parts, strict=True)
        told = [own.add(part.features(point)) for own, part in pairs]
        self.outcomes.append(np.stack(told, axis=1))

    @property
    def boxes(self) -> tuple[Boxes, ...]:
        """The boxes above the front in each fantasy; without pending points there is one."""
        front, reference = self.surrogate.front, self.surrogate.reference
        if not self.outcomes:
            return (undominated_boxes(front, reference),)
        pending = np.stack(self.outcomes, axis=1)  # (S, f, K)
        return tuple(undominated_boxes(np.concatenate([front, each]), reference) for each in pending)
