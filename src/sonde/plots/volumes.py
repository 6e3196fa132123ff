"""The hypervolume of the front over trials: how good the results of several objectives are so far, in one number.

Symbols: n trials, K objectives, y (n, K), higher is better.
"""

from __future__ import annotations

import numpy as np

from sonde.arrays import Array, Mask
from sonde.pareto.fronts import non_dominated
from sonde.pareto.hypervolume import hypervolume, reference_point
from sonde.plots.states import usable
from sonde.trials import History

BLOCK = 500  # trials that are compared with the front at once


def volumes(history: History, reference: Array | None = None) -> Array:
    """Return the hypervolume after each trial (n,).

    It is measured from a reference point (K,), by default the thresholds, or a little below the last front.
    """
    counts = usable(history)
    y = -history.outcomes
    result = np.zeros(len(history))
    if not counts.any():
        return result
    if reference is None:
        limits = -history.objectives.thresholds
        reference = np.where(np.isnan(limits), reference_point(y[counts]), limits)
    front, total = np.zeros((0, y.shape[1])), 0.0
    within = np.flatnonzero(counts & np.all(y > reference, axis=1))
    for start in range(0, len(within), BLOCK):
        block = within[start : start + BLOCK]
        for number in block[~_dominated(y[block], front)].tolist():
            if not _dominated(y[[number]], front)[0]:
                total += _added(y[number], front, reference)
                front = np.vstack([front[~np.all(front <= y[number], axis=1)], y[number]])
                result[number] = total
    return np.maximum.accumulate(result)


def _dominated(points: Array, front: Array) -> Mask:
    """Return which points a front dominates, or has."""
    return np.asarray(np.any(np.all(front >= points[:, None], axis=2), axis=1))


def _added(point: Array, front: Array, reference: Array) -> float:
    """Return what a point dominates and the front does not: its box without the front's part of it."""
    shared = np.minimum(front, point)
    part = hypervolume(shared[non_dominated(shared)], reference) if len(shared) else 0.0
    return float(np.prod(point - reference)) - part
