"""Many points as counts in cells: all are in them, and a browser draws a few thousand cells."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sonde.arrays import Array
from sonde.plots.theme import GREYS

CELLS = (80, 60)


def density(x: Array, y: Array, logs: tuple[bool, bool], name: str) -> dict[str, Any]:
    """Return a heat map of how many points are in each cell; the colour is logarithmic, empty cells are clear."""
    edges = [_edges(values, count, log) for values, count, log in zip((x, y), CELLS, logs, strict=True)]
    counts = np.histogram2d(x, y, bins=edges)[0].T
    shades = np.where(counts > 0, np.log10(np.maximum(counts, 1)), np.nan)
    return {"type": "heatmap", "name": name, "x": edges[0], "y": edges[1], "z": shades, "customdata": counts,
            "zmin": -0.5, "colorscale": [list(stop) for stop in GREYS], "showscale": False,
            "hovertemplate": f"%{{customdata}} {name}<extra></extra>"}  # fmt: skip


def _edges(values: Array, count: int, log: bool) -> Array:
    known = values[np.isfinite(values) & ((values > 0) | (not log))]
    low, high = float(known.min()), float(known.max())
    if low == high:
        low, high = (low / 2, high * 2) if log else (low - 0.5, high + 0.5)
    edges = np.geomspace(low, high, count + 1) if log else np.linspace(low, high, count + 1)
    edges[-1] = np.nextafter(max(edges[-1], high), np.inf)
    edges[0] = min(edges[0], low)
    return edges


def columns_of_counts(columns: Sequence[Array], bins: int = 30) -> dict[str, Any]:
    """Return a heat map with a narrow column for each of several variables from 0 to 1: the share in each cell."""
    edges = np.linspace(0.0, 1.0, bins + 1)
    x, z = [], []
    for place, values in enumerate(columns):
        counts = np.histogram(values[np.isfinite(values)], edges)[0]
        x += [place - 0.05, place + 0.05]
        z += [np.where(counts > 0, counts / max(counts.max(), 1), np.nan), np.full(bins, np.nan)]
    return {"type": "heatmap", "name": "all trials", "x": np.array(x), "y": edges, "z": np.array(z[:-1]).T,
            "zmin": 0, "zmax": 1, "colorscale": [list(stop) for stop in GREYS], "showscale": False,
            "hoverinfo": "skip"}  # fmt: skip
