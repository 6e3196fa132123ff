"""Small pieces of HTML for notebooks and pages: escaped text, tables, and line drawings as inline SVG.

Everything that comes from others is escaped. Styles are inline and use the colour of the text around them, so that the
pieces fit a light page and a dark one.
"""

from __future__ import annotations

import html
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from sonde.arrays import Array, Integers, Mask
from sonde.text import printable

ACCENT = "#2a85cc"  # can be read on white and on black
DECADES = 2.0  # that positive values must span for a logarithmic scale
MANY = 5_000  # points above which a drawing shows the range of each column of pixels
HIGHEST = 10_000  # pixels of a drawing
PAD = 3.0  # pixels between a drawing and its edge

_CELL = (
    "text-align:{};padding:1px 12px 1px 0;vertical-align:top;overflow-wrap:anywhere;font-variant-numeric:tabular-nums"
)


def escaped(text: Any) -> str:
    """Return any text as HTML; control characters and overrides of direction are spelt out."""
    return html.escape(printable(str(text), lines=True))


def shown(cell: Any) -> str:
    """Return a value as text: numbers with six digits, several with their names, nothing for None and NaN."""
    if cell is None or (isinstance(cell, float) and cell != cell):
        return ""
    if isinstance(cell, Mapping):
        return ", ".join(f"{name} = {shown(value)}" for name, value in cell.items())
    return f"{cell:.6g}" if isinstance(cell, float) else str(cell)


def cut(text: str, longest: int = 40) -> str:
    """Return a text, or its beginning where it is longer."""
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


def table(rows: Iterable[Sequence[Any]], head: Sequence[str] = (), *, styled: bool = True) -> str:
    """Return rows of cells as a table; numbers stand at the right. A page with a style of its own is not ``styled``.

    A name of a column that is too long is cut, and whole where a pointer rests on it.
    """
    body = [list(row) for row in rows]
    numeric = [bool(body) and all(_is_number(row[k]) for row in body) for k in range(len(head))]
    names = "".join(
        f'<th scope="col" dir="auto" title="{escaped(name)}"{_look(right, styled)}>{escaped(cut(name))}</th>'
        for name, right in zip(head, numeric, strict=True)
    )
    cells = ("".join(_cell(cell, styled) for cell in row) for row in body)
    lines = "".join(f"<tr>{line}</tr>" for line in cells)
    return f"<table>{f'<thead><tr>{names}</tr></thead>' if head else ''}<tbody>{lines}</tbody></table>"


def card(title: str, facts: Iterable[tuple[str, Any]], drawing: str = "", more: str = "") -> str:
    """Return a title, a table of facts and beside it a drawing; ``drawing`` and ``more`` are HTML."""
    picture = f'<div style="flex:none">{drawing}</div>' if drawing else ""
    return (
        f'<div style="font-family:system-ui,sans-serif;line-height:1.45"><div dir="auto" style="font-weight:600;'
        f'overflow-wrap:anywhere">{escaped(title)}</div><div style="display:flex;flex-wrap:wrap;gap:8px 28px;'
        f'align-items:flex-start"><div style="max-width:48em">{_facts(facts)}</div>{picture}</div>{more}</div>'
    )


def sparkline(values: Any, width: int = 220, height: int = 56) -> str:
    """Return a small drawing of the best values so far; nothing where no value is finite."""
    heights = np.asarray(values, dtype=float)
    return chart(np.arange(len(heights)), line=heights, size=(width, height), what="best value after each trial")


def chart(
    x: Any, *, line: Any = None, points: Any = None, size: tuple[int, int] = (220, 56), what: str, scaled: bool = True
) -> str:
    """Return a drawing of steps and points over x, which ascends; ``what`` is read out instead of it.

    Values have a logarithmic scale where they are positive and span more than two decades, unless ``scaled`` is False.
    """
    x = np.asarray(x, dtype=float)
    lines, dots = (
        np.asarray(np.full(len(x), np.nan) if each is None else each, dtype=float) for each in (line, points)
    )
    both = np.concatenate([lines, dots])
    vertical = Scale.of(both, size[1] - PAD, PAD, log=scaled and _wide(both))
    horizontal = Scale.of(x, PAD, size[0] - PAD)
    drawn = "".join([
        _dots(horizontal(x), vertical(dots)) if points is not None else "",
        _steps(horizontal(x), vertical(lines)) if line is not None else "",
    ])  # fmt: skip
    return _svg(drawn, size, what) if drawn else ""


def scatter(x: Any, y: Any, *, size: int = 150, what: str) -> str:
    """Return a square drawing of points over x, with the diagonal on which both are equal."""
    x, y = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
    both = np.concatenate([x, y])
    log = _wide(both)
    right, up = Scale.of(both, PAD, size - PAD, log=log), Scale.of(both, size - PAD, PAD, log=log)
    drawn = _dots(right(x), up(y))
    diagonal = f'<path d="M{PAD} {size - PAD}L{size - PAD} {PAD}" stroke="currentColor" opacity=".35"/>'
    return _svg(diagonal + drawn, (size, size), what) if drawn else ""


class Scale(NamedTuple):
    """Maps values to pixels."""

    low: float
    high: float
    start: float
    end: float
    log: bool
    unit: float  # values are divided by it, so that the range of huge ones is finite

    @classmethod
    def of(cls, values: Array, start: float, end: float, *, log: bool = False) -> Scale:
        """Return the scale of the finite values."""
        finite = values[np.isfinite(values)]
        unit = float(np.max(np.abs(finite), initial=0.0)) or 1.0
        moved = np.log10(finite) if log else finite / unit
        return cls(*((float(moved.min()), float(moved.max())) if len(moved) else (0.0, 0.0)), start, end, log, unit)

    def __call__(self, values: Array) -> Array:
        """Return pixels; NaN where a value is not finite. Equal values are in the middle."""
        finite = np.where(np.isfinite(values), values, np.nan)
        moved = np.log10(finite) if self.log else finite / self.unit
        share = (moved - self.low) / (self.high - self.low) if self.high > self.low else 0.5 + 0 * moved
        return np.asarray(self.start + share * (self.end - self.start))


def _svg(drawn: str, size: tuple[int, int], what: str) -> str:
    width, height = size
    return (
        f'<svg role="img" aria-label="{escaped(what)}" viewBox="0 0 {width} {height}" width="{width}" '
        f'height="{height}" fill="none" style="max-width:100%">{drawn}</svg>'
    )


def _steps(x: Array, y: Array) -> str:
    """Return a line of steps: each value holds until the next one."""
    known = ~np.isnan(y)
    if not known.any():
        return ""
    x, y = x[known], y[known]
    last = np.append(np.round(x[1:]) != np.round(x[:-1]), True)  # of the values in a column of pixels
    last[0] = True
    moves = "".join(f"H{right:.1f}V{up:.1f}" for right, up in zip(x[last].tolist(), y[last].tolist(), strict=True))
    look = f'stroke="{ACCENT}" stroke-width="2" stroke-linejoin="round" stroke-linecap="round"'  # one value is a dot
    return f'<path d="M{x[0]:.1f} {y[0]:.1f}{moves}" {look}/>'


def _dots(x: Array, y: Array) -> str:
    """Return points; of many, the range in each column of pixels."""
    known = ~(np.isnan(x) | np.isnan(y))
    if not known.any():
        return ""
    place = np.unique(HIGHEST * np.round(x[known]).astype(np.int64) + np.round(y[known]).astype(np.int64))
    pixels = np.stack(np.divmod(place, HIGHEST)).T
    if known.sum() > MANY:
        path = "".join(f"M{column} {low}V{high}" for column, low, high in _ranges(pixels))
    else:
        path = "".join(f"M{right} {up}h0" for right, up in pixels.tolist())
    return f'<path d="{path}" stroke="currentColor" opacity=".55" stroke-width="4" stroke-linecap="round"/>'


def _ranges(pixels: Integers) -> list[tuple[int, int, int]]:
    """Return lowest and highest y of each x; pixels are sorted by x, then y."""
    first: Mask = np.append(True, pixels[1:, 0] != pixels[:-1, 0])
    last = np.append(first[1:], True)
    return list(zip(pixels[first, 0].tolist(), pixels[first, 1].tolist(), pixels[last, 1].tolist(), strict=True))


def _wide(values: Array) -> bool:
    finite = values[np.isfinite(values)]
    if not len(finite) or finite.min() <= 0:
        return False
    return bool(np.log10(finite.max()) - np.log10(finite.min()) > DECADES)


def _cell(cell: Any, styled: bool) -> str:
    return f'<td dir="auto"{_look(_is_number(cell), styled)}>{escaped(shown(cell))}</td>'


def _look(right: bool, styled: bool) -> str:
    if not styled:
        return ' class="number"' if right else ""
    return f' style="{_CELL.format("right" if right else "left")}"'


def _facts(facts: Iterable[tuple[str, Any]]) -> str:
    """Return names and values as a table; a name that is too long is cut, and whole where a pointer rests on it."""
    name_style = f"{_CELL.format('left')};white-space:nowrap;opacity:.75"
    rows = "".join(
        f'<tr><td dir="auto" style="{name_style}" title="{escaped(name)}">{escaped(cut(name))}</td>'
        f'<td dir="auto" style="{_CELL.format("left")}">{escaped(shown(value))}</td></tr>'
        for name, value in facts
    )
    return f"<table><tbody>{rows}</tbody></table>"


def _is_number(cell: Any) -> bool:
    return isinstance(cell, int | float) and not isinstance(cell, bool)
