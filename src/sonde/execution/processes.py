"""Local processes, each a loky executor of one worker.

One pool of k workers breaks as a whole when one of them is killed, and the k - 1 healthy results are lost with it. k
pools of one worker break one by one: a crash takes down its own trial and nothing else.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

from loky import ProcessPoolExecutor

_THREAD_LIMITS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


class Processes:
    """An executor of ``count`` processes; closures and lambdas work, and a dead process is replaced."""

    def __init__(self, count: int) -> None:
        self._pools: list[Any] = [None] * count
        self._busy: list[Future[Any] | None] = [None] * count
        # k processes with all threads each would fight over the cores; what the user set stands.
        threads = str(max(1, (os.cpu_count() or 1) // count))
        self._environment = {name: threads for name in _THREAD_LIMITS if name not in os.environ}

    def submit(self, function: Callable[..., Any], /, *arguments: Any) -> Future[Any]:
        """Start a call in an idle process (in the one that will be idle first, if none is)."""
        slot = next((i for i, future in enumerate(self._busy) if future is None or future.done()), 0)
        try:
            future: Future[Any] = self._pool(slot).submit(function, *arguments)
        except RuntimeError:  # its process died since: a fresh one takes over
            self._pools[slot] = None
            future = self._pool(slot).submit(function, *arguments)
        self._busy[slot] = future
        return future

    def shutdown(self) -> None:
        """Stop all processes at once, whatever they are doing."""
        for pool in self._pools:
            if pool is not None:
                pool.shutdown(wait=True, kill_workers=True)
        self._pools = [None] * len(self._pools)

    def _pool(self, slot: int) -> Any:
        if self._pools[slot] is None:
            self._pools[slot] = ProcessPoolExecutor(max_workers=1, env=self._environment)
        return self._pools[slot]
