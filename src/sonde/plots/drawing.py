"""Traces that several figures share: bands, intervals, and a menu that switches between groups of traces."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sonde.arrays import Array
from sonde.plots.theme import ORANGE

MODEL, BAND = ORANGE, "rgba(230,159,0,0.25)"  # of the model; trials have the colours of their states


def band(x: Sequence[Any], low: Array, high: Array) -> dict[str, Any]:
    """Return the area between two lines; where they are NaN there is a gap."""
    whole_x: list[Any] = []
    whole_y: list[float | None] = []
    for part in _runs(np.isfinite(low) & np.isfinite(high)):
        own = [x[i] for i in part]
        whole_x += [*own, *own[::-1], own[0], None]
        whole_y += [*low[part].tolist(), *high[part][::-1].tolist(), float(low[part[0]]), None]
    return {
        "type": "scatter", "mode": "lines", "x": whole_x[:-1], "y": whole_y[:-1], "fill": "toself",
        "line": {"width": 0}, "fillcolor": BAND, "hoverinfo": "skip",
    }  # fmt: skip


def interval_lines(x: Sequence[Any], low: Array, high: Array, colour: str = BAND, width: float = 10) -> dict[str, Any]:
    """Return a vertical line from low to high at each place."""
    places = [cell for each in x for cell in (each, each, None)]
    ends = [cell for pair in zip(low.tolist(), high.tolist(), strict=True) for cell in (*pair, None)]
    return {"type": "scatter", "mode": "lines", "x": places, "y": ends, "line": {"color": colour, "width": width},
            "hoverinfo": "skip", "connectgaps": False}  # fmt: skip


def dropdown(
    groups: Sequence[list[dict[str, Any]]], labels: Sequence[str]
) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Return all traces, of which the first group is visible, and the layout of a menu that shows another one."""
    traces = [{**trace, "visible": place == 0} for place, group in enumerate(groups) for trace in group]
    owners = [place for place, group in enumerate(groups) for _ in group]
    if len(groups) < 2:
        return traces, {}
    buttons = [
        {"label": label, "method": "restyle", "args": [{"visible": [owner == place for owner in owners]}]}
        for place, label in enumerate(labels)
    ]
    # at the left: Plotly's buttons are at the right
    menu = {"type": "dropdown", "buttons": buttons, "active": 0, "x": 0, "xanchor": "left", "y": 1,
            "yanchor": "bottom", "pad": {"b": 20}, "showactive": True}  # fmt: skip
    return traces, {"updatemenus": [menu]}


def _runs(mask: Any) -> list[Any]:
    """Return the indices of each run of true entries."""
    index = np.flatnonzero(mask)
    return [part for part in np.split(index, np.flatnonzero(np.diff(index) > 1) + 1) if len(part)]
