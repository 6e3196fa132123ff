"""Pieces of the page: sections, tables that scroll, dates and plurals."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from sonde.html import cut, escaped, table

LONGEST = 300  # characters of a cell


def section(anchor: str, title: str, body: str) -> str:
    """Return a section with a heading that a link can lead to."""
    return (
        f'<section id="{anchor}" aria-labelledby="{anchor}-title"><h2 id="{anchor}-title">{title}</h2>{body}</section>'
    )


def paragraph(text: str, kind: str = "") -> str:
    """Return a paragraph of plain text."""
    return f'<p dir="auto"{f" class={kind}" if kind else ""}>{escaped(text)}</p>'


def scrolled(rows: Iterable[Sequence[Any]], head: Sequence[str], label: str) -> str:
    """Return a table that scrolls where it is wider than the page; long texts are cut."""
    shown = [[_cell(cell) for cell in row] for row in rows]
    inner = table(shown, head, styled=False)
    return f'<div class="scroll" tabindex="0" role="region" aria-label="{escaped(label)}">{inner}</div>'


def facts(pairs: Mapping[str, Any]) -> str:
    """Return names and values."""
    shown = [(name, cut(str(value), 4 * LONGEST)) for name, value in pairs.items()]
    return f'<div class="facts scroll">{table(shown, styled=False)}</div>'


def folded(title: str, body: str) -> str:
    """Return a part that opens at a click."""
    return f"<details><summary>{escaped(title)}</summary>{body}</details>"


def plural(count: int, noun: str) -> str:
    """Return a count and its noun: 1 trial, 2 trials."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def when(moment: datetime) -> str:
    """Return a date and time in UTC."""
    return f"{moment.day} {moment:%B %Y, %H:%M} UTC"


def listed(configuration: Mapping[str, Any]) -> str:
    """Return a configuration in one line."""
    values = (
        (name, f"{value:.6g}" if isinstance(value, float) else str(value)) for name, value in configuration.items()
    )
    return cut(", ".join(f"{cut(name)} = {cut(value, 60)}" for name, value in values), LONGEST)


def _cell(cell: Any) -> Any:
    return cell if isinstance(cell, int | float) and not isinstance(cell, bool) else cut(_text(cell), LONGEST)


def _text(cell: Any) -> str:
    return "" if cell is None else str(cell)
