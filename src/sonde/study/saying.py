"""Words of the progress: counts, numbers, names that do no harm to a terminal, and what is being done for how long."""

from __future__ import annotations

import re
import time
from typing import TYPE_CHECKING

from sonde.text import printable

if TYPE_CHECKING:
    from rich.text import Text

_LONGEST = 40  # characters of a study's name


class Stage:
    """What is being done, and since when; Rich draws it as it is at that moment."""

    def __init__(self) -> None:
        self._now = "", time.monotonic()

    def begin(self, what: str) -> None:
        """Change what is being done; the same again goes on."""
        if what != self._now[0]:
            self._now = short(what, 80), time.monotonic()

    def now(self) -> tuple[str, float]:
        """Return what is being done, and for how many seconds."""
        what, since = self._now
        return what, time.monotonic() - since if what else 0.0

    def __str__(self) -> str:
        what, seconds = self.now()
        return f"{what} {seconds:.0f} s" if seconds >= 1 else what

    def __rich__(self) -> Text:
        from rich.text import Text

        return Text(str(self), style="dim", no_wrap=True)


def counted(done: int, total: int | None, first: int) -> str:
    """Return how many trials there are; ``first`` is how many there were when the run began."""
    if total is None:
        return f"{done} trials"
    if first >= total:
        return f"{done} trials, {total} asked for: nothing to do"
    return f"{done}/{total} trials" if done <= total else f"{done} trials, {total} asked for"


def number(value: float | None) -> str:
    """Return a value for the eye."""
    return "-" if value is None else f"{value:.6g}"


def kind(what: str) -> str:
    """Return what is being done without its numbers."""
    return re.sub(r"[0-9,]+", "#", what)


def short(text: str, longest: int = _LONGEST) -> str:
    """Return a text in which nothing moves a cursor or changes a colour, and not too long."""
    shown = printable(text)
    return shown if len(shown) <= longest else shown[: longest - 1] + "…"
