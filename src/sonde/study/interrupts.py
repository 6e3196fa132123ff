"""Ctrl-C at a safe moment: between transactions, not inside one; and at once while a suggestion is computed.

The loop defers interrupts around what must not be torn apart (asking, telling, giving trials back). Inside, whatever
takes long and changes nothing that is stored (a strategy's suggestion, waiting for others) lets them through again.
A second interrupt inside the same deferred stretch is raised there and then: whoever insists is heard. Python drops an
exception that a handler raises inside a finalizer: such an interrupt is raised again when the suggestion ends.
"""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType, TracebackType
from typing import Any

from sonde.errors import Interrupted


@dataclass
class _MainThread:
    """Signals reach the main thread only, so there is one of these."""

    deferring: bool = False
    waiting: BaseException | None = None  # arrived while deferring
    let_through: bool = False  # inside an interruptible stretch
    raised: BaseException | None = None  # inside it

    def raise_waiting(self) -> None:
        error, self.waiting = self.waiting, None
        if error is not None:
            raise error


_main = _MainThread()


def interrupt(error: BaseException) -> None:
    """Raise ``error`` now, or where interrupts are deferred as soon as they are not; for signal handlers."""
    if _main.deferring and _main.waiting is None:
        _main.waiting = error
        return
    _main.waiting = None
    if _main.let_through:
        _main.raised = error
    raise error


@contextmanager
def deferred_interrupts() -> Iterator[None]:
    """Raise an interrupt that arrives meanwhile at the end; may be nested.

    Handlers of the user's own are left alone, unless they call ``interrupt``.
    """
    if threading.current_thread() is not threading.main_thread() or _main.deferring:
        yield
        return
    ours = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    try:
        if ours:
            signal.signal(signal.SIGINT, _handle)
        _main.deferring = True
        yield
    finally:
        try:
            if ours:
                signal.signal(signal.SIGINT, signal.default_int_handler)
        finally:  # a signal that arrives in between must not leave us deferring for ever
            _main.deferring = False
            _main.raise_waiting()


@contextmanager
def interruptible() -> Iterator[None]:
    """Let interrupts through inside ``deferred_interrupts``: one that waits already is raised at the entrance."""
    if threading.current_thread() is not threading.main_thread() or not _main.deferring:
        yield
        return
    try:
        _main.deferring, _main.let_through, _main.raised = False, True, None
        _main.raise_waiting()
        yield
    finally:
        _main.deferring, _main.let_through = True, False
    if _main.raised is not None:  # and dropped
        raise _main.raised


def _handle(_number: int, _frame: FrameType | None) -> None:
    interrupt(KeyboardInterrupt())


class OneLine:
    """An exception hook that prints ``Interrupted`` in one line and leaves the rest to the hook before it."""

    def __init__(self, before: Any) -> None:
        self._before = before

    def __call__(self, kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        """Print, and end a script with the status that shells expect of Ctrl-C."""
        if not isinstance(error, Interrupted):
            self._before(kind, error, trace)
            return
        sys.stderr.write(f"{error}\n")
        sys.stderr.flush()
        if not (hasattr(sys, "ps1") or sys.flags.interactive):
            sys.exit(128 + signal.SIGINT)  # Python does so for KeyboardInterrupt itself only, not for its subclasses


def show_in_one_line() -> None:
    """From now on an ``Interrupted`` that nobody catches is one line without a traceback."""
    if threading.current_thread() is threading.main_thread() and not isinstance(sys.excepthook, OneLine):
        sys.excepthook = OneLine(sys.excepthook)
