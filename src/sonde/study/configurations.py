"""The configurations that were tried, each once, with what is known of them from their own results.

Symbols: n results of k configurations; values are signed so that lower is better.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sonde.trials import History

Array = NDArray[np.float64]
Index = NDArray[np.int64]

SURE = 1e-9  # least standard deviation of a result, as a share of the values' range: nothing is known better
DOUBT = -1.645  # of a standard normal: with this the noise found is the largest that 19 of 20 repetitions allow
LEAST = 1e-3  # two results of one configuration say next to nothing about the noise: at most 1000 times what they show


@dataclass(frozen=True)
class Configurations:
    """Configurations of completed trials that met their measured constraints."""

    first: Index  # (k,): number of the first such trial of each
    means: Array  # (k,): of its results, the surer ones counting more
    variances: Array  # (k,): of those means, as far as noise is known; 0 where nothing is
    told: NDArray[np.bool_]  # (k,): whether the noise of all its results was told
    noise: Array  # (k,): variance of a single result, 0 where nothing is known

    def __len__(self) -> int:
        return len(self.first)

    def best(self, count: int) -> Configurations:
        """Return the ``count`` with the lowest means, in the order in which they came."""
        chosen = np.sort(np.argsort(self.means, kind="stable")[:count])
        return Configurations(*(getattr(self, name)[chosen] for name in self.__dataclass_fields__))


def configurations_of(history: History) -> Configurations:
    """Return the configurations of a history with a feasible completed trial, in the order of their first trials."""
    done = history.completed.numbers
    numbers = done[history.violations[done] <= 0]
    group, first = _grouped(history.rows[numbers])
    values, told = history.values[numbers], history.noise[numbers]
    scale = 2.0 ** min(math.frexp(np.max(np.abs(values)))[1], 1023)  # so that no square of a huge number overflows
    values = values / scale
    noise, known = _noise(values, np.minimum(told, 1e100 * scale) / scale, group)
    noise = np.maximum(noise, (SURE * float(np.ptp(values))) ** 2 + 1e-30) if known else np.ones(len(values))
    weights = noise.min() / noise
    total = np.bincount(group, weights)
    with np.errstate(over="ignore"):
        return Configurations(
            numbers[first],
            scale * (np.bincount(group, weights * values) / total),
            np.minimum(scale * np.sqrt(known * noise.min() / total), 1e150) ** 2,
            np.bincount(group, np.isnan(told)) == 0,
            np.minimum(scale * np.sqrt(known * np.bincount(group, noise) / np.bincount(group)), 1e150) ** 2,
        )


def _grouped(rows: Array) -> tuple[Index, Index]:
    """Return the group of each row (n,) and the first row of each group (k,), groups in the order of their first."""
    packed = np.ascontiguousarray(rows.astype("<f8"))
    keys = packed.view(np.dtype((np.void, packed.shape[1] * packed.itemsize))).ravel()
    _, first, group = np.unique(keys, return_index=True, return_inverse=True)
    order = np.argsort(first)
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    return rank[group.ravel()], first[order]


def _noise(values: Array, told: Array, group: Index) -> tuple[Array, bool]:
    """Return the variance of each result (n,), and whether anything is known of it.

    What was told is believed; of the others it is what repetitions show, at most; without any, as of what was told.
    """
    counts = np.bincount(group)
    freedom = len(values) - len(counts)
    variances, said = np.nan_to_num(told) ** 2, ~np.isnan(told)
    if freedom:
        spread = values - (np.bincount(group, values) / counts)[group]
        variances[~said] = float(spread @ spread) / freedom / _least_share(freedom)
    elif said.any():
        variances[~said] = variances[said].mean()
    return variances, bool(freedom or said.any())


def _least_share(freedom: int) -> float:
    """Return the 5% quantile of chi-squared over its degrees of freedom (Wilson and Hilferty 1931)."""
    width = 2 / (9 * freedom)
    return float(max(1 - width + DOUBT * math.sqrt(width), LEAST ** (1 / 3)) ** 3)
