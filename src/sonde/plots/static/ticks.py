"""Ticks and their labels, much as Plotly has them."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axis import Axis
from matplotlib.dates import AutoDateLocator, ConciseDateFormatter
from matplotlib.ticker import (
    FixedLocator,
    FuncFormatter,
    Locator,
    LogLocator,
    MaxNLocator,
    MultipleLocator,
    NullFormatter,
    NullLocator,
)

from sonde.plots.static.values import column, plain

_SUPERSCRIPT = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
_THOUSANDS = (("B", 1e9), ("M", 1e6), ("k", 1e3))
FINE = 2.0  # decades below which a logarithmic axis has ticks between its powers of ten
MOST = 8


def number(value: float, *, power: bool = False) -> str:
    """Return the label of a tick: 200k, or with ``power`` as a power of ten."""
    size = abs(value)
    if size and (size < 1e-3 or (power and size >= 1e5)):
        mantissa, exponent = f"{value:.6e}".split("e")
        head = f"{float(mantissa):g}"
        tail = "10" + str(int(exponent)).translate(_SUPERSCRIPT)
        return tail if head == "1" else f"{head}\N{MULTIPLICATION SIGN}{tail}"
    for letter, unit in () if power else _THOUSANDS:
        if size >= 10 * unit or (size >= unit and letter != "k"):
            return f"{value / unit:g}{letter}"
    return f"{value:.6g}".replace("-", "\N{MINUS SIGN}")


def set_ticks(axis: Axis, wanted: dict[str, Any], kind: str, categories: list[Any]) -> None:
    """Set the ticks of an axis: those of the layout, its categories, or by its kind."""
    if wanted.get("showticklabels") is False:
        axis.set_major_locator(NullLocator())
    elif wanted.get("tickvals") is not None:
        _at(axis, column(wanted["tickvals"]), list(wanted.get("ticktext") or []), wanted, categories)
    elif kind == "category":
        _each(axis, categories)
    elif kind == "date":
        axis.set_major_locator(locator := AutoDateLocator(maxticks=MOST))
        axis.set_major_formatter(ConciseDateFormatter(locator))
    else:
        power = wanted.get("exponentformat") == "power" and not wanted.get("tickformat")
        axis.set_major_locator(_by_decades(axis) if kind == "log" else _by_steps(axis, wanted))
        axis.set_major_formatter(FuncFormatter(lambda value, _: _formatted(value, wanted, power)))
    axis.set_minor_locator(NullLocator())
    axis.set_minor_formatter(NullFormatter())


def _formatted(value: float, wanted: dict[str, Any], power: bool) -> str:
    if str(wanted.get("tickformat", "")).endswith("%"):
        return f"{value:.0%}"
    return f"{wanted.get('tickprefix') or ''}{number(value, power=power)}{wanted.get('ticksuffix') or ''}"


def _by_steps(axis: Axis, wanted: dict[str, Any]) -> Locator:
    low, high = axis.get_view_interval()
    step = wanted.get("dtick")
    if step and high - low <= 2 * MOST * step:
        return MultipleLocator(step)
    return MaxNLocator(nbins=min(int(wanted.get("nticks") or MOST), MOST), steps=[1, 2, 5, 10], integer=step == 1)


def _by_decades(axis: Axis) -> LogLocator:
    low, high = axis.get_view_interval()
    decades = np.log10(high / low) if low > 0 else np.inf
    return LogLocator(subs=(1.0, 2.0, 5.0) if decades < FINE else (1.0,), numticks=MOST)


def _at(axis: Axis, places: Any, texts: list[Any], wanted: dict[str, Any], categories: list[Any]) -> None:
    if places.dtype == object:
        places = np.array([categories.index(place) for place in places if place in categories], dtype=float)
    axis.set_major_locator(FixedLocator(places))
    labels = [plain(text) for text in texts] or [number(place) for place in places]
    known = dict(zip(places.tolist(), labels, strict=False))
    axis.set_major_formatter(FuncFormatter(lambda value, _: known.get(value, "")))


def _each(axis: Axis, categories: list[Any]) -> None:
    axis.set_major_locator(FixedLocator(list(range(len(categories)))))
    axis.set_major_formatter(
        FuncFormatter(lambda value, _: plain(categories[round(value)]) if 0 <= round(value) < len(categories) else "")
    )
