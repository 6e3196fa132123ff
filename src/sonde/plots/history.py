"""Every trial's value, and the best so far; of several objectives, the hypervolume of the front so far."""

from __future__ import annotations

from typing import Any

import numpy as np

from sonde.arrays import Array
from sonde.plots.axes import beyond, trial_axis, value_axis
from sonde.plots.configurations import described, in_lines
from sonde.plots.figure import Figure
from sonde.plots.grouping import GROUPS, MANY, grouped
from sonde.plots.source import Source
from sonde.plots.states import best_so_far, shown_states
from sonde.plots.table import Table
from sonde.plots.text import escaped
from sonde.plots.theme import ACCENT, STATES
from sonde.plots.volumes import volumes

SHOWN = ("completed", "infeasible", "stopped", "failed")
DESCRIBED = 300  # improvements, the last ones, of which the parameters are shown
LANE = 0.07  # share of the height for trials without a value
NOTHING = "No trial has ended yet: run study.optimize(objective, 30), or ask and tell."


def table(source: Source, objective: str | None = None) -> Table:
    """Return number, state, value, best so far and, of improvements, parameters of each trial that has ended."""
    history, names = source.history, source.objectives.names
    if objective is None and source.objectives.several:
        return _volumes(source)
    place = 0 if objective is None else source.objectives.index(objective)
    own = history.of(place)
    columns = {"value": own.sign * own.values, "best": best_so_far(history, place)}
    return _of_ended(
        source, shown_states(history), columns, f"{objective or names[0]}; of a stopped trial, predicted from its curve"
    )


def _volumes(source: Source) -> Table:
    """Return the hypervolume so far, and the value of each objective."""
    history = source.history
    columns = {
        name: source.objectives.signs[k] * history.outcomes[:, k] for k, name in enumerate(history.objectives.names)
    }
    note = "best: hypervolume from the thresholds, or from a little below the last front"
    return _of_ended(source, shown_states(history), {"best": volumes(history)}, note, columns)


def _of_ended(
    source: Source, states: Any, columns: dict[str, Any], note: str, more: dict[str, Any] | None = None
) -> Table:
    """Return the rows of trials that have ended."""
    ended = np.flatnonzero(np.isin(states, SHOWN))
    rows = Table({"number": np.arange(len(states)), "state": states, **columns}, note).select(ended)
    improved = moves(rows["best"])[-DESCRIBED:]
    texts, configurations = [""] * len(rows), source.history.rows
    for place in improved.tolist():
        texts[place] = described(source.space, configurations[rows["number"][place]])
    whole = {name: rows[name] for name in rows.names} | {
        f"value_{name}": column[ended] for name, column in (more or {}).items()
    }
    return Table({**whole, "parameters": texts}, note)


def figure(shown: Table, source: Source, objective: str | None = None, *, log: bool | None = None) -> Figure:
    """Draw the values as points, or many as the range of each group of trials; the best so far as a line."""
    title = _title(source, objective)
    if not len(shown):
        return Figure.empty(title, NOTHING)
    several = "value" not in shown
    values = shown["best"] if several else shown["value"]
    many = len(shown) > MANY
    axis = value_axis(values, "hypervolume" if several else objective or source.objectives.names[0], log=log)
    if not np.isfinite(values).any():
        axis |= {"showticklabels": False, "showgrid": False, "ticks": ""}  # or Plotly makes a scale up
    failed = int(np.sum(shown["state"] == "failed"))
    traces = [] if several else _ranges(shown) if many else _points(shown)
    notes = [f"{len(shown):,} trials, {failed:,} of them failed; the band is the range of each {len(shown) // GROUPS:,}"
             if many and not several else "", beyond(values, axis)]  # fmt: skip
    lane = [] if many else _lane(shown)
    line = [_best(shown, several)] if np.isfinite(shown["best"]).any() else []
    return Figure.of([*traces, *lane, *line], {
        "title": {"text": title, "subtitle": {"text": ". ".join(note for note in notes if note)}},
        "xaxis": {**trial_axis(shown["number"]), "anchor": "y2" if lane else "y"},
        "yaxis": {**axis, "domain": [LANE + 0.03 if lane else 0, 1]},
        **({"yaxis2": _lane_axis()} if lane else {}),
    })  # fmt: skip


def _title(source: Source, objective: str | None) -> str:
    if not source.objectives.several:
        return "Best so far"
    return "Hypervolume of the Pareto front so far" if objective is None else f"Best {escaped(objective)} so far"


def _points(shown: Table) -> list[dict[str, Any]]:
    """Return a trace for each state that has values."""
    traces = []
    for state in SHOWN:
        these = shown.select((shown["state"] == state) & ~np.isnan(shown["value"]))
        if len(these):
            colour, symbol = STATES[state]
            traces.append({
                "type": "scatter", "mode": "markers", "name": state, "x": these["number"], "y": these["value"],
                "marker": {"color": colour, "symbol": symbol, "size": 7, "opacity": 0.75},
                "customdata": these["number"], "hovertemplate": f"trial %{{x}} ({state}): %{{y:.6g}}<extra></extra>",
            })  # fmt: skip
    return traces


def _lane(shown: Table) -> list[dict[str, Any]]:
    """Return the trials without a value, in a lane of their own below the values."""
    without = (shown["state"] == "failed") | (np.isnan(shown["value"]) if "value" in shown else False)
    traces = []
    for state in ("failed", "stopped"):
        these = shown.select(without & (shown["state"] == state))
        if len(these):
            colour, symbol = STATES[state]
            traces.append({
                "type": "scatter", "mode": "markers", "name": state, "x": these["number"], "yaxis": "y2",
                "y": np.full(len(these), 0.5), "hovertemplate": f"trial %{{x}} {state}<extra></extra>",
                "showlegend": state == "failed", "marker": {"color": colour, "symbol": symbol, "size": 7},
                "customdata": these["number"],
            })  # fmt: skip
    return traces


def _lane_axis() -> dict[str, Any]:
    return {"domain": [0, LANE], "range": [0, 1], "tickvals": [0.5], "ticktext": ["no value"], "showgrid": False,
            "fixedrange": True, "ticks": ""}  # fmt: skip


def _ranges(shown: Table) -> list[dict[str, Any]]:
    groups = grouped(shown["value"])
    x = shown["number"][groups.middle]
    return [{
        "type": "scatter", "mode": "lines", "name": "range of values", "fill": "toself",
        "x": np.concatenate([x, x[::-1]]), "y": np.concatenate([groups.low, groups.high[::-1]]),
        "line": {"width": 0}, "fillcolor": "rgba(42,122,185,0.25)", "hoverinfo": "skip",
    }]  # fmt: skip


def moves(best: Array) -> Any:
    """Return the places where the best so far changes."""
    return np.flatnonzero((np.diff(best, prepend=np.nan) != 0) & np.isfinite(best))


def _best(shown: Table, several: bool) -> dict[str, Any]:
    """Return the best so far as steps: its improvements, of many those at the ends of groups, and the last trial."""
    best: Array = shown["best"]
    places = improved = moves(best)
    if len(places) > MANY:
        places = np.linspace(places[0], len(best) - 1, GROUPS).astype(int)
    places = np.union1d(places, [len(best) - 1])
    places = places[np.isfinite(best[places])]
    what = "hypervolume" if several else "best"
    texts = [in_lines(shown["parameters"][place]) for place in places]
    found = improved[np.searchsorted(improved, places, side="right") - 1]
    return {
        "type": "scatter", "mode": "lines", "name": f"{what} so far", "x": shown["number"][places], "y": best[places],
        "line": {"shape": "hv", "width": 2.5, "color": ACCENT}, "text": texts, "customdata": shown["number"][found],
        "hovertemplate": f"{what} after trial %{{x}}: %{{y:.6g}}<br>%{{text}}<extra></extra>",
    }  # fmt: skip
