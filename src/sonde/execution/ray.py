"""Calls on a Ray cluster.

The objective goes to Ray's object store once, from where each node fetches it. A call is a generator of two items: the
first says that it has begun, the second is its result.
"""

from __future__ import annotations

import concurrent.futures
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Self

from sonde.errors import NoWorkers, OptionError
from sonde.execution.port import calls_at_once
from sonde.execution.task import prepare
from sonde.extras import require

_LOSSES = 3  # nodes that may go away under a call before it fails; Dask's number


class RayExecutor:
    """An executor of Ray tasks, each with these resources.

    Parameters
    ----------
    num_cpus, num_gpus
        What one call needs.
    grows_to
        The most calls at once of a cluster that scales by itself; then some wait, so that it grows.
    address
        Of the cluster, if Ray is not initialized yet; None finds one or starts Ray on this machine.
    options
        Other options of a Ray task: ``resources``, ``memory``, ``runtime_env``, ``max_retries``, ...
    """

    def __init__(
        self,
        *,
        num_cpus: float = 1,
        num_gpus: float = 0,
        grows_to: int | None = None,
        address: str | None = None,
        **options: Any,
    ) -> None:
        require("ray", extra="ray")
        import ray

        needs = {"CPU": num_cpus, "GPU": num_gpus, "memory": options.get("memory") or 0, **options.get("resources", {})}
        self._needs = {name: amount for name, amount in needs.items() if amount}
        if not self._needs or min(needs.values()) < 0:
            raise OptionError(f"a call needs some of a resource, such as num_cpus=1, got {needs}")
        settings = {"max_retries": 0, **options, "num_cpus": num_cpus, "num_gpus": num_gpus}
        try:
            self._run = ray.remote(_run).options(**settings, num_returns="streaming")
        except (TypeError, ValueError) as error:
            raise OptionError(f"RayExecutor passes its options to Ray: {error}") from error
        self._grows_to = grows_to
        self._shared: dict[Callable[..., Any], Any] = {}  # function and its reference
        self._started = not ray.is_initialized()
        if self._started:
            ray.init(address=address)

    def submit(self, function: Callable[..., Any], /, *arguments: Any) -> RayCall:
        """Start a call."""
        import ray

        self._check()
        if function not in self._shared:
            self._shared[function] = ray.put(function)
        shared = self._shared[function]
        return RayCall(lambda: self._run.remote(shared, *arguments))

    def workers(self) -> int:
        """Return how many calls the cluster can take now, with those that let it grow."""
        import ray

        self._check()
        nodes = [node["Resources"] for node in ray.nodes() if node["Alive"]]
        return calls_at_once(sum(map(self._fitting, nodes)), self._grows_to)

    def ready(self, call: RayCall) -> float | None:
        """Return when a call was first seen to have begun, None while it waits."""
        return call.begun()

    def kill(self, call: RayCall) -> bool:
        """Kill the worker of a call; Ray starts another one."""
        return call.cancel()

    def release(self, function: Callable[..., Any]) -> None:
        """Let Ray forget a function."""
        self._shared.pop(function, None)

    def shutdown(self) -> None:
        """Shut Ray down if this executor has started it; otherwise that happens at the end of the process."""
        import ray

        self._shared.clear()
        if self._started:
            ray.shutdown()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.shutdown()

    def _fitting(self, resources: Mapping[str, float]) -> int:
        """Return how many calls fit on a node."""
        return int(min(resources.get(name, 0) // amount for name, amount in self._needs.items()))

    def _check(self) -> None:
        import ray

        if not ray.is_initialized():  # or Ray would start by itself, without the calls
            raise NoWorkers(
                "Ray was shut down; the results so far are kept: call optimize again with a new RayExecutor"
            )


class RayCall:
    """The future of a Ray task. It is started again if its node goes away, which is not the call's fault."""

    def __init__(self, start: Callable[[], Any]) -> None:
        self._start = start
        self._outcome: concurrent.futures.Future[Any] = concurrent.futures.Future()
        self._woken: list[Callable[[RayCall], Any]] = []
        self._losses = 0
        self._begun: float | None = None
        self._items = start()

    def done(self) -> bool:
        """Whether the call has ended."""
        import ray

        if not self._outcome.done() and ray.is_initialized() and ray.wait([self._items.completed()], timeout=0)[0]:
            self._end()
        return self._outcome.done()

    def result(self) -> Any:
        """Return the result, or raise the call's exception."""
        import ray

        while not self.done():
            ray.wait([self._items.completed()])
        return self._outcome.result()

    def begun(self) -> float | None:
        """Return when the call was first seen to have begun, None while it waits."""
        if self._begun is None and not self.done() and self._items.next_ready():
            next(self._items)
            self._begun = time.monotonic()
        return self._begun

    def cancel(self) -> bool:
        """Kill the call's worker; return False if the call has ended."""
        import ray

        if not ray.is_initialized() or self.done():
            return False
        ray.cancel(self._items, force=True)
        return True

    def add_done_callback(self, function: Callable[[RayCall], Any]) -> None:
        """Call a function when the call may have ended."""
        self._woken.append(function)
        self._call_back(function)

    def _call_back(self, function: Callable[[RayCall], Any]) -> None:
        self._items.completed().future().add_done_callback(lambda _: function(self))

    def _restart(self) -> None:
        self._begun, self._items = None, self._start()
        for function in self._woken:
            self._call_back(function)

    def _end(self) -> None:
        """Take the outcome, or start again where the node went away."""
        import ray

        last: tuple[Any, ...] = ()
        try:
            for item in self._items:
                last = ray.get(item)
            if not last:  # a worker that is killed may leave a stream that just ends
                raise ray.exceptions.WorkerCrashedError
            self._outcome.set_result(last[0])
        except ray.exceptions.TaskCancelledError:
            self._outcome.cancel()
        except ray.exceptions.NodeDiedError as error:
            self._losses += 1
            if self._losses > _LOSSES:
                self._outcome.set_exception(error)
            else:
                self._restart()
        except Exception as error:
            self._outcome.set_exception(error)


def _run(function: Callable[..., Any], *arguments: Any) -> Iterator[Any]:
    """Run a call on a worker: an empty tuple when it begins, and one of its result.

    Loading what the function needs is not the call's time.
    """
    prepare(function)
    yield ()
    yield (function(*arguments),)
