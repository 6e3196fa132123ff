"""What the dashboard keeps in memory: columns of the studies that are looked at, and their figures."""

from __future__ import annotations

import asyncio
import threading
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Concatenate, ParamSpec, TypeVar

from sonde.server.settings import Settings
from sonde.server.web.columns import Columns, revision
from sonde.server.web.figures import Figures
from sonde.server.web.sessions import WrongLogins
from sonde.storage import StudyHeader
from sonde.storage.sql.database import Database

P = ParamSpec("P")
T = TypeVar("T")

MOST_TRIALS = 2_000_000  # in memory: about 200 MB with ten parameters
THREADS = 2  # of their own, so that the requests of workers find theirs free


class Board:
    """The state of the dashboard; all of it can be had from the database again."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.wrong_logins = WrongLogins()
        self.figures = Figures(settings.storage)
        self.database = Database(settings.storage)
        self._threads = ThreadPoolExecutor(THREADS, "sonde-pages")
        self._columns: OrderedDict[str, Columns] = OrderedDict()  # by key of the study, the last used last
        self._lock = threading.Lock()  # of the columns: pages are made in several threads

    async def close(self) -> None:
        """End children and threads."""
        await self.figures.close()
        self._threads.shutdown(cancel_futures=True)
        self.database.close()

    async def of(
        self, header: StudyHeader, work: Callable[Concatenate[Columns, P], T], *arguments: P.args, **named: P.kwargs
    ) -> T:
        """Return a function of a study's columns, which are brought up to date before."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._threads, lambda: work(self._fresh(header), *arguments, **named))

    async def revision(self, header: StudyHeader) -> int:
        """Return the revision of a study."""
        return await self.run(revision, self.database, header.key)

    async def streamed(self, parts: Iterator[bytes]) -> AsyncIterator[bytes]:
        """Yield what an iterator gives, computed in a thread."""
        loop = asyncio.get_running_loop()
        while (part := await loop.run_in_executor(self._threads, next, parts, b"")) != b"":
            yield part

    async def run(self, work: Callable[P, T], *arguments: P.args, **named: P.kwargs) -> T:
        """Run a function in a thread."""
        return await asyncio.get_running_loop().run_in_executor(self._threads, lambda: work(*arguments, **named))

    def _fresh(self, header: StudyHeader) -> Columns:
        with self._lock:
            columns = self._columns.setdefault(header.key, Columns(header))
            self._columns.move_to_end(header.key)
        columns.update(self.database)
        with self._lock:
            while len(self._columns) > 1 and sum(map(len, self._columns.values())) > MOST_TRIALS:
                self._columns.popitem(last=False)
        return columns


def whole(columns: Columns) -> Columns:
    """Return the columns themselves."""
    return columns
