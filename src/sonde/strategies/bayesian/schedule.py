"""The schedule of ``gp`` and ``dngo``: the trust region around the incumbent, and global exploration.

``WholeSpaceSchedule`` has neither: every target is the whole space.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sonde.sampling import Key
from sonde.space import Space
from sonde.strategies.bayesian.domain import Domain
from sonde.strategies.bayesian.port import Fits, SurrogateModel
from sonde.strategies.bayesian.target import Box, Target
from sonde.strategies.bayesian.trust_region import progress_of
from sonde.strategies.initial_design import central_side, first_count
from sonde.surrogates.exact.region import Region

NARROWEST = 2.0**-20  # side of a region with a model of its own


def narrow_side(d: int) -> float:
    """Return the side of a region with a model of its own below which every other trial explores the whole cube.

    A trial elsewhere finds another basin less often the more dimensions there are, so the region is followed for
    longer (benchmarks/dimensions/LOG.md).
    """
    return 2.0 ** -max(7, d)


@dataclass(frozen=True)
class TrustRegionSchedule:
    """The trust region; once it has little more to give, every other trial explores the whole cube.

    A region with a model of its own goes on until it is narrow. Under one model of all results it has little to give
    once it has stalled: another basin is then worth more than the last digits of the incumbent.
    """

    model: SurrogateModel

    def first(self, space: Space) -> int:
        """Return the size of the initial design."""
        return first_count(space)

    def targets(self, domain: Domain, count: int, key: Key) -> list[Target | NDArray[np.float64]]:
        """Return a target for each point."""
        side, enough = self._progress(domain, count)
        done = domain.history.completed
        region = Region(done.units[int(np.argmin(domain.history.feasible_values[done.numbers]))], side)
        exploring = [enough and key.at(offset).number % 2 == 1 for offset in range(count)]
        targets = {each: self._target(domain, None if each else region, key) for each in set(exploring)}
        return [targets[each] for each in exploring]

    def _progress(self, domain: Domain, count: int) -> tuple[float, bool]:
        """Return the side of the region, and whether it has little more to give."""
        space, history, done = domain.space, domain.history, domain.history.completed
        values, at_once = history.feasible_values[done.numbers], len(history.pending) + count
        first, d = self.first(space), len(space)
        if not self.model.has_regions(space, history):
            return progress_of(values, first, max(4, d), at_once)
        side = progress_of(
            values, first, max(4, d // 2), at_once, units=done.units, start=central_side(space), narrowest=NARROWEST
        ).side
        return side, side < narrow_side(d)

    def _target(self, domain: Domain, region: Region | None, key: Key) -> Target:
        surrogate = self.model.fit(domain.space, domain.history, key, region)
        if region is None:
            return Target(surrogate, Box.exploring(surrogate.incumbents))
        return Target(surrogate, Box.around(surrogate.incumbents[0], region.side, domain.continuous))


@dataclass(frozen=True)
class WholeSpaceSchedule:
    """Every point is searched in the whole space, under one surrogate."""

    model: Fits

    def first(self, space: Space) -> int:
        """Return the size of the initial design."""
        return first_count(space)

    def targets(self, domain: Domain, count: int, key: Key) -> list[Target | NDArray[np.float64]]:
        """Return the same target for each point."""
        surrogate = self.model.fit(domain.space, domain.history, key, None)
        return [Target(surrogate, Box.whole(surrogate.incumbents))] * count
