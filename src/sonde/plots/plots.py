"""The figures of a study by name: ``study.plot.history()``."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from sonde.extras import require
from sonde.plots.source import Source


class Plots:
    """The figures of a study. Each call returns a Plotly figure; with ``data=True`` the numbers as a ``Table``."""

    def __init__(self, source: Source) -> None:
        self._source = source

    def names(self) -> dict[str, str]:
        """Return the names of the figures, each with what it shows."""
        return {name: _first_line(name) for name in FIGURES}

    def history(self, *, log: bool | None = None, data: bool = False) -> Any:
        """Every trial's value, and the best so far.

        The axis of values is logarithmic where that helps, or as ``log`` says.
        """
        return self._shown("history", data, {}, {"log": log})

    def _shown(self, name: str, data: bool, options: dict[str, Any], drawing: dict[str, Any]) -> Any:
        """Return the table of a figure, or the figure; options of the table, and of its drawing."""
        require("plotly", extra="plots")
        part = import_module(f"sonde.plots.{name}")
        table = part.table(self._source, **options)
        return table if data else part.figure(table, self._source, **drawing)


FIGURES = ("history",)


def _first_line(name: str) -> str:
    return str(getattr(Plots, name).__doc__).splitlines()[0].rstrip(".")
