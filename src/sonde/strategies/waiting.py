"""How long a study waits for the suggestions of ``gp``, weighed against the time of its trials.

No clock is read: the time of suggestions is a formula, and that of trials is stored with them. So a study makes the
same choice in any process, and in a replay. Trials under ``INSTANT`` seconds count as none, so that their exact times,
which no two runs share, decide nothing.

Only suggested trials count that have a value. A failure does not show how long a trial takes; copies of trials that ran
elsewhere cost no suggestion, and their times are unknown.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from sonde.arrays import Array
from sonde.space import Space
from sonde.strategies.initial_design import first_count
from sonde.trials import History

# Seconds that a study waits for suggestions beyond the time of its trials: a hundred trials of a hundred bits, so that
# a short study has gp throughout. benchmarks/igo/waiting: by calls it is level with igo then, by seconds far behind.
PATIENCE = 120.0
INSTANT = 0.1  # seconds


class Waiting(NamedTuple):
    """The seconds of suggestions and of trials, up to a number of results."""

    results: int
    suggestions: float
    trials: float

    def __str__(self) -> str:
        return (
            f"up to {self.results} results its suggestions take about {self.suggestions:,.0f} s, "
            f"and the trials took {self.trials:,.3g} s"
        )


def gp_seconds(space: Space, results: int, objectives: int = 1) -> Array:
    """Return the seconds of a suggestion of ``gp`` after 0, 1, ... results, on one core.

    The first term is the search over d parameters and the second the model of n results, in a discrete space
    (benchmarks/igo/waiting; benchmarks/latency/growth).
    """
    n = np.arange(results, dtype=float)
    search, model = 0.0012 * math.pow(len(space), 1.5), 0.3 * (n / 1000) ** 2
    return objectives * (search + model)


def waited_too_long(space: Space, history: History) -> Waiting | None:
    """Return where a study had waited beyond its patience, None if it has not.

    Once it has, it stays so: later trials do not change what was waited before.
    """
    results = history.arrivals
    seconds, valued = history.seconds[results], np.isin(results, history.completed.numbers)
    counted = valued & ~np.isnan(seconds)
    of_gp = counted & (np.arange(len(results)) >= first_count(space))
    suggestions = np.cumsum(np.where(of_gp, gp_seconds(space, len(results), len(history.objectives)), 0.0))
    beyond = suggestions - np.cumsum(np.where(counted & (seconds >= INSTANT), seconds, 0.0)) > PATIENCE
    if not beyond.any():
        return None
    last = int(beyond.argmax())
    return Waiting(last + 1, float(suggestions[last]), float(seconds[: last + 1][counted[: last + 1]].sum()))
