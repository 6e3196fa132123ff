"""What is worth trying again, where all has been tried and values are noisy.

Configurations are arms of a bandit: the one with the lowest mean is tried, less what noise may hide of it (UCB1, Auer
et al. 2002). So the good ones are tried again and again, and none is given up for one unlucky result.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from sonde.trials import History

Array = NDArray[np.float64]


def most_promising(
    history: History, rows: Sequence[Array], taken: Mapping[bytes, int], rng: np.random.Generator
) -> Array:
    """Return the row to try again, at random among equals; ``taken`` are packed rows that are going to be tried."""
    done = history.completed.numbers
    done = done[history.violations[done] <= 0]
    marks = [row.tobytes() for row in rows]
    results, sums = _counted(history, done)
    pending = _counted(history, history.pending.numbers)[0]
    known = np.array([results[mark] for mark in marks], dtype=float)
    if not known.any():
        return rows[int(rng.integers(len(rows)))]
    means = np.array([sums.get(mark, 0.0) for mark in marks]) / np.maximum(known, 1)
    tries = known + np.array([pending[mark] + taken.get(mark, 0) for mark in marks])
    share = np.sqrt(2 * np.log(max(tries.sum(), 2)) / np.maximum(tries, 1))
    with np.errstate(over="ignore", invalid="ignore"):  # of huge numbers
        bounds = means - _deviation(history) * share
    bounds = np.where((known > 0) & ~np.isnan(bounds), bounds, np.inf)  # what never worked is not tried again
    equal = np.flatnonzero(bounds == bounds.min())
    return rows[int(equal[rng.integers(len(equal))])]


def _counted(history: History, numbers: NDArray[np.int64]) -> tuple[Counter[bytes], dict[bytes, float]]:
    """Return how many of the trials each packed row has, and the sum of their values."""
    counts: Counter[bytes] = Counter()
    sums: dict[bytes, float] = {}
    for row, value in zip(history.rows[numbers], history.values[numbers].tolist(), strict=True):
        mark = row.tobytes()
        counts[mark] += 1
        sums[mark] = sums.get(mark, 0.0) + value
    return counts, sums


def _deviation(history: History) -> float:
    """Return the standard deviation that was told, of several the root mean square."""
    told = history.noise[history.noise > 0]
    return float(np.max(told) * np.sqrt(np.mean((told / np.max(told)) ** 2)))
