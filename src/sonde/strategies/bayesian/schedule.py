"""The schedule of ``gp`` and ``dngo``: the trust region around the incumbent, and global exploration."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sonde.sampling import Key
from sonde.space import Space
from sonde.strategies.bayesian.domain import Domain
from sonde.strategies.bayesian.port import SurrogateModel
from sonde.strategies.bayesian.target import Box, Target
from sonde.strategies.bayesian.trust_region import progress_of
from sonde.strategies.initial_design import first_count


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
