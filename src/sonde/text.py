"""Text that somebody else wrote, on its way to a terminal."""

from __future__ import annotations

import re

# Control characters of ASCII and Latin-1 (colours, cursor, clipboard, titles), separators and overrides of direction
# that make a line read differently from what it says, and halves of surrogate pairs, which cannot be written at all.
_UNSAFE = "\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff"
_IN_A_LINE = re.compile(f"[\t\n\r{_UNSAFE}]")
_IN_LINES = re.compile(f"[{_UNSAFE}]|\r(?!\n)")


def printable(text: str, *, lines: bool = False) -> str:
    r"""Return a text with everything that steers a terminal escaped, as in ``\x1b``; ``lines`` keeps ends of lines."""
    return (_IN_LINES if lines else _IN_A_LINE).sub(_escaped, text)


def is_encodable(text: str) -> bool:
    """Whether a text can be written at all: no halves of surrogate pairs."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _escaped(match: re.Match[str]) -> str:
    return match.group().encode("unicode_escape").decode()
