"""Seconds per suggestion, and those of the objective beside them."""

from __future__ import annotations

from typing import Any

import numpy as np

from sonde.arrays import Array
from sonde.plots.axes import trial_axis, value_axis
from sonde.plots.figure import Figure
from sonde.plots.grouping import MANY, grouped
from sonde.plots.source import Source
from sonde.plots.table import Table
from sonde.plots.theme import ACCENT, ORANGE

TITLE = "Seconds per trial"
KINDS = (("suggestion", "suggested_in", ACCENT, "rgba(42,122,185,0.2)"),
         ("objective", "objective", ORANGE, "rgba(230,159,0,0.2)"))  # fmt: skip
SYMBOLS = {"suggestion": "circle", "objective": "diamond"}
LEAST = 1e-6  # seconds that a logarithmic axis begins with


def table(source: Source) -> Table:
    """Return number, seconds of the suggestion and seconds of the objective of each trial that has one of them."""
    times = source.times
    lasted = times.finished - times.started
    known = ~np.isnan(times.suggested_in) | ~np.isnan(lasted)
    columns = {"number": np.arange(len(lasted)), "suggested_in": times.suggested_in, "objective": lasted}
    return Table(columns, "a suggestion of a batch has its share of the batch's seconds").select(known)


def figure(shown: Table, source: Source) -> Figure:
    """Draw both over the trials; many as the median and the range of groups."""
    if not len(shown):
        return Figure.empty(TITLE, "No trial has been suggested or has run yet: run study.optimize(objective, 30).")
    draw = _ranges if len(shown) > MANY else _points
    traces = [trace for kind in KINDS if np.isfinite(shown[kind[1]]).any() for trace in draw(shown, *kind)]
    return Figure.of(traces, {
        "title": {"text": TITLE, "subtitle": {"text": _sums(shown)}}, "showlegend": True,
        "xaxis": trial_axis(shown["number"]),
        "yaxis": value_axis(_positive(np.concatenate([shown[kind[1]] for kind in KINDS])), "seconds", log=True),
    })  # fmt: skip


def _sums(shown: Table) -> str:
    """Return the sums of both in words."""
    suggesting, objective = (float(np.nansum(shown[kind[1]])) for kind in KINDS)
    said = f"in all: {_length(suggesting)} of suggesting, {_length(objective)} of objectives"
    return f"{said}. Lines are medians, bands ranges of groups of trials" if len(shown) > MANY else said


def _length(seconds: float) -> str:
    """Return a length of time in words."""
    for unit, size in (("days", 86400.0), ("hours", 3600.0), ("minutes", 60.0)):
        if seconds >= 2 * size:
            return f"{seconds / size:.1f} {unit}"
    return f"{seconds:.3g} seconds"


def _points(shown: Table, name: str, column: str, colour: str, _: str) -> list[dict[str, Any]]:
    return [{
        "type": "scatter", "mode": "markers", "name": name, "x": shown["number"], "y": _positive(shown[column]),
        "marker": {"color": colour, "size": 6, "opacity": 0.7, "symbol": SYMBOLS[name]}, "customdata": shown["number"],
        "hovertemplate": f"{name} of trial %{{x}}: %{{y:.3g}} s<extra></extra>",
    }]  # fmt: skip


def _ranges(shown: Table, name: str, column: str, colour: str, soft: str) -> list[dict[str, Any]]:
    groups = grouped(_positive(shown[column]))
    x = shown["number"][groups.middle]
    return [
        {"type": "scatter", "mode": "lines", "name": f"{name}: range", "fill": "toself", "fillcolor": soft,
         "x": np.concatenate([x, x[::-1]]), "y": np.concatenate([groups.low, groups.high[::-1]]),
         "line": {"width": 0}, "hoverinfo": "skip", "showlegend": False},
        {"type": "scatter", "mode": "lines", "name": name, "x": x, "y": groups.median,
         "line": {"color": colour, "width": 2}, "hovertemplate": f"{name}: %{{y:.3g}} s<extra></extra>"},
    ]  # fmt: skip


def _positive(seconds: Array) -> Array:
    """Return seconds that a logarithmic axis can show: a clock may count none."""
    return np.where(np.isnan(seconds), np.nan, np.maximum(seconds, LEAST))
