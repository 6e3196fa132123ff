"""The current activity, reported by the code that does it and shown by the progress bar.

A strategy reports ``with doing("fitting the model to 60 results"): ...``; a progress bar listens with
``watching(show)``. Without a listener nothing happens. This module imports nothing of Sonde, so that all may use it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_watcher: ContextVar[Callable[[str], None] | None] = ContextVar("watcher", default=None)
_current: ContextVar[str] = ContextVar("current", default="")


@contextmanager
def watching(show: Callable[[str], None]) -> Iterator[None]:
    """Call ``show`` with the current activity whenever it changes; with "" when it ends."""
    token = _watcher.set(show)
    try:
        yield
    finally:
        _watcher.reset(token)


@contextmanager
def doing(what: str) -> Iterator[None]:
    """Report an activity for the time of the block; afterwards, the activity around it."""
    before = _current.get()
    try:
        _report(what)
        yield
    finally:
        _report(before)


def _report(what: str) -> None:
    _current.set(what)
    watcher = _watcher.get()
    if watcher is not None:
        watcher(what)
