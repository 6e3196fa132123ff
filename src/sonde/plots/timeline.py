"""What each worker did when: one bar for each trial, or for many trials the busy share of each span of time."""

from __future__ import annotations

from typing import Any

import numpy as np

from sonde.arrays import Array, Integers
from sonde.plots.figure import Figure
from sonde.plots.source import Source
from sonde.plots.states import shown_states
from sonde.plots.table import Table
from sonde.plots.text import counted, distinct, escaped
from sonde.plots.theme import SCALE, STATES
from sonde.trials.times import NONE

TITLE = "Timeline of the workers"
MANY = 2_000  # trials above which busy shares are shown
ROWS = 40  # workers, or groups of workers
SPANS = 200  # of time
NARROW = 0.003  # share of the whole time below which a bar is hardly a pixel wide
UNITS = (("days", 86400.0), ("hours", 3600.0), ("minutes", 60.0), ("seconds", 1.0), ("milliseconds", 1e-3))
UNKNOWN = "unknown worker"


def table(source: Source) -> Table:
    """Return number, state, worker, start and end of each trial that a worker has begun, in seconds from the first.

    A trial that still runs ends with the last event. ``retry_of`` is the lost trial that it repeats, or -1.
    """
    times, states = source.times, shown_states(source.history)
    begun = np.flatnonzero(~np.isnan(times.started[: len(states)]))
    first = times.started[begun].min() if len(begun) else 0.0
    started, finished = times.started[begun] - first, times.finished[begun] - first
    last = max(float(np.nanmax(np.concatenate([started, finished]))), 0.0) if len(begun) else 0.0
    columns = {"number": begun, "state": states[begun],
               "worker": [UNKNOWN if name is None else str(name) for name in times.worker[begun]],
               "started": started, "finished": np.where(np.isnan(finished), last, np.maximum(finished, started)),
               "retry_of": times.retry_of[begun]}  # fmt: skip
    return Table(columns, "seconds from the start of the first trial")


def figure(shown: Table, source: Source) -> Figure:
    """Draw the trials of each worker, or how busy groups of workers were."""
    if not len(shown):
        return Figure.empty(TITLE, "No worker has begun a trial yet: run study.optimize(objective, 30).")
    unit, size = next((each for each in UNITS if shown["finished"].max() >= 2 * each[1]), UNITS[-1])
    workers, turns = _workers(shown)
    many = len(shown) > MANY or len(workers) > ROWS
    draw = _shares if many else _bars
    traces, rows, note = draw(shown, workers, turns, size)
    return Figure.of(traces, {
        "title": {"text": TITLE, "subtitle": {"text": note}}, "barmode": "overlay", "showlegend": not many,
        "xaxis": {"title": {"text": f"{unit} from the start of the first trial"}},
        "yaxis": {"type": "category", "categoryorder": "array", "categoryarray": rows, "autorange": "reversed",
                  "showgrid": False},
        "height": 160 + 24 * max(len(rows), 4),
    })  # fmt: skip


def _workers(shown: Table) -> tuple[list[str], Integers]:
    """Return the workers in the order of their first trials, and the place of each trial's worker among them."""
    names = np.array(shown["worker"], dtype=object)
    order = np.argsort(shown["started"], kind="stable")
    places = {name: place for place, name in enumerate(dict.fromkeys(names[order].tolist()))}
    return list(places), np.array([places[name] for name in names.tolist()], dtype=np.int64)


def _bars(
    shown: Table, workers: list[str], turns: Integers, size: float
) -> tuple[list[dict[str, Any]], list[str], str]:
    rows = distinct([escaped(name, 32) for name in workers])
    labels = np.array(rows, dtype=object)[turns]
    edge = _edge(shown)
    traces = []
    for state, (colour, _) in STATES.items():
        these = shown["state"] == state
        if these.any():
            own = shown.select(these)
            texts = [_text(row) for row in own.rows()]
            traces.append({
                "type": "bar", "orientation": "h", "name": state, "y": list(labels[these]),
                "base": own["started"] / size, "x": (own["finished"] - own["started"]) / size, "width": 0.7,
                "text": texts, "textposition": "none", "customdata": own["number"],
                "marker": {"color": colour, "line": edge if edge["width"] < 1 else {**edge, "color": colour}},
                "hovertemplate": "%{text}<extra></extra>",
            })  # fmt: skip
    repeated = shown["retry_of"] != NONE
    if repeated.any():
        traces.append({
            "type": "scatter", "mode": "markers", "name": "retry of a lost trial", "y": list(labels[repeated]),
            "x": shown["started"][repeated] / size,
            "text": [_text(row) for row in shown.select(repeated).rows()], "hovertemplate": "%{text}<extra></extra>",
            "marker": {"symbol": "triangle-right", "size": 9, "color": STATES["failed"][0]},
        })  # fmt: skip
    return traces, rows, _note(shown, len(workers))


def _edge(shown: Table) -> dict[str, Any]:
    """Return the lines around the bars: they part them, or give bars that would be too narrow to be seen a width."""
    lasted, whole = np.median(shown["finished"] - shown["started"]), float(shown["finished"].max())
    return {"width": 0.5, "color": "rgba(255,255,255,0.6)"} if lasted > NARROW * whole else {"width": 1.5}


def _text(row: dict[str, Any]) -> str:
    """Return what is shown at a bar."""
    again = f", retry of {row['retry_of']}" if row["retry_of"] != NONE else ""
    return f"trial {row['number']} ({row['state']}{again})<br>{row['finished'] - row['started']:.4g} s"


def _note(shown: Table, workers: int) -> str:
    """Return in words how busy the workers were."""
    return (
        f"{counted(len(shown), 'trial')} on {counted(workers, 'worker')}, busy {_busy(shown, workers):.0%} of the time"
    )


def _busy(shown: Table, workers: int) -> float:
    whole = float(shown["finished"].max()) * workers
    return float(np.sum(shown["finished"] - shown["started"])) / whole if whole else 1.0


def _shares(
    shown: Table, workers: list[str], turns: Integers, size: float
) -> tuple[list[dict[str, Any]], list[str], str]:
    """Return the busy share of each worker, or group of workers, in each span of time."""
    groups = np.array_split(np.arange(len(workers)), min(len(workers), ROWS))
    rows = distinct([_group(workers, group.tolist()) for group in groups])
    edges = np.linspace(0.0, float(shown["finished"].max()), SPANS + 1)
    group_of = np.repeat(np.arange(len(groups)), [len(group) for group in groups])[turns]
    shares = []
    for place, group in enumerate(groups):
        own = group_of == place
        busy = _busy_until(shown["started"][own], shown["finished"][own], edges)
        shares.append(np.diff(busy) / (np.diff(edges) * len(group)))
    z = np.clip(np.array(shares), 0.0, None)
    sizes = sorted({len(group) for group in groups})
    each = "each row is a worker" if sizes == [1] else f"each row is a group of {' or '.join(map(str, sizes))} workers"
    traces = [{"type": "heatmap", "x": edges / size, "y": rows, "z": z, "zmin": 0, "zmax": max(1.0, float(z.max())),
               "colorscale": [[1 - place, colour] for place, colour in reversed(SCALE)],
               "colorbar": {"title": {"text": "busy"}, "tickformat": ".0%"}, "name": "busy",
               "hovertemplate": "%{y}: busy %{z:.0%}<extra></extra>"}]  # fmt: skip
    said = f"{_note(shown, len(workers))}; {each}"
    return traces, rows, said


def _group(workers: list[str], group: list[int]) -> str:
    first = escaped(workers[group[0]], 24)
    return first if len(group) == 1 else f"{first} and {len(group) - 1} more"


def _busy_until(started: Array, finished: Array, edges: Array) -> Array:
    """Return the seconds of all trials that lie before each time."""
    return _since(started, edges) - _since(finished, edges)


def _since(moments: Array, edges: Array) -> Array:
    """Return the sum of the seconds from each moment to a time after it."""
    ordered = np.sort(moments)
    sums = np.concatenate([[0.0], np.cumsum(ordered)])
    count = np.searchsorted(ordered, edges, side="right")
    return np.asarray(count * edges - sums[count])
