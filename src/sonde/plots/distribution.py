"""How the distribution of the strategy ``igo`` moved: the probability of each choice over its generations."""

from __future__ import annotations

from typing import Any

import numpy as np

from sonde.arrays import Array
from sonde.plots.axes import axis_of, labels, log_ticks
from sonde.plots.figure import Figure
from sonde.plots.panels import Panel, axes_of, height, panels
from sonde.plots.source import Source
from sonde.plots.table import Table
from sonde.plots.text import counted, distinct, escaped
from sonde.plots.theme import ACCENT, COLOURS, SCALE
from sonde.strategies.port import Distributions

TITLE = "Distribution over the generations"
PANELS = 9  # parameters above which one map shows all
LISTED = 40  # rows of the map that have their names
NO_DISTRIBUTION = 'This strategy learns no distribution over the space: strategy="igo" does.'


def table(source: Source) -> Table:
    """Return generation, results before it, parameter, choice and probability.

    A number on a scale has no choice; it has the mean and the range of one standard deviation.
    """
    moved = source.distributions()
    if moved is None:
        return Table(
            {
                name: []
                for name in ("generation", "results", "parameter", "choice", "probability", "mean", "low", "high")
            }
        )
    parts = [_choices(source, moved, name) for name in moved.probabilities]
    parts += [_number(source, moved, name) for name in moved.means]
    parts.sort(key=lambda part: source.space.names.index(part["parameter"][0]))
    columns: dict[str, Any] = {}
    for name in parts[0]:
        listed = isinstance(parts[0][name], list)
        joined = np.concatenate([np.asarray(part[name], dtype=object if listed else None) for part in parts])
        columns[name] = joined.tolist() if listed else joined
    return Table(columns, _kept(moved))


def _kept(moved: Distributions) -> str:
    last = int(moved.generations[-1])
    every = int(moved.generations[1] - moved.generations[0]) if len(moved.generations) > 2 else 1
    return f"{last:,} generations" + (f", each {every}th is shown" if every > 1 else "")


def _choices(source: Source, moved: Distributions, name: str) -> dict[str, Any]:
    values = moved.probabilities[name]
    known, count = _labels(source, name), values.shape[1]
    nothing = np.full(values.size, np.nan)
    return {"generation": np.repeat(moved.generations, count), "results": np.repeat(moved.results, count),
            "parameter": [name] * values.size, "choice": known * len(values), "probability": values.ravel(),
            "mean": nothing, "low": nothing, "high": nothing}  # fmt: skip


def _number(source: Source, moved: Distributions, name: str) -> dict[str, Any]:
    axis, mean, std = axis_of(source.space, name), moved.means[name], moved.stds[name]
    low, middle, high = (axis.from_unit(np.clip(mean + shift * std, 0, 1)) for shift in (-1, 0, 1))
    return {"generation": moved.generations, "results": moved.results, "parameter": [name] * len(mean),
            "choice": [None] * len(mean), "probability": np.full(len(mean), np.nan), "mean": middle,
            "low": low, "high": high}  # fmt: skip


def _labels(source: Source, name: str) -> list[str]:
    """Return the choices of a bit or a category; a number with two values has these."""
    if not source.space[name].ordered:
        return labels(source.space, name)
    axis = axis_of(source.space, name)
    return [f"{source.space[name].value(axis.point(i))}" for i in range(2)]


def figure(shown: Table, source: Source) -> Figure:
    """Draw a panel for each parameter, or one map of many."""
    if not len(shown):
        return Figure.empty(TITLE, NO_DISTRIBUTION)
    names = list(dict.fromkeys(shown["parameter"]))
    places = np.array([names.index(name) for name in shown["parameter"]]) if len(names) <= PANELS else None
    if places is None:
        return _map(shown, names)
    layout: dict[str, Any] = {"title": {"text": TITLE, "subtitle": {"text": shown.note}}, "showlegend": False}
    traces: list[dict[str, Any]] = []
    layout["annotations"] = []
    for place, panel in enumerate(panels(len(names))):
        own = shown.select(places == place)
        drawn, axis = _panel(own, source, names[place], panel)
        traces += drawn
        layout |= axes_of(panel, {"title": {"text": "results"}, "showgrid": False}, axis)
        layout["annotations"].append({
            "text": escaped(names[place], 30), "xref": f"{panel.x} domain", "yref": f"{panel.y} domain", "x": 0, "y": 1,
            "xanchor": "left", "yanchor": "bottom", "yshift": 2, "font": {"size": 12},
        })  # fmt: skip
    return Figure.of(traces, {**layout, "height": height(len(names))})


def _panel(own: Table, source: Source, name: str, panel: Panel) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    if own["choice"][0] is None:
        log = axis_of(source.space, name).log
        return _band(own, panel), {"type": "log", **log_ticks(np.concatenate([own["low"], own["high"]]))} if log else {}
    return _areas(own, panel), {"range": [0, 1], "tickformat": ".0%"}


def _areas(own: Table, panel: Panel) -> list[dict[str, Any]]:
    """Return the probabilities of the choices on top of each other, each with its label where it ends."""
    known = list(dict.fromkeys(own["choice"]))
    values = np.asarray(own["probability"]).reshape(-1, len(known))
    tops = np.cumsum(values, axis=1)
    x = np.asarray(own["results"])[:: len(known)]
    traces = []
    for i, choice in enumerate(known):
        label, colour = escaped(choice, 18), COLOURS[i % len(COLOURS)]
        below = tops[:, i - 1] if i else np.zeros(len(x))
        traces.append({
            "type": "scatter", "mode": "lines", "name": label, **panel.axes, "fill": "toself",
            "x": np.concatenate([x, x[::-1]]), "y": np.concatenate([tops[:, i], below[::-1]]), "hoveron": "fills",
            "line": {"width": 0.5, "color": "#ffffff"}, "fillcolor": colour, "opacity": 0.8, "text": label,
            "hoverinfo": "text",
        })  # fmt: skip
    last = values[-1]
    named = [i for i in np.argsort(-last)[:4] if last[i] > 0.12]
    traces.append({
        "type": "scatter", "mode": "text", **panel.axes, "x": [x[-1]] * len(named), "name": "labels",
        "hoverinfo": "skip",
        "y": [tops[-1, i] - last[i] / 2 for i in named], "text": [escaped(known[i], 14) for i in named],
        "textposition": "middle left", "textfont": {"color": "#ffffff", "size": 11},
    })  # fmt: skip
    return traces


def _band(own: Table, panel: Panel) -> list[dict[str, Any]]:
    x = own["results"]
    return [
        {"type": "scatter", "mode": "lines", "name": "one std", **panel.axes, "fill": "toself", "line": {"width": 0},
         "x": np.concatenate([x, x[::-1]]), "y": np.concatenate([own["low"], own["high"][::-1]]),
         "fillcolor": "rgba(42,122,185,0.25)", "hoverinfo": "skip"},
        {"type": "scatter", "mode": "lines", "name": "mean", **panel.axes, "x": x, "y": own["mean"],
         "line": {"color": ACCENT, "width": 2}, "hovertemplate": "mean %{y:.4g}<extra></extra>"},
    ]  # fmt: skip


def _map(shown: Table, names: list[str]) -> Figure:
    """Draw the how probable the last favourite was, a row for each parameter."""
    parameters, probability = np.array(shown["parameter"], dtype=object), np.asarray(shown["probability"])
    results = np.unique(np.asarray(shown["results"]))
    rows: list[Array] = []
    labels_: list[str] = []
    for name in names:
        own = np.flatnonzero(parameters == name)
        if shown["choice"][own[0]] is None:
            continue
        known = list(dict.fromkeys(shown["choice"][i] for i in own))
        values = probability[own].reshape(-1, len(known))
        favourite = int(np.argmax(values[-1]))
        x = np.asarray(shown["results"])[own][:: len(known)]
        rows.append(values[np.searchsorted(x, results, side="right") - 1, favourite])
        labels_.append(f"{escaped(name, 20)} = {escaped(known[favourite], 12)}")
    y = distinct(labels_)
    left = len(names) - len(rows)
    notes = [shown.note, "how probable the last favourite was"]
    notes += [f"{counted(left, 'number')} on a scale in the table only"] if left else []
    note = "; ".join(notes)
    trace = {"type": "heatmap", "x": results, "y": y, "z": np.array(rows), "zmin": 0, "zmax": 1, "name": "probability",
             "colorscale": [[1 - place, colour] for place, colour in reversed(SCALE)],
             "colorbar": {"title": {"text": "probability"}, "tickformat": ".0%"},
             "hovertemplate": "%{y}: %{z:.0%} after %{x} results<extra></extra>"}  # fmt: skip
    return Figure.of([trace], {
        "title": {"text": TITLE, "subtitle": {"text": note}}, "xaxis": {"title": {"text": "results"}},
        "yaxis": {"type": "category", "autorange": "reversed", "showticklabels": len(y) <= LISTED, "showgrid": False},
        "height": min(160 + 18 * len(y), 900),
    })  # fmt: skip
