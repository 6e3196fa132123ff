"""Heat maps and contours, and their colour bars."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import FixedLocator, FuncFormatter, MaxNLocator

from sonde.arrays import Array
from sonde.plots.static.brush import Brush
from sonde.plots.static.ticks import number
from sonde.plots.static.values import colour, column, plain

LEVELS = 15
NAMES = ("zmin", "zmax", "zmid")


def heatmap(trace: dict[str, Any], brush: Brush) -> None:
    """Draw coloured cells around the places of x and y."""
    axes = brush.frames.of(trace)
    z = np.atleast_2d(column(trace.get("z")))
    x, y = _places(trace, z, brush)
    shades = brush.mappable(trace, z, NAMES)
    logs = [axes.get_xscale() == "log", axes.get_yscale() == "log"]
    edges = [_edges(places, count, log=log) for places, count, log in zip((x, y), z.shape[::-1], logs, strict=True)]
    look: Any = {"cmap": shades.cmap, "norm": shades.norm, "alpha": trace.get("opacity")}
    axes.pcolormesh(*edges, np.ma.masked_invalid(z), zorder=brush.height, edgecolors="face", linewidth=0.1, **look)
    if trace.get("texttemplate") or trace.get("text") is not None:
        _write(axes, trace, (x, y, z), brush)


def contour(trace: dict[str, Any], brush: Brush) -> None:
    """Draw filled contours, or lines."""
    axes = brush.frames.of(trace)
    z = np.atleast_2d(column(trace.get("z")))
    x, y = _places(trace, z, brush)
    shades = brush.mappable(trace, z, NAMES)
    told = trace.get("contours") or {}
    levels = _levels(told, shades.norm, int(trace.get("ncontours") or LEVELS))
    line, masked = trace.get("line", {}), np.ma.masked_invalid(z)
    kind = told.get("coloring", "fill")
    if kind == "heatmap":
        heatmap({**trace, "showscale": False, "texttemplate": None, "text": None}, brush)
    elif kind == "fill":
        axes.contourf(x, y, masked, levels, cmap=shades.cmap, norm=shades.norm, extend="both", zorder=brush.height)
    if kind == "lines" or told.get("showlines") is not False:
        look = {"cmap": shades.cmap, "norm": shades.norm} if kind == "lines" else {
            "colors": [colour(line.get("color", "rgba(68,68,68,0.5)"))]}  # fmt: skip
        drawn = axes.contour(
            x,
            y,
            masked,
            levels,
            linewidths=float(line.get("width", 0.5)),
            linestyles="solid",
            zorder=brush.height,
            **look,
        )
        if told.get("showlabels"):
            axes.clabel(drawn, fontsize=9, fmt=number)


def _places(trace: dict[str, Any], z: Any, brush: Brush) -> tuple[Array, Array]:
    frames = brush.frames
    shape = zip("xy", z.shape[::-1], strict=True)
    x, y = (np.arange(count) if trace.get(letter) is None else trace[letter] for letter, count in shape)
    return frames.numbers(trace, "x", x), frames.numbers(trace, "y", y)


def _edges(places: Array, count: int, *, log: bool) -> Array:
    """Return the edges of cells: given, or halfway between their centres."""
    if len(places) == count + 1:
        return places
    if not len(places):
        return np.arange(count + 1.0)
    centres = np.log(places) if log else places
    if len(centres) == 1:
        edges = centres + np.array([-0.5, 0.5])
        return np.asarray(np.exp(edges) if log else edges)
    middles = (centres[:-1] + centres[1:]) / 2
    edges = np.concatenate([[2 * centres[0] - middles[0]], middles, [2 * centres[-1] - middles[-1]]])
    return np.exp(edges) if log else edges


def _levels(told: dict[str, Any], norm: Any, count: int) -> Array:
    if told.get("size"):
        return np.arange(told["start"], told["end"] + told["size"] / 2, told["size"])
    if norm.vmin == norm.vmax:
        return np.array([norm.vmin - 0.5, norm.vmin + 0.5])
    return np.asarray(MaxNLocator(count).tick_values(norm.vmin, norm.vmax), dtype=float)


def _write(axes: Axes, trace: dict[str, Any], cells: tuple[Array, Array, Array], brush: Brush) -> None:
    """Write the text of each cell."""
    x, y, z = (each.tolist() for each in cells)
    texts = trace.get("text")
    font = trace.get("textfont", {})
    for i, j in np.ndindex(cells[2].shape):
        text = texts[i][j] if texts is not None else _formatted(str(trace["texttemplate"]), z[i][j])
        if np.isfinite(z[i][j]) and text is not None:
            shade = font.get("color") or _readable(brush, trace, cells[2], z[i][j])
            axes.text(x[j], y[i], plain(text), ha="center", va="center", fontsize=float(font.get("size", 11)),
                      color=colour(shade), zorder=brush.height)  # fmt: skip


def _formatted(template: str, value: float) -> str:
    head, _, rest = template.partition("%{z")
    form, _, tail = rest.partition("}")
    return f"{head}{format(value, form.removeprefix(':') or '.3g')}{tail}"


def _readable(brush: Brush, trace: dict[str, Any], z: Array, value: float) -> str:
    """Return black or white, whichever is easier to read on a cell."""
    red, green, blue, _ = brush.mappable({**trace, "showscale": False}, z, NAMES).to_rgba(np.array([value]))[0]
    return "#1c2733" if 0.299 * red + 0.587 * green + 0.114 * blue > 0.55 else "#ffffff"


def draw_bars(brush: Brush) -> None:
    """Draw the colour bars, to the right of the axes."""
    frames, layout = brush.frames, brush.frames.layout
    for mappable, told in brush.bars:
        length, thickness = float(told.get("len") or 1.0), float(told.get("thickness", 14))
        middle = float(told.get("y", 0.5))
        right = float(told["x"]) if told.get("x") is not None and told["x"] < 1 else 1.0
        left, bottom, _, height = frames.share(right, middle - length / 2, 0.0, length)
        across = frames.figure.get_size_inches()[0] * 72
        place = frames.figure.add_axes((left + 12 / across, bottom, thickness / across, height), label="colour bar")
        bar = frames.figure.colorbar(mappable, cax=place)
        bar.outline.set_visible(False)
        place.tick_params(length=0, labelsize=layout.size - 2, labelcolor=colour(layout.soft))
        _label(bar, told)
        title = (told.get("title") or {}).get("text")
        if title:
            high = frames.figure.get_size_inches()[1] * 72
            frames.figure.text(1 - 8 / across, bottom + height + 8 / high, plain(title), fontsize=layout.size - 1,
                               color=colour(layout.ink), ha="right", va="bottom")  # fmt: skip


def _label(bar: Any, told: Any) -> None:
    """Set the ticks of a colour bar."""
    if told.get("tickvals") is None:
        bar.locator = MaxNLocator(6)
        share = str(told.get("tickformat", "")).endswith("%")
        bar.formatter = FuncFormatter(lambda value, _: f"{value:.0%}" if share else number(value))
    else:
        places = column(told["tickvals"])
        texts = [plain(text) for text in told.get("ticktext") or [number(place) for place in places]]
        known = dict(zip(places.tolist(), texts, strict=False))
        bar.locator = FixedLocator(places)
        bar.formatter = FuncFormatter(lambda value, _: known.get(value, ""))
    bar.update_ticks()
