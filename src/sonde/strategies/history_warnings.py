"""Warnings about histories from which no strategy can learn: only failures, constant values, one configuration."""

from __future__ import annotations

import warnings

import numpy as np
from numpy.typing import NDArray

from sonde.errors import OddHistory
from sonde.trials import History

MIN_TRIALS = 5  # no warning before so many trials
LARGEST_VALUE = 1e100


def warn_of_history(history: History) -> None:
    """Warn about a history from which little can be learned; the text is constant, so that Python shows it once."""
    for message in messages(history):
        warnings.warn(message, OddHistory, stacklevel=2)


def messages(history: History) -> list[str]:
    """Return what there is to warn of, each once."""
    objectives = history.objectives
    found = [
        message
        for k, name in enumerate(objectives.names)
        for message in _messages(history.of(k), f" of {name!r}" if objectives.several else "")
    ]
    return list(dict.fromkeys(found))


def _messages(history: History, named: str) -> list[str]:
    done, failed = history.completed, history.failed
    values = history.values[done.numbers]
    messages = []
    if not len(done) and len(failed) >= MIN_TRIALS:
        messages.append("all trials so far failed; look at a trial's error, or narrow the space")
    if len(done) >= MIN_TRIALS:
        if np.all(values == values[0]):
            messages.append(
                f"all values{named} so far are {history.sign * values[0]:g}; does the objective use its parameters?"
            )
        elif _all_equal(done.rows):
            messages.append("all results so far are of one configuration; the others are unexplored")
        elif np.max(np.abs(values)) > LARGEST_VALUE:
            largest = np.max(np.abs(values))
            messages.append(
                f"values{named} reach {largest:.3g}; if that means that something broke, tell such trials as failed"
            )
    return messages


def _all_equal(rows: NDArray[np.float64]) -> bool:
    """Whether all rows are equal; the first two usually decide it."""
    return np.array_equal(rows[0], rows[1], equal_nan=True) and len(np.unique(rows, axis=0)) == 1
