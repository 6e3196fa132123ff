"""The texts and shapes around the traces: title, legend, annotations, lines and rectangles."""

from __future__ import annotations

import textwrap
from typing import Any

from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Patch, Rectangle
from matplotlib.transforms import Bbox, Transform, blended_transform_factory

from sonde.plots.static.frames import SOLID, Frames
from sonde.plots.static.layout import long_name
from sonde.plots.static.marks import line_colour, mode
from sonde.plots.static.values import DASHES, STROKES, SYMBOLS, colour, is_bold, plain

LEFT = 16.0  # of title and legend, in pixels


def title(frames: Frames) -> float:
    """Write title and subtitle, and return how far down they reach, in pixels."""
    layout, figure = frames.layout, frames.figure
    told = layout.get("title", {})
    told = {"text": told} if isinstance(told, str) else told
    across, high = figure.get_size_inches() * 72
    down = 14.0
    for text, size, shade in (
        (told.get("text"), float(told.get("font", {}).get("size", layout.size + 2)), layout.ink),
        ((told.get("subtitle") or {}).get("text"), layout.size - 1, layout.soft),
    ):
        if text:
            lines = _wrapped(plain(text), size, across - 2 * LEFT)
            figure.text(LEFT / across, 1 - down / high, lines, fontsize=size, color=colour(shade), va="top", ha="left",
                        linespacing=1.25)  # fmt: skip
            down += size * 1.3 * (lines.count("\n") + 1) + 3
    return down


def _wrapped(text: str, size: float, width: float) -> str:
    """Return a text in lines that fit, counting a character as half as wide as high."""
    return "\n".join(
        line for part in text.split("\n") for line in textwrap.wrap(part, max(int(width / (0.54 * size)), 10)) or [""]
    )


def legend(frames: Frames, traces: list[tuple[dict[str, Any], str]], renderer: Any) -> Any:
    """Draw the legend in as many columns as fit; return it, or None where one trace needs none."""
    layout = frames.layout
    named = [(trace, shade) for trace, shade in traces if trace.get("showlegend", trace["type"] not in SOLID)
             and trace.get("name")]  # fmt: skip
    asked = any(trace.get("showlegend") for trace, _ in named)
    if layout.get("showlegend") is False or not named or (len(traces) < 2 and not asked):
        return None
    groups: dict[str, tuple[Any, str]] = {}
    for i, (trace, shade) in enumerate(named):
        groups.setdefault(str(trace.get("legendgroup") or f"{i}"), (_handle(trace, shade), plain(trace["name"])))
    handles, labels = zip(*groups.values(), strict=True)
    across = frames.figure.get_size_inches()[0] * 72
    for columns in range(len(handles), 0, -1):
        made = frames.figure.legend(handles, labels, loc="upper left", bbox_to_anchor=(0, 1), ncols=columns,
                                    frameon=False, fontsize=layout.size - 1, labelcolor=colour(layout.ink),
                                    handlelength=1.6, columnspacing=1.4, borderaxespad=0.0)  # fmt: skip
        if columns == 1 or made.get_window_extent(renderer).width <= across - 2 * LEFT:
            return made
        made.remove()
    return None


def _handle(trace: dict[str, Any], shade: str) -> Any:
    """Return what stands for a trace in the legend."""
    marker = trace.get("marker", {})
    own = marker.get("color") if isinstance(marker.get("color"), str) else shade
    if trace["type"] in ("bar", "histogram", "box") or (trace.get("fill") or "none") != "none":
        return Patch(color=colour(trace.get("fillcolor") or own, float(trace.get("opacity", 1.0))), linewidth=0)
    shown, line = mode(trace), trace.get("line", {})
    symbol = marker.get("symbol") if isinstance(marker.get("symbol"), str) else "circle"
    shape = symbol.removesuffix("-open")
    hollow = symbol.endswith("-open") or shape in STROKES
    thickness = min(float(line.get("width", 2)), 3) if "lines" in shown else 0
    paint = colour(own, float(trace.get("opacity", 1.0)))
    return Line2D(
        [], [], color=line_colour(trace, shade), linewidth=thickness,
        linestyle=DASHES.get(line.get("dash", "solid"), "-"),
        marker=SYMBOLS.get(shape, "o") if "markers" in shown else "None", markersize=7,
        markerfacecolor="none" if hollow else paint, markeredgecolor=paint if hollow else "none", markeredgewidth=1.5,
    )  # fmt: skip


def place_legend(frames: Frames, made: Any, down: float, renderer: Any) -> float:
    """Place the legend below the title, and return how far down it reaches."""
    if made is None:
        return down
    across, high = frames.figure.get_size_inches() * 72
    made.set_bbox_to_anchor((LEFT / across, 1 - (down + 2) / high))
    return down + 2 + float(made.get_window_extent(renderer).height)


def write_annotations(frames: Frames) -> None:
    """Write the annotations of the layout."""
    for told in frames.layout.get("annotations") or ():
        if told.get("visible") is False:
            continue
        spec = {**frames.layout.get("annotationdefaults", {}), **told}
        font = {**frames.layout.get("annotationdefaults", {}).get("font", {}), **told.get("font", {})}
        axes, transform, point = _target(frames, spec, exponents=True)
        across = {"left": "left", "right": "right"}.get(spec.get("xanchor", ""), "center")
        upright = {"top": "top", "bottom": "bottom"}.get(spec.get("yanchor", ""), "center")
        shift = (float(spec.get("xshift") or 0), float(spec.get("yshift") or 0))
        text = axes.annotate(
            plain(spec.get("text", "")), point, xytext=shift, xycoords=transform, textcoords="offset points",
            ha=across, va=upright, fontsize=float(font.get("size", frames.layout.size - 1)), annotation_clip=False,
            color=colour(font.get("color", frames.layout.ink)), rotation=-float(spec.get("textangle") or 0), zorder=9,
            fontweight="bold" if is_bold(spec.get("text")) else "normal", multialignment=spec.get("align") or "center",
        )  # fmt: skip
        if spec.get("bgcolor"):
            text.set_bbox({"facecolor": colour(spec["bgcolor"]), "edgecolor": "none", "pad": 2})


def _target(frames: Frames, spec: dict[str, Any], *, exponents: bool) -> tuple[Axes, Transform, tuple[Any, Any]]:
    """Return the axes of an annotation or a shape, its coordinates, and the point in them.

    On logarithmic axes Plotly has the exponents for annotations, and the values for shapes.
    """
    refs = [str(spec.get(f"{letter}ref") or letter) for letter in "xy"]
    names = [long_name(None if ref == "paper" else ref.split()[0], ref[0] if ref != "paper" else letter)
             for ref, letter in zip(refs, "xy", strict=True)]  # fmt: skip
    axes = frames.pair_of(*names)
    parts: list[Transform] = []
    point: list[Any] = []
    for ref, name, letter in zip(refs, names, "xy", strict=True):
        given = spec.get(letter)
        if ref == "paper":
            parts.append(frames.paper)
        else:
            parts.append(axes.transAxes if ref.endswith("domain") else axes.transData)
        point.append(
            given if ref == "paper" or ref.endswith("domain") else frames.place_of(name, given, exponent=exponents)
        )
    return axes, blended_transform_factory(*parts), (point[0], point[1])


def draw_shapes(frames: Frames) -> None:
    """Draw the lines and rectangles of the layout."""
    for told in frames.layout.get("shapes") or ():
        corners = []
        for end in ("0", "1"):
            spec = {**told, "x": told.get(f"x{end}"), "y": told.get(f"y{end}")}
            axes, transform, point = _target(frames, spec, exponents=False)
            corners.append(point)
        line, opacity = told.get("line", {}), float(told.get("opacity") or 1.0)
        look: dict[str, Any] = {
            "transform": transform, "zorder": 1.5 if told.get("layer") == "below" else 6.0,
            "linewidth": float(line.get("width", 2)), "linestyle": DASHES.get(line.get("dash", "solid"), "-"),
        }  # fmt: skip
        edge = colour(line.get("color", frames.layout.ink), opacity)
        if told.get("type") == "line":
            axes.add_artist(Line2D(*zip(*corners, strict=True), color=edge, **look))
        else:
            box = Bbox(corners)
            fill = colour(told["fillcolor"], opacity) if told.get("fillcolor") else "none"
            axes.add_artist(Rectangle(box.p0, box.width, box.height, facecolor=fill,
                                      edgecolor=edge if look["linewidth"] else "none", **look))  # fmt: skip
