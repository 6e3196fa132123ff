"""Pictures of times and errors over sizes."""

from collections.abc import Mapping, Sequence
from itertools import cycle, product
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib import pyplot
from matplotlib.axes import Axes
from matplotlib.colors import LogNorm

COLOURS = ("#3b6ea5", "#c4603c", "#5a9367", "#8a6bb1", "#b8963e", "#4f9da6", "#a3435c")
GREY = "#999999"

Line = tuple[Sequence[float], Sequence[float]]


def panels(rows: int, columns: int, size: tuple[float, float]) -> tuple[Any, np.ndarray]:
    """Return a figure and its axes as a (rows, columns) array."""
    pyplot.switch_backend("agg")
    return pyplot.subplots(rows, columns, figsize=size, layout="constrained", squeeze=False)


def save(figure: Any, path: Path) -> None:
    """Write the picture next to the table."""
    figure.savefig(path.with_suffix(".png"), dpi=120)
    pyplot.close(figure)


def lines(
    axis: Axes, drawn: Mapping[str, Line], *, title: str, x: str, y: str, guides: Mapping[int, str] | None = None
) -> None:
    """Draw lines over logarithmic axes, references dashed; ``guides`` adds a line of the given slope under a line."""
    for (name, (sizes, values)), (marker, colour) in zip(drawn.items(), cycle(product("o^D", COLOURS))):
        dashed = name.startswith(("naive", "GPyTorch", "size of"))
        style = f"{marker}--" if dashed else f"{marker}-"
        axis.plot(sizes, values, style, color=colour, markersize=3.5, linewidth=1.3, label=name)
    axis.set(xscale="log", yscale="log", xlabel=x, ylabel=y)
    limits = axis.get_ylim()
    for power, name in (guides or {}).items():
        _guide(axis, *drawn[name], power)
    axis.set_ylim(*limits)
    axis.set_title(title, fontsize=10)
    axis.grid(alpha=0.25)


def legend(axis: Axes, *, outside: bool = False) -> None:
    """Name the lines, inside or to the right."""
    position = {"loc": "upper left", "bbox_to_anchor": (1.01, 1.0)} if outside else {}
    axis.legend(fontsize=7.5, frameon=False, **position)


def _guide(axis: Axes, sizes: Sequence[float], values: Sequence[float], power: int) -> None:
    ends = np.array([sizes[0], sizes[-1]], dtype=float)
    axis.plot(ends, 0.5 * values[-1] * (ends / sizes[-1]) ** power, ":", color=GREY, linewidth=1)
    axis.annotate(f"$d^{{{power}}}$", (ends[1], 0.5 * values[-1]), fontsize=8, color="#555555", va="top")


def heat_map(
    axis: Axes, cells: Mapping[tuple[int, int], float], ns: Sequence[int], ds: Sequence[int], title: str
) -> Any:
    """Draw seconds over n (up) and d (right); empty where it was not run."""
    grid = np.array([[cells.get((n, d), np.nan) for d in ds] for n in ns])
    image = axis.imshow(grid, origin="lower", aspect="auto", norm=LogNorm(1e-5, 10), cmap="viridis")
    for (row, column), value in np.ndenumerate(grid):
        if np.isfinite(value):
            shade = "white" if value < 0.01 else "black"
            axis.text(column, row, _short(value), ha="center", va="center", fontsize=6.5, color=shade)
    axis.set_xticks(range(len(ds)), [str(d) for d in ds], fontsize=7)
    axis.set_yticks(range(len(ns)), [str(n) for n in ns], fontsize=7)
    axis.set(xlabel="d", ylabel="n")
    axis.set_title(title, fontsize=10)
    return image


def _short(value: float) -> str:
    if value < 1e-3:
        return f"{value * 1e6:.0f} us"
    return f"{value * 1e3:.0f} ms" if value < 1 else f"{value:.1f} s"
