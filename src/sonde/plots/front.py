"""The Pareto front of several objectives: what it offers, what it dominates, and how sure the model is of it."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np

from sonde.arrays import Array, Integers
from sonde.errors import NoResult, OptionError
from sonde.pareto.fronts import non_dominated
from sonde.plots.axes import value_axis
from sonde.plots.configurations import described, in_lines
from sonde.plots.density import density
from sonde.plots.figure import Figure
from sonde.plots.grouping import MANY
from sonde.plots.panels import Panel, axes_of, height, panels
from sonde.plots.source import Source
from sonde.plots.states import shown_states, usable
from sonde.plots.table import Table
from sonde.plots.text import escaped
from sonde.plots.theme import ACCENT, GREY, ORANGE, STATES

TITLE = "Pareto front"
MODELLED = 1000  # results up to which the model is shown unless told otherwise
GAP = 0.12  # between panels, for the names of objectives
HINT = "study.plot.history() shows one objective"


def table(source: Source, objectives: Sequence[str] | None = None, model: bool | None = None) -> Table:
    """Return number, state and values of each trial with values, and the model's mean and std of those on the front.

    A trial's state is ``front``, ``dominated`` or ``infeasible``. ``objectives`` are those of which there are columns;
    the front is that of all.
    """
    names = _checked(source, objectives)
    history, counts = source.history, usable(source.history)
    y = -history.outcomes
    states = np.where(counts, "dominated", "infeasible").astype(object)
    chosen = np.flatnonzero(counts)
    states[_front(chosen, y)] = "front"
    kept = np.flatnonzero(counts | (shown_states(history) == "infeasible"))
    kept = kept[~np.isnan(y[kept]).any(axis=1)]
    columns: dict[str, Any] = {"number": kept, "state": states[kept]}
    natural = source.objectives.signs * history.outcomes[kept]
    columns |= {f"value_{name}": natural[:, source.objectives.index(name)] for name in names}
    on_front = states[kept] == "front"
    wanted = len(chosen) <= MODELLED if model is None else model
    if wanted and len(chosen):
        columns |= _modelled(source, names, kept, on_front)
    texts = [
        described(source.space, history.rows[number]) if there else ""
        for number, there in zip(kept, on_front, strict=True)
    ]
    return Table({**columns, "parameters": texts}, "mean and std: the model's, of trials on the front")


def _front(chosen: Integers, y: Array) -> Integers:
    """Return the trials that no other one dominates; of equal ones the first."""
    best = chosen[non_dominated(y[chosen])]
    return best[np.unique(y[best], axis=0, return_index=True)[1]]


def _checked(source: Source, objectives: Any) -> list[str]:
    names = source.objectives.names
    if not source.objectives.several:
        raise OptionError(f"a front needs several objectives, and study {source.name!r} has one; {HINT}")
    if objectives is None:
        return list(names)
    if isinstance(objectives, str) or not isinstance(objectives, Sequence) or len(set(objectives)) != len(objectives):
        raise OptionError(f"objectives= takes two different names of {', '.join(names)}, got {objectives!r}")
    if len(objectives) < 2:
        raise OptionError(f"objectives= needs two names of {', '.join(names)}, got {objectives!r}")
    for name in objectives:
        source.objectives.index(name)
    return list(objectives)


def _modelled(source: Source, names: list[str], kept: Any, on_front: Any) -> dict[str, Array]:
    """Return the model's mean and standard deviation of each objective at the front, NaN elsewhere."""
    columns: dict[str, Array] = {}
    rows = source.history.rows[kept[on_front]]
    for name in names:
        mean, std = np.full(len(kept), np.nan), np.full(len(kept), np.nan)
        try:
            low, spread = source.model(name).predict(rows)
        except NoResult:  # a strategy of a user's may have no model
            return {}
        mean[on_front], std[on_front] = source.objectives.signs[source.objectives.index(name)] * low, spread
        columns |= {f"mean_{name}": mean, f"std_{name}": std}
    return columns


def figure(shown: Table, source: Source) -> Figure:
    """Draw two objectives, or each pair of several in a panel."""
    if not np.any(np.asarray(shown["state"]) == "front"):
        return Figure.empty(TITLE, "No trial has a value of each objective yet, within its measured constraints.")
    names = [name.removeprefix("value_") for name in shown.names if name.startswith("value_")]
    pairs = list(combinations(names, 2))
    places = panels(len(pairs), gap=GAP)
    layout: dict[str, Any] = {
        "title": {"text": TITLE, "subtitle": {"text": _note(shown, source, len(pairs))}},
        "shapes": [],
    }
    traces = []
    for place, (x, y) in zip(places, pairs, strict=True):
        across, up = (value_axis(shown[f"value_{name}"], _named(source, name)) for name in (x, y))
        layout |= axes_of(place, across, up)
        layout["shapes"] += _thresholds(source, place, x, y)
        drawn = _panel(
            shown,
            source,
            (x, y),
            (across["type"] == "log", up["type"] == "log"),
            steps=len(names) == 2 and len(source.objectives) == 2,
        )
        for trace in drawn:
            named = place is places[0] and trace["type"] == "scatter"
            traces.append({**trace, **place.axes, "legendgroup": trace["name"], "showlegend": named})
    return Figure.of(traces, {**layout, **({"height": height(len(pairs))} if len(pairs) > 1 else {})})


def _named(source: Source, name: str) -> str:
    """Return the name of an axis, with the better direction."""
    return f"{name} ({source.objectives.each[source.objectives.index(name)].direction})"


def _note(shown: Table, source: Source, pairs: int) -> str:
    states = np.asarray(shown["state"])
    said = f"{int(np.sum(states == 'front')):,} of {len(shown):,} trials are on the front"
    said += " of all objectives" if pairs > 1 or len(source.objectives) > 2 else ""
    said += "; the others are counted in cells" if len(shown) > MANY else ""
    said += (
        "; crosses: the model's mean, one standard deviation"
        if any(name.startswith("mean_") for name in shown.names)
        else ""
    )
    return said


def _panel(
    shown: Table, source: Source, names: tuple[str, str], logs: tuple[bool, bool], *, steps: bool
) -> list[dict[str, Any]]:
    """Return the traces of a pair of objectives: the front on top."""
    states = np.asarray(shown["state"])
    parts = {state: shown.select(states == state) for state in ("dominated", "infeasible", "front")}
    front = parts["front"]
    order = np.argsort(front[f"value_{names[0]}"], kind="stable")
    front = front.select(order)
    rest = parts["dominated"]
    cells = len(rest) > MANY
    traces = [density(rest[f"value_{names[0]}"], rest[f"value_{names[1]}"], logs, "dominated")] if cells else []
    traces += [] if cells else _points(rest, names, "dominated", GREY, "circle", 6, 0.45)
    traces += _points(parts["infeasible"], names, "infeasible", *STATES["infeasible"], 7, 0.5)
    traces += _model(front, names)
    if steps:
        sign = source.objectives.signs[source.objectives.index(names[0])]
        traces.append({"type": "scatter", "mode": "lines", "name": "reached", "hoverinfo": "skip",
                       "x": front[f"value_{names[0]}"], "y": front[f"value_{names[1]}"],
                       "line": {"shape": "hv" if sign > 0 else "vh", "color": ACCENT, "width": 2}})  # fmt: skip
    return traces + _points(front, names, "front", ACCENT, "circle", 9, 1.0)


def _points(
    part: Table, names: tuple[str, str], state: str, colour: str, symbol: str, size: int, opacity: float
) -> list[dict[str, Any]]:
    if not len(part):
        return []
    texts = [
        f"trial {number} ({state})<br>{in_lines(text)}"
        for number, text in zip(part["number"], part["parameters"], strict=True)
    ]
    labels = [escaped(name, 24) for name in names]
    return [{
        "type": "scatter", "mode": "markers", "name": state, "x": part[f"value_{names[0]}"],
        "y": part[f"value_{names[1]}"], "text": texts, "customdata": part["number"],
        "marker": {"color": colour, "symbol": symbol, "size": size, "opacity": opacity},
        "hovertemplate": f"{labels[0]} %{{x:.6g}}, {labels[1]} %{{y:.6g}}<br>%{{text}}<extra></extra>",
    }]  # fmt: skip


def _model(front: Table, names: tuple[str, str]) -> list[dict[str, Any]]:
    """Return the model's means as crosses of one standard deviation."""
    if f"mean_{names[0]}" not in front:
        return []
    error = {"color": ORANGE, "thickness": 1.2, "width": 0}
    return [{
        "type": "scatter", "mode": "markers", "name": "model",
        "x": front[f"mean_{names[0]}"], "y": front[f"mean_{names[1]}"], "marker": {"color": ORANGE, "size": 3},
        "error_x": {**error, "array": front[f"std_{names[0]}"]},
        "error_y": {**error, "array": front[f"std_{names[1]}"]},
        "customdata": front["number"],
        "hovertemplate": "model of trial %{customdata}: %{x:.6g}, %{y:.6g}<extra></extra>",
    }]  # fmt: skip


def _thresholds(source: Source, place: Panel, x: str, y: str) -> list[dict[str, Any]]:
    """Return lines at the thresholds of two objectives."""
    lines = []
    for name, letter in ((x, "x"), (y, "y")):
        limit = source.objectives.each[source.objectives.index(name)].threshold
        if limit is not None:
            other = "y" if letter == "x" else "x"
            own, across = (place.x, place.y) if letter == "x" else (place.y, place.x)
            lines.append({"type": "line", f"{letter}ref": own, f"{other}ref": f"{across} domain", f"{letter}0": limit,
                          f"{letter}1": limit, f"{other}0": 0, f"{other}1": 1,
                          "line": {"color": GREY, "width": 1.5, "dash": "dash"}})  # fmt: skip
    return lines
