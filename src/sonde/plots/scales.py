"""Scales from 0 to 1 with ticks of their own, for axes that stand side by side."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from sonde.arrays import Array
from sonde.plots.axes import axis_of, labels
from sonde.space import Space

TICKS = 6


@dataclass(frozen=True)
class Scale:
    """A column of a table on a scale from 0 to 1."""

    name: str
    column: str
    units: Callable[[Any], Array]
    ticks: list[tuple[float, str]]  # place and text

    @staticmethod
    def text(value: Any) -> str:
        """Return an entry of the column as text."""
        if value is None or value != value:
            return "inactive"
        return f"{value:.6g}" if isinstance(value, int | float | np.number) else str(value)


def of_parameter(space: Space, name: str, column: str) -> Scale:
    """Return the scale of a parameter; of choices, their places in order."""
    axis = axis_of(space, name)
    if space[name].ordered:
        ticks = [number for number in nice(axis.low, axis.high, log=axis.log) if axis.low <= number <= axis.high]
        return Scale(name, column, axis.to_unit, [(float(axis.to_unit(number)), _short(number)) for number in ticks])
    known = labels(space, name)
    places = axis.to_unit(np.arange(len(known), dtype=float))
    by_label = dict(zip(known, places.tolist(), strict=True))
    each = max(1, -(-len(known) // (2 * TICKS)))  # of many choices every second one, or fewer, has a tick
    ticks_of_choices = [(float(place), text) for place, text in zip(places, known, strict=True)][::each]
    return Scale(name, column, lambda texts: np.array([by_label.get(text, np.nan) for text in texts]), ticks_of_choices)


def of_values(values: Array, column: str, log: bool) -> Scale:
    """Return the scale of finite values."""
    low, high = float(values.min()), float(values.max())
    start, end = (np.log(low), np.log(high)) if log else (low, high)
    width = (end - start) or 1.0

    def units(given: Any) -> Array:
        scaled = np.log(given) if log else np.asarray(given, dtype=float)
        return (scaled - start) / width if end > start else np.full(np.shape(scaled), 0.5)

    ticks = [number for number in nice(low, high, log=log) if low <= number <= high]
    name = column.removeprefix("value_")
    return Scale(name, column, units, [(float(units(number)), _short(number)) for number in ticks])


def _short(number: float) -> str:
    """Return the label of a tick: 0.001, or 1e-5."""
    return re.sub(r"e([+-])0+", r"e\1", f"{number:.4g}").replace("e+", "e")


def nice(low: float, high: float, *, log: bool) -> list[float]:
    """Return round numbers in a range: powers of ten on a wide logarithmic one, else multiples of 1, 2 or 5.

    On a logarithmic range of less than two decades they are 1, 2 and 5 times powers of ten, where these are some.
    """
    if low == high:
        return [low]
    if log:
        exponents = np.arange(np.floor(np.log10(low)), np.ceil(np.log10(high)) + 1)
        powers = [float(f"1e{int(exponent)}") for exponent in exponents]
        if high / low >= 100:
            inside = [power for power in powers if low * (1 - 1e-9) <= power <= high * (1 + 1e-9)]
            return inside[:: -(-len(inside) // TICKS)]
        known = [
            float(f"{digit * power:.12g}") for power in powers for digit in (1, 2, 5) if low <= digit * power <= high
        ]
        if len(known) > 2:
            return known
    rough = (high - low) / (TICKS - 1)
    unit = 10.0 ** np.floor(np.log10(rough))
    step = unit * next(factor for factor in (1, 2, 5, 10) if factor * unit >= rough * 0.999)
    multiples = np.arange(np.ceil(low / step - 1e-9), np.floor(high / step + 1e-9) + 1)
    return [float(f"{each * step:.12g}") + 0.0 for each in multiples]  # + 0.0: never -0.0
