"""Signals that end a run.

The handler kills the running programs and interrupts the loop, but not inside a transaction: then the interrupt is
raised after it. A second signal is raised at once.
"""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from sonde.cli.children import Children

# SIGHUP (closed terminal; not on Windows) reaches only this process: the programs have sessions of their own.
_SIGNALS = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]


class EndedBySignal(KeyboardInterrupt):
    """A signal ended the run."""

    def __init__(self, number: int) -> None:
        super().__init__(f"signal {number}")
        self.exit_code = 128 + number  # the convention of shells


@contextmanager
def ending_on_signals(children: Children) -> Iterator[None]:
    """Stop the children on a signal, then raise ``EndedBySignal``; ignored signals (nohup) stay ignored."""
    from sonde.study.interrupts import interrupt

    received: list[int] = []

    def handle(number: int, _frame: FrameType | None) -> None:
        received.append(number)
        children.stop()
        interrupt(EndedBySignal(number))

    handled = [number for number in _SIGNALS if signal.getsignal(number) is not signal.SIG_IGN]
    before = {number: signal.signal(number, handle) for number in handled}
    try:
        yield
    except BaseException:  # whatever a signal has interrupted may fail in its own way
        if not received:
            raise
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    if received:
        raise EndedBySignal(received[0])
