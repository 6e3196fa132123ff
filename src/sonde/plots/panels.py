"""Several panels in one figure, each with axes of its own."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

GAP = 0.07  # between columns, as a share of the whole
HEIGHT, BETWEEN, MARGINS = 250, 80, 150  # of a row of panels, between two, and of what is around them, in pixels


class Panel(NamedTuple):
    """The names of a panel's axes in traces (``x2``) and in the layout (``xaxis2``), and their domains."""

    x: str
    y: str
    xaxis: str
    yaxis: str
    across: list[float]
    up: list[float]

    @property
    def axes(self) -> dict[str, str]:
        """The axes of a trace in this panel."""
        return {"xaxis": self.x, "yaxis": self.y}


def panels(count: int, columns: int = 3, gap: float = GAP, below: int = 0) -> list[Panel]:
    """Return panels in rows, from the top left; ``gap`` is that between columns, ``below`` more pixels between rows."""
    wide = max(1, min(columns, count))
    high = math.ceil(count / wide)
    return [_panel(i, _interval(i % wide, wide, gap), (i // wide, high), below) for i in range(count)]


def height(count: int, columns: int = 3, below: int = 0) -> int:
    """Return the height of a figure with panels, in pixels."""
    return (HEIGHT + below) * max(1, math.ceil(count / max(1, min(columns, count)))) + MARGINS


def _panel(place: int, across: list[float], rows: tuple[int, int], below: int) -> Panel:
    number = "" if place == 0 else str(place + 1)
    row, high = rows
    up = _interval(high - 1 - row, high, (BETWEEN + below) / ((HEIGHT + below) * high))
    return Panel(f"x{number}", f"y{number}", f"xaxis{number}", f"yaxis{number}", across, up)


def _interval(place: int, count: int, gap: float) -> list[float]:
    width = (1 - gap * (count - 1)) / count
    return [place * (width + gap), min(1.0, place * (width + gap) + width)]


def axes_of(panel: Panel, x: dict[str, Any], y: dict[str, Any]) -> dict[str, Any]:
    """Return the layout of a panel's axes."""
    return {
        panel.xaxis: {**x, "domain": panel.across, "anchor": panel.y},
        panel.yaxis: {**y, "domain": panel.up, "anchor": panel.x},
    }


def headings(places: Sequence[Panel], texts: Sequence[str]) -> list[dict[str, Any]]:
    """Return a heading above each panel."""
    look = {"x": 0, "y": 1, "xanchor": "left", "yanchor": "bottom", "yshift": 3, "showarrow": False}
    return [
        {**look, "text": text, "xref": f"{place.x} domain", "yref": f"{place.y} domain"}
        for place, text in zip(places, texts, strict=True)
    ]
