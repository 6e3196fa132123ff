"""A check of gradients against values, by pairs of neighbouring points.

Between two near points the trapezoidal rule predicts the change of the values: dy = (g_i + g_j) / 2 . dx + O(|dx|^3).
The gradients themselves tell which points are near enough: a pair is *informative* where both of its gradients predict
about the same change. Points farther apart tell nothing, because right gradients of a multimodal function look wrong
there.

All gradients are wrong if most informative pairs, the nearest first, agree on a ratio of actual and predicted change
other than 1, such as -1 (wrong sign) or 1000 (wrong units). They are also wrong if values of the very nearest points
change much less than predicted; farther apart that is normal for a multimodal function. Values that change *more* than
predicted may be noisy, which is no fault of the gradients. In flat regions, where gradients may be noise, the pairs
must agree closely. A single gradient is an outlier if it contradicts the values of three neighbours whose own gradients
predict the changes well.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sonde.arrays import Array, Index, Mask

MAX_DISTANCE = 0.05  # of neighbours, in any coordinate
NEAREST = 0.005  # distance of the very nearest neighbours
AGREEMENT = 0.25  # the two predictions of an informative pair differ by less than this share of their mean
PAIRS, ENOUGH = 12, 5  # the most informative pairs that are compared, and the fewest
RIGHT = 2.0  # a ratio from 1 / 2 to 2 is right
MAJORITY = 0.75  # share of the pairs that must contradict the gradients
ALIKE, CLOSE = 0.5, 0.1  # relative deviation of ratios that agree; the smaller one where gradients may be noise
NEIGHBOURS = 4  # the most neighbours of a point
WITNESSES = 3  # the fewest neighbours that can show an outlier
WELL, BADLY = 0.03, 0.9  # relative error of a good prediction, and of a bad one
ROUNDING = 1e-10  # share of the values: smaller changes are rounding errors
HUGE = 1e100  # larger gradients count as unknown: their squares overflow
FLAT = 0.4  # share of the length of steep gradients: a smaller slope along a pair is flat


class GradientCheck(NamedTuple):
    """Which points (n,) have wrong gradients; if all do, the common ratio of actual and predicted change, if any."""

    wrong: Mask
    factor: float | None = None


def check_gradients(x: Array, values: Array, gradients: Array) -> GradientCheck:
    """Return which gradients (n, p), NaN where unknown, contradict the values (n,) at x (n, p)."""
    wrong = np.zeros(len(values), dtype=bool)
    known = np.flatnonzero(np.isfinite(gradients).any(axis=1))
    if len(known) < 2:
        return GradientCheck(wrong)
    x, scaled = x[known], values[known] / 4
    unit = float(np.max(np.abs(scaled - np.median(scaled)))) or 1.0
    with np.errstate(over="ignore", under="ignore"):
        y, gradients = scaled / unit, gradients[known] / 4 / unit
    gradients = np.where(np.abs(gradients) < HUGE, gradients, np.nan)
    pairs = _Pairs.of(x, y, gradients)
    all_wrong, factor = _common_factor(pairs, ROUNDING * float(np.max(np.abs(y))))
    wrong[known] = all_wrong or _outliers(pairs, len(known))
    return GradientCheck(wrong, factor)


class _Pairs(NamedTuple):
    """Pairs of neighbours (i, j), the nearest first: the change of the values, and its two predictions."""

    i: Index
    j: Index
    change: Array
    predicted_i: Array  # by the gradient at i
    predicted_j: Array  # by the gradient at j
    steep: Mask  # whether the slope along the pair is steep
    distance: Array

    @classmethod
    def of(cls, x: Array, y: Array, gradients: Array) -> _Pairs:
        """Return each point with its neighbours, if gradients are known in all coordinates in which they differ."""
        found: list[tuple[float, int, int]] = []
        for last in range(1, len(x)):
            distance = np.abs(x[:last] - x[last]).max(axis=1)
            near = np.argsort(distance, kind="stable")[:NEIGHBOURS]
            found += [(float(distance[k]), int(k), last) for k in near if 0 < distance[k] <= MAX_DISTANCE]
        found.sort()
        i, j = np.array([pair for _, *pair in found], dtype=np.intp).reshape(-1, 2).T
        steps = x[j] - x[i]
        predicted_i, predicted_j = (np.sum(np.where(steps == 0, 0.0, steps * gradients[end]), axis=1) for end in (i, j))
        slopes = np.abs(predicted_i + predicted_j) / 2
        steep = slopes >= FLAT * _steep_length(gradients) * np.linalg.norm(steps, axis=1)
        known = np.isfinite(predicted_i) & np.isfinite(predicted_j)
        distance = np.abs(steps).max(axis=1, initial=0.0)
        columns = (i, j, y[j] - y[i], predicted_i, predicted_j, steep, distance)
        return cls(*(column[known] for column in columns))


def _steep_length(gradients: Array) -> float:
    """Return the 0.9 quantile of the gradients' lengths: most trials of a search may be in flat regions."""
    return float(np.quantile(np.sqrt(np.nansum(gradients**2, axis=1)), 0.9))


def _common_factor(pairs: _Pairs, least: float) -> tuple[bool, float | None]:
    """Return whether the pairs show that all gradients are wrong, and the common ratio if there is one."""
    mean = (pairs.predicted_i + pairs.predicted_j) / 2
    agree = np.abs(pairs.predicted_i - pairs.predicted_j) < AGREEMENT * np.abs(mean)
    informative = agree & (np.abs(mean) > least)
    for chosen, only_steep in ((informative & pairs.steep, True), (informative, False)):
        rows = np.flatnonzero(chosen)[:PAIRS]
        ratios = pairs.change[rows] / mean[rows]
        if len(rows) < ENOUGH or np.mean((ratios > 1 / RIGHT) & (ratios < RIGHT)) > 1 - MAJORITY:
            continue
        common = float(np.median(ratios))
        # small ratios are also those of a multimodal function, so they must agree closely
        tolerance = ALIKE if only_steep and abs(common) > 1 / RIGHT else CLOSE
        if np.mean(np.abs(ratios - common) < tolerance * abs(common)) >= MAJORITY:
            return True, common
        small = (np.abs(ratios) < 1 / RIGHT) & (pairs.distance[rows] < NEAREST)
        if only_steep and np.mean(small) >= MAJORITY:
            return True, None
    return False, None


def _outliers(pairs: _Pairs, count: int) -> Mask:
    """Return the points (count,) whose gradients predict no neighbour's value while the neighbours' gradients do."""
    wrong, asked = np.zeros(count), np.zeros(count)
    for own, predicted, by_neighbour in (
        (pairs.i, pairs.predicted_i, pairs.predicted_j),
        (pairs.j, pairs.predicted_j, pairs.predicted_i),
    ):
        sure = _relative_error(pairs.change, by_neighbour) < WELL
        np.add.at(asked, own[sure], 1)
        np.add.at(wrong, own[sure], _relative_error(pairs.change, predicted)[sure] > BADLY)
    return (asked >= WITNESSES) & (wrong == asked)


def _relative_error(change: Array, predicted: Array) -> Array:
    """Return |change - predicted| / (|change| + |predicted|): from 0 to 1, which is no change or the wrong sign."""
    size = np.abs(change) + np.abs(predicted)
    return np.abs(change - predicted) / np.where(size > 0, size, 1.0)
