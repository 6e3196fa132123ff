"""What is odd about a history, said once where it matters: nobody should wonder why a search does not get anywhere."""

from __future__ import annotations

import warnings

import numpy as np
from numpy.typing import NDArray

from sonde.errors import OddHistory
from sonde.trials import History

ENOUGH = 5  # fewer trials than this say nothing
RANGE = 1e100


def warn_of_history(history: History) -> None:
    """Warn of a history from which little can be learned; the same words each time, so that Python shows them once."""
    for message in _complaints(history):
        warnings.warn(message, OddHistory, stacklevel=2)


def _complaints(history: History) -> list[str]:
    done, failed = history.completed, history.failed
    values = history.values[done.numbers]
    found = []
    if not len(done) and len(failed) >= ENOUGH:
        found.append("all trials so far failed; look at a trial's error, or narrow the space")
    if len(done) >= ENOUGH:
        if np.all(values == values[0]):
            found.append(f"all values so far are {history.sign * values[0]:g}; does the objective use its parameters?")
        elif _all_equal(done.rows):
            found.append("all results so far are of one configuration; nothing is known of the others")
        elif np.max(np.abs(values)) > RANGE:
            largest = np.max(np.abs(values))
            found.append(f"values reach {largest:.3g}; if that means that something broke, tell such trials as failed")
    return found


def _all_equal(rows: NDArray[np.float64]) -> bool:
    """Whether all rows are one; as a rule the first two tell."""
    return np.array_equal(rows[0], rows[1], equal_nan=True) and len(np.unique(rows, axis=0)) == 1
