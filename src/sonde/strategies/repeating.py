"""Repeated evaluations under noise, once every configuration of a finite space is evaluated.

Configurations are the arms of a bandit. The next one has the lowest lower confidence bound of its mean (UCB1, Auer et
al. 2002), so good configurations are repeated often and one unlucky observation rules none out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np

from sonde.arrays import Array, Integers
from sonde.trials import History


def most_promising(
    history: History, rows: Sequence[Array], taken: Mapping[bytes, int], rng: np.random.Generator
) -> Array:
    """Return the row to evaluate again, ties broken at random; ``taken`` counts packed rows of the same batch."""
    done = history.completed.numbers
    done = done[history.feasible[done]]
    packed_rows = [row.tobytes() for row in rows]
    counts, sums = _counted(history, done)
    pending = _counted(history, history.pending.numbers)[0]
    known = np.array([counts[packed] for packed in packed_rows], dtype=float)
    if not known.any():
        return rows[int(rng.integers(len(rows)))]
    means = np.array([sums.get(packed, 0.0) for packed in packed_rows]) / np.maximum(known, 1)
    tries = known + np.array([pending[packed] + taken.get(packed, 0) for packed in packed_rows])
    radius = np.sqrt(2 * np.log(max(tries.sum(), 2)) / np.maximum(tries, 1))
    with np.errstate(over="ignore", invalid="ignore"):  # values near the largest float
        bounds = means - _noise_deviation(history) * radius
    bounds = np.where((known > 0) & ~np.isnan(bounds), bounds, np.inf)  # no repetition where all evaluations failed
    equal = np.flatnonzero(bounds == bounds.min())
    return rows[int(equal[rng.integers(len(equal))])]


def _counted(history: History, numbers: Integers) -> tuple[Counter[bytes], dict[bytes, float]]:
    """Return the number of these trials for each packed row, and the sum of their values."""
    counts: Counter[bytes] = Counter()
    sums: dict[bytes, float] = {}
    for row, value in zip(history.rows[numbers], history.values[numbers].tolist(), strict=True):
        packed = row.tobytes()
        counts[packed] += 1
        sums[packed] = sums.get(packed, 0.0) + value
    return counts, sums


def _noise_deviation(history: History) -> float:
    """Return the standard deviation of the noise: the root mean square of those that were reported."""
    reported = history.noise[history.noise > 0]
    return float(np.max(reported) * np.sqrt(np.mean((reported / np.max(reported)) ** 2)))
