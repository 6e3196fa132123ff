"""Local processes, each a loky executor of one worker.

A pool of k workers fails as a whole when one worker is killed, and loses the results of the others. With k pools of one
worker, a crash or a stopped trial ends only its own process.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from loky import ProcessPoolExecutor

from sonde.execution.task import prepare

_THREAD_LIMITS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
_CHECK = 0.5  # seconds between two looks of a worker whether its parent is alive
_START = 60.0  # seconds that a process may take to start and load the objective before the trial's time counts


@dataclass
class _Slot:
    """One worker process: its pool, its latest call, and when it was ready for that call."""

    pool: Any = None
    call: Future[Any] | None = None
    ready: float = 0.0

    @property
    def idle(self) -> bool:
        return self.call is None or self.call.done()


class Processes:
    """An executor of ``count`` processes; closures and lambdas work; a dead process is replaced."""

    def __init__(self, count: int) -> None:
        self._slots = [_Slot() for _ in range(count)]
        # The processes share the cores: each gets its part of the threads, unless the user has set a limit.
        threads = str(max(1, (os.cpu_count() or 1) // count))
        self._environment = {name: threads for name in _THREAD_LIMITS if name not in os.environ}

    def submit(self, function: Callable[..., Any], /, *arguments: Any) -> Future[Any]:
        """Start a call in an idle process, or queue it in the first one."""
        slot = next((slot for slot in self._slots if slot.idle), self._slots[0])
        try:
            return self._submit(slot, function, *arguments)
        except RuntimeError:  # its process has died: start a new one
            slot.pool = None
            return self._submit(slot, function, *arguments)

    def ready(self, call: object) -> float:
        """Return when the process of a call was ready to begin it, by the monotonic clock."""
        return next((slot.ready for slot in self._slots if slot.call is call), 0.0)

    def kill(self, call: object) -> bool:
        """Kill the process that runs a call; the next call starts a new one."""
        for slot in self._slots:
            if slot.call is call:
                _stop(slot)
        return True

    def shutdown(self) -> None:
        """Kill all processes."""
        for slot in self._slots:
            _stop(slot)

    def _submit(self, slot: _Slot, function: Callable[..., Any], *arguments: Any) -> Future[Any]:
        slot.ready = time.monotonic()
        if slot.pool is None:
            slot.ready += _START
            with _interrupts_blocked():  # the new process inherits the blocked signal
                slot.pool = ProcessPoolExecutor(
                    max_workers=1, env=self._environment, initializer=_begin, initargs=(os.getpid(),)
                )
                slot.pool.submit(prepare, function).add_done_callback(lambda _: _now_ready(slot))
        call: Future[Any] = slot.pool.submit(function, *arguments)
        slot.call = call
        return call


@contextmanager
def _interrupts_blocked() -> Iterator[None]:
    """Block SIGINT in this thread, and in the processes that it starts meanwhile."""
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _begin(parent: int) -> None:
    """Prepare a worker process."""
    _ignore_interrupts()
    threading.Thread(target=_end_with, args=(parent,), name="sonde-parent", daemon=True).start()


def _end_with(parent: int) -> None:
    """End this process when its parent was killed: nobody takes its results, and nobody else would end it."""
    while os.getppid() == parent:
        time.sleep(_CHECK)
    os._exit(1)


def _ignore_interrupts() -> None:
    """Ignore Ctrl-C in a worker: a terminal sends it to all processes, and the parent kills its workers.

    A handler that does nothing instead of SIG_IGN: programs that the objective starts do not inherit a handler.
    """
    signal.signal(signal.SIGINT, lambda *_: None)
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})


def _now_ready(slot: _Slot) -> None:
    slot.ready = min(slot.ready, time.monotonic())


def _stop(slot: _Slot) -> None:
    if slot.pool is not None:
        slot.pool.shutdown(wait=True, kill_workers=True)
    slot.pool = slot.call = None
