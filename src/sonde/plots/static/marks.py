"""Points, lines and areas."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes

from sonde.arrays import Array
from sonde.plots.static.brush import Brush
from sonde.plots.static.values import DASHES, STROKES, SYMBOLS, colour, column, plain, spread, steps

SIZE = 6.0  # of markers
SHARES = {"diamond": 0.72, "x": 1.35, "star": 1.6}  # of the areas of symbols, so that they look as in a browser
_PLACES = {"left": "right", "right": "left", "center": "center", "top": "bottom", "bottom": "top", "middle": "center"}


def scatter(trace: dict[str, Any], brush: Brush) -> None:
    """Draw a trace of points, lines, texts and areas."""
    axes = brush.frames.of(trace)
    x, y = brush.frames.numbers(trace, "x"), brush.frames.numbers(trace, "y")
    shown, line = mode(trace), trace.get("line", {})
    corners = steps(x, y, line.get("shape", "linear"))
    _fill(axes, trace, corners, brush)
    brush.corners[axes] = corners
    if "lines" in shown and float(line.get("width", 2)) > 0:
        axes.plot(*corners, color=line_colour(trace, brush.shade), linewidth=float(line.get("width", 2)),
                  linestyle=DASHES.get(line.get("dash", "solid"), "-"), zorder=brush.height)  # fmt: skip
    errors(axes, trace, (x, y), brush)
    if "markers" in shown:
        _points(axes, trace, (x, y), brush)
    if "text" in shown:
        _texts(axes, trace, (x, y), brush)


def mode(trace: dict[str, Any]) -> str:
    """Return what a scatter trace shows."""
    return str(trace.get("mode") or ("lines+markers" if len(column(trace.get("x"))) < 20 else "lines"))


def line_colour(trace: dict[str, Any], shade: str) -> Any:
    """Return the colour of a trace's line."""
    marked = trace.get("marker", {}).get("color")
    fallback = marked if isinstance(marked, str) else shade
    return colour(trace.get("line", {}).get("color", fallback), float(trace.get("opacity", 1.0)))


def _fill(axes: Axes, trace: dict[str, Any], corners: tuple[Array, Array], brush: Brush) -> None:
    kind = trace.get("fill") or "none"
    if kind == "none":
        return
    x, y = corners
    if kind in ("tonexty", "tonextx") and axes in brush.corners:
        before = brush.corners[axes]
        x, y = np.concatenate([x, before[0][::-1]]), np.concatenate([y, before[1][::-1]])
    elif kind in ("tozeroy", "tonexty"):
        x, y = np.concatenate([x, x[-1:], x[:1]]), np.concatenate([y, [0.0, 0.0]])
    soft = trace.get("fillcolor")
    shade = line_colour(trace, brush.shade)
    fill = colour(soft, float(trace.get("opacity", 1.0))) if soft else (*shade[:3], shade[3] / 2)
    gaps: Any = np.flatnonzero(np.isnan(x) | np.isnan(y)) if kind == "toself" else []
    for part_x, part_y in zip(np.split(x, gaps), np.split(y, gaps), strict=True):
        known = ~np.isnan(part_x) & ~np.isnan(part_y)
        axes.fill(part_x[known], part_y[known], color=fill, linewidth=0, zorder=brush.height)


def errors(axes: Axes, trace: dict[str, Any], places: tuple[Array, Array], brush: Brush) -> None:
    """Draw the error bars of a trace."""
    for letter in ("x", "y"):
        told = trace.get(f"error_{letter}") or {}
        if told.get("visible") is False or told.get("array") is None:
            continue
        upper = column(told["array"])
        lower = column(told["arrayminus"]) if told.get("arrayminus") is not None else upper
        axes.errorbar(*places, fmt="none", ecolor=colour(told.get("color", brush.shade)), zorder=brush.height,
                      elinewidth=float(told.get("thickness", 1.5)), capsize=float(told.get("width", 3)),
                      **{f"{letter}err": np.nan_to_num(np.vstack([lower, upper]))})  # fmt: skip


def _points(axes: Axes, trace: dict[str, Any], places: tuple[Array, Array], brush: Brush) -> None:
    """Draw the markers, those of one symbol together."""
    marker, count = trace.get("marker", {}), len(places[0])
    faces = colours_of(trace, marker, count, brush)
    sizes = np.array(spread(marker.get("size"), count, SIZE), dtype=float)
    symbols = np.array([str(each) for each in spread(marker.get("symbol"), count, "circle")], dtype=object)
    edge = marker.get("line", {})
    width = float(edge.get("width", 0)) if not isinstance(edge.get("width"), list) else 0.0
    for symbol in dict.fromkeys(symbols.tolist()):
        these = symbols == symbol
        shape = symbol.removesuffix("-dot").removesuffix("-open")
        open_shape, stroke = "-open" in symbol, shape in STROKES
        own = faces[these]
        edges = own if open_shape or stroke else [colour(edge["color"])] if edge.get("color") and width else "none"
        area = sizes[these] ** 2 * SHARES.get(shape, 1.0)
        look = {"color": own} if stroke else {"facecolors": "none" if open_shape else own, "edgecolors": edges}
        axes.scatter(places[0][these], places[1][these], s=area, marker=SYMBOLS.get(shape, "o"), zorder=brush.height,
                     linewidths=max(width, 1.5) if open_shape or stroke else width,
                     clip_on=trace.get("cliponaxis") is not False, **look)  # fmt: skip


def colours_of(trace: dict[str, Any], marker: dict[str, Any], count: int, brush: Brush) -> Any:
    """Return the colours (count, 4) of markers or bars: one for all, one for each, or those of a scale."""
    given, opacity = marker.get("color"), float(trace.get("opacity", 1.0))
    clear = np.array(spread(marker.get("opacity"), count, 1.0), dtype=float) * opacity
    if given is None or isinstance(given, str):
        shades = np.array([colour(given or line_shade(trace, brush))] * count).reshape(-1, 4)
    elif (values := column(given)).dtype == object:
        shades = np.array([colour(each) for each in values]).reshape(-1, 4)
    else:
        shades = np.array(brush.mappable(marker, values, ("cmin", "cmax", "cmid")).to_rgba(values))
        shades[~np.isfinite(values)] = 0.0
    shades[:, 3] *= clear
    return shades


def line_shade(trace: dict[str, Any], brush: Brush) -> str:
    """Return the colour of markers that have none of their own."""
    return str(trace.get("line", {}).get("color", brush.shade))


def _texts(axes: Axes, trace: dict[str, Any], places: tuple[Array, Array], brush: Brush) -> None:
    font = trace.get("textfont", {})
    layout = brush.frames.layout
    where = spread(trace.get("textposition"), len(places[0]), "middle center")
    for x, y, text, place in zip(*places, spread(trace.get("text"), len(places[0]), ""), where, strict=True):
        upright, across = str(place).split()
        if np.isfinite(x) and np.isfinite(y):
            axes.annotate(plain(text), (x, y), xytext=((across == "right") * 6 - (across == "left") * 6,
                          (upright == "top") * 5 - (upright == "bottom") * 5), textcoords="offset points",
                          ha=_PLACES[across], va=_PLACES[upright], fontsize=float(font.get("size", layout.size - 1)),
                          color=colour(font.get("color", layout.ink)), zorder=brush.height)  # fmt: skip
