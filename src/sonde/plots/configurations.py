"""Configurations as figures show them when somebody points at a trial."""

from __future__ import annotations

from typing import Any

from sonde.arrays import Array
from sonde.plots.text import escaped
from sonde.space import Space
from sonde.space.choices import label

MOST = 12  # parameters


def described(space: Space, row: Array) -> str:
    """Return the active parameters of a row, one in each line."""
    given = space.codec.configuration(row)
    lines = [f"{escaped(name, 30)} = {_shown(value)}" for name, value in list(given.items())[:MOST]]
    more = [f"and {len(given) - MOST} more"] if len(given) > MOST else []
    return "<br>".join([*lines, *more])


def _shown(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else escaped(label(value), 40)
