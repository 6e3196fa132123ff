"""Texts of the progress display: counts, numbers, escaped names, and the current activity with its time."""

from __future__ import annotations

import re
import time
from typing import TYPE_CHECKING

from sonde.text import printable

if TYPE_CHECKING:
    from rich.text import Text

_LONGEST = 40  # characters of a study's name


class Stage:
    """The current activity and when it began; Rich draws its state at that moment."""

    def __init__(self) -> None:
        self._now = "", time.monotonic()

    def begin(self, what: str) -> None:
        """Begin an activity; beginning the current one again changes nothing."""
        if what != self._now[0]:
            self._now = short(what, 80), time.monotonic()

    def now(self) -> tuple[str, float]:
        """Return the activity, and its seconds so far."""
        what, since = self._now
        return what, time.monotonic() - since if what else 0.0

    def __str__(self) -> str:
        what, seconds = self.now()
        return f"{what} {seconds:.0f} s" if seconds >= 1 else what

    def __rich__(self) -> Text:
        from rich.text import Text

        return Text(str(self), style="dim", no_wrap=True)


def counted(done: int, total: int | None, first: int) -> str:
    """Return the number of trials as text; ``first`` is the number when the run began."""
    if total is None:
        return f"{done} trials"
    if first >= total:
        return f"{done} trials, {total} asked for: nothing to do"
    return f"{done}/{total} trials" if done <= total else f"{done} trials, {total} asked for"


def number(value: float | None) -> str:
    """Return a value with six digits."""
    return "-" if value is None else f"{value:.6g}"


def kind(what: str) -> str:
    """Return an activity without its numbers."""
    return re.sub(r"[0-9,]+", "#", what)


def short(text: str, longest: int = _LONGEST) -> str:
    """Return a text with control characters escaped, shortened to ``longest`` characters."""
    shown = printable(text)
    return shown if len(shown) <= longest else shown[: longest - 1] + "…"
