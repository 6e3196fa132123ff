"""A Plotly figure as a static picture, drawn by Matplotlib."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any


def save(figure: Mapping[str, Any], path: Path, width: int, height: int) -> None:
    """Write a figure to a PNG, SVG or PDF file of a size in pixels."""
