"""Texts of users in figures: Plotly reads a little HTML in them, so that they are escaped, and shortened."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from sonde.text import printable

# $ would begin a formula where a page has MathJax, %{ the name of a number in a text that is shown at a point
_ENTITIES = (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ("$", "&#36;"), ("%{", "&#37;{"))
LONGEST = 60  # characters of a name or an error that a figure shows


def distinct(texts: Sequence[str]) -> list[str]:
    """Return texts, each another one: repeated ones get numbers."""
    counts: Counter[str] = Counter()
    result = []
    for text in texts:
        counts[text] += 1
        result.append(text if counts[text] == 1 else f"{text} #{counts[text]}")
    return result


def counted(count: int, noun: str) -> str:
    """Return a number of things in words: ``1 trial``, ``2,000 trials``."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def escaped(text: Any, longest: int = LONGEST) -> str:
    """Return a text as Plotly shows it unchanged, in one line, cut to a length that fits a figure."""
    line = printable(str(text))
    cut = line if len(line) <= longest else f"{line[: longest - 1]}…"
    for character, entity in _ENTITIES:
        cut = cut.replace(character, entity)
    return cut
