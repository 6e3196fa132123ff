"""``sonde show``: a study and how it gets on, once or until Ctrl-C. It only reads, and loads a strategy on request."""

from __future__ import annotations

import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from sonde.cli import output
from sonde.cli.opening import existing_storage, only_study
from sonde.cli.options import Seconds, anywhere_option, json_option, name_option, token_option
from sonde.errors import OptionError
from sonde.text import is_encodable

if TYPE_CHECKING:
    from rich.console import Console, Group

    from sonde.cli.overview import Watched
    from sonde.storage import Storage

_EXPLAIN = 60.0  # seconds from one explanation to the next in a live view: a large study may take some


@click.command
@anywhere_option
@token_option
@name_option
@click.option("--once", is_flag=True, help="Show it once and end, as when the output is no terminal.")
@click.option(
    "--every", metavar="SECONDS", type=Seconds(min=0.1, max=3600), default=1.0,
    help="Seconds from one look to the next.",
)  # fmt: skip
@click.option(
    "--total", metavar="N", type=click.IntRange(min=1), help="How many trials it will have: estimate the end."
)
@click.option("--explain", is_flag=True, help="Say why the strategy is what it is; it may take seconds.")
@json_option
def show(
    storage: str, name: str | None, once: bool, every: float, total: int | None, explain: bool, as_json: bool
) -> None:
    """Show a study and how it gets on: state, best so far and its history, workers, failures, estimated end.

    In a terminal it goes on until Ctrl-C. It only reads; nothing of a running study is disturbed.

    \b
    Examples:
      sonde show
      sonde show --once --total 100
      sonde show --storage http://host:8080 --name cnn
      sonde show --json --explain
    """
    with existing_storage(storage) as opened:
        from sonde.cli.overview import Watched

        chosen = name or only_study(opened)
        if not is_encodable(chosen):
            raise OptionError(f"no study has the name {chosen!r}, which is not valid text")
        watched = Watched(opened, chosen)
        why = _Why(opened, chosen) if explain else None
        if as_json:
            from sonde.cli.panel import document

            output.print_json(document(watched.look(), total, None if why is None else why.text(0)))
            return
        from rich.console import Console

        screen = _Screen(watched, Console(highlight=False), total, why)
        if once or not sys.stdout.isatty():
            screen.once()
        else:
            screen.live(every)


class _Why:
    """The explanation of the strategy, made anew at most once a minute, and only after new results."""

    def __init__(self, storage: Storage, name: str) -> None:
        from sonde.study import Study

        self._study = Study.load(storage, name)
        self._said, self._results, self._until = "", -1, 0.0

    def text(self, results: int) -> str:
        """Return the explanation; ``results`` is how many there are."""
        if results != self._results and time.monotonic() >= self._until:
            self._said, self._results = self._study.explain(), results
            self._until = time.monotonic() + _EXPLAIN
        return self._said


class _Screen:
    """A study on a console."""

    def __init__(self, watched: Watched, console: Console, total: int | None, why: _Why | None) -> None:
        self._watched, self._console, self._total, self._why = watched, console, total, why

    def once(self) -> None:
        """Print the study."""
        self._console.print(self._panel())

    def live(self, every: float) -> None:
        """Show the study until Ctrl-C; what was shown last stays."""
        from rich.live import Live

        try:
            with _terminable(), Live(self._panel(), console=self._console, auto_refresh=False) as shown:
                while True:
                    time.sleep(every)
                    shown.update(self._panel(), refresh=True)
        except KeyboardInterrupt:
            pass
        finally:
            self._console.show_cursor(True)  # a signal may come while the view begins

    def _panel(self) -> Group:
        from sonde.cli.panel import WORKERS, panel

        view = self._watched.look(WORKERS)
        why = None if self._why is None else self._why.text(view.ended)
        return panel(view, self._console, self._total, why)


@contextmanager
def _terminable() -> Iterator[None]:
    """End on SIGTERM with the code that shells expect, but tidily."""

    def terminated(number: int, _frame: object) -> None:
        raise SystemExit(128 + number)

    before = signal.signal(signal.SIGTERM, terminated)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
