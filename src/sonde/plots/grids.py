"""The numbers of a parameter at which a model is shown, and how its axis shows them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sonde.arrays import Array
from sonde.errors import OptionError
from sonde.plots.axes import axis_of, labels, log_ticks
from sonde.plots.text import distinct, escaped
from sonde.space import Space

POINTS = 51  # of a continuous parameter
CHOICES = 60  # of a parameter without order
TITLE = 36  # characters of an axis' title, which must not reach into the next panel


def grid(space: Space, name: str, points: int = POINTS) -> Array:
    """Return the numbers: evenly spaced on the scale, or all of a lattice; of a large lattice evenly chosen ones."""
    axis = axis_of(space, name)
    most = points if space[name].ordered else CHOICES
    if axis.size <= most:
        return np.array([axis.point(index) for index in range(int(axis.size))])
    if space[name].ordered:
        return np.unique(axis.from_unit(np.linspace(0.0, 1.0, points)))
    return np.unique(np.rint(np.linspace(0, axis.size - 1, most)))


def is_stepped(space: Space, name: str, points: int = POINTS) -> bool:
    """Whether all numbers of an ordered parameter are shown, as steps."""
    return space[name].ordered and axis_of(space, name).size <= points


def checked_names(space: Space, names: Any, what: str) -> list[str]:
    """Return names of parameters; raise ``OptionError`` for one that the space does not have."""
    if isinstance(names, str) or not isinstance(names, Sequence) or not names:
        raise OptionError(f"{what} takes a list of parameters such as {[space.names[0]]!r}, got {names!r}")
    return [checked_name(space, name, what) for name in dict.fromkeys(names)]


def checked_name(space: Space, name: Any, what: str) -> str:
    """Return the name of a parameter; raise ``OptionError`` if the space does not have it."""
    if name not in space.names:
        raise OptionError(f"{what} names {name!r}; the parameters are {', '.join(space.names)}")
    return str(name)


def varied(space: Space) -> list[str]:
    """Return the parameters with more than one value."""
    return [name for name in space.names if axis_of(space, name).size > 1]


def shown_labels(space: Space, name: str) -> list[str]:
    """Return the labels of a parameter's choices as an axis shows them: short, and each another one."""
    return distinct([escaped(each, 24) for each in labels(space, name)])


def positions(space: Space, name: str, numbers: Array) -> list[Any]:
    """Return where an axis shows numbers of a parameter: the numbers, or the labels of its choices."""
    if space[name].ordered:
        return [float(number) for number in numbers]
    known = shown_labels(space, name)
    return [known[int(number)] for number in numbers]


def axis_layout(space: Space, name: str, remark: str = "", room: float = 0.0) -> dict[str, Any]:
    """Return the axis of a parameter, with a remark below its name, and room at both ends as a share of its range."""
    title = {"text": escaped(name, TITLE) + (f"<br>({escaped(remark, TITLE)})" if remark else "")}
    if space[name].ordered:
        axis = axis_of(space, name)
        low, high = np.array(axis.edges) / (np.log(10) if axis.log else 1.0)
        ends = [float(low - room * (high - low)), float(high + room * (high - low))]
        ticks = log_ticks(np.exp(np.array(axis.edges))) if axis.log else {}
        return {
            "title": title,
            "type": "log" if axis.log else "linear",
            "range": ends,
            "exponentformat": "power",
            **ticks,
        }
    known = shown_labels(space, name)
    return {"title": title, "type": "category", "categoryorder": "array", "categoryarray": known,
            "range": [-0.5, len(known) - 0.5]}  # fmt: skip


def texts_of(space: Space, name: str, numbers: Array) -> list[str | None]:
    """Return the labels of choices; None of numbers."""
    if space[name].ordered:
        return [None] * len(numbers)
    known = labels(space, name)
    return [None if np.isnan(number) else known[int(number)] for number in numbers]


def cells(space: Space, name: str, numbers: Array) -> Any:
    """Return the edges of the cells around numbers, halfway on the parameter's scale; of choices their labels."""
    if not space[name].ordered:
        return positions(space, name, numbers)
    axis = axis_of(space, name)
    scaled = np.log(numbers) if axis.log else numbers
    edges = np.concatenate([[axis.edges[0]], (scaled[:-1] + scaled[1:]) / 2, [axis.edges[1]]])
    return np.exp(edges) if axis.log else edges
