"""The reason of a failure in one line.

For a traceback it is the line of the exception: the first line after the last frame that is not indented. (The last
line may belong to a longer message, or to a note of a library.) For a program it is the first line, which says how the
program ended, and the last line of its output.
"""

from __future__ import annotations

import re
from itertools import dropwhile

_HEADER = re.compile(r"Traceback \(most recent call last\):")
_FRAME = re.compile(r'  File "')
_GROUP = re.compile(r"\s*\+ Exception Group Traceback")
_OF_GROUP = re.compile(r"\s*\| (\S.*)")


def one_line(error: str) -> str:
    """Return an error in one line."""
    lines = [line for line in error.splitlines() if line.strip()]
    if len(lines) < 2:
        return "".join(lines).strip()
    first = lines[0].strip()
    own = _of_group(lines) or _of_traceback(lines)
    if own is not None and (_HEADER.match(first) or _FRAME.match(lines[0]) or _GROUP.match(first)):
        return own
    return f"{first}: {own or lines[-1].strip()}"


def kind(reason: str) -> str:
    """Return what reasons have in common that differ in numbers only."""
    return re.sub(r"[0-9]+", "#", reason)


def _of_traceback(lines: list[str]) -> str | None:
    """Return the line of the last exception of a traceback; with the next line if it ends with a colon."""
    headers = [i for i, line in enumerate(lines) if _HEADER.match(line)]
    frames = headers or [i for i, line in enumerate(lines) if _FRAME.match(line)]  # the beginning may be cut off
    if not frames:
        return None
    rest = dropwhile(lambda line: line[0].isspace(), lines[frames[-1] + 1 :])
    after = [line.strip() for line in rest]
    if not after:
        return None
    return f"{after[0]} {after[1]}" if after[0].endswith(":") and len(after) > 1 else after[0]


def _of_group(lines: list[str]) -> str | None:
    begun = next((i for i, line in enumerate(lines) if _GROUP.match(line)), len(lines))
    return next((found[1].strip() for line in lines[begun:] if (found := _OF_GROUP.match(line))), None)
