"""Disjoint boxes that cover what a new point has to reach: above the reference point, and not dominated by the front.

They come from a sweep along the last objective, from infinity down to the reference point. Between two neighbouring
points, the region is a prism over the boxes of one objective less. When the sweep passes a point, boxes that it cuts
end there and new ones begin; the others go on. One objective has one box, two have n + 1 strips, and three at most
2 n + 1 boxes, which is optimal (Yang et al. 2019).

Symbols: n points of the front, b boxes, K objectives, higher is better.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from sonde.arrays import Array
from sonde.pareto.fronts import non_dominated

Corner = tuple[float, ...]
Box = tuple[Corner, Corner]  # low and high
Front = list[Corner]


class Boxes(NamedTuple):
    """Axis-parallel boxes from ``low`` (b, K), which is finite, to ``high`` (b, K), which may be infinite."""

    low: Array
    high: Array


def undominated_boxes(front: Array, reference: Array) -> Boxes:
    """Return disjoint boxes whose union is above ``reference`` (K,) and not dominated by ``front`` (n, K)."""
    above = front[np.all(front > reference, axis=1)]
    points = [tuple(point) for point in above[non_dominated(above)].tolist()]
    low, high = zip(*_boxes(points, tuple(np.asarray(reference, dtype=float).tolist())), strict=True)
    return Boxes(np.array(low), np.array(high))


def _boxes(points: Front, reference: Corner) -> list[Box]:
    """Return the boxes: the sweep, with the boxes of one objective less as its state."""
    *rest, lowest = reference
    if not rest:
        return [((max(lowest, *(point[0] for point in points), lowest),), (np.inf,))]
    ended, going = list[Box](), dict[Box, float]()  # what goes on, and the height where it began
    for level, front in _fronts_passed(points):
        boxes = _boxes(front, tuple(rest))
        cut = [(box, going.pop(box)) for box in going.keys() - set(boxes)]
        ended += [_prism(box, level, top) for box, top in cut if top > level]  # two points may be at one level
        going |= {box: level for box in boxes if box not in going}
    return ended + [_prism(box, lowest, top) for box, top in going.items()]


def _fronts_passed(points: Front) -> Iterator[tuple[float, Front]]:
    """Yield the heights of the sweep at which something changes, and the front in the other objectives from there."""
    front = Front()
    yield np.inf, front
    for *others, level in sorted(points, key=lambda point: point[-1], reverse=True):
        new = tuple(others)
        if not any(_reaches(old, new) for old in front):
            front = [old for old in front if not _reaches(new, old)] + [new]
            yield level, front


def _reaches(one: Corner, other: Corner) -> bool:
    """Return whether the first point is no worse in any objective."""
    return all(a >= b for a, b in zip(one, other, strict=True))


def _prism(base: Box, lowest: float, top: float) -> Box:
    low, high = base
    return (*low, lowest), (*high, top)
