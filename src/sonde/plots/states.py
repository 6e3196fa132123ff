"""The states of trials as figures show them."""

from __future__ import annotations

from typing import Any

import numpy as np

from sonde.trials import History, State

_NAMES = np.array([state.value for state in State] + ["infeasible"])


def shown_states(history: History) -> Any:
    """Return the name of each trial's state; a completed trial that breaks a measured constraint is ``infeasible``."""
    codes = history.states.copy()
    codes[(codes == list(State).index(State.COMPLETED)) & ~history.feasible] = len(State)
    return _NAMES[codes]
