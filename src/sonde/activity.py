"""What is being done right now: said by whoever does it, shown by whoever watches.

A strategy says ``with doing("fitting the model to 60 results"): ...``; a progress bar listens with ``watching(show)``.
Where nobody watches, nothing happens. It knows nothing of either side, so that both columns may use it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_watcher: ContextVar[Callable[[str], None] | None] = ContextVar("watcher", default=None)
_current: ContextVar[str] = ContextVar("current", default="")


@contextmanager
def watching(show: Callable[[str], None]) -> Iterator[None]:
    """Call ``show`` with what is being done whenever that changes; with "" when it is over."""
    token = _watcher.set(show)
    try:
        yield
    finally:
        _watcher.reset(token)


@contextmanager
def doing(what: str) -> Iterator[None]:
    """Say what is done inside; afterwards, what was done around it."""
    before = _current.get()
    try:
        _say(what)
        yield
    finally:
        _say(before)


def _say(what: str) -> None:
    _current.set(what)
    watcher = _watcher.get()
    if watcher is not None:
        watcher(what)
