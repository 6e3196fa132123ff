"""The class of all figures: a Plotly figure that can also be written as a static picture, without a browser."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import plotly.graph_objects as go

from sonde.errors import OptionError
from sonde.plots.text import escaped
from sonde.plots.theme import template

PICTURES = ("png", "svg", "pdf")
WIDTH, HEIGHT = 900, 500
LEAST, MOST = 100, 10_000  # pixels of a side


def _size(given: Any, name: str) -> int:
    if isinstance(given, bool) or not isinstance(given, int | float) or not LEAST <= given <= MOST:
        raise OptionError(f"{name} must be a number of pixels from {LEAST} to {MOST:,}, got {given!r}")
    return round(given)


class Figure(go.Figure):  # type: ignore[misc]
    """A Plotly figure with ``save`` and ``dark``."""

    @classmethod
    def of(cls, traces: Sequence[Mapping[str, Any]], layout: Mapping[str, Any]) -> Figure:
        """Return a figure of traces and a layout, in the theme."""
        return cls({"data": list(traces), "layout": {"template": template(), **layout}})

    @classmethod
    def empty(cls, title: str, sentence: str) -> Figure:
        """Return a figure without data that says why, and what to do."""
        hidden = {"visible": False}
        annotation = {"text": escaped(sentence, 300), "x": 0.5, "y": 0.5, "xref": "paper", "yref": "paper"}
        return cls.of([], {"title": {"text": title}, "xaxis": hidden, "yaxis": hidden, "annotations": [annotation]})

    def dark(self) -> Figure:
        """Return a copy for a dark page."""
        whole = self.to_plotly_json()
        return Figure({**whole, "layout": {**whole["layout"], "template": template(dark=True)}})

    def save(self, path: str | os.PathLike[str], *, width: int | None = None, height: int | None = None) -> None:
        """Write to a file, by its ending: PNG, SVG or PDF (Matplotlib), HTML (interactive, complete) or JSON.

        Width and height are those of a picture in pixels of a page; a PNG has twice as many, for sharp screens.
        """
        target = Path(path)
        size = (
            _size(width or self.layout.width or WIDTH, "width"),
            _size(height or self.layout.height or HEIGHT, "height"),
        )
        kind = target.suffix.removeprefix(".").lower()
        if kind == "html":
            self.write_html(target, include_plotlyjs=True)
        elif kind == "json":
            target.write_text(self.to_json(), encoding="utf-8")
        elif kind in PICTURES:
            from sonde.plots.static import save

            save(self.to_dict(), target, *size)
        else:
            raise OptionError(f"the file must end in .{', .'.join(PICTURES)}, .html or .json, got {str(target)!r}")
