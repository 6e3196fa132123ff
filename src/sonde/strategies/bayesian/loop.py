"""The loop of Bayesian optimization: initial design; then fit a surrogate, choose targets, search, suggest."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from sonde.activity import doing
from sonde.sampling import Key
from sonde.space import Space
from sonde.strategies.bayesian.domain import Domain
from sonde.strategies.bayesian.port import PointSearch, Schedule
from sonde.strategies.history_warnings import warn_of_history
from sonde.strategies.initial_design import ready
from sonde.strategies.novelty import novel_rows
from sonde.strategies.sobol import Sobol
from sonde.strategies.threads import one_thread
from sonde.trials import History


@dataclass(frozen=True)
class Loop:
    """One schedule, with the model that it uses, one search, and the initial design."""

    schedule: Schedule
    search: PointSearch
    design: Sobol = field(default_factory=Sobol)

    def ready(self, space: Space, history: History) -> bool:
        """Whether the initial design is complete."""
        return ready(history, self.schedule.first(space))

    @one_thread()
    def suggest(self, space: Space, history: History, count: int, key: Key) -> NDArray[np.float64]:
        """Return ``count`` rows: of a Sobol sequence at first, then of high acquisition value."""
        warn_of_history(history)
        if not self.ready(space, history):
            return self.design.suggest(space, history, count, key)
        domain = Domain(space, history)
        with doing(f"fitting the model to {len(history.completed):,} results"):
            targets = self.schedule.targets(domain, count, key)
        with doing(f"searching for the next {f'{count:,} points' if count > 1 else 'point'}"):
            points = self.search.points(targets, domain, key)
        return novel_rows(space, history, points, key)
