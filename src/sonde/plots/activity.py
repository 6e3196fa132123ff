"""Where a conditional parameter is active: the numbers that its parents, and theirs, must have."""

from __future__ import annotations

from functools import reduce
from typing import NamedTuple

import numpy as np

from sonde.arrays import Array
from sonde.plots.axes import axis_of, labels
from sonde.space import Space
from sonde.space.conditions import alternatives

Required = dict[str, tuple[float, ...]]  # by parent, the numbers that it may have


def required(space: Space, name: str) -> Required:
    """Return what must hold for a parameter to be active; empty where it always is."""
    found: Required = {}
    for parent, wanted in (space[name].when or {}).items():
        numbers = {space[parent].number(value) for value in alternatives(wanted, space[parent])}
        for above, allowed in [(parent, numbers), *required(space, parent).items()]:
            both = set(allowed) & set(found.get(above, allowed))
            found[above] = tuple(sorted(both))
    return found


def in_words(space: Space, needed: Required) -> str:
    """Return what must hold, such as ``model = svm``."""
    parts = []
    for name, numbers in needed.items():
        texts = [_text(space, name, number) for number in numbers[:3]]
        parts.append(f"{name} = {' or '.join(texts)}{' or ...' if len(numbers) > 3 else ''}")
    return ", ".join(parts)


def _text(space: Space, name: str, number: float) -> str:
    return f"{number:g}" if space[name].ordered else labels(space, name)[int(number)]


class _Cells(NamedTuple):
    """The parts of a parameter's unit interval that stand for some of its numbers."""

    low: Array
    width: Array


def restricted(space: Space, needed: Required, units: Array) -> Array:
    """Return uniform points of the unit cube moved to where the parents have required numbers, uniform there."""
    moved = units.copy()
    for name, numbers in needed.items():
        column = space.names.index(name)
        cells = _cells(space, name, numbers)
        ends = np.cumsum(cells.width)
        at = units[:, column] * ends[-1]
        cell = np.minimum(np.searchsorted(ends, at, side="right"), len(ends) - 1)
        moved[:, column] = cells.low[cell] + np.clip(at - ends[cell] + cells.width[cell], 0, cells.width[cell])
    return moved


def share(space: Space, needed: Required) -> float:
    """Return the share of the space where it holds."""
    return reduce(lambda whole, item: whole * float(_cells(space, *item).width.sum()), needed.items(), 1.0)


def _cells(space: Space, name: str, numbers: tuple[float, ...]) -> _Cells:
    axis = axis_of(space, name)
    index = np.rint((np.array(numbers) - axis.low) / axis.spacing)
    first, last = index == 0, index == axis.size - 1
    below = np.where(first, axis.low, np.array(numbers) - axis.spacing / 2)
    above = np.where(last, axis.low, np.array(numbers) + axis.spacing / 2)
    low = np.where(first, 0.0, axis.to_unit(below))
    return _Cells(low, np.where(last, 1.0, axis.to_unit(above)) - low)
