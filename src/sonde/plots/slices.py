"""The model along each parameter by itself, the others at the best trial or elsewhere."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from sonde.arrays import Array, Integers
from sonde.errors import NoResult
from sonde.plots.activity import in_words, required
from sonde.plots.anchors import FAINTEST, Anchor, anchors, nearest, rows_around
from sonde.plots.drawing import MODEL, band, dropdown, interval_lines
from sonde.plots.figure import Figure
from sonde.plots.grids import (
    axis_layout,
    cells,
    checked_names,
    grid,
    is_stepped,
    positions,
    shown_labels,
    texts_of,
    varied,
)
from sonde.plots.panels import Panel, axes_of, height, panels
from sonde.plots.source import Source
from sonde.plots.table import Table, joined
from sonde.plots.text import escaped
from sonde.plots.theme import ACCENT
from sonde.strategies.port import Model
from sonde.trials import History

MOST = 12  # parameters that are shown unless they are named
NEAREST = 150  # trials that are shown at a slice
SIDE_BY_SIDE = 36  # characters of the labels of a panel
ROOM = 0.04  # around a panel, for points at its edges
WIDE = 1.96  # standard deviations, of a 95% interval
TITLE = "The model along each parameter"
NOTE = "mean and 95% interval of a new result; of trials, the value, and how near they are to the slice"


def table(
    source: Source, *, parameters: Sequence[str] | None = None, at: Mapping[str, Any] | None = None,
    objective: str | None = None,
) -> Table:  # fmt: skip
    """Return the model's mean and 95% interval along each parameter, and the trials nearest to each slice.

    Rows of kind ``model`` have mean, low and high; those of kind ``trial`` have the observed value as their mean, and
    how near (0 to 1) the trial is to the slice.
    """
    space = source.space
    names = varied(space) if parameters is None else checked_names(space, parameters, "parameters=")
    history = source.history.of(0 if objective is None else source.objectives.index(objective))
    around = anchors(space, history, at)
    if not names:
        return Table({}, "no parameter has more than one value")
    try:
        model = source.model(objective)
    except NoResult as reason:
        return Table({}, str(reason))
    shown = names if parameters is not None else _steepest(source, model, around[0], names)
    blocks = [(anchor, name, _rows(source, anchor, name, grid(space, name))) for anchor in around for name in shown]
    predicted = _predicted(source, history, model, [rows for *_, rows in blocks])
    parts = [_slice(source, history, *block, *own) for block, own in zip(blocks, predicted, strict=True)]
    left = f"; of {len(names)} parameters the {MOST} along which it changes most" if len(shown) < len(names) else ""
    return joined(parts, f"{NOTE}{left}")


def figure(shown: Table, source: Source, *, objective: str | None = None) -> Figure:
    """Draw a panel for each parameter; a menu moves the others."""
    if not len(shown):
        return Figure.empty(TITLE, shown.note)
    others, names = list(dict.fromkeys(shown["others"])), list(dict.fromkeys(shown["parameter"]))
    below = _upright(source, names)
    places = panels(len(names), below=below)
    groups = [
        [
            trace
            for name, panel in zip(names, places, strict=True)
            for trace in _traces(shown, source, other, name, panel)
        ]
        for other in others
    ]
    layout: dict[str, Any] = {}
    y = {"range": _range(shown)}
    for place, (name, panel) in enumerate(zip(names, places, strict=True)):
        title = escaped(objective or source.objectives.names[0]) if place % 3 == 0 else ""
        layout |= axes_of(
            panel, axis_layout(source.space, name, _remark(shown, name), ROOM), {**y, "title": {"text": title}}
        )
    traces, menu = dropdown(groups, [f"others at: {other}" for other in others])
    note = f"line and band: mean and 95% interval; the {NEAREST} nearest trials at most, paler further from the slice"
    note = "<br>".join([note, *filter(None, [shown.note.removeprefix(NOTE).removeprefix("; ")])])
    return Figure.of(traces, {
        **layout, **menu, "title": {"text": TITLE, "subtitle": {"text": note}}, "showlegend": False,
        "height": height(len(names), below=below),
    })  # fmt: skip


def _upright(source: Source, names: list[str]) -> int:
    """Return the pixels below each row of panels for labels that do not fit side by side, and stand upright."""
    known = [shown_labels(source.space, name) for name in names if not source.space[name].ordered]
    longest = [max(map(len, texts)) for texts in known if len(texts) * max(map(len, texts)) > SIDE_BY_SIDE]
    return 6 * max(longest, default=0)


def _steepest(source: Source, model: Model, anchor: Anchor, names: list[str]) -> list[str]:
    """Return the parameters along which the mean changes most, in the order of the space."""
    if len(names) <= MOST:
        return names
    blocks = [_rows(source, anchor, name, grid(source.space, name, 11)) for name in names]
    means = np.split(model.predict(np.concatenate(blocks))[0], np.cumsum([len(block) for block in blocks])[:-1])
    widest = np.argsort([-np.ptp(part) for part in means], kind="stable")[:MOST]
    return [names[i] for i in sorted(widest)]


def _rows(source: Source, anchor: Anchor, name: str, numbers: Array) -> Array:
    space = source.space
    return rows_around(space, anchor, [space.names.index(name)], numbers[:, None], required(space, name))


def _predicted(
    source: Source, history: History, model: Model, blocks: Sequence[Array]
) -> Iterator[tuple[Array, Array]]:
    """Return mean and standard deviation of each block of rows; NaN where a known constraint is broken."""
    rows, ends = np.concatenate(blocks), np.cumsum([len(block) for block in blocks])[:-1]
    mean, std = model.predict(rows)
    allowed = source.space.feasible_rows(rows)  # the model knows nothing of what cannot be tried
    mean, std = np.where(allowed, history.sign * mean, np.nan), np.where(allowed, std, np.nan)
    return zip(np.split(mean, ends), np.split(std, ends), strict=True)


def _slice(
    source: Source, history: History, anchor: Anchor, name: str, rows: Array, mean: Array, std: Array
) -> dict[str, Any]:
    space, column = source.space, source.space.names.index(name)
    numbers = rows[:, column]
    trials, near = _nearest(source, history, rows[0], column)
    values, own = history.sign * history.values[trials], history.rows[trials, column]
    none = np.full(len(trials), np.nan)
    count = len(numbers)
    where = np.concatenate([numbers, own])
    return {
        "others": anchor.name, "parameter": name,
        "active": in_words(space, required(space, name)), "kind": ["model"] * count + ["trial"] * len(trials),
        "value": where, "label": texts_of(space, name, where), "mean": np.concatenate([mean, values]),
        "low": np.concatenate([mean - WIDE * std, none]), "high": np.concatenate([mean + WIDE * std, none]),
        "trial": np.concatenate([np.full(count, -1), trials]), "near": np.concatenate([np.full(count, np.nan), near]),
    }  # fmt: skip


def _nearest(source: Source, history: History, row: Array, column: int) -> tuple[Integers, Array]:
    """Return the completed trials nearest to a slice, and how near they are, from 0 to 1."""
    done = history.measured.numbers
    done = done[~np.isnan(history.rows[done, column])]
    places, near = nearest(source.space, history.rows[done], row, [column], NEAREST)
    return done[places], near


def _traces(shown: Table, source: Source, other: str, name: str, panel: Panel) -> list[dict[str, Any]]:
    mine = (np.array(shown["others"]) == other) & (np.array(shown["parameter"]) == name)
    kinds = np.array(shown["kind"])
    model, trials = shown.select(mine & (kinds == "model")), shown.select(mine & (kinds == "trial"))
    return [{**trace, **panel.axes} for trace in (*_model(model, source, name), _trials(trials, source, name))]


def _model(model: Table, source: Source, name: str) -> list[dict[str, Any]]:
    space, x = source.space, positions(source.space, name, model["value"])
    mean, low, high = (model[column] for column in ("mean", "low", "high"))
    look: dict[str, Any] = {"type": "scatter", "text": x, "hovertemplate": "%{text}: %{y:.6g}<extra>model</extra>"}
    if not space[name].ordered:
        points = {
            **look,
            "mode": "markers",
            "x": x,
            "y": mean,
            "marker": {"color": MODEL, "symbol": "square", "size": 9},
        }
        return [interval_lines(x, low, high), points]
    if is_stepped(space, name):
        x = np.repeat(cells(space, name, model["value"]), 2)[1:-1].tolist()
        look["text"] = np.repeat(model["value"], 2)
        mean, low, high = (np.repeat(each, 2) for each in (mean, low, high))
    line = {**look, "mode": "lines", "x": x, "y": mean, "line": {"color": MODEL, "width": 2.5}}
    return [band(x, low, high), line]


def _trials(trials: Table, source: Source, name: str) -> dict[str, Any]:
    return {
        "type": "scatter", "mode": "markers", "x": positions(source.space, name, trials["value"]), "y": trials["mean"],
        "text": [f"trial {number}" for number in trials["trial"]], "customdata": trials["trial"],
        "hovertemplate": "%{text}: %{y:.6g}<extra></extra>",
        "marker": {"color": ACCENT, "size": 6, "opacity": np.maximum(trials["near"], FAINTEST)},
    }  # fmt: skip


def _remark(shown: Table, name: str) -> str:
    active = next(text for text, own in zip(shown["active"], shown["parameter"], strict=True) if own == name)
    return f"where {active}" if active else ""


def _range(shown: Table) -> list[float]:
    """Return the range of means and values: an interval may be far wider, and would hide them."""
    known = shown["mean"][np.isfinite(shown["mean"])]
    if not len(known):
        return [0.0, 1.0]
    low, high = float(known.min()), float(known.max())
    room = 0.15 * (high - low) or abs(low) or 1.0
    return [low - room, high + room]
