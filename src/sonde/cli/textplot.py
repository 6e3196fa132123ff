"""A step curve as text, in braille characters of 2 x 4 dots, or in ASCII."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence
from typing import NamedTuple

DECADES = 2.0  # beyond which the axis of positive values is logarithmic
_DOTS = ((0x01, 0x02, 0x04, 0x40), (0x08, 0x10, 0x20, 0x80))  # bits of a braille cell: column, row from the top
_BLANK = 0x2800


class Axis(NamedTuple):
    """The axis of values."""

    low: float
    high: float
    log: bool

    def share(self, value: float) -> float:
        """Return where a value is, from 0 to 1; the middle where all values are equal."""
        low, high, here = (self._scaled(each) for each in (self.low, self.high, value))
        return (here - low) / (high - low) if high > low else 0.5

    def at(self, share: float) -> float:
        """Return the value at a share of the axis."""
        if self.log:
            return math.exp((1 - share) * math.log(self.low) + share * math.log(self.high))
        return (1 - share) * self.low + share * self.high

    def _scaled(self, value: float) -> float:
        return math.log(value) if self.log else value / 2  # the range of huge values is finite


def axis(values: Sequence[float]) -> Axis:
    """Return the axis of some values, logarithmic if they are positive and span more than two decades."""
    low, high = min(values), max(values)
    return Axis(low, high, low > 0 and math.log10(high) - math.log10(low) > DECADES)


def step_plot(
    steps: Sequence[tuple[int, float]], end: int, width: int, height: int, *, ascii_only: bool = False
) -> list[str]:
    """Return the lines of a plot; ``steps`` have the places, from 1 to ``end``, where the curve takes a new value."""
    scale = axis([value for _, value in steps])
    across, down = (1, 1) if ascii_only else (2, 4)  # dots of a character
    dots = _dots(steps, end, scale, width * across, height * down)
    cells = [[0] * width for _ in range(height)]
    for column, row in dots:
        cells[row // down][column // across] |= 1 if ascii_only else _DOTS[column % 2][row % 4]
    drawn = ["".join(_character(cell, ascii_only) for cell in line) for line in cells]
    return _framed(drawn, scale, end, ascii_only)


def _dots(steps: Sequence[tuple[int, float]], end: int, scale: Axis, columns: int, rows: int) -> set[tuple[int, int]]:
    """Return the dots of the curve: one in each column, and those that join it to the column before."""
    places = [place for place, _ in steps]
    heights = [round((1 - scale.share(value)) * (rows - 1)) for _, value in steps]
    found: set[tuple[int, int]] = set()
    before = heights[0]
    for column in range(columns):
        here = bisect_right(places, 1 + column * (end - 1) / max(1, columns - 1)) - 1
        if here < 0:
            continue
        row = heights[here]
        first, last = sorted((row, before))
        found |= {(column, each) for each in range(first, last + 1)}
        before = row
    return found


def _character(cell: int, ascii_only: bool) -> str:
    if ascii_only:
        return "*" if cell else " "
    return chr(_BLANK + cell) if cell else " "


def _framed(drawn: Sequence[str], scale: Axis, end: int, ascii_only: bool) -> list[str]:
    """Return the lines with their axes: values at the top, in the middle and at the bottom, and the first and last."""
    height, width = len(drawn), len(drawn[0])
    rows = [height - 1] if scale.low == scale.high else [0, (height - 1) // 2, height - 1]
    labels = {row: f"{scale.at(1 - row / max(1, height - 1)):.3g}" for row in rows}
    margin = max(map(len, labels.values()))
    tick, side, corner, floor = ("+", "|", "+", "-") if ascii_only else ("┤", "│", "└", "─")
    lines = [
        f"{labels.get(row, ''):>{margin}} {tick if row in labels else side}{line}" for row, line in enumerate(drawn)
    ]
    below = "1" if end == 1 else f"1{end:>{width - 1}}"
    return [line.rstrip() for line in [*lines, f"{'':>{margin}} {corner}{floor * width}", f"{'':>{margin + 2}}{below}"]]
