"""Ctrl-C at a safe moment: between transactions, not inside one; and at once while a suggestion is computed.

The loop defers interrupts around what must not be torn apart (asking, telling, giving trials back). Inside, whatever
takes long and changes nothing that is stored (a strategy's suggestion, waiting for others) lets them through again.
A second interrupt inside the same deferred stretch is raised there and then: whoever insists is heard. Python drops an
exception that a handler raises inside a finalizer or a callback of the garbage collector, which numerical libraries
have: while a suggestion goes on after an interrupt, the signal is therefore sent again, and raised at its end.
"""

from __future__ import annotations

import _thread
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from queue import SimpleQueue
from types import FrameType, TracebackType
from typing import Any

from sonde.errors import Interrupted

_AGAIN = 0.25  # seconds after which an interrupt that was dropped is sent again
_WAIT_FOR = ("backend_compile_and_load", "_xla_gc_callback")  # functions of JAX


class _Insister(threading.Thread):
    """Sends a signal again in a moment, if its stretch is still being run then: the exception was dropped.

    It waits at a queue that a signal handler may use at any moment; a handler that starts a thread may hang.
    """

    def __init__(self) -> None:
        super().__init__(name="sonde-interrupts", daemon=True)
        self.told: SimpleQueue[tuple[int, object]] = SimpleQueue()

    def run(self) -> None:
        """Wait for interrupts, as long as the process lives."""
        while True:
            number, stretch = self.told.get()
            time.sleep(_AGAIN)
            if _main.stretch is stretch:
                _thread.interrupt_main(signal.Signals(number))


@dataclass
class _MainThread:
    """Signals reach the main thread only, so there is one of these."""

    deferring: bool = False
    waiting: BaseException | None = None
    stretch: object | None = None  # the interruptible stretch that is being run
    raised: BaseException | None = None  # inside it
    insister: _Insister = field(default_factory=_Insister)

    def enter_stretch(self) -> None:
        if not self.insister.is_alive():  # a forked child has no threads
            self.insister = _Insister()
            self.insister.start()
        self.deferring, self.stretch, self.raised = False, object(), None
        self.raise_waiting()

    def raise_waiting(self) -> None:
        error, self.waiting = self.waiting, None
        if error is not None:
            raise error


_main = _MainThread()


def interrupt(error: BaseException, number: int = signal.SIGINT, frame: FrameType | None = None) -> None:
    """Raise ``error`` now, or where interrupts are deferred as soon as they are not; for signal handlers."""
    if _main.deferring and _main.waiting is None:
        _main.waiting = error
        return
    _main.waiting = None
    if _main.stretch is not None:
        _main.raised = error
        _main.insister.told.put((number, _main.stretch))
        if _in_the_middle(frame):
            return  # and come back in a moment
    raise error


def _in_the_middle(frame: FrameType | None) -> bool:
    """Whether JAX is just compiling (a process that was interrupted there crashes when it exits) or collecting."""
    while frame is not None and frame.f_code.co_name not in _WAIT_FOR:
        frame = frame.f_back
    return frame is not None


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
        _main.enter_stretch()
        yield
    finally:
        _main.deferring, _main.stretch = True, None
    if _main.raised is not None:  # and dropped
        raise _main.raised


def _handle(number: int, frame: FrameType | None) -> None:
    interrupt(KeyboardInterrupt(), number, frame)


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
