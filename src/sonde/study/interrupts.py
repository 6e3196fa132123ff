"""Ctrl-C at a safe moment: never inside a transaction, but at once while a suggestion is computed.

The loop defers interrupts: an exception at any moment could stop it inside a transaction, or leave a lock locked that
another thread needs. Inside such a block, slow work that changes no stored data (a strategy's suggestion, waiting for
results or for another process) and the user's code allow interrupts again. A second interrupt in the
same deferred block is raised at once. Python drops an exception that a handler raises inside a finalizer: such an
interrupt is raised again when the suggestion ends.
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
    """The state of the main thread, the only one that receives signals."""

    deferring: bool = False
    waiting: BaseException | None = None  # arrived while deferring
    interruptible: bool = False  # inside an ``interruptible`` block
    raised: BaseException | None = None  # in that block

    def raise_waiting(self) -> None:
        error, self.waiting = self.waiting, None
        if error is not None:
            raise error


_main = _MainThread()


def interrupt(error: BaseException) -> None:
    """Raise ``error`` now, or at the end of the deferred block; for signal handlers."""
    if _main.deferring and _main.waiting is None:
        _main.waiting = error
        return
    _main.waiting = None
    if _main.interruptible:
        _main.raised = error
    raise error


@contextmanager
def deferred_interrupts() -> Iterator[None]:
    """Defer interrupts to the end of the block; may be nested.

    The user's own signal handlers are not changed; they are deferred if they call ``interrupt``.
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
            if ours and signal.getsignal(signal.SIGINT) is _handle:  # else the user's code has set another one
                signal.signal(signal.SIGINT, signal.default_int_handler)
        finally:  # a signal that arrives here must not leave interrupts deferred
            _main.deferring = False
            _main.raise_waiting()


@contextmanager
def interruptible() -> Iterator[None]:
    """Allow interrupts inside ``deferred_interrupts``; one that already waits is raised at the start."""
    if threading.current_thread() is not threading.main_thread() or not _main.deferring:
        yield
        return
    try:
        _main.deferring, _main.interruptible, _main.raised = False, True, None
        _main.raise_waiting()
        yield
    finally:
        _main.deferring, _main.interruptible = True, False
    if _main.raised is not None:  # but Python dropped it
        raise _main.raised


def _handle(_number: int, _frame: FrameType | None) -> None:
    interrupt(KeyboardInterrupt())


class OneLine:
    """An exception hook that prints ``Interrupted`` in one line; other exceptions go to the previous hook."""

    def __init__(self, before: Any) -> None:
        self._before = before

    def __call__(self, kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        """Print, and end a script with the exit status of Ctrl-C."""
        if not isinstance(error, Interrupted):
            self._before(kind, error, trace)
            return
        sys.stderr.write(f"{error}\n")
        sys.stderr.flush()
        if not (hasattr(sys, "ps1") or sys.flags.interactive):
            sys.exit(128 + signal.SIGINT)  # Python does so for KeyboardInterrupt, but not for its subclasses


def show_in_one_line() -> None:
    """Print an uncaught ``Interrupted`` in one line, without a traceback, from now on."""
    if threading.current_thread() is threading.main_thread() and not isinstance(sys.excepthook, OneLine):
        sys.excepthook = OneLine(sys.excepthook)
