"""How well the model predicts each result from the others (leave-one-out), and whether its intervals hold."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import ndtr

from sonde.arrays import Array
from sonde.errors import NoResult
from sonde.plots.axes import beyond, value_axis
from sonde.plots.density import density
from sonde.plots.drawing import MODEL
from sonde.plots.figure import Figure
from sonde.plots.panels import axes_of, headings, panels
from sonde.plots.source import Source
from sonde.plots.table import Table
from sonde.plots.theme import ACCENT, GREY

WIDE = 1.96  # standard deviations, of a 95% interval
MANY = 3_000  # results above which counts are shown instead of points
LEVELS = np.linspace(0.02, 0.98, 49)  # of intervals
TITLE = "Predicted from the other results"


def table(source: Source, *, objective: str | None = None) -> Table:
    """Return value, leave-one-out prediction and score of each result; the score is standard normal in a true model."""
    place = 0 if objective is None else source.objectives.index(objective)
    try:
        found = source.diagnose()
    except NoResult as reason:
        return Table({}, str(reason))
    own = found[source.objectives.names[place]] if source.objectives.several else found
    columns = {
        "trial": own.numbers, "value": own.values, "mean": own.means, "std": own.stds,
        "low": own.means - WIDE * own.stds, "high": own.means + WIDE * own.stds, "score": own.scores,
    }  # fmt: skip
    order = f"rank correlation {own.correlation:.2f}" if own.correlation == own.correlation else "no order to predict"
    note = (
        f"leave-one-out over {len(own.values):,} results: {order}, "
        f"{100 * own.coverage:.0f}% within the predicted 95% interval"
    )
    return Table(columns, note)


def figure(shown: Table, source: Source, *, objective: str | None = None, log: bool | None = None) -> Figure:
    """Draw predicted against observed values, and the share of values within intervals of every level."""
    if not len(shown):
        return Figure.empty(TITLE, shown.note)
    value = objective or source.objectives.names[0]
    left, right = panels(2, 2, 0.12)
    both = np.concatenate([shown["value"], shown["mean"]])
    x, y = (value_axis(both, text, log=log) for text in (f"observed {value}", f"predicted {value}"))
    log = x["type"] == "log"
    ends = _ends(shown["value"], log=log)
    cloud = (
        [density(shown["value"], shown["mean"], (log, log), "results")]
        if len(shown) > MANY
        else _points(shown, log=log)
    )
    note = "; ".join(filter(None, [shown.note, beyond(np.minimum(shown["value"], shown["mean"]), x)]))
    traces = [{**trace, **left.axes} for trace in (*cloud, _line(ends, ends, "equal"))]
    traces += [{**trace, **right.axes} for trace in calibration(shown["score"])]
    percent = {"tickformat": ".0%", "range": [0, 1]}
    y = {**y, "range": _range(both, log=log)}
    layout = axes_of(left, x, y) | axes_of(
        right,
        {"title": {"text": "level of the interval"}, **percent},
        {"title": {"text": "share within it"}, **percent},
    )
    return Figure.of(traces, {
        **layout, "title": {"text": TITLE, "subtitle": {"text": note}}, "showlegend": False, "height": 480,
        "annotations": headings((left, right), ("result and 95% interval", "calibration: on the diagonal if right")),
        "margin": {"t": 104},
    })  # fmt: skip


def calibration(scores: Array) -> list[dict[str, Any]]:
    """Return the share of scores within the central interval of each level, the diagonal, and what chance allows."""
    within = np.sort(2 * ndtr(np.abs(scores)) - 1)
    share = np.searchsorted(within, LEVELS, side="right") / len(within)
    chance = WIDE * np.sqrt(LEVELS * (1 - LEVELS) / len(within))
    area = {
        "type": "scatter", "mode": "lines", "fill": "toself", "line": {"width": 0}, "hoverinfo": "skip",
        "fillcolor": "rgba(138,146,155,0.2)", "x": np.concatenate([LEVELS, LEVELS[::-1]]),
        "y": np.clip(np.concatenate([LEVELS - chance, (LEVELS + chance)[::-1]]), 0, 1),
    }  # fmt: skip
    line = {"type": "scatter", "mode": "lines", "x": LEVELS, "y": share, "line": {"color": MODEL, "width": 2.5},
            "hovertemplate": "%{y:.0%} within the %{x:.0%} interval<extra></extra>"}  # fmt: skip
    return [area, _line(np.array([0.0, 1.0]), np.array([0.0, 1.0]), "right"), line]


def _points(shown: Table, *, log: bool) -> list[dict[str, Any]]:
    low = np.maximum(shown["low"], shown["mean"] * 1e-6) if log else shown["low"]
    x = np.repeat(shown["value"], 3)
    y = np.column_stack([low, shown["high"], np.full(len(shown), np.nan)]).ravel()
    bars = {"type": "scatter", "mode": "lines", "x": x, "y": y, "line": {"color": "rgba(230,159,0,0.5)", "width": 1.5},
            "hoverinfo": "skip", "connectgaps": False}  # fmt: skip
    points = {
        "type": "scatter", "mode": "markers", "x": shown["value"], "y": shown["mean"],
        "text": [f"trial {number}, {score:+.1f} deviations" for number, score in
                 zip(shown["trial"], shown["score"], strict=True)], "customdata": shown["trial"],
        "hovertemplate": "%{text}<br>observed %{x:.6g}, predicted %{y:.6g}<extra></extra>",
        "marker": {"color": ACCENT, "size": 7, "opacity": 0.75},
    }  # fmt: skip
    return [bars, points]


def _line(x: Array, y: Array, name: str) -> dict[str, Any]:
    return {"type": "scatter", "mode": "lines", "x": x, "y": y, "name": name, "hoverinfo": "skip",
            "line": {"color": GREY, "width": 1, "dash": "dash"}}  # fmt: skip


def _ends(values: Array, *, log: bool) -> Array:
    """Return the smallest and the largest number that an axis shows."""
    shown = values[values > 0] if log else values
    return np.array([shown.min(), shown.max()]) if len(shown) else np.ones(2)


def _range(values: Array, *, log: bool) -> list[float]:
    """Return the range of values and means: an interval may be far wider, and would hide them."""
    low, high = np.log10(_ends(values, log=log)) if log else _ends(values, log=log)
    room = 0.08 * float(high - low) or 1.0
    return [float(low) - room, float(high) + room]
