"""The class of all figures: a Plotly figure that can also be written as a static picture, without a browser."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import plotly.graph_objects as go

from sonde.errors import OptionError
from sonde.plots.theme import template

PICTURES = ("png", "svg", "pdf")


class Figure(go.Figure):  # type: ignore[misc]
    """A Plotly figure with ``save`` and ``dark``."""

    @classmethod
    def of(cls, traces: Sequence[Mapping[str, Any]], layout: Mapping[str, Any]) -> Figure:
        """Return a figure of traces and a layout, in the theme."""
        return cls({"data": list(traces), "layout": {"template": template(), **layout}})

    def dark(self) -> Figure:
        """Return a copy for a dark page."""
        copy = Figure(self)
        copy.update_layout(template=template(dark=True))
        return copy

    def save(self, path: str | os.PathLike[str], *, width: int = 900, height: int = 500) -> None:
        """Write to a file, by its ending: PNG, SVG or PDF (Matplotlib), HTML (interactive, complete) or JSON."""
        target = Path(path)
        kind = target.suffix.removeprefix(".").lower()
        if kind == "html":
            self.write_html(target, include_plotlyjs=True)
        elif kind == "json":
            target.write_text(self.to_json(), encoding="utf-8")
        elif kind in PICTURES:
            from sonde.plots.static import save

            save(self.to_dict(), target, width, height)
        else:
            raise OptionError(f"the file must end in .{', .'.join(PICTURES)}, .html or .json, got {str(target)!r}")
