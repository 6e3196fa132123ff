"""The distinct configurations of a history, with mean and variance of their own results.

Symbols: n results of k configurations; values are signed so that lower is better.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from sonde.arrays import Array, Integers, Mask
from sonde.trials import History

LEAST_STD = 1e-9  # least standard deviation of a result, as a share of the values' range
QUANTILE = -1.645  # 5% of a standard normal: the estimated noise variance is its upper 95% confidence bound
LEAST_SHARE = 1e-3  # with few repetitions the bound is loose: it is at most 1000 times the sample variance


@dataclass(frozen=True)
class Configurations:
    """Configurations of completed trials that meet their measured constraints."""

    first: Integers  # (k,): number of the first such trial of each configuration
    means: Array  # (k,): of its results, weighted by their inverse noise variances
    variances: Array  # (k,): of those means; 0 where the noise is unknown
    declared: Mask  # (k,): whether the user declared the noise of all its results
    noise: Array  # (k,): noise variance of a single result; 0 where it is unknown

    def __len__(self) -> int:
        return len(self.first)

    def best(self, count: int) -> Configurations:
        """Return the ``count`` configurations with the lowest means, in their order."""
        chosen = np.sort(np.argsort(self.means, kind="stable")[:count])
        return Configurations(*(getattr(self, name)[chosen] for name in self.__dataclass_fields__))


def configurations_of(history: History) -> Configurations:
    """Return the configurations with a feasible completed trial, in the order of their first trials."""
    done = history.measured.numbers
    numbers = done[history.feasible[done]]
    group, first = _grouped(history.rows[numbers])
    values, declared = history.values[numbers], history.noise[numbers]
    scale = 2.0 ** min(math.frexp(np.max(np.abs(values)))[1], 1023)  # so that squares of huge values do not overflow
    values = values / scale
    noise, known = _noise(values, np.minimum(declared, 1e100 * scale) / scale, group)
    noise = np.maximum(noise, (LEAST_STD * float(np.ptp(values))) ** 2 + 1e-30) if known else np.ones(len(values))
    weights = noise.min() / noise
    total = np.bincount(group, weights)
    with np.errstate(over="ignore"):
        return Configurations(
            numbers[first],
            scale * (np.bincount(group, weights * values) / total),
            np.minimum(scale * np.sqrt(known * noise.min() / total), 1e150) ** 2,
            np.bincount(group, np.isnan(declared)) == 0,
            np.minimum(scale * np.sqrt(known * np.bincount(group, noise) / np.bincount(group)), 1e150) ** 2,
        )


def _grouped(rows: Array) -> tuple[Integers, Integers]:
    """Return the group of each row (n,) and the first row of each group (k,), groups in the order of their first."""
    packed = np.ascontiguousarray(rows.astype("<f8"))
    keys = packed.view(np.dtype((np.void, packed.shape[1] * packed.itemsize))).ravel()
    _, first, group = np.unique(keys, return_index=True, return_inverse=True)
    order = np.argsort(first)
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    return rank[group.ravel()], first[order]


def _noise(values: Array, declared: Array, group: Integers) -> tuple[Array, bool]:
    """Return the noise variance of each result (n,), and whether it is known at all.

    Declared noise is used as it is. For other results it is an upper confidence bound from repeated configurations; if
    there are none, the mean declared variance.
    """
    counts = np.bincount(group)
    freedom = len(values) - len(counts)
    variances, known = np.nan_to_num(declared) ** 2, ~np.isnan(declared)
    if freedom:
        residuals = values - (np.bincount(group, values) / counts)[group]
        variances[~known] = float(residuals @ residuals) / freedom / least_share(freedom)
    elif known.any():
        variances[~known] = variances[known].mean()
    return variances, bool(freedom or known.any())


def least_share(freedom: int) -> float:
    """Return the 5% quantile of chi-squared over its degrees of freedom (Wilson and Hilferty 1931)."""
    width = 2 / (9 * freedom)
    return float(max(1 - width + QUANTILE * math.sqrt(width), LEAST_SHARE ** (1 / 3)) ** 3)
