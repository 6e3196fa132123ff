"""Maps over two parameters: the points of a mesh, and a trace of the numbers there."""

from __future__ import annotations

from typing import Any

import numpy as np

from sonde.arrays import Array
from sonde.plots.activity import Required, required
from sonde.plots.anchors import Anchor, rows_around
from sonde.plots.axes import axis_of
from sonde.plots.grids import cells, grid
from sonde.plots.table import Table
from sonde.space import Space

POINTS = 41  # of a continuous parameter


def needed(space: Space, x: str, y: str) -> Required:
    """Return what other parameters must be for both to be active."""
    first, second = required(space, x), required(space, y)
    both = {parent: tuple(sorted(set(numbers) & set(second.get(parent, numbers)))) for parent, numbers in first.items()}
    return {parent: numbers for parent, numbers in (second | both).items() if parent not in (x, y)}


def mesh(space: Space, anchor: Anchor, x: str, y: str) -> tuple[Array, Array]:
    """Return the numbers (m, 2) of x and y, those of x changing faster, and the rows (m, d) of these points."""
    across, up = grid(space, x, POINTS), grid(space, y, POINTS)
    numbers = np.column_stack([np.tile(across, len(up)), np.repeat(up, len(across))])
    columns = [space.names.index(x), space.names.index(y)]
    return numbers, rows_around(space, anchor, columns, numbers, needed(space, x, y))


def surface(space: Space, x: str, y: str, shown: Table, column: str) -> dict[str, Any]:
    """Return the trace of a column of a table with columns x and y: filled contours, or cells for few values."""
    across, up = np.unique(shown["x"]), np.unique(shown["y"])
    z = np.full((len(up), len(across)), np.nan)
    z[np.searchsorted(up, shown["y"]), np.searchsorted(across, shown["x"])] = shown[column]
    if all(space[name].ordered and axis_of(space, name).size > POINTS for name in (x, y)):
        lines = {"width": 0.5, "color": "rgba(255,255,255,0.5)"}
        return {"type": "contour", "x": across, "y": up, "z": z, "ncontours": 16, "line": lines,
                "contours": {"coloring": "fill"}}  # fmt: skip
    return {"type": "heatmap", "x": cells(space, x, across), "y": cells(space, y, up), "z": z}
