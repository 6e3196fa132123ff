"""Threads for the work on the database, which must never block the event loop.

SQLite has one writer at a time, and those that wait for it sleep for milliseconds. So one thread writes, and puts all
writes that have come meanwhile in one transaction: one wait for the disk for all of them. Nobody is answered before the
transaction is on disk. PostgreSQL takes several writers.
"""

from __future__ import annotations

import asyncio
import queue
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple, ParamSpec, TypeVar

from sonde.errors import StorageError
from sonde.storage import Storage

P = ParamSpec("P")
T = TypeVar("T")

READERS, WRITERS = 4, 4  # together below the connections of one storage
MOST_TOGETHER = 64  # writes in one transaction: the first must not wait for long


class Threads:
    """A pool of threads for reads, and one for writes."""

    def __init__(self, storage: Storage, *, sqlite: bool) -> None:
        self._readers = ThreadPoolExecutor(READERS, "sonde-read")
        self._writers = ThreadPoolExecutor(1 if sqlite else WRITERS, "sonde-write-alone")
        self._joint = JointWriter(storage) if sqlite else None

    async def read(self, work: Callable[P, T], *arguments: P.args, **named: P.kwargs) -> T:
        """Run a function that reads."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._readers, lambda: work(*arguments, **named))

    async def write(self, work: Callable[P, T], *arguments: P.args, **named: P.kwargs) -> T:
        """Run a function that writes; it is carried out even if the request is given up meanwhile.

        It may be run twice, as every write of a storage may, and must not read what it has written.
        """
        if self._joint is None:
            return await self.write_alone(work, *arguments, **named)
        done: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self._joint.put(_Job(lambda: work(*arguments, **named), done, asyncio.get_running_loop()))
        return await done

    async def write_alone(self, work: Callable[P, T], *arguments: P.args, **named: P.kwargs) -> T:
        """Run a function that writes and reads, each in a transaction of its own."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._writers, lambda: work(*arguments, **named))

    def close(self) -> None:
        """End the threads when their work is done."""
        if self._joint is not None:
            self._joint.close()
        for pool in (self._writers, self._readers):
            pool.shutdown()


class _Job(NamedTuple):
    work: Callable[[], Any]
    done: asyncio.Future[Any]
    loop: asyncio.AbstractEventLoop


_Outcome = tuple[Any, BaseException | None]


class JointWriter:
    """A thread that carries out what has come in one transaction, in the order in which it came."""

    def __init__(self, storage: Storage) -> None:
        self._storage = storage
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="sonde-write", daemon=True)
        self._thread.start()

    def put(self, job: _Job) -> None:
        """Have a job done."""
        self._jobs.put(job)

    def close(self) -> None:
        """End when all is done."""
        self._jobs.put(None)
        self._thread.join()

    def _run(self) -> None:
        while (first := self._jobs.get()) is not None:
            jobs: list[_Job | None] = [first]
            while jobs[-1] is not None and len(jobs) < MOST_TOGETHER and not self._jobs.empty():
                jobs.append(self._jobs.get())
            some = [job for job in jobs if job is not None]
            some[0].loop.call_soon_threadsafe(_answer, some, self._outcomes(some))
            if jobs[-1] is None:
                return

    def _outcomes(self, jobs: list[_Job]) -> list[_Outcome]:
        if len(jobs) > 1:
            try:
                with self._storage.together():
                    return [_attempt(job, StorageError) for job in jobs]
            except StorageError:  # none of them counts: one by one, so that each gets its own answer
                pass
        return [_attempt(job) for job in jobs]


def _attempt(job: _Job, *raised: type[Exception]) -> _Outcome:
    """Return the result of a job, or its error unless that is one to be ``raised``."""
    try:
        return job.work(), None
    except raised:
        raise
    except Exception as error:
        return None, error


def _answer(jobs: list[_Job], outcomes: list[_Outcome]) -> None:
    for job, (result, error) in zip(jobs, outcomes, strict=True):
        if job.done.done():  # given up
            continue
        if error is None:
            job.done.set_result(result)
        else:
            job.done.set_exception(error)
