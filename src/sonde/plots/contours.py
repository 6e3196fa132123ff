"""The model over two parameters, the others at the best trial or elsewhere: its mean and its uncertainty."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from sonde.errors import NoResult
from sonde.plots.activity import in_words
from sonde.plots.anchors import FAINTEST, Anchor, anchors, nearest
from sonde.plots.drawing import dropdown
from sonde.plots.effects import ranked
from sonde.plots.figure import Figure
from sonde.plots.grids import axis_layout, positions, texts_of
from sonde.plots.pairs import ONE_ONLY, checked_pair, chosen_pair, has_pairs
from sonde.plots.panels import Panel, axes_of, headings, panels
from sonde.plots.source import Source
from sonde.plots.surfaces import mesh, needed, surface
from sonde.plots.table import Table, joined
from sonde.plots.text import escaped
from sonde.plots.theme import SCALE
from sonde.strategies.port import Model
from sonde.trials import History

NEAREST = 300  # trials that are shown
TITLE = "The model over two parameters"
POINT, STAR = "#ffffff", "#e69f00"


def table(
    source: Source, *, x: str | None = None, y: str | None = None, at: Mapping[str, Any] | None = None,
    objective: str | None = None,
) -> Table:  # fmt: skip
    """Return the model's mean and standard deviation over two parameters, and the trials nearest to the plane.

    Rows of kind ``model`` have mean and std; those of kind ``trial`` have the observed value as their mean.
    """
    space = source.space
    history = source.history.of(0 if objective is None else source.objectives.index(objective))
    checked_pair(space, x, y)
    around = anchors(space, history, at)
    if not has_pairs(space):
        return Table({}, ONE_ONLY)
    try:
        model = source.model(objective)
    except NoResult as reason:
        return Table({}, str(reason))
    pair = chosen_pair(space, x, y, lambda: ranked(space, lambda rows: model.predict(rows)[0], source.seed))
    note = "mean and standard deviation of a new result; of trials, the value, and how near they are to the plane"
    return joined([_plane(source, history, model, anchor, *pair) for anchor in around], note)


def figure(shown: Table, source: Source, *, objective: str | None = None) -> Figure:
    """Draw mean and standard deviation side by side; a menu moves the other parameters."""
    if not len(shown):
        return Figure.empty(TITLE, shown.note)
    space, x, y = source.space, shown["x_parameter"][0], shown["y_parameter"][0]
    others = list(dict.fromkeys(shown["others"]))
    places = panels(2, 2, 0.2)
    sign = source.objectives.each[0 if objective is None else source.objectives.index(objective)].sign
    value = escaped(objective or source.objectives.names[0], 20)
    groups = [_group(shown, source, other, places, sign) for other in others]
    traces, menu = dropdown(groups, [f"others at: {other}" for other in others])
    layout: dict[str, Any] = {}
    where = in_words(space, needed(space, x, y))
    for place in places:
        layout |= axes_of(place, axis_layout(space, x, f"where {where}" if where else ""), axis_layout(space, y))
    note = f"the {NEAREST} nearest trials at most, paler further from the plane; star: the best"
    return Figure.of(traces, {
        **layout, **menu, "title": {"text": TITLE, "subtitle": {"text": note}}, "showlegend": False, "height": 480,
        "annotations": headings(places, [f"mean of {value}", "standard deviation"]), "margin": {"t": 112},
    })  # fmt: skip


def _plane(source: Source, history: History, model: Model, anchor: Anchor, x: str, y: str) -> dict[str, Any]:
    space = source.space
    columns = [space.names.index(x), space.names.index(y)]
    numbers, rows = mesh(space, anchor, x, y)
    mean, std = model.predict(rows)
    allowed = space.feasible_rows(rows)
    done = history.measured.numbers
    done = done[~np.isnan(history.rows[done][:, columns]).any(axis=1)]
    chosen, near = nearest(space, history.rows[done], rows[0], columns, NEAREST)
    trials, count = done[chosen], len(rows)
    places = np.concatenate([numbers, history.rows[trials][:, columns]])
    values, best = history.sign * history.values[trials], history.best()
    return {
        "others": anchor.name, "x_parameter": x, "y_parameter": y,
        "kind": ["model"] * count + ["best" if number == best else "trial" for number in trials.tolist()],
        "x": places[:, 0], "x_label": texts_of(space, x, places[:, 0]),
        "y": places[:, 1], "y_label": texts_of(space, y, places[:, 1]),
        "mean": np.concatenate([np.where(allowed, history.sign * mean, np.nan), values]),
        "std": np.concatenate([np.where(allowed, std, np.nan), np.full(len(trials), np.nan)]),
        "trial": np.concatenate([np.full(count, -1), trials]),
        "near": np.concatenate([np.full(count, np.nan), near]),
    }  # fmt: skip


def _group(shown: Table, source: Source, other: str, places: list[Panel], sign: float) -> list[dict[str, Any]]:
    """Return the traces of one place of the other parameters."""
    mine = np.array(shown["others"]) == other
    kinds = np.array(shown["kind"])
    cells, trials = shown.select(mine & (kinds == "model")), shown.select(mine & (kinds != "model"))
    traces = []
    for column, place in zip(("mean", "std"), places, strict=True):
        # good is bright: low means of what is minimized, high ones of what is maximized, and small deviations
        turned = column == "mean" and sign < 0
        scale = [(1 - at, colour) for at, colour in SCALE[::-1]] if turned else SCALE
        drawn = surface(source.space, cells["x_parameter"][0], cells["y_parameter"][0], cells, column)
        bar = {"x": place.across[1] + 0.01, "thickness": 12, "exponentformat": "power"}
        hover = f"%{{x}}, %{{y}}<br>{column} %{{z:.6g}}<extra></extra>"
        traces += [
            {**drawn, **place.axes, "colorscale": [list(stop) for stop in scale], "colorbar": bar,
             "hovertemplate": hover},
            {**_points(trials, source), **place.axes},
        ]  # fmt: skip
    return traces


def _points(trials: Table, source: Source) -> dict[str, Any]:
    """Return the trials; the best one is a star."""
    best = np.array(trials["kind"]) == "best"
    space = source.space
    x, y = (positions(space, trials[f"{each}_parameter"][0], trials[each]) if len(trials) else [] for each in "xy")
    return {
        "type": "scatter", "mode": "markers", "x": x, "y": y, "cliponaxis": False,
        "text": [f"trial {number}: {value:.6g}" for number, value in zip(trials["trial"], trials["mean"], strict=True)],
        "hovertemplate": "%{text}<extra></extra>", "customdata": trials["trial"],
        "marker": {
            "color": np.where(best, STAR, POINT).tolist(), "symbol": np.where(best, "star", "circle").tolist(),
            "size": np.where(best, 13, 6), "line": {"color": "#1c2733", "width": 1},
            "opacity": np.where(best, 1.0, np.maximum(trials["near"], FAINTEST)),
        },
    }  # fmt: skip
