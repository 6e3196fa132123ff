"""Parallel coordinates: each trial is a line through its parameters to its value.

The axes are scaled to one length, each on its own scale with ticks of its own. They are drawn as plain lines, because
Plotly's own trace needs WebGL and makes code at run time, which a careful page does not allow.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from plotly.colors import sample_colorscale

from sonde.arrays import Array, Integers
from sonde.errors import OptionError
from sonde.plots.axes import shown_column, value_axis
from sonde.plots.density import columns_of_counts
from sonde.plots.figure import Figure
from sonde.plots.scales import Scale, of_parameter, of_values
from sonde.plots.source import Source
from sonde.plots.states import usable
from sonde.plots.table import Table
from sonde.plots.text import escaped
from sonde.plots.theme import ACCENT, GREY, LINES

TITLE = "Parallel coordinates"
MANY = 1_000  # trials above which the best are lines and the others are counted
BEST = 200
WIDEST = 20  # parameters that are shown if nobody chooses some
SHADES = 12  # groups of lines of one colour
INACTIVE = -0.12  # where lines go in which a parameter is inactive


def table(source: Source, parameters: Sequence[str] | None = None, objective: str | None = None) -> Table:
    """Return number, value and parameters of each trial that counts, the best first; an inactive one is NaN or None.

    Of several objectives there is a value of each; the order is by ``objective``, the first one unless it is given.
    """
    history, space, objectives = source.history, source.space, source.objectives
    names = _checked(source, parameters)
    place = 0 if objective is None else objectives.index(objective)
    numbers = np.flatnonzero(usable(history))
    order = numbers[np.argsort(history.outcomes[numbers, place], kind="stable")]
    columns: dict[str, Any] = {"number": order}
    natural = objectives.signs * history.outcomes[order]
    for k, name in enumerate(objectives.names):
        columns[f"value_{name}" if objectives.several else "value"] = natural[:, k]
    rows = history.rows[order]
    columns |= {f"params_{name}": shown_column(space, name, rows[:, space.names.index(name)]) for name in names}
    left = len(space.names) - len(names)
    return Table(
        columns, f"the first {len(names)} of {len(space.names)} parameters" if parameters is None and left else ""
    )


def _checked(source: Source, parameters: Any) -> list[str]:
    names = source.space.names
    if parameters is None:
        return list(names[:WIDEST])
    if isinstance(parameters, str) or not isinstance(parameters, Sequence) or not parameters:
        raise OptionError(f"parameters= takes a list of names such as {list(names[:2])!r}, got {parameters!r}")
    unknown = [name for name in parameters if name not in names]
    if unknown:
        raise OptionError(f"parameters= names {unknown[0]!r}; the parameters are {', '.join(names)}")
    return list(dict.fromkeys(parameters))


def figure(shown: Table, source: Source, objective: str | None = None) -> Figure:
    """Draw the lines, good ones on top, and of many trials how many go where."""
    if not len(shown):
        return Figure.empty(TITLE, "No trial has completed yet: run study.optimize(objective, 30).")
    scales = _scales(shown, source)
    units = np.stack([scale.units(shown[scale.column]) for scale in scales], axis=1)
    several = source.objectives.several
    value = f"value_{objective or source.objectives.names[0]}" if several else "value"
    count = BEST if len(shown) > MANY else len(shown)
    traces: list[dict[str, Any]] = []
    if count < len(shown):
        traces.append(columns_of_counts([units[:, k] for k in range(len(scales))]))
    traces += _lines(shown["number"][:count], np.where(np.isnan(units[:count]), INACTIVE, units[:count]))
    traces += [_best(shown, scales, units), _bar(shown[value][:count], escaped(value.removeprefix("value_"), 20))]
    idle = bool(np.isnan(units).any())
    return Figure.of(traces, _layout(scales, _note(shown, count), idle=idle))


def _scales(shown: Table, source: Source) -> list[Scale]:
    """Return the scales: of the parameters, then of the values."""
    names = [name for name in shown.names if name.startswith("params_")]
    scales = [of_parameter(source.space, name.removeprefix("params_"), name) for name in names]
    values = [name for name in shown.names if name == "value" or name.startswith("value_")]
    logs = [value_axis(shown[name], name)["type"] == "log" for name in values]
    return scales + [of_values(shown[name], name, log) for name, log in zip(values, logs, strict=True)]


def _note(shown: Table, count: int) -> str:
    said = (
        f"the best {count:,} of {len(shown):,} trials are lines; grey: where all trials are"
        if count < len(shown)
        else ""
    )
    return "; ".join(part for part in (said, shown.note) if part)


def _lines(numbers: Integers, units: Array) -> list[dict[str, Any]]:
    """Return the lines in groups of one colour by rank, the best group last, which is on top."""
    groups = np.array_split(np.arange(len(units)), min(SHADES, len(units)))
    shades = sample_colorscale(
        [list(stop) for stop in LINES], [i / max(len(groups) - 1, 1) for i in range(len(groups))]
    )
    traces = []
    for group, shade in reversed(list(zip(groups, reversed(shades), strict=True))):
        x = np.tile(np.append(np.arange(units.shape[1], dtype=float), np.nan), len(group))
        y = np.column_stack([units[group], np.full(len(group), np.nan)]).ravel()
        traces.append({
            "type": "scatter", "mode": "lines", "x": x, "y": y, "line": {"color": shade, "width": 1.3},
            "opacity": 0.55, "showlegend": False, "name": "trials", "connectgaps": False,
            "customdata": np.repeat(numbers[group], units.shape[1] + 1),
            "hovertemplate": "trial %{customdata}<extra></extra>",
        })  # fmt: skip
    return traces


def _best(shown: Table, scales: list[Scale], units: Array) -> dict[str, Any]:
    """Return the best trial as a thick line."""
    texts = [f"{escaped(scale.name, 30)}: {escaped(scale.text(shown[scale.column][0]), 40)}" for scale in scales]
    return {"type": "scatter", "mode": "lines+markers", "name": f"best, trial {shown['number'][0]}",
            "x": np.arange(len(scales)), "y": np.where(np.isnan(units[0]), INACTIVE, units[0]), "text": texts,
            "line": {"color": ACCENT, "width": 3}, "marker": {"color": ACCENT, "size": 7}, "showlegend": True,
            "customdata": np.repeat(shown["number"][0], len(scales)),
            "hovertemplate": "best: %{text}<extra></extra>"}  # fmt: skip


def _bar(values: Array, name: str) -> dict[str, Any]:
    """Return a trace without points that has the colour bar of the ranks."""
    ranks = [0, 1]
    worst, best = float(values[-1]), float(values[0])
    return {"type": "scatter", "mode": "markers", "x": [None, None], "y": [None, None], "showlegend": False,
            "name": "colours", "marker": {
                "color": ranks, "cmin": 0, "cmax": 1, "showscale": True, "opacity": 1,
                "colorscale": [list(stop) for stop in LINES],
                "colorbar": {"title": {"text": name}, "tickvals": ranks, "ticktext": [f"{worst:.3g}", f"{best:.3g}"],
                             "len": 0.6, "thickness": 10}}}  # fmt: skip


def _layout(scales: list[Scale], note: str, *, idle: bool) -> dict[str, Any]:
    """Return axes and ticks: a vertical line for each scale, with its ticks to the left of it."""
    line = {"color": GREY, "width": 1}
    axes = [{"type": "line", "x0": i, "x1": i, "y0": 0, "y1": 1, "layer": "below", "line": line}
            for i in range(len(scales))]  # fmt: skip
    ticks = [
        {"x": i, "y": float(place), "text": escaped(text, 14), "xanchor": "right", "xshift": -4, "font": {"size": 10}}
        for i, scale in enumerate(scales) for place, text in scale.ticks
    ]  # fmt: skip
    lane = (
        [{"x": 0, "y": INACTIVE, "text": "inactive", "xanchor": "right", "xshift": -4, "font": {"size": 10}}]
        if idle
        else []
    )
    return {
        "title": {"text": TITLE, "subtitle": {"text": note}}, "shapes": axes, "annotations": [*ticks, *lane],
        "xaxis": {"tickvals": list(range(len(scales))), "ticktext": [escaped(scale.name, 18) for scale in scales],
                  "range": [-0.4, len(scales) - 0.8], "showgrid": False, "ticks": ""},
        "yaxis": {"visible": False, "range": [(INACTIVE if idle else 0) - 0.05, 1.05], "fixedrange": True},
    }  # fmt: skip
