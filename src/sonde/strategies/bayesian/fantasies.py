"""Fantasies of pending points: samples of their values, on which the surrogate is conditioned (Snoek et al. 2012).

Failures are fantasized as well (Snoek et al. 2015, section 3.3): a point that fails is no new incumbent and is not on
the front. The surrogate is conditioned on its value all the same, which keeps other points away from it.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from sonde.acquisition.sampling import base_samples
from sonde.arrays import Array, Mask
from sonde.pareto.boxes import Boxes, undominated_boxes
from sonde.sampling import Key, Stream
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
    base: Array  # normal samples (S, f), a column for each pending point
    uniforms: Array  # whether it succeeds, (S, f)
    _used: int = field(default=0)

    @classmethod
    def of(cls, posterior: Posterior, best: float, room: int, seed: int) -> Fantasies:
        """Return the posterior without pending points, and with room for so many."""
        base = base_samples(FANTASIES, room, seed) if room else np.empty((1, 0))
        return cls(posterior, np.array([best]), base, _uniforms(len(base), room, seed))

    def add(self, x: Array, success: float = 1.0) -> Array:
        """Condition on the outcomes (S,) of a point with features (p,), the next row of L z, and return them.

        They are values of the function itself, without noise: improvement is a question of those. ``success`` is the
        probability that the point does not fail.
        """
        marginals = self.posterior.marginals(x[None])
        outcomes = marginals.mean[0] + np.sqrt(marginals.variance) * self.base[:, self._used]
        self.posterior = self.posterior.condition(x[None], outcomes[None], SURE - self.posterior.noise)
        succeeded = self.uniforms[:, self._used] < success
        self.best = np.where(succeeded, np.maximum(self.best, outcomes), self.best)
        self._used += 1
        return np.asarray(outcomes)


@dataclass
class FrontFantasies:
    """The posteriors of several objectives with pending points, and the front in each fantasy."""

    surrogate: FrontSurrogate
    parts: tuple[Fantasies, ...]  # one for each objective
    uniforms: Array  # whether a pending point succeeds, (S, f)
    outcomes: list[Array] = field(default_factory=list)  # (S, K) of each pending point
    succeeded: list[Mask] = field(default_factory=list)  # (S,) of each pending point

    @classmethod
    def of(cls, surrogate: FrontSurrogate, posteriors: tuple[Posterior, ...], room: int, seed: int) -> FrontFantasies:
        """Return the posteriors of one draw of the hyperparameters, and with room for so many pending points."""
        none = np.array([-np.inf])
        # columns of one sequence: the sequences of neighbouring seeds are not independent
        base = base_samples(FRONTS, room * len(posteriors), seed) if room else np.empty((1, 0))
        columns, uniforms = np.split(base, len(posteriors), axis=1), _uniforms(len(base), room, seed)
        parts = [Fantasies(each, none, own, uniforms) for each, own in zip(posteriors, columns, strict=True)]
        return cls(surrogate, tuple(parts), uniforms)

    def add(self, point: Array, success: float = 1.0) -> None:
        """Condition on the outcomes of a point (d,) of the unit cube that does not fail with this probability."""
        self.succeeded.append(self.uniforms[:, len(self.outcomes)] < success)
        pairs = zip(self.parts, self.surrogate.parts, strict=True)
        told = [own.add(part.features(point)) for own, part in pairs]
        self.outcomes.append(np.stack(told, axis=1))

    @property
    def boxes(self) -> tuple[Boxes, ...]:
        """The boxes above the front in each fantasy; without pending points there is one."""
        front, reference = self.surrogate.front, self.surrogate.reference
        if not self.outcomes:
            return (undominated_boxes(front, reference),)
        pending, succeeded = np.stack(self.outcomes, axis=1), np.stack(self.succeeded, axis=1)  # (S, f, K), (S, f)
        fronts = [np.concatenate([front, each[own]]) for each, own in zip(pending, succeeded, strict=True)]
        return tuple(undominated_boxes(each, reference) for each in fronts)


def _uniforms(count: int, room: int, seed: int) -> Array:
    """Return random numbers (S, f) that decide whether pending points succeed."""
    return Key(seed, 0).rng(Stream.PENDING_FAILURES).random((count, room))
