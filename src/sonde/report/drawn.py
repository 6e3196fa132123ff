"""The figures of a report, each with its numbers; one that cannot be drawn is a sentence."""

from __future__ import annotations

import html
import json
import re
from typing import Any, NamedTuple

from sonde.plots import Plots
from sonde.plots.table import Table
from sonde.report.source import Reported

TOP = 40  # pixels above a figure without a title, for its legend
TITLE = 60  # pixels of a figure's title, which is the page's here
HEIGHT = 440  # pixels of a figure that does not say
OF_EACH = ("slices", "contours", "importance", "predictions")  # objective, where there are several


class Drawn(NamedTuple):
    """A figure as Plotly's JSON without its template, and its table; or why there is none."""

    name: str
    description: str
    title: str = ""
    subtitle: str = ""
    figure: dict[str, Any] | None = None
    table: Table | None = None
    reason: str = ""

    @property
    def height(self) -> int:
        """Pixels."""
        return int((self.figure or {}).get("layout", {}).get("height") or HEIGHT)


def figures_of(study: Reported) -> list[Drawn]:
    """Return the figures that apply to a study; those of the model for each objective."""
    plot, objectives = study.plot, study.objectives
    return [
        _drawn(plot, name, description, {} if objective is None else {"objective": objective})
        for name, description in plot.names().items()
        for objective in (objectives.names if objectives.several and name in OF_EACH else (None,))
    ]


def _drawn(plot: Plots, name: str, description: str, options: dict[str, str]) -> Drawn:
    draw = getattr(plot, name)
    description += "".join(f": {objective!r}" for objective in options.values())
    try:
        table = draw(data=True, **options)
        figure = json.loads(draw(**options).to_json())
    except Exception as error:  # a report must not be lost for one of its figures
        return Drawn(name, description, reason=f"{type(error).__name__}: {error}")
    if not figure["data"]:
        return Drawn(name, description, reason=table.note or "nothing to show")
    title, subtitle = _headless(figure["layout"])
    title += "".join(f" for {objective}" for objective in options.values() if " for " not in title)
    return Drawn(name, description, title, subtitle, figure, table)


def _headless(layout: dict[str, Any]) -> tuple[str, str]:
    """Take template and titles out of a layout, and return title and subtitle: the page has them as text."""
    layout.pop("template", None)
    title = layout.pop("title", {})
    margin = layout.get("margin", {})
    layout["margin"] = margin | {"t": max(TOP, margin.get("t", 0) - TITLE)}
    return _plain(title.get("text", "")), _plain(title.get("subtitle", {}).get("text", ""))


def _plain(text: str) -> str:
    """Return a text of Plotly, which knows a few tags, as plain text."""
    return html.unescape(re.sub("<[^>]*>", "", re.sub("<br ?/?>", "; ", text)))
