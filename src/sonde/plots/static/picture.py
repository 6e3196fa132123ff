"""A whole figure as a picture."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from matplotlib import rc_context
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from sonde.errors import OptionError
from sonde.plots.static import notes
from sonde.plots.static.bars import Bars, histogram
from sonde.plots.static.brush import Brush
from sonde.plots.static.frames import Frames
from sonde.plots.static.layout import Layout
from sonde.plots.static.marks import scatter
from sonde.plots.static.surfaces import contour, draw_bars, heatmap
from sonde.plots.static.values import colour
from sonde.plots.theme import COLOURS

HEADING = 24.0  # pixels above the axes for headings of panels
SHARPNESS = 2  # pixels of a PNG for each pixel of the layout
FAMILY = ("DejaVu Sans", "Last Resort High-Efficiency")  # Matplotlib brings both; the second has boxes for all else
SETTINGS = {"svg.hashsalt": "sonde", "svg.fonttype": "none", "pdf.fonttype": 42, "text.parse_math": False,
            "font.family": list(FAMILY), "path.simplify": True}  # fmt: skip
_LOCK = threading.Lock()  # Matplotlib's settings belong to the whole process


def save(figure: Mapping[str, Any], path: Path, width: int, height: int) -> None:
    """Write a figure to a PNG, SVG or PDF file of a size in pixels."""
    kind = path.suffix.removeprefix(".").lower()
    unchanging = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(kind, {})
    with _LOCK, rc_context(SETTINGS):
        drawn = _drawn(figure, width, height)
        drawn.savefig(path, format=kind, dpi=72 * (SHARPNESS if kind == "png" else 1), metadata=unchanging or None,
                      facecolor=drawn.get_facecolor())  # fmt: skip


def _drawn(figure: Mapping[str, Any], width: int, height: int) -> Figure:
    layout = Layout(figure)
    made = Figure(figsize=(width / 72, height / 72), dpi=72, facecolor=colour(layout.paper))
    renderer: Any = FigureCanvasAgg(made).get_renderer()
    frames = Frames(made, layout)
    shown = [dict(trace) for trace in figure.get("data", ()) if trace.get("visible", True) is True]
    shades = layout.get("colorway") or COLOURS
    turns = [(trace, str(shades[i % len(shades)])) for i, trace in enumerate(shown)]
    brush = Brush(frames, "", 0.0, [])
    _draw(turns, brush, str(layout.get("barmode", "group")))
    if not frames.pairs:
        frames.pair("xaxis", "yaxis")
    frames.finish()
    notes.draw_shapes(frames)
    notes.write_annotations(frames)
    down = notes.title(frames)
    key = notes.legend(frames, turns, renderer)
    above = HEADING if layout.get("annotations") else 10.0
    frames.margin["t"] = max(notes.place_legend(frames, key, down, renderer) + above, 24)
    frames.margin["r"] += 70 if brush.bars else 0
    _make_room(frames, renderer)
    draw_bars(brush)
    return made


def _draw(turns: list[tuple[dict[str, Any], str]], brush: Brush, together: str) -> None:
    bars = Bars([trace for trace, _ in turns if trace.get("type") in ("bar", "histogram")], together)
    draw: dict[str, Callable[[dict[str, Any], Brush], None]] = {
        "scatter": scatter, "bar": bars.draw, "heatmap": heatmap, "contour": contour,
        "histogram": lambda trace, brush: bars.draw(histogram(trace), brush),
    }  # fmt: skip
    for i, (trace, shade) in enumerate(turns):
        kind = trace.setdefault("type", "scatter")
        if kind not in draw:
            raise OptionError(
                f"a trace of the kind {kind!r} cannot be drawn without a browser; save the figure as .html, or use "
                f"{', '.join(draw)}"
            )
        brush.shade, brush.height = shade, 2 + i / max(len(turns), 1)
        draw[kind](trace, brush)


def _make_room(frames: Frames, renderer: Any) -> None:
    """Widen the margins until labels and titles of the axes fit."""
    frames.place()
    for side in "lbr":
        frames.margin[side] = max(frames.margin[side], 12.0)
    for _ in range(2):  # labels may be others once the axes are smaller
        boxes = [axes.get_tightbbox(renderer) for axes in frames.pairs.values()]
        known = [box for box in boxes if box is not None]
        across, high = frames.figure.get_size_inches() * 72
        frames.margin["l"] += max(max((8 - box.x0 for box in known), default=0.0), 0.0)
        frames.margin["b"] += max(max((8 - box.y0 for box in known), default=0.0), 0.0)
        frames.margin["r"] += max(max((box.x1 - across + 8 for box in known), default=0.0), 0.0)
        limits = {"l": 0.45 * across, "b": 0.45 * high, "r": 0.45 * across}
        frames.margin.update({side: min(frames.margin[side], limit) for side, limit in limits.items()})
        frames.place()
