"""Axes that follow what they show: logarithmic parameters, values over several orders of magnitude, categories."""

from __future__ import annotations

from typing import Any

import numpy as np

from sonde.arrays import Array
from sonde.plots.text import escaped
from sonde.space import Space
from sonde.space.axis import Axis
from sonde.space.choices import label

DECADES = 2.0  # that positive values must span for a logarithmic axis


def value_axis(values: Array, title: str, *, log: bool | None = None) -> dict[str, Any]:
    """Return an axis of values; logarithmic if they are positive and span more than two decades, or as told.

    An axis that is told to be logarithmic does not show values of zero or less.
    """
    known = values[np.isfinite(values)]
    positive = len(known) > 0 and bool(np.all(known > 0))
    wide = positive and float(np.log10(known.max()) - np.log10(known.min())) > DECADES
    is_log = wide if log is None else log and bool(np.any(known > 0))
    axis = {"title": {"text": escaped(title)}, "type": "log" if is_log else "linear", "exponentformat": "power"}
    return axis | _powers(known[known > 0]) if is_log else axis


def _powers(positive: Array) -> dict[str, Any]:
    """Return ticks at powers of ten where values span some: labels between them would be too many."""
    decades = float(np.log10(positive.max()) - np.log10(positive.min()))
    return {"dtick": max(1, round(decades / 6))} if decades >= DECADES else {}


def beyond(values: Array, axis: dict[str, Any]) -> str:
    """Return a sentence on the values that a logarithmic axis cannot show; empty where it shows all."""
    count = int(np.sum(values <= 0)) if axis["type"] == "log" else 0
    return f"{count:,} values of zero or less are not on the logarithmic axis" if count else ""


def parameter_axis(space: Space, name: str) -> dict[str, Any]:
    """Return the axis of a parameter: its scale, or the labels of its choices in their order."""
    if not space[name].ordered:
        return {"title": {"text": name}, "type": "category", "categoryorder": "array",
                "categoryarray": labels(space, name)}  # fmt: skip
    return {"title": {"text": name}, "type": "log" if axis_of(space, name).log else "linear"}


def labels(space: Space, name: str) -> list[str]:
    """Return the labels of a parameter's choices: texts as they are, where these differ from all others."""
    choices = [space[name].value(number) for number in range(int(axis_of(space, name).size))]
    plain = [choice if isinstance(choice, str) else label(choice) for choice in choices]
    return plain if len(set(plain)) == len(plain) else [label(choice) for choice in choices]


def axis_of(space: Space, name: str) -> Axis:
    """Return the numbers of a parameter."""
    return space.codec.axes[space.names.index(name)]


def shown_column(space: Space, name: str, numbers: Array) -> Any:
    """Return a column of rows as it is shown: numbers, or labels with None where the parameter is inactive."""
    if space[name].ordered:
        return numbers
    known = labels(space, name)
    return [None if np.isnan(number) else known[int(number)] for number in numbers]
