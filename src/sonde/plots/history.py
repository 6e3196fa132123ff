"""Every trial's value, and the best so far."""

from __future__ import annotations

from typing import Any

import numpy as np

from sonde.arrays import Array
from sonde.plots.axes import value_axis
from sonde.plots.figure import Figure
from sonde.plots.grouping import GROUPS, MANY, grouped
from sonde.plots.source import Source
from sonde.plots.states import shown_states
from sonde.plots.table import Table
from sonde.plots.theme import ACCENT, STATES

_NO_VALUE = ("failed", "stopped")  # shown below the values


def table(source: Source) -> Table:
    """Return number, state, value and best so far of each trial that has ended."""
    history = source.history
    states = shown_states(history)
    ended = np.isin(states, ("completed", "infeasible", *_NO_VALUE))
    values = history.sign * history.values
    usable = np.where(states == "completed", history.values, np.inf)
    best = history.sign * np.minimum.accumulate(usable) if len(usable) else usable
    columns = {"number": np.arange(len(history)), "state": states, "value": values,
               "best": np.where(np.isfinite(best), best, np.nan)}  # fmt: skip
    return Table(columns, "value of a stopped trial: predicted from its curve").select(ended)


def figure(shown: Table, source: Source, *, log: bool | None = None) -> Figure:
    """Draw the values as points, or many as the range of each group of trials; the best so far as a line."""
    many = len(shown) > MANY
    traces = _ranges(shown, source.history.sign) if many else _points(shown)
    traces.append(_best(shown))
    note = f"{len(shown):,} trials; the band is the range of each {len(shown) // GROUPS:,}" if many else ""
    return Figure.of(traces, {
        "title": {"text": "Best so far", "subtitle": {"text": note}},
        "xaxis": {"title": {"text": "trial"}, "rangemode": "tozero"},
        "yaxis": value_axis(shown["value"], source.objectives.names[0], log=log),
        "yaxis2": {"overlaying": "y", "range": [0, 1], "visible": False, "fixedrange": True},  # of trials without value
    })  # fmt: skip


def _points(shown: Table) -> list[dict[str, Any]]:
    """Return a trace for each state; a failed trial has no value and stands at the lower edge."""
    traces = []
    for state in ("completed", "infeasible", "stopped", "failed"):
        these = shown.select(shown["state"] == state)
        if not len(these):
            continue
        colour, symbol = STATES[state]
        without = np.isnan(these["value"])
        traces.append({
            "type": "scatter", "mode": "markers", "name": state, "x": these["number"],
            "y": np.where(without, 0.02, these["value"]) if without.all() else these["value"],
            **({"yaxis": "y2"} if without.all() else {}),
            "marker": {"color": colour, "symbol": symbol, "size": 7, "opacity": 0.75},
            "hovertemplate": "trial %{x}: " + ("failed" if without.all() else "%{y:.6g}") + "<extra></extra>",
        })  # fmt: skip
    return traces


def _ranges(shown: Table, sign: float) -> list[dict[str, Any]]:
    groups = grouped(shown["value"])
    x, low, high = shown["number"][groups.middle], groups.low, groups.high
    return [{
        "type": "scatter", "mode": "lines", "name": "range of values", "fill": "toself",
        "x": np.concatenate([x, x[::-1]]), "y": np.concatenate([low, high[::-1]]),
        "line": {"width": 0}, "fillcolor": "rgba(42,122,185,0.25)", "hoverinfo": "skip",
    }]  # fmt: skip


def _best(shown: Table) -> dict[str, Any]:
    """Return the best so far as steps: its improvements only, and the last trial."""
    best: Array = shown["best"]
    moves = np.flatnonzero(np.diff(best, prepend=np.nan) != 0)
    ends = np.union1d(moves, [len(best) - 1]) if len(best) else moves
    ends = ends[np.isfinite(best[ends])]
    return {
        "type": "scatter", "mode": "lines", "name": "best so far", "x": shown["number"][ends], "y": best[ends],
        "line": {"shape": "hv", "width": 2.5, "color": ACCENT},
        "hovertemplate": "best after trial %{x}: %{y:.6g}<extra></extra>",
    }  # fmt: skip
