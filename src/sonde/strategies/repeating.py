"""Repeated evaluations under noise, once every configuration of a finite space is evaluated.

Configurations are the arms of a bandit. The next one has the lowest lower confidence bound of its mean (UCB1, Auer et
al. 2002), so good configurations are repeated often and one unlucky observation rules none out.
Of several objectives, the next one is any whose bounds no other one's dominate (Pareto UCB1, Drugan and Nowe 2013).

Symbols: m configurations, K objectives.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np

from sonde.arrays import Array, Integers
from sonde.pareto.fronts import non_dominated
from sonde.trials import History


def most_promising(
    history: History, rows: Sequence[Array], taken: Mapping[bytes, int], rng: np.random.Generator
) -> Array:
    """Return the row to evaluate again, ties broken at random; ``taken`` counts packed rows of the same batch."""
    done = history.measured.numbers
    done = done[history.feasible[done]]
    packed_rows = [row.tobytes() for row in rows]
    counts, sums = _counted(history, done)
    pending = _counted(history, history.pending.numbers)[0]
    known = np.array([counts[packed] for packed in packed_rows], dtype=float)
    if not known.any():
        return rows[int(rng.integers(len(rows)))]
    none = np.zeros(len(history.objectives))
    means = np.array([sums.get(packed, none) for packed in packed_rows]) / np.maximum(known, 1)[:, None]
    tries = known + np.array([pending[packed] + taken.get(packed, 0) for packed in packed_rows])
    radius = np.sqrt(2 * np.log(max(tries.sum(), 2)) / np.maximum(tries, 1))
    with np.errstate(over="ignore", invalid="ignore"):  # values near the largest float
        bounds = means - _noise_deviations(history) * radius[:, None]
    usable = np.flatnonzero((known > 0) & ~np.isnan(bounds).any(axis=1))  # none where all evaluations failed
    lowest = usable[non_dominated(-bounds[usable])] if len(usable) else np.arange(len(rows))
    return rows[int(lowest[rng.integers(len(lowest))])]


def _counted(history: History, numbers: Integers) -> tuple[Counter[bytes], dict[bytes, Array]]:
    """Return the number of these trials for each packed row, and the sums (K,) of their values."""
    counts: Counter[bytes] = Counter()
    sums: dict[bytes, Array] = {}
    for row, values in zip(history.rows[numbers], history.outcomes[numbers], strict=True):
        packed = row.tobytes()
        counts[packed] += 1
        with np.errstate(over="ignore", invalid="ignore"):  # values near the largest float
            sums[packed] = sums[packed] + values if packed in sums else values
    return counts, sums


def _noise_deviations(history: History) -> Array:
    """Return the standard deviations (K,) of the noise."""
    return np.array(
        [_noise_deviation(history.of(k).noise[history.measured.numbers]) for k in range(len(history.objectives))]
    )


def _noise_deviation(noise: Array) -> float:
    """Return the root mean square of the deviations that were reported; 0 where none was."""
    reported = noise[noise > 0]
    if not len(reported):
        return 0.0
    return float(np.max(reported) * np.sqrt(np.mean((reported / np.max(reported)) ** 2)))
