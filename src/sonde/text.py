"""Escapes text of other people before it is printed to a terminal."""

from __future__ import annotations

import re

# Control characters of ASCII and Latin-1 (colours, cursor, clipboard, titles), separators and overrides of direction,
# which change how a line reads, and lone surrogates, which cannot be encoded.
_UNSAFE = "\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff"
_IN_A_LINE = re.compile(f"[\t\n\r{_UNSAFE}]")
_IN_LINES = re.compile(f"[{_UNSAFE}]|\r(?!\n)")


def printable(text: str, *, lines: bool = False) -> str:
    r"""Return a text with control characters escaped, as ``\x1b``; ``lines`` keeps line ends."""
    return (_IN_LINES if lines else _IN_A_LINE).sub(_escaped, text)


def is_encodable(text: str) -> bool:
    """Whether a text can be encoded: it has no lone surrogates."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def folder_name(name: str) -> str:
    """Return the name of a study as the name of a folder."""
    return re.sub(r"[^\w.-]", "_", name).lstrip(".") or "study"


def _escaped(match: re.Match[str]) -> str:
    return match.group().encode("unicode_escape").decode()
