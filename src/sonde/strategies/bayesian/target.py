"""What a strategy looks for next, and where: the target of a search."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sonde.arrays import Array, Mask
from sonde.strategies.bayesian.front import FrontSurrogate
from sonde.strategies.bayesian.surrogate import Surrogate

EXCLUDED = 0.1  # half the side of an excluded region, in units of the cube


@dataclass(frozen=True)
class Box:
    """Where the search looks: a box (d,), (d,), the points it perturbs, and a point whose surroundings are excluded."""

    low: Array
    high: Array
    centres: Array
    excluded: Array | None = None

    @classmethod
    def around(cls, centre: Array, side: float, continuous: Mask) -> Box:
        """Return the trust region around a point (d,): only continuous coordinates are bounded."""
        low = np.where(continuous, np.clip(centre - side / 2, 0.0, 1.0), 0.0)
        high = np.where(continuous, np.clip(centre + side / 2, 0.0, 1.0), 1.0)
        return cls(low, high, centre[None])

    @classmethod
    def whole(cls, incumbents: Array) -> Box:
        """Return the whole cube, and perturb the incumbents (m, d)."""
        return cls(np.zeros(incumbents.shape[1]), np.ones(incumbents.shape[1]), incumbents)

    @classmethod
    def exploring(cls, incumbents: Array) -> Box:
        """Return the whole cube without the surroundings of the best of the incumbents (m, d)."""
        best = incumbents[0]
        return cls(np.zeros(len(best)), np.ones(len(best)), incumbents, excluded=best)

    def allows(self, points: Array, continuous: Mask) -> Mask:
        """Return which points lie outside the excluded region: another lattice value, or far on a continuous axis."""
        if self.excluded is None:
            return np.ones(len(points), dtype=bool)
        return np.asarray(np.any(np.abs(points - self.excluded) > np.where(continuous, EXCLUDED, 0.0), axis=1))


@dataclass(frozen=True, eq=False)  # two targets are the same only if they are one object
class Target:
    """A surrogate, and the box in which its acquisition function is maximised."""

    surrogate: Surrogate | FrontSurrogate
    box: Box
    acquisition: str | None = None  # another one than the search's, without pending points
