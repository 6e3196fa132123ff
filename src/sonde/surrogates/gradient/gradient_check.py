"""Whether gradients and values are of one function, judged by pairs of neighbours.

Between two points that are near, the values differ by what the gradients say: dy = (g_i + g_j) / 2 . dx + O(|dx|^3). Which
points are near enough the gradients tell themselves: a pair is *telling* where both ends foretell about the same change.
Farther apart nothing can be told, as a rippled function looks as one whose gradients are wrong.

Slopes are false where telling pairs, the nearest first, agree on a factor between what values do and what gradients say
that is not 1, such as -1 (the other sign) or 1000 (other units), or where values of the nearest of neighbours change
much less than gradients say: farther apart that is what ripples do. Values that change *more* may be noisy, which is no
fault of the gradients; and in flat places, where gradients may be noise, pairs must agree closely. A single gradient is false
where it contradicts the values of three neighbours whose own gradients foretell them well.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

REACH = 0.05  # farther apart than this in any coordinate are no neighbours
NEAREST = 0.005  # and closer than this are the nearest of neighbours
AGREEING = 0.25  # the ends of a telling pair foretell changes that differ by less than this share of them
PAIRS, ENOUGH = 12, 5  # how many telling pairs are asked, and how many must be there
RIGHT = 2.0  # a factor from 1 / 2 to 2 is right
MOST = 0.75  # of the pairs must speak against the gradients
ALIKE, CLOSELY = 0.5, 0.1  # how far apart factors are on which pairs agree, and where gradients may mislead
NEIGHBOURS = 4  # at most, that are asked about a single gradient
WITNESSES = 3  # at least
WELL, BADLY = 0.03, 0.9  # how far a change misses that is foretold well, and badly
ROUNDING = 1e-10  # of the values: smaller changes are rounding
HUGE = 1e100  # beyond is not told: its square overflows
FLAT = 0.4  # of the steep gradients' length: less along a pair is flat


class Verdict(NamedTuple):
    """Which points (n,) have false gradients; and where all do, by which factor, if they agree on one."""

    false: Mask
    factor: float | None = None


def judge(x: Array, values: Array, gradients: Array) -> Verdict:
    """Return which gradients (n, p), NaN where not told, contradict the values (n,) at x (n, p)."""
    none = np.zeros(len(values), dtype=bool)
    told = np.flatnonzero(np.isfinite(gradients).any(axis=1))
    if len(told) < 2:
        return Verdict(none)
    x, scaled = x[told], values[told] / 4
    unit = float(np.max(np.abs(scaled - np.median(scaled)))) or 1.0
    with np.errstate(over="ignore", under="ignore"):
        y, gradients = scaled / unit, gradients[told] / 4 / unit
    gradients = np.where(np.abs(gradients) < HUGE, gradients, np.nan)
    pairs = _Pairs.of(x, y, gradients)
    all_false, factor = _common_factor(pairs, ROUNDING * float(np.max(np.abs(y))))
    none[told] = all_false or _lone_liars(pairs, len(told))
    return Verdict(none, factor)


class _Pairs(NamedTuple):
    """Neighbours, the nearest first: their points, how values differ, and what the gradients of either end say of it."""

    one: NDArray[np.intp]
    other: NDArray[np.intp]
    change: Array
    said: Array  # by the slope of the one
    echoed: Array  # by the slope of the other
    steep: Mask  # whether the slope along the pair is one of the steeper ones
    distance: Array

    @classmethod
    def of(cls, x: Array, y: Array, gradients: Array) -> _Pairs:
        """Return each point with its neighbours, as far as gradients are known where they differ."""
        found: list[tuple[float, int, int]] = []
        for i in range(1, len(x)):
            distance = np.abs(x[:i] - x[i]).max(axis=1)
            near = np.argsort(distance, kind="stable")[:NEIGHBOURS]
            found += [(float(distance[j]), int(j), i) for j in near if 0 < distance[j] <= REACH]
        found.sort()
        index = np.array([(i, j) for _, i, j in found], dtype=np.intp).reshape(-1, 2)
        one, other = index.T
        steps = x[other] - x[one]
        said, echoed = (np.sum(np.where(steps == 0, 0.0, steps * gradients[end]), axis=1) for end in (one, other))
        steep = np.abs(said + echoed) / 2 >= FLAT * _typical_length(gradients) * np.linalg.norm(steps, axis=1)
        known = np.isfinite(said) & np.isfinite(echoed)
        distance = np.abs(steps).max(axis=1, initial=0.0)
        return cls(*(column[known] for column in (one, other, y[other] - y[one], said, echoed, steep, distance)))


def _typical_length(gradients: Array) -> float:
    """Return the length of the steeper gradients: most results of a search may be on the flat."""
    return float(np.quantile(np.sqrt(np.nansum(gradients**2, axis=1)), 0.9))


def _common_factor(pairs: _Pairs, least: float) -> tuple[bool, float | None]:
    """Return whether pairs say that all gradients are wrong, and by which factor, if they agree on one."""
    middle = (pairs.said + pairs.echoed) / 2
    telling = (np.abs(pairs.said - pairs.echoed) < AGREEING * np.abs(middle)) & (np.abs(middle) > least)
    for asked, on_steep_ground in ((telling & pairs.steep, True), (telling, False)):
        rows = np.flatnonzero(asked)[:PAIRS]
        factors = pairs.change[rows] / middle[rows]
        if len(rows) < ENOUGH or np.mean((factors > 1 / RIGHT) & (factors < RIGHT)) > 1 - MOST:
            continue
        common = float(np.median(factors))
        alike = ALIKE if on_steep_ground and abs(common) > 1 / RIGHT else CLOSELY  # of ripples factors are small
        if np.mean(np.abs(factors - common) < alike * abs(common)) >= MOST:
            return True, common
        small = (np.abs(factors) < 1 / RIGHT) & (pairs.distance[rows] < NEAREST)
        if on_steep_ground and np.mean(small) >= MOST:
            return True, None
    return False, None


def _lone_liars(pairs: _Pairs, count: int) -> Mask:
    """Return the points (count,) whose own gradients foretell no neighbour's value while the neighbours' do."""
    wrong, asked = np.zeros(count), np.zeros(count)
    for own, said, opposite in ((pairs.one, pairs.said, pairs.echoed), (pairs.other, pairs.echoed, pairs.said)):
        sure = _missed(pairs.change, opposite) < WELL
        np.add.at(asked, own[sure], 1)
        np.add.at(wrong, own[sure], _missed(pairs.change, said)[sure] > BADLY)
    return (asked >= WITNESSES) & (wrong == asked)


def _missed(change: Array, said: Array) -> Array:
    """Return how far a foretold change misses, from 0 to 1, which is no change or one to the other side."""
    size = np.abs(change) + np.abs(said)
    return np.abs(change - said) / np.where(size > 0, size, 1.0)
