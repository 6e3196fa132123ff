"""The schedules of ``gp`` and ``dngo``: the trust region around the incumbent, and global exploration."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sonde.sampling import Key
from sonde.space import Space
from sonde.strategies.bayesian.domain import Domain
from sonde.strategies.bayesian.exact_model import ExactModel
from sonde.strategies.bayesian.port import SurrogateModel
from sonde.strategies.bayesian.target import Box, Target
from sonde.strategies.bayesian.trust_region import progress_of
from sonde.strategies.initial_design import central_side, first_count
from sonde.surrogates.exact.region import Region

NARROW = 2.0**-7  # side of a trust region below which every other trial explores the whole cube
NARROWEST = 2.0**-20


@dataclass(frozen=True)
class TrustRegionSchedule:
    """The trust region; once it has stalled, every other trial explores the whole cube.

    Another basin is then worth more than the last digits of the incumbent.
    """

    model: SurrogateModel

    def first(self, space: Space) -> int:
        """Return the size of the initial design."""
        return first_count(space)

    def targets(self, domain: Domain, count: int, key: Key) -> list[Target | NDArray[np.float64]]:
        """Return a target for each point."""
        space, history = domain.space, domain.history
        values, at_once = history.feasible_values[history.completed.numbers], len(history.pending) + count
        progress = progress_of(values, self.first(space), patience=max(4, len(space)), at_once=at_once)
        exploring = [progress.stalled and key.at(offset).number % 2 == 1 for offset in range(count)]
        targets = {each: self._target(domain, progress.side, key, exploring=each) for each in set(exploring)}
        return [targets[each] for each in exploring]

    def _target(self, domain: Domain, side: float, key: Key, *, exploring: bool) -> Target:
        surrogate = self.model.fit(domain.space, domain.history, key, exploring=exploring)
        if exploring:
            return Target(surrogate, Box.exploring(surrogate.incumbents))
        return Target(surrogate, Box.around(surrogate.incumbents[0], side, domain.continuous))


@dataclass(frozen=True)
class RegionSchedule:
    """The trust region with a model of its own; once it is narrow, every other trial explores the whole cube.

    Where not all parameters are continuous, or some trials failed or broke a constraint, the schedule is ``otherwise``:
    a model of the region alone is so sure of itself that it would fail more often. So it is where a parameter should
    have been declared logarithmic: only the surrogate of all results has warps.
    """

    model: ExactModel
    otherwise: TrustRegionSchedule

    def first(self, space: Space) -> int:
        """Return the size of the initial design."""
        return self.otherwise.first(space)

    def targets(self, domain: Domain, count: int, key: Key) -> list[Target | NDArray[np.float64]]:
        """Return a target for each point."""
        space, history, done = domain.space, domain.history, domain.history.completed
        values, at_once = history.feasible_values[done.numbers], len(history.pending) + count
        usual = domain.continuous.all() and np.isfinite(values).all() and not len(history.failed)
        if not usual or self.model.warped(space, history):
            return self.otherwise.targets(domain, count, key)
        progress = progress_of(
            values, self.first(space), max(4, len(space) // 2), at_once, units=done.units,
            start=central_side(space), narrowest=NARROWEST,
        )  # fmt: skip
        region = Region(done.units[int(np.argmin(values))], progress.side)
        exploring = [progress.side < NARROW and key.at(offset).number % 2 == 1 for offset in range(count)]
        targets: dict[bool, Target | NDArray[np.float64]] = {}
        if not all(exploring):
            surrogate = self.model.fit_region(space, history, region)
            targets[False] = Target(surrogate, Box.around(region.centre, region.side, domain.continuous))
        if any(exploring):
            surrogate = self.model.fit(space, history, key, exploring=True)
            targets[True] = Target(surrogate, Box.exploring(surrogate.incumbents))
        return [targets[each] for each in exploring]
