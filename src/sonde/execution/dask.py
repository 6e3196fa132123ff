"""Calls on a Dask cluster, through the user's ``Client``.

A worker plugin carries the objective: Dask gives it once to each worker, and to those that join later. The calls depend
on nothing else, so that the scheduler may place them anywhere. When a call begins, its worker says so by an event.
"""

from __future__ import annotations

import os
import pickle
import signal
import time
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from typing import Any, NamedTuple

import cloudpickle
from distributed import Client, WorkerPlugin, get_worker

from sonde.errors import NoWorkers, OptionError
from sonde.execution.port import calls_at_once
from sonde.execution.task import prepare


class Begun(NamedTuple):
    """When and on which worker a call has begun."""

    time: float
    worker: str


class Shared(WorkerPlugin):
    """A function that each worker has."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function


class DaskExecutor:
    """An executor of the threads of a Dask cluster's workers.

    A cluster that scales by itself is asked to grow, up to ``grows_to`` threads; for ``cluster.adapt(maximum=...)`` in
    this process that is known.
    """

    def __init__(self, client: Client, *, grows_to: int | None = None) -> None:
        if not isinstance(client, Client) or client.asynchronous:
            raise OptionError(f"give a Dask Client without asynchronous=True, got {client!r}")
        self._client: Any = client
        self._grows_to = grows_to
        self._topic = f"sonde-{uuid.uuid4().hex}"
        self._shared: dict[Callable[..., Any], str] = {}  # function and the plugin's name
        self._keys: dict[Future[Any], str] = {}  # of calls that have not ended
        self._begun: dict[str, Begun | None] = {}  # None: waits for a worker

    def submit(self, function: Callable[..., Any], /, *arguments: Any) -> Future[Any]:
        """Start a call. Dask runs it again where its worker dies; see ``distributed.scheduler.allowed-failures``."""
        with self._connected():
            plugin, key, packed = self._share(function), f"sonde-{uuid.uuid4()}", cloudpickle.dumps(arguments)
            self._begun[key] = None
            call: Future[Any] = self._client.get_executor(pure=False, retries=0).submit(
                _run, plugin, self._topic, key, packed, key=key
            )
        self._keys[call] = key
        call.add_done_callback(self._forget)
        return call

    def workers(self) -> int:
        """Return how many calls the cluster can take now, with those that let it grow."""
        with self._connected():
            threads = self._client.nthreads()
        running = sum(threads.values())
        adaptive = getattr(self._client.cluster, "_adaptive", None)
        if self._grows_to is not None or adaptive is None:
            return calls_at_once(running, self._grows_to)
        most = min(adaptive.maximum, 2 * len(threads))  # may be infinite
        return calls_at_once(running, int(most * max(threads.values(), default=1)))

    def ready(self, call: Future[Any]) -> float | None:
        """Return when a call has begun, None while it waits."""
        begun = self._begun.get(self._keys.get(call, ""))
        return None if begun is None else begun.time

    def kill(self, call: Future[Any]) -> bool:
        """Kill the worker of a call if it runs nothing else and has a nanny, which starts another one.

        Dask cannot end one of several threads.
        """
        key = self._keys.get(call, "")
        begun = self._begun.get(key)
        if begun is None:
            return call.cancel()
        with self._connected():
            worker = self._client.scheduler_info(n_workers=-1)["workers"].get(begun.worker, {})
            others = set(self._client.processing([begun.worker]).get(begun.worker, ())) - {key}
        queued = {other for other, begun in self._begun.items() if begun is None}  # Dask moves these to other workers
        if not worker.get("nanny") or others - queued:
            return False
        call.cancel()  # first, or Dask would run it again
        with self._connected():
            self._client.run(_kill, workers=[begun.worker], nanny=True, on_error="ignore")
        return True

    def release(self, function: Callable[..., Any]) -> None:
        """Take a function from the workers."""
        name = self._shared.pop(function, None)
        if name is not None and self._client.status == "running":
            with suppress(Exception):  # workers that have gone
                if not self._shared:
                    self._client.unsubscribe_topic(self._topic)
                self._client.unregister_worker_plugin(name)

    def _share(self, function: Callable[..., Any]) -> str:
        """Give the function to all workers, now and when they join, and return its name there."""
        if function not in self._shared:
            name = f"sonde-{uuid.uuid4().hex}"
            self._client.subscribe_topic(self._topic, self._note)
            self._client.register_plugin(Shared(function), name=name)
            self._shared[function] = name
        return self._shared[function]

    def _note(self, event: tuple[float, tuple[str, str]]) -> None:
        """Note that a call has begun, on another worker perhaps than before."""
        key, worker = event[1]
        if key in self._begun:
            self._begun[key] = Begun(time.monotonic(), worker)

    def _forget(self, call: Future[Any]) -> None:
        self._begun.pop(self._keys.pop(call, ""), None)

    @contextmanager
    def _connected(self) -> Iterator[None]:
        """Raise ``NoWorkers`` if the scheduler is gone."""
        try:
            if self._client.status != "running":
                raise ConnectionError(f"the client is {self._client.status}")
            yield
        except Exception as error:
            if self._client.status == "running" and not isinstance(error, OSError):
                raise
            raise NoWorkers(
                f"the Dask scheduler cannot be reached ({type(error).__name__}: {error}); the results so far are kept: "
                "connect a new Client and call optimize again"
            ) from error


def _run(plugin: str, topic: str, key: str, packed: bytes) -> Any:
    """Run a call on a worker; loading what the function needs is not the call's time."""
    worker: Any = get_worker()
    function = worker.plugins[plugin].function
    prepare(function)
    worker.log_event(topic, (key, worker.address))
    return function(*pickle.loads(packed))


def _kill(dask_worker: Any) -> None:
    """Kill the worker process of a nanny, where this runs."""
    os.kill(dask_worker.pid, getattr(signal, "SIGKILL", signal.SIGTERM))  # Windows has the latter only
