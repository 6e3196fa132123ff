"""Planar histograms: how many trials had which value, over time or over two parameters.

Over time it is that of Snoek et al. (2015), figure 4.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sonde.arrays import Array
from sonde.errors import OptionError
from sonde.plots.axes import axis_of, value_axis
from sonde.plots.figure import Figure
from sonde.plots.grids import axis_layout, cells, grid, texts_of
from sonde.plots.pairs import checked_pair
from sonde.plots.panels import axes_of, headings, panels
from sonde.plots.source import Source
from sonde.plots.table import Table, joined
from sonde.plots.text import escaped
from sonde.plots.theme import SCALE, VERMILION
from sonde.trials import History

BINS = (60, 40)  # at most, over time and of values
FEW = 2.0  # cells over time, in square roots of the number of results
CELLS = 25  # of a continuous parameter
MOST = 500
COUNTS = tuple(((at - 0.25) / 0.75, colour) for at, colour in SCALE[1:])  # without the yellow, which white hides
TITLE = "Planar histogram"
NONE = "nothing can be counted before a trial has completed; tell a result first"


def table(
    source: Source, *, x: str | None = None, y: str | None = None, bins: int | None = None, objective: str | None = None
) -> Table:
    """Return the trials in each cell of trial number and value; or of two parameters, with the mean of their values.

    Over time, rows of kind ``best`` have the best value so far.
    """
    if bins is not None and (not isinstance(bins, int) or isinstance(bins, bool) or not 1 <= bins <= MOST):
        raise OptionError(f"bins must be a whole number from 1 to {MOST}, got {bins!r}")
    history = source.history.of(0 if objective is None else source.objectives.index(objective))
    if (x is None) != (y is None):
        raise OptionError("give both x= and y= for two parameters, or neither for values over time")
    checked_pair(source.space, x, y)
    if not len(history.measured):
        return Table({}, NONE)
    if x is not None and y is not None:
        return _over_parameters(source, history, x, y, bins or CELLS)
    most = max(8, int(FEW * np.sqrt(len(history.measured))))
    return _over_time(history, (bins, bins) if bins else (min(most, BINS[0]), min(most, BINS[1])))


def figure(shown: Table, source: Source, *, objective: str | None = None) -> Figure:
    """Draw the counts; over time also the best so far, over two parameters also the mean values."""
    if not len(shown):
        return Figure.empty(TITLE, shown.note)
    value = escaped(objective or source.objectives.names[0], 30)
    if "x_parameter" in shown:
        return _two_panels(shown, source, value, objective)
    kinds = np.array(shown["kind"])
    counted, best = shown.select(kinds == "cell"), shown.select(kinds == "best")
    edges = [np.unique(np.concatenate([counted[f"{own}_low"], counted[f"{own}_high"]])) for own in "xy"]
    counts = _matrix(counted, edges, "count")
    up = value_axis(edges[1], value, log=_is_log(edges[1]))
    line = {"type": "scatter", "mode": "lines", "x": best["x_low"], "y": best["y_low"], "name": "best so far",
            "cliponaxis": False,
            "line": {"color": VERMILION, "width": 2.5, "shape": "hv"},
            "hovertemplate": "best after trial %{x}: %{y:.6g}<extra></extra>"}  # fmt: skip
    return Figure.of([_counted(np.nan_to_num(counts), *edges), line], {
        "title": {"text": TITLE, "subtitle": {"text": f"{shown.note}; the line is the best so far"}},
        "xaxis": {"title": {"text": "trial"}}, "yaxis": {**up, "title": {"text": value}}, "showlegend": False,
    })  # fmt: skip


def _over_time(history: History, bins: tuple[int, int]) -> Table:
    numbers = history.measured.numbers
    values = history.sign * history.values[numbers]
    log = value_axis(values, "")["type"] == "log"
    x, y = _edges(numbers.astype(float), bins[0]), _edges(values, bins[1], log=log)
    counts = np.histogram2d(numbers, values, bins=[x, y])[0]
    i, j = (each.ravel() for each in np.indices(counts.shape))
    every = {"kind": "cell", "x_low": x[i], "x_high": x[i + 1], "y_low": y[j], "y_high": y[j + 1],
             "count": counts.ravel()}  # fmt: skip
    usable = history.feasible_values[numbers]
    best = np.minimum.accumulate(usable)
    moves = np.union1d(np.flatnonzero(best < np.concatenate([[np.inf], best[:-1]])), [len(best) - 1])
    moves = moves[np.isfinite(best[moves])]
    own = {"kind": "best", "x_low": numbers[moves].astype(float), "x_high": numbers[moves].astype(float),
           "y_low": history.sign * best[moves], "y_high": history.sign * best[moves],
           "count": np.full(len(moves), np.nan)}  # fmt: skip
    return joined([every, own], f"all {len(numbers):,} results; trials in each cell of trial number and value")


def _over_parameters(source: Source, history: History, x: str, y: str, bins: int) -> Table:
    """Return count and mean value of the trials nearest to each point of a mesh."""
    space, done = source.space, history.measured.numbers
    columns = [space.names.index(name) for name in (x, y)]
    rows = history.rows[done][:, columns]
    active = ~np.isnan(rows).any(axis=1)
    grids = [_middles(source, name, bins) for name in (x, y)]
    i, j = (
        _nearest(source, name, own, rows[active, k]) for k, (name, own) in enumerate(zip((x, y), grids, strict=True))
    )
    place = i * len(grids[1]) + j
    size = len(grids[0]) * len(grids[1])
    counts = np.bincount(place, minlength=size)
    with np.errstate(invalid="ignore", divide="ignore"):
        means = np.bincount(place, history.sign * history.values[done][active], minlength=size) / counts
    across, up = np.repeat(grids[0], len(grids[1])), np.tile(grids[1], len(grids[0]))
    labels = {"x_label": texts_of(space, x, across), "y_label": texts_of(space, y, up)}
    columns_ = {"x_parameter": [x] * size, "y_parameter": [y] * size, "x": across, "y": up, **labels, "count": counts,
                "mean": means}  # fmt: skip
    return Table(columns_, f"{int(active.sum()):,} results; count and mean value of the trials in each cell")


def _middles(source: Source, name: str, bins: int) -> Array:
    """Return the middles of the cells of a parameter: of equal size on its scale, or all values of a small lattice."""
    axis = axis_of(source.space, name)
    if axis.size <= bins or not source.space[name].ordered:
        return grid(source.space, name, bins)
    scaled = axis.edges[0] + (np.arange(bins) + 0.5) / bins * axis.width
    return np.exp(scaled) if axis.log else scaled


def _nearest(source: Source, name: str, middles: Array, numbers: Array) -> Any:
    """Return the cell of each number."""
    if not source.space[name].ordered:
        return np.abs(numbers[:, None] - middles).argmin(axis=1) if len(middles) else numbers
    edges = cells(source.space, name, middles)
    return np.clip(np.searchsorted(edges, numbers, side="right") - 1, 0, len(middles) - 1)


def _two_panels(shown: Table, source: Source, value: str, objective: str | None) -> Figure:
    space, names = source.space, (shown["x_parameter"][0], shown["y_parameter"][0])
    axes = [np.unique(shown["x"]), np.unique(shown["y"])]
    ends = [cells(space, name, own) for name, own in zip(names, axes, strict=True)]
    index = [np.searchsorted(own, shown[each]) for own, each in zip(axes, "xy", strict=True)]
    matrices = {}
    for column in ("count", "mean"):
        matrices[column] = np.full((len(axes[1]), len(axes[0])), np.nan)
        matrices[column][index[1], index[0]] = shown[column]
    left, right = panels(2, 2, 0.2)
    sign = source.objectives.each[0 if objective is None else source.objectives.index(objective)].sign
    scale = SCALE if sign > 0 else [(1 - at, colour) for at, colour in SCALE[::-1]]
    mean = {"type": "heatmap", "x": ends[0], "y": ends[1], "z": matrices["mean"],
            "colorscale": [list(stop) for stop in scale], "hovertemplate": "mean %{z:.6g}<extra></extra>",
            "colorbar": {"x": left.across[1] + 0.01, "thickness": 12}}  # fmt: skip
    layout: dict[str, Any] = {}
    for panel in (left, right):
        layout |= axes_of(panel, axis_layout(space, names[0]), axis_layout(space, names[1]))
    counts = _counted(matrices["count"], *ends)
    return Figure.of([{**mean, **left.axes}, {**counts, **right.axes}], {
        **layout, "title": {"text": TITLE, "subtitle": {"text": shown.note}}, "height": 480,
        "annotations": headings((left, right), (f"mean of {value}", "trials")), "margin": {"t": 104},
    })  # fmt: skip


def _matrix(shown: Table, edges: list[Array], column: str) -> Array:
    z = np.zeros((len(edges[1]) - 1, len(edges[0]) - 1))
    i, j = (np.searchsorted(edges[k], shown[f"{own}_low"]) for k, own in enumerate("xy"))
    z[j, i] = shown[column]
    return z


def _is_log(edges: Array) -> bool:
    """Whether the cells grow by a factor."""
    steps = np.diff(edges)
    return len(steps) > 1 and edges[0] > 0 and bool(steps[-1] > 1.5 * steps[0])


def _edges(values: Array, count: int, *, log: bool = False) -> Array:
    """Return the edges of ``count`` cells over the range of values."""
    low, high = (float(np.min(values)), float(np.max(values))) if len(values) else (0.0, 1.0)
    if low == high:
        room = abs(low) / 100 or 1.0
        low, high = (low / 1.01, high * 1.01) if log else (low - room, high + room)
    edges = np.geomspace(low, high, count + 1) if log else np.linspace(low, high, count + 1)
    edges[0], edges[-1] = low, high
    return edges


def _counted(counts: Array, x: Any, y: Any) -> dict[str, Any]:
    """Return the cells of counts, shaded by their logarithm."""
    most = max(int(np.max(counts, initial=1)), 1)
    ticks = [digit * 10**power for power in range(len(str(most))) for digit in (1, 2, 5) if digit * 10**power <= most]
    ticks = ticks if most < 100 else [tick for tick in ticks if str(tick)[0] == "1"]
    return {
        "type": "heatmap", "x": x, "y": y, "z": np.where(counts > 0, np.log10(np.maximum(counts, 1)), np.nan),
        "zmin": 0, "zmax": max(np.log10(most), 1e-9), "colorscale": [list(stop) for stop in COUNTS],
        "customdata": counts, "hovertemplate": "%{customdata:,} trials<extra></extra>",
        "colorbar": {"title": {"text": "trials"}, "thickness": 12, "tickvals": np.log10(ticks).tolist(),
                     "ticktext": [f"{tick:,}" for tick in ticks]},
    }  # fmt: skip
