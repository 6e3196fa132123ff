"""Signals that end a run.

The programs that run are killed in the handler. The loop is interrupted there too, during a suggestion for instance,
but never inside a transaction: there it is interrupted afterwards. Whoever cannot wait for that sends the signal again.
"""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from sonde.cli.children import Children

# A closed terminal (SIGHUP, which Windows has not) reaches us only: the programs are in sessions of their own.
_SIGNALS = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]


class EndedBySignal(KeyboardInterrupt):
    """A signal asked us to end."""

    def __init__(self, number: int) -> None:
        super().__init__(f"signal {number}")
        self.exit_code = 128 + number  # as shells count


@contextmanager
def ending_on_signals(children: Children) -> Iterator[None]:
    """Stop the children on a signal and raise ``EndedBySignal`` in the end; what is ignored (nohup) stays ignored."""
    from sonde.study.interrupts import interrupt

    received: list[int] = []

    def handle(number: int, _frame: FrameType | None) -> None:
        received.append(number)
        children.stop()
        interrupt(EndedBySignal(number))

    heeded = [number for number in _SIGNALS if signal.getsignal(number) is not signal.SIG_IGN]
    before = {number: signal.signal(number, handle) for number in heeded}
    try:
        yield
    except KeyboardInterrupt:
        if not received:
            raise
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    if received:
        raise EndedBySignal(received[0])
