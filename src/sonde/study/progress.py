"""The progress of a run: a bar in a terminal or notebook, otherwise a line from time to time.

A notebook has the history as a drawing below the bar. Bar and lines
show how many trials are done, the current activity, and how many seconds it has taken so far.
"""

from __future__ import annotations

import re
import sys
import threading
import time
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Self

from sonde.text import printable

if TYPE_CHECKING:
    from rich.text import Text

    from sonde.study.live import LiveFigure
    from sonde.trials import History

_LINE_EVERY = 10.0  # seconds, where there is no terminal
_SILENCE = 2.0  # seconds that a new activity may take before a line reports it
_CHECK = 0.25  # seconds between two checks whether a line is due


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


class Progress:
    """Shows the progress of a run. The base class shows nothing."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Leave the last state visible."""

    def show(self, done: int, failed: int, best: float | None, front: int | None = None, stopped: int = 0) -> None:
        """Show the counts of this run and the best value so far; of several objectives, the size of the front."""

    def draw(self, history: History) -> None:
        """Draw the history, where there is room for a drawing."""

    def stage(self, what: str) -> None:
        """Show the activity that begins; "" when it ends."""


class Bar(Progress):
    """A Rich progress bar; Rich redraws it regularly, so that its seconds advance. A notebook has a drawing below."""

    def __init__(self, title: str, total: int | None, console: Any) -> None:
        from rich.console import Group
        from rich.live import Live
        from rich.progress import BarColumn, TextColumn, TimeElapsedColumn
        from rich.progress import Progress as Columns

        self._total = total
        self._stage = Stage()
        columns = [TextColumn(f"{{task.{each}}}", markup=False) for each in
                   ("fields[count]", "fields[best]", "fields[failed]")]  # fmt: skip
        title_column = TextColumn("{task.description}", style="bold", markup=False)
        self._bar = Columns(title_column, BarColumn(20), *columns, TimeElapsedColumn(), console=console)
        # The activity has a line of its own, where a long text has room in a narrow terminal.
        self._live = Live(Group(self._bar, self._stage), console=console, refresh_per_second=10)
        self._task = self._bar.add_task(short(title), total=total, count="", best="", failed="")
        self._first: int | None = None
        self._in_notebook = console.is_jupyter
        self._figure: LiveFigure | None = None

    def __enter__(self) -> Self:
        self._live.start(refresh=True)
        if self._in_notebook:
            from sonde.study.live import LiveFigure

            self._figure = LiveFigure()
        return self

    def __exit__(self, *_: object) -> None:
        if self._figure is not None:
            self._figure.finish()
        self._live.update(self._bar, refresh=True)  # in a notebook stop() does not redraw, and would not show the end
        self._live.stop()

    def show(self, done: int, failed: int, best: float | None, front: int | None = None, stopped: int = 0) -> None:
        self._first = done if self._first is None else self._first
        self._bar.update(
            self._task, completed=done if self._total is None else min(done, self._total),
            count=counted(done, self._total, self._first), best=goal(best, front),
            failed=ended_early(failed, stopped),
        )  # fmt: skip

    def draw(self, history: History) -> None:
        if self._figure is not None:
            self._figure.draw(history)

    def stage(self, what: str) -> None:
        self._stage.begin(what)


@dataclass
class Lines(Progress):
    """Lines on standard error: every few seconds, when a new activity takes long, and at the end."""

    title: str
    total: int | None
    _stage: Stage = field(default_factory=Stage)
    _started: float = field(default_factory=time.monotonic)
    _printed: float = field(default_factory=time.monotonic)
    _reported: set[str] = field(default_factory=set)
    _state: tuple[int, str, str] | None = None
    _first: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _over: threading.Event = field(default_factory=threading.Event)

    def __enter__(self) -> Self:
        self._watch = threading.Thread(target=self._print_when_due, name="sonde-progress", daemon=True)
        self._watch.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._watch.join()
        self._stage.begin("")
        self._print()

    def show(self, done: int, failed: int, best: float | None, front: int | None = None, stopped: int = 0) -> None:
        if self._state is None:
            self._first = done
        self._state = done, goal(best, front), ended_early(failed, stopped)

    def stage(self, what: str) -> None:
        self._stage.begin(what)

    def _print_when_due(self) -> None:
        while not self._over.wait(_CHECK):
            what, seconds = self._stage.now()
            news = seconds >= _SILENCE and kind(what) not in self._reported
            if news or time.monotonic() - self._printed >= _LINE_EVERY:
                self._reported.add(kind(what))
                self._print()

    def _print(self) -> None:
        if self._state is None:
            return
        done, best, early = self._state
        trouble = f", {early}" if early else ""
        stage = f"; {self._stage}" if str(self._stage) else ""
        count, elapsed = counted(done, self.total, self._first), time.monotonic() - self._started
        line = f"{short(self.title)}: {count}, {best}{trouble}, {elapsed:.0f} s{stage}\n"
        with self._lock:
            sys.stderr.write(line)
            sys.stderr.flush()
        self._printed = time.monotonic()


def progress_for(title: str, total: int | None, *, wanted: bool) -> Progress:
    """Return the progress display for this terminal, notebook or log."""
    if not wanted:
        return Progress()
    from rich.console import Console

    console = Console(stderr=True)
    # In a notebook Rich needs ipywidgets; without them it would show a warning and no bar.
    drawn = find_spec("ipywidgets") is not None if console.is_jupyter else console.is_terminal
    return Bar(title, total, console) if drawn else Lines(title, total)


def counted(done: int, total: int | None, first: int) -> str:
    """Return the number of trials as text; ``first`` is the number when the run began."""
    if total is None:
        return f"{done} trials"
    if first >= total:
        return f"{done} trials, {total} asked for: nothing to do"
    return f"{done}/{total} trials" if done <= total else f"{done} trials, {total} asked for"


def goal(best: float | None, front: int | None) -> str:
    """Return the best value with six digits, or the number of trials on the front, as text."""
    if front is not None:
        return f"front {front}"
    return "best -" if best is None else f"best {best:.6g}"


def ended_early(failed: int, stopped: int) -> str:
    """Return how many trials failed or were stopped, as text; nothing if none was."""
    return ", ".join(f"{count} {what}" for count, what in ((failed, "failed"), (stopped, "stopped")) if count)


def kind(what: str) -> str:
    """Return an activity without its numbers."""
    return re.sub(r"[0-9,]+", "#", what)


def short(text: str, longest: int = 40) -> str:
    """Return a text with control characters escaped, shortened to ``longest`` characters."""
    shown = printable(text)
    return shown if len(shown) <= longest else shown[: longest - 1] + "…"
