"""Preferences: weights of samples by the rank of their losses.

Only the order of the losses counts, so a search is invariant to increasing transformations of the loss. Symbols: lambda
samples, of which the mu = ceil(lambda / 4) best and the mu worst have weights. Our weights are those of the paper minus
their mean: with w = (2, 1, 0) lambda / mu, as printed, the mean would be lambda / mu, not the mu_W = 1 that the listing
and the reduction to cGA use.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import TypeAlias

import numpy as np

from sonde.arrays import Array, Mask

Preference: TypeAlias = Callable[[int], Array]  # from the size of a generation to its weights, best first


@lru_cache(maxsize=64)
def centred(size: int) -> Array:
    """Return +lambda/mu for the best quarter, -lambda/mu for the worst, 0 between."""
    chosen = -(-size // 4)
    weights = np.zeros(size)
    weights[:chosen] = size / chosen
    weights[size - chosen :] -= size / chosen
    weights.flags.writeable = False  # it is cached
    return weights


def truncation(selected: int) -> Preference:
    """Return the preference of UMDA: lambda/mu for the mu = ``selected`` best samples, 0 for the others."""

    def weights(size: int) -> Array:
        return np.where(np.arange(size) < selected, size / min(selected, size), 0.0)

    return weights


def weigh(losses: Array, by_rank: Array) -> Array:
    """Return the weight of each sample; samples with equal losses share their weights evenly."""
    order = np.argsort(losses, kind="stable")
    ranked = losses[order]
    equal = ranked[1:] == ranked[:-1]
    weights = np.empty(len(losses))
    weights[order] = _shared(by_rank, equal) if equal.any() else by_rank
    return weights


def _shared(by_rank: Array, equal: Mask) -> Array:
    """Return the weights by rank, averaged over ties; ``equal[i]`` says that rank i + 1 ties with rank i."""
    group = np.concatenate([[0], np.cumsum(~equal)])
    means: Array = np.bincount(group, by_rank) / np.bincount(group)
    return means[group]
