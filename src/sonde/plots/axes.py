"""Axes that follow what they show: logarithmic parameters, values over several orders of magnitude, categories."""

from __future__ import annotations

from typing import Any

import numpy as np

from sonde.arrays import Array, Integers
from sonde.plots.text import counted, escaped
from sonde.space import Space
from sonde.space.axis import Axis
from sonde.space.choices import label

DECADES = 2.0  # that positive values must span for a logarithmic axis
FEW = 10  # trials that have a tick each


def value_axis(values: Array, title: str, *, log: bool | None = None) -> dict[str, Any]:
    """Return an axis of values; logarithmic if they are positive and span more than two decades, or as told.

    An axis that is told to be logarithmic does not show values of zero or less.
    """
    known = values[np.isfinite(values)]
    positive = len(known) > 0 and bool(np.all(known > 0))
    wide = positive and float(np.log10(known.max()) - np.log10(known.min())) > DECADES
    is_log = wide if log is None else log and bool(np.any(known > 0))
    axis = {"title": {"text": escaped(title)}, "type": "log" if is_log else "linear", "exponentformat": "power"}
    return axis | log_ticks(known[known > 0]) if is_log else axis


def log_ticks(positive: Array) -> dict[str, Any]:
    """Return ticks at powers of ten where values span some, else at 1, 2 and 5 times these, with whole numbers."""
    decades = round(float(np.log10(positive.max()) - np.log10(positive.min())), 9)
    return {"dtick": max(1, round(decades / 5))} if decades >= DECADES else {"dtick": "D2", "tickformat": ".3~g"}


def trial_axis(numbers: Integers, title: str = "trial") -> dict[str, Any]:
    """Return the axis of the numbers of trials, with room for the first and the last one."""
    first, last = min(int(numbers[0]), 1), int(numbers[-1])
    room = max(0.5, 0.02 * (last - first))
    few = {"dtick": 1} if last - first < FEW else {}
    return {"title": {"text": title}, "range": [first - room, last + room], **few}


def beyond(values: Array, axis: dict[str, Any]) -> str:
    """Return a sentence on the values that a logarithmic axis cannot show; empty where it shows all."""
    count = int(np.sum(values <= 0)) if axis["type"] == "log" else 0
    return f"{counted(count, 'value')} of zero or less not on the logarithmic axis" if count else ""


def labels(space: Space, name: str) -> list[str]:
    """Return the labels of a parameter's choices: a text as it is, in quotes where another choice has that label."""
    choices = [space[name].value(number) for number in range(int(axis_of(space, name).size))]
    known = [label(choice) for choice in choices]
    return [
        choice if isinstance(choice, str) and choice not in known else text
        for choice, text in zip(choices, known, strict=True)
    ]


def axis_of(space: Space, name: str) -> Axis:
    """Return the numbers of a parameter."""
    return space.codec.axes[space.names.index(name)]


def shown_column(space: Space, name: str, numbers: Array) -> Any:
    """Return a column of rows as it is shown: numbers, or labels with None where the parameter is inactive."""
    if space[name].ordered:
        return numbers
    known = np.array([*labels(space, name), None], dtype=object)
    return known[np.where(np.isnan(numbers), -1, np.nan_to_num(numbers)).astype(int)].tolist()
