"""The interface of an executor and of its futures, and the simplest executor."""

from __future__ import annotations

import concurrent.futures
import sys
from collections.abc import Callable
from typing import Any, Protocol


class Future(Protocol):
    """The result of a call that may still run.

    A future may have ``add_done_callback(function)``, else it is polled, and ``cancel()``, which returns whether the
    call will not run on. A call that somebody else has cancelled raises ``CancelledError``.
    """

    def done(self) -> bool:
        """Whether the call has ended."""

    def result(self) -> Any:
        """Return the result, or raise the call's exception."""


class Executor(Protocol):
    """Runs functions, usually in other processes.

    Executors that know more about their workers have some of these methods, too:

    - ``workers() -> int``: how many calls it can take now. It may change during a run. It raises ``NoWorkers`` when
      the cluster is gone.
    - ``ready(future) -> float | None``: when a call's time began, by the monotonic clock; None while it waits for a
      worker.
    - ``kill(future) -> bool``: end a call for certain, or return False where that is impossible.
    - ``release(function)``: a run has ended; forget its function.
    """

    def submit(self, function: Callable[..., Any], /, *arguments: Any) -> Future:
        """Start a call and return its future."""


class Inline:
    """Runs each call in this process: it sees and changes the variables here, and a debugger can step into it."""

    def submit(self, function: Callable[..., Any], /, *arguments: Any) -> concurrent.futures.Future[Any]:
        """Run the call before returning."""
        future: concurrent.futures.Future[Any] = concurrent.futures.Future()
        future.set_result(function(*arguments))
        return future

    def shutdown(self) -> None:
        """Do nothing: there are no workers."""


def adapted(executor: Any) -> Any:
    """Return the executor for a Dask ``Client``; others as they are."""
    distributed = sys.modules.get("distributed")  # where a Client comes from; never loaded for others
    if distributed is not None and isinstance(executor, distributed.Client):
        from sonde.execution.dask import DaskExecutor

        return DaskExecutor(executor)
    return executor


def calls_at_once(workers: int, grows_to: int | None) -> int:
    """Return how many calls a cluster should have that can run ``workers`` of them now.

    Clusters grow when calls wait. While one may grow, as many wait as run, so that it can double; the more wait, the
    more are suggested without the results that they could use. One call always waits for the first worker.
    """
    return max(1, workers, min(2 * workers, grows_to or 0))
