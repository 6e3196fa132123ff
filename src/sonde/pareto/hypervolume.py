"""The hypervolume: the volume that points dominate above a reference point, its parts and its gradient.

Everything is computed by slicing (HSO, While et al. 2006). Between two neighbouring values of the last objective, the
dominated region is a prism: its base is what the points above dominate in the other objectives. So all sums are of
positive numbers, and no digits cancel, however small the volume is; differences of volumes (WFG) and complements of
boxes would lose them. With K objectives it takes O(n^(K-1) log n).

Symbols: n points, K objectives, y (n, K), higher is better; gains are y minus the reference point.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from sonde.arrays import Array, Index
from sonde.pareto.fronts import non_dominated

LARGEST = np.finfo(np.float64).max
MARGIN = 0.1  # of the reference point below the worst values of the front, in ranges of the front


def reference_point(y: Array, margin: float = MARGIN) -> Array:
    """Return a reference point (K,) for these points: ``margin`` ranges of the front below the front's worst values.

    Where the front has no range in an objective, that of all points is taken; where they have none, the size of their
    value. So the reference point is scaled with every objective.
    """
    front = y[non_dominated(y)]
    worst = front.min(axis=0)
    size = np.where(worst == 0, 1 / margin, np.abs(worst))
    with np.errstate(over="ignore"):  # of the largest numbers
        for points in (y, front):
            spread = np.ptp(points, axis=0)
            size = np.where(spread > 0, spread, size)
        return np.maximum(worst - margin * np.minimum(size, LARGEST), -LARGEST)


def hypervolume(y: Array, reference: Array) -> float:
    """Return the volume of the points that are above the reference point and below one of y."""
    return _volume(y[_above(y, reference)] - reference)


def contributions(y: Array, reference: Array) -> Array:
    """Return the volume that each point alone dominates, (n,): how much the hypervolume would shrink without it."""
    above = _above(y, reference)
    result = np.zeros(len(y))
    result[above] = _exclusive(y[above] - reference)
    return result


def hypervolume_gradient(y: Array, reference: Array) -> Array:
    """Return the gradient of the hypervolume in the points, (n, K) (Emmerich and Deutz 2014).

    The derivative in one objective is the area of the face that moves with the point: what it alone dominates in the
    other objectives, among the points that are as good in this one. At a tie it is the derivative to the left.
    """
    above = _above(y, reference)
    gains = y[above] - reference
    result = np.zeros(y.shape)
    for k in range(y.shape[1]):
        others = np.delete(gains, k, axis=1)
        for i, gain in enumerate(gains[:, k]):
            as_good = np.flatnonzero(gains[:, k] >= gain)
            result[above[i], k] = _exclusive(others[as_good])[np.searchsorted(as_good, i)]
    return result


def _above(y: Array, reference: Array) -> Index:
    """Return the indices of the points that dominate some volume."""
    return np.flatnonzero(np.all(y > reference, axis=1))


def _volume(gains: Array) -> float:
    """Return the volume that points dominate above zero."""
    if gains.shape[1] > 2:
        gains = gains[non_dominated(gains)]  # has fewer slices
        return sum((height * _volume(gains[top, :-1]) for top, height in _slices(gains)), start=0.0)
    gains = _two_columns(gains)
    order = np.argsort(-gains[:, 1])
    return float(np.sum(_heights(gains[order, 1]) * np.maximum.accumulate(gains[order, 0])))


def _exclusive(gains: Array) -> Array:
    """Return the volume above zero that each point alone dominates, (n,)."""
    if gains.shape[1] <= 2:
        return _exclusive_areas(_two_columns(gains))
    result = np.zeros(len(gains))
    for top, height in _slices(gains):
        result[top] += height * _exclusive(gains[top, :-1])
    return result


def _exclusive_areas(gains: Array) -> Array:
    """Return the same in two objectives: in a slice, the best point alone dominates what is beyond the second best."""
    order = np.argsort(-gains[:, 1])
    x = gains[order, 0]
    best = np.maximum.accumulate(x)
    before = np.concatenate([[0.0], best[:-1]])
    second = np.maximum.accumulate(np.minimum(x, before))
    owner = np.maximum.accumulate(np.where(x > before, np.arange(len(x)), 0))
    areas = np.bincount(owner, _heights(gains[order, 1]) * (best - second), minlength=len(x))
    result = np.empty(len(x))
    result[order] = areas
    return result


def _two_columns(gains: Array) -> Array:
    """Return gains in two objectives: further sides of a length or of a point are one."""
    return np.pad(gains, ((0, 0), (0, 2 - gains.shape[1])), constant_values=1.0)


def _slices(gains: Array) -> Iterator[tuple[Index, float]]:
    """Yield the points that reach each slice along the last objective, from the top, and the height of the slice."""
    order = np.argsort(-gains[:, -1])
    for i, height in enumerate(_heights(gains[order, -1]).tolist()):
        if height > 0:
            yield order[: i + 1], height


def _heights(descending: Array) -> Array:
    """Return the differences of neighbouring values, and the last value."""
    return descending - np.append(descending[1:], 0.0)
