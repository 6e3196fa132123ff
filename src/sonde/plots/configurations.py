"""Configurations as figures show them when somebody points at a trial."""

from __future__ import annotations

from typing import Any

from sonde.arrays import Array
from sonde.html import cut
from sonde.plots.text import escaped
from sonde.space import Space
from sonde.space.choices import label
from sonde.text import printable

MOST = 12  # parameters


def described(space: Space, row: Array) -> str:
    """Return the active parameters of a row as text."""
    given = space.codec.configuration(row)
    lines = [f"{_cut(name, 30)} = {_shown(value)}" for name, value in list(given.items())[:MOST]]
    more = [f"and {len(given) - MOST} more"] if len(given) > MOST else []
    return "; ".join([*lines, *more])


def in_lines(text: str) -> str:
    """Return a described configuration for a figure, each parameter in a line of its own."""
    return "<br>".join(escaped(part, len(text)) for part in text.split("; "))


def _shown(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else _cut(label(value), 40)


def _cut(text: str, longest: int) -> str:
    return cut(printable(text), longest)
