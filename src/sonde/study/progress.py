"""What a person sees while a study runs: a bar in a terminal or notebook, a line now and then elsewhere."""

from __future__ import annotations

import sys
import time
from importlib.util import find_spec
from types import TracebackType
from typing import Any, Protocol

_LINE_EVERY = 10.0  # seconds, where there is no terminal


class Progress(Protocol):
    """Shows how far a run is."""

    def __enter__(self) -> Progress:
        """Begin to show."""

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        """Leave the last state visible."""

    def show(self, done: int, failed: int, best: float | None) -> None:
        """Show the counts of this run and the best value so far."""


class Silent:
    """Shows nothing."""

    def __enter__(self) -> Silent:
        return self

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        pass

    def show(self, done: int, failed: int, best: float | None) -> None:
        """Show nothing."""


class Bar:
    """A Rich progress bar."""

    def __init__(self, title: str, total: int | None, console: Any) -> None:
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

        self._bar = Progress(
            TextColumn("[bold]{task.description}"), BarColumn(), MofNCompleteColumn(),
            TextColumn("best {task.fields[best]}"), TextColumn("{task.fields[failed]}"), TimeElapsedColumn(),
            console=console,
        )  # fmt: skip
        self._task = self._bar.add_task(title, total=total, best="-", failed="")

    def __enter__(self) -> Bar:
        self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bar.refresh()  # in a notebook stop() does not, and the bar would stay where it was drawn last
        self._bar.stop()

    def show(self, done: int, failed: int, best: float | None) -> None:
        """Redraw."""
        self._bar.update(self._task, completed=done, best=_number(best), failed=f"{failed} failed" if failed else "")


class Lines:
    """A line on standard error every few seconds, and a last one."""

    def __init__(self, title: str, total: int | None) -> None:
        self._title, self._total = title, total
        self._started = time.monotonic()
        self._printed = self._started
        self._line = ""

    def __enter__(self) -> Lines:
        return self

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        self._print()

    def show(self, done: int, failed: int, best: float | None) -> None:
        """Print, if it is time."""
        count = f"{done}/{self._total}" if self._total is not None else str(done)
        elapsed = time.monotonic() - self._started
        trouble = f", {failed} failed" if failed else ""
        self._line = f"{self._title}: {count} trials, best {_number(best)}{trouble}, {elapsed:.0f} s"
        if time.monotonic() - self._printed > _LINE_EVERY:
            self._print()

    def _print(self) -> None:
        if self._line:
            sys.stderr.write(self._line + "\n")
            sys.stderr.flush()
        self._line, self._printed = "", time.monotonic()


def progress_for(title: str, total: int | None, *, wanted: bool) -> Progress:
    """Return what fits where we are."""
    if not wanted:
        return Silent()
    from rich.console import Console

    console = Console(stderr=True)
    # In a notebook Rich draws by ipywidgets; without them it would show a warning and no bar.
    drawn = find_spec("ipywidgets") is not None if console.is_jupyter else console.is_terminal
    return Bar(title, total, console) if drawn else Lines(title, total)


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.6g}"
