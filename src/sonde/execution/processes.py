"""Local processes, each a loky executor of one worker.

One pool of k workers breaks as a whole when one of them is killed, and the k - 1 healthy results are lost with it. k
pools of one worker break one by one: a crash, or a trial that is stopped, takes down its own process and nothing else.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

from loky import ProcessPoolExecutor

_THREAD_LIMITS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
_START = 60.0  # seconds that a process may take to start and to load the objective before its time is counted


@dataclass
class _Slot:
    """One process: its pool, its latest call, and when it could begin with that."""

    pool: Any = None
    call: Future[Any] | None = None
    ready: float = 0.0

    @property
    def idle(self) -> bool:
        return self.call is None or self.call.done()


class Processes:
    """An executor of ``count`` processes; closures and lambdas work, and a dead process is replaced."""

    def __init__(self, count: int) -> None:
        self._slots = [_Slot() for _ in range(count)]
        # k processes with all threads each would fight over the cores; what the user set stands.
        threads = str(max(1, (os.cpu_count() or 1) // count))
        self._environment = {name: threads for name in _THREAD_LIMITS if name not in os.environ}

    def submit(self, function: Callable[..., Any], /, *arguments: Any) -> Future[Any]:
        """Start a call in an idle process (in the one that will be idle first, if none is)."""
        slot = next((slot for slot in self._slots if slot.idle), self._slots[0])
        try:
            return self._submit(slot, function, *arguments)
        except RuntimeError:  # its process died since: a fresh one takes over
            slot.pool = None
            return self._submit(slot, function, *arguments)

    def ready(self, call: object) -> float:
        """Return when the process of a call could begin with it, by the monotonic clock."""
        return next((slot.ready for slot in self._slots if slot.call is call), 0.0)

    def kill(self, call: object) -> None:
        """Kill the process that runs a call; the next call gets a fresh one."""
        for slot in self._slots:
            if slot.call is call:
                _stop(slot)

    def shutdown(self) -> None:
        """Stop all processes at once, whatever they are doing."""
        for slot in self._slots:
            _stop(slot)

    def _submit(self, slot: _Slot, function: Callable[..., Any], *arguments: Any) -> Future[Any]:
        slot.ready = time.monotonic()
        if slot.pool is None:
            slot.ready += _START
            with _interrupts_held():  # the new process begins with them held, too
                slot.pool = ProcessPoolExecutor(max_workers=1, env=self._environment, initializer=_leave_interrupts)
                slot.pool.submit(_prepare, function).add_done_callback(lambda _: _now_ready(slot))
        call: Future[Any] = slot.pool.submit(function, *arguments)
        slot.call = call
        return call


@contextmanager
def _interrupts_held() -> Iterator[None]:
    """Hold Ctrl-C back in this thread, and in the processes that it starts meanwhile."""
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _leave_interrupts() -> None:
    """In a new process: leave Ctrl-C, which a terminal sends to all, to the one that started us and will kill us.

    A handler that does nothing, rather than none: programs that the objective starts do not inherit it.
    """
    signal.signal(signal.SIGINT, lambda *_: None)
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})


def _prepare(function: Callable[..., Any]) -> None:
    """Load in the new process what the function needs; what goes wrong here is told by the call that follows."""
    with suppress(Exception):
        getattr(function, "prepare", lambda: None)()


def _now_ready(slot: _Slot) -> None:
    slot.ready = min(slot.ready, time.monotonic())


def _stop(slot: _Slot) -> None:
    if slot.pool is not None:
        slot.pool.shutdown(wait=True, kill_workers=True)
    slot.pool = slot.call = None
