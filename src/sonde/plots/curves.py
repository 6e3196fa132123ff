"""Learning curves: what trials reported on their way, which were stopped, and what those would have had."""

from __future__ import annotations

from typing import Any

import numpy as np

from sonde.arrays import Array, Integers
from sonde.plots.axes import beyond, value_axis
from sonde.plots.figure import Figure
from sonde.plots.source import Source
from sonde.plots.states import shown_states
from sonde.plots.table import Table
from sonde.plots.text import counted
from sonde.plots.theme import ACCENT, GREEN, GREY, STATES

TITLE = "Learning curves"
MANY = 300  # curves above which quantiles are shown
STEPS = 200  # groups of steps of which there are quantiles
QUANTILES = {"lowest": 0.0, "low": 0.25, "median": 0.5, "high": 0.75, "highest": 1.0}
DRAWN = (("completed", GREY, 0.55), ("infeasible", STATES["infeasible"][0], 0.5), ("lost", GREY, 0.3),
         ("cancelled", GREY, 0.3), ("failed", STATES["failed"][0], 0.8), ("stopped", STATES["stopped"][0], 0.8),
         ("running", GREEN, 0.9))  # fmt: skip


def table(source: Source) -> Table:
    """Return number, state, step and value of each report, or for many curves the quantiles by step.

    ``predicted`` and ``std`` are the final value that a stopped trial would have had, at its last report.
    """
    history = source.history
    curves = {number: curve for number, curve in sorted(history.curves.items()) if len(curve)}
    best = history.best()
    if len(curves) > MANY:
        return _quantiles(curves, best)
    counts = [len(curve) for curve in curves.values()]
    numbers = np.repeat(np.array(list(curves), dtype=np.int64), np.array(counts, dtype=np.int64))
    points = np.concatenate([np.zeros((0, 2)), *curves.values()])
    states = shown_states(history)[numbers]
    last = np.cumsum(counts, dtype=np.int64) - 1
    stopped = np.zeros(len(numbers), dtype=bool)
    stopped[last] = states[last] == "stopped"
    columns = {"number": numbers, "state": states, "step": points[:, 0], "value": points[:, 1],
               "predicted": np.where(stopped, history.sign * history.values[numbers], np.nan),
               "std": np.where(stopped, history.noise[numbers], np.nan), "best": numbers == best}  # fmt: skip
    return Table(columns, "predicted: the final value that a stopped trial would have had, with std")


def _quantiles(curves: dict[int, Array], best: int | None) -> Table:
    """Return the quantiles of all values in groups of steps, and the value of the best trial there."""
    points = np.concatenate(list(curves.values()))
    steps = np.unique(points[:, 0])
    edges = steps if len(steps) <= STEPS else np.quantile(steps, np.linspace(0, 1, STEPS))
    group = np.searchsorted(edges, points[:, 0])
    order = np.argsort(group, kind="stable")
    parts = np.split(points[order, 1], np.flatnonzero(np.diff(group[order])) + 1)
    known = [part[np.isfinite(part)] for part in parts]
    shares = list(QUANTILES.values())
    rows = np.array([np.quantile(part, shares) if len(part) else np.full(len(shares), np.nan) for part in known])
    own = curves.get(-1 if best is None else best, np.zeros((0, 2)))
    places = edges[np.unique(group)]
    at = np.searchsorted(own[:, 0], places, side="right") - 1
    value = (
        np.where((at >= 0) & (places <= own[-1, 0]), own[np.maximum(at, 0), 1], np.nan) if len(own) else places * np.nan
    )
    columns = {"step": places, **dict(zip(QUANTILES, rows.T, strict=True)), "best": value,
               "reports": np.array([len(part) for part in parts])}  # fmt: skip
    return Table(columns, f"quantiles of {len(curves):,} curves; best: the curve of the best trial")


def figure(shown: Table, source: Source, *, log: bool | None = None) -> Figure:
    """Draw the curves by their ends, the best one on top, and predictions of those that were stopped."""
    if not len(shown):
        return Figure.empty(TITLE, "No trial has reported values yet: call trial.report(step, value) in the objective.")
    many = "median" in shown
    values = np.concatenate([shown["median"], shown["lowest"]]) if many else shown["value"]
    axis = value_axis(values, "reported value", log=log)
    traces = _bands(shown) if many else [*_curves(shown), *_best(shown), *_stopped(shown)]
    said = f"{shown.note}. Bands: all values, and their middle half" if many else _counts(shown)
    notes = [said, beyond(values, axis)]
    return Figure.of(traces, {
        "title": {"text": TITLE, "subtitle": {"text": ". ".join(note for note in notes if note)}},
        "xaxis": {"title": {"text": "step"}}, "yaxis": axis, "showlegend": True,
    })  # fmt: skip


def _counts(shown: Table) -> str:
    """Return in words how many curves there are, and how many of them were stopped."""
    curves, stopped = len(np.unique(shown["number"])), _ends(shown)
    said = f"{counted(curves, 'curve')}, {len(stopped):,} of them stopped early"
    predicted = np.isfinite(stopped["predicted"]).any()
    return said + ("; diamonds: their predicted ends" if predicted else "")


def _ends(shown: Table) -> Table:
    """Return the last report of each stopped trial."""
    last = np.append(np.diff(shown["number"]) != 0, True)
    return shown.select(last & (shown["state"] == "stopped"))


def with_gaps(shown: Table, columns: tuple[str, ...]) -> list[Array]:
    """Return columns with NaN between the trials, so that one trace has all their lines."""
    ends: Integers = np.flatnonzero(np.diff(shown["number"])) + 1
    return [np.insert(np.asarray(shown[name], dtype=float), ends, np.nan) for name in columns]


def _curves(shown: Table) -> list[dict[str, Any]]:
    """Return one trace for the curves of each state."""
    traces = []
    for state, colour, opacity in DRAWN:
        these = shown.select((shown["state"] == state) & ~shown["best"])
        alone = len(these) == len(np.unique(these["number"]))  # single points have no line
        if len(these) and not (alone and state == "stopped"):  # which have a mark of their own
            number, step, value = with_gaps(these, ("number", "step", "value"))
            traces.append({
                "type": "scatter", "mode": "markers" if alone else "lines", "name": state,
                "showlegend": state != "stopped", "x": step, "y": value,
                "opacity": opacity, "line": {"color": colour, "width": 1.2}, "marker": {"color": colour, "size": 5},
                "customdata": number, "connectgaps": False,
                "hovertemplate": f"trial %{{customdata}} ({state}), step %{{x}}: %{{y:.6g}}<extra></extra>",
            })  # fmt: skip
    return traces


def _best(shown: Table) -> list[dict[str, Any]]:
    these = shown.select(shown["best"])
    if not len(these):
        return []
    name = f"best, trial {these['number'][0]}"
    return [{"type": "scatter", "mode": "lines+markers", "name": name, "x": these["step"], "y": these["value"],
             "line": {"color": ACCENT, "width": 3}, "marker": {"color": ACCENT, "size": 5},
             "customdata": these["number"], "hovertemplate": "best, step %{x}: %{y:.6g}<extra></extra>"}]  # fmt: skip


def _stopped(shown: Table) -> list[dict[str, Any]]:
    """Return where trials were stopped, and why: the predicted final values, at the last step of all curves."""
    ends = _ends(shown)
    if not len(ends):
        return []
    colour, symbol = STATES["stopped"]
    told = zip(ends["number"], ends["step"], ends["predicted"], ends["std"], strict=True)
    texts = np.array([f"trial {number} stopped at step {step:g}<br>predicted: {mean:.6g} ± {std:.2g}"
                      if np.isfinite(mean) else f"trial {number} stopped at step {step:g}"
                      for number, step, mean, std in told])  # fmt: skip
    look = {"type": "scatter", "mode": "markers", "hovertemplate": "%{text}<extra></extra>"}
    marks = [{**look, "name": "stopped here", "x": ends["step"], "y": ends["value"], "text": texts,
              "customdata": ends["number"], "marker": {"color": colour, "symbol": symbol, "size": 9}}]  # fmt: skip
    known = np.isfinite(ends["predicted"])
    if known.any():
        those = ends.select(known)
        marks.append({
            **look, "name": "predicted end, one std", "y": those["predicted"], "text": texts[known],
            "customdata": those["number"], "x": np.full(len(those), float(np.max(shown["step"]))),
            "error_y": {"array": np.nan_to_num(those["std"]), "color": colour, "thickness": 1, "width": 3},
            "marker": {"color": colour, "symbol": "diamond-open", "size": 7},
        })  # fmt: skip
    return marks


def _bands(shown: Table) -> list[dict[str, Any]]:
    x = shown["step"]
    bands = [{
        "type": "scatter", "mode": "lines", "name": name, "fill": "toself", "hoverinfo": "skip", "line": {"width": 0},
        "x": np.concatenate([x, x[::-1]]), "y": np.concatenate([shown[low], shown[high][::-1]]), "fillcolor": fill,
    } for name, low, high, fill in (("all", "lowest", "highest", "rgba(138,146,155,0.2)"),
                                    ("middle half", "low", "high", "rgba(138,146,155,0.4)"))]  # fmt: skip
    lines = [{
        "type": "scatter", "mode": "lines", "name": name, "x": x, "y": shown[name],
        "line": {"color": colour, "width": width}, "hovertemplate": f"{name}, step %{{x}}: %{{y:.6g}}<extra></extra>",
    } for name, colour, width in (("median", GREY, 2), ("best", ACCENT, 3))]  # fmt: skip
    return [*bands, *lines]
