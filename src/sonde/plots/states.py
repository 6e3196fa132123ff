"""The states of trials as figures show them, and which trials count."""

from __future__ import annotations

from typing import Any

import numpy as np

from sonde.arrays import Array, Mask
from sonde.trials import History, State

_NAMES = np.array([state.value for state in State] + ["infeasible"])


def shown_states(history: History) -> Any:
    """Return the name of each trial's state; a completed trial that breaks a measured constraint is ``infeasible``."""
    codes = history.states.copy()
    codes[(codes == list(State).index(State.COMPLETED)) & ~history.feasible] = len(State)
    return _NAMES[codes]


def usable(history: History) -> Mask:
    """Return which trials count: completed, with a value of each objective, and within their measured constraints."""
    done = history.states == list(State).index(State.COMPLETED)
    return np.asarray(done & history.feasible & ~np.isnan(history.outcomes).any(axis=1))


def best_so_far(history: History, objective: int) -> Array:
    """Return the best value of an objective after each trial, NaN before the first one that counts."""
    own = history.of(objective)
    best = np.minimum.accumulate(np.where(usable(history), own.values, np.inf))
    return np.asarray(np.where(np.isfinite(best), own.sign * best, np.nan))
