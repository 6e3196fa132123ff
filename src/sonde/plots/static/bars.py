"""Bars and boxes."""

from __future__ import annotations

from typing import Any

import numpy as np

from sonde.arrays import Array
from sonde.plots.static.brush import Brush
from sonde.plots.static.marks import colours_of, errors
from sonde.plots.static.values import colour, column, plain, spread

GAP = 0.2  # between bars, as a share of their distance


class Bars:
    """Draws the bars of a figure: beside each other, or on top."""

    def __init__(self, traces: list[dict[str, Any]], together: str) -> None:
        self._traces, self._mode = traces, together
        self._ends: dict[tuple[str, str, bool, float], float] = {}  # of stacked bars

    def draw(self, trace: dict[str, Any], brush: Brush) -> None:
        """Draw the bars of a trace."""
        lying = trace.get("orientation") == "h"
        axes = brush.frames.of(trace)
        along, length = ("y", "x") if lying else ("x", "y")
        places, sizes = brush.frames.numbers(trace, along), brush.frames.numbers(trace, length)
        slot = self._distance(places)
        widths = np.array(spread(trace.get("width"), len(places), np.nan), dtype=float)
        widths, places = self._side_by_side(trace, np.where(np.isnan(widths), slot * (1 - GAP), widths), places)
        bases = self._bases(trace, places, sizes, lying, brush)
        paint = colours_of(trace, trace.get("marker", {}), len(places), brush)
        edge = trace.get("marker", {}).get("line", {})
        look = {"color": paint, "linewidth": float(edge.get("width", 0)), "zorder": brush.height,
                "edgecolor": colour(edge["color"]) if edge.get("color") else "none"}  # fmt: skip
        if lying:
            axes.barh(places, sizes, widths, bases, **look)
        else:
            axes.bar(places, sizes, widths, bases, **look)
        errors(axes, trace, (bases + sizes, places) if lying else (places, bases + sizes), brush)
        self._write(trace, (places, bases, sizes), lying, brush)

    @staticmethod
    def _distance(places: Array) -> float:
        distinct = np.unique(places[np.isfinite(places)])
        return float(np.diff(distinct).min()) if len(distinct) > 1 else 1.0

    def _side_by_side(self, trace: dict[str, Any], widths: Array, places: Array) -> tuple[Array, Array]:
        """Return widths and places of bars that stand beside those of other traces."""
        peers = [each for each in self._traces if all(each.get(key) == trace.get(key) for key in ("xaxis", "yaxis"))]
        if self._mode != "group" or len(peers) < 2 or trace.get("base") is not None:
            return widths, places
        turn = next(i for i, each in enumerate(peers) if each is trace)
        return widths / len(peers), places + widths * ((turn + 0.5) / len(peers) - 0.5)

    def _bases(self, trace: dict[str, Any], places: Array, sizes: Array, lying: bool, brush: Brush) -> Array:
        if trace.get("base") is not None:
            told = column(trace["base"]) if not isinstance(trace["base"], int | float) else trace["base"]
            letter = "x" if lying else "y"
            spreads = np.broadcast_to(told, places.shape)
            return brush.frames.places(f"{letter}axis{str(trace.get(letter + 'axis', letter))[1:]}", spreads)
        bases = np.zeros(len(places))
        if self._mode in ("stack", "relative"):
            for i, (place, size) in enumerate(zip(places.tolist(), np.nan_to_num(sizes).tolist(), strict=True)):
                key = (str(trace.get("xaxis")), str(trace.get("yaxis")), size < 0, place)
                bases[i] = self._ends.get(key, 0.0)
                self._ends[key] = bases[i] + size
        return bases

    @staticmethod
    def _write(trace: dict[str, Any], bars: tuple[Array, Array, Array], lying: bool, brush: Brush) -> None:
        """Write the texts of bars at their ends, or inside."""
        if trace.get("text") is None or trace.get("textposition", "none") == "none":
            return
        axes, inside = brush.frames.of(trace), trace["textposition"] == "inside"
        layout, font = brush.frames.layout, trace.get("textfont", {})
        for place, base, size, text in zip(*bars, spread(trace["text"], len(bars[0]), ""), strict=True):
            if not np.isfinite(base + size):
                continue
            end = (base + size / 2 if inside else base + size, place)
            away = 0 if inside else 4 if size >= 0 else -4
            side = "center" if inside else ("left" if lying else "bottom") if size >= 0 else "right" if lying else "top"
            axes.annotate(plain(text), end if lying else end[::-1], xytext=(away, 0) if lying else (0, away),
                          textcoords="offset points", ha=side if lying else "center", va="center" if lying else side,
                          fontsize=float(font.get("size", layout.size - 2)), zorder=brush.height,
                          color=colour(font.get("color", layout.ink)))  # fmt: skip


def histogram(trace: dict[str, Any]) -> dict[str, Any]:
    """Return the bars of a histogram's values."""
    letter = "y" if trace.get("y") is not None else "x"
    values = column(trace[letter])
    told = trace.get(f"{letter}bins") or {}
    if told.get("size"):
        edges = np.arange(told["start"], told["end"] + told["size"] / 2, told["size"])
    else:
        edges = np.histogram_bin_edges(values[np.isfinite(values)], bins=int(trace.get(f"nbins{letter}") or 20))
    counts = np.histogram(values[np.isfinite(values)], edges)[0].astype(float)
    if trace.get("histnorm") in ("probability", "percent"):
        counts *= (100 if trace["histnorm"] == "percent" else 1) / max(counts.sum(), 1)
    other = "x" if letter == "y" else "y"
    return {**trace, "type": "bar", letter: (edges[:-1] + edges[1:]) / 2, other: counts,
            "orientation": "h" if letter == "y" else "v", "width": np.diff(edges)}  # fmt: skip
