"""Follows the changes of a study, for asks that wait and for streams of events.

One reader for all: it reads while anybody listens, at once when this server knows of news, and ``POLL`` seconds later
when another process has changed the study. An ask whose trial was suggested gets it from here, without a transaction of
its own.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import NamedTuple

from sonde.errors import StorageError, StudyNotFound
from sonde.server.threads import Threads
from sonde.storage import Storage
from sonde.trials import State, TrialRecord

POLL = 0.25  # seconds
PAUSE = 0.01  # seconds between two reads
KEPT = 256  # changes that are kept for streams that are a little behind
NEWEST = 2**62  # above all revisions


class Change(NamedTuple):
    """The trials changed after one revision, up to another."""

    since: int
    revision: int
    records: Sequence[TrialRecord]


class Listener:
    """Somebody who waits for news; an ask that waits has tokens."""

    def __init__(self, tokens: Sequence[str] = ()) -> None:
        self.missing = set(tokens)
        self.got: dict[str, TrialRecord] = {}
        self._news = asyncio.Event()

    def note(self, records: Sequence[TrialRecord]) -> None:
        """Note trials that are for this ask."""
        for record in records:
            if record.token in self.missing:
                self.missing.discard(record.token)
                self.got[record.token] = record

    def wake(self) -> None:
        """Tell that there is news."""
        self._news.set()

    async def news(self, seconds: float) -> bool:
        """Wait for news; return whether there is any."""
        try:
            await asyncio.wait_for(self._news.wait(), seconds)
        except TimeoutError:
            return False
        self._news.clear()
        return True


class Watch:
    """The changes of one study."""

    def __init__(self, storage: Storage, study: str, threads: Threads) -> None:
        self._storage, self._study, self._threads = storage, study, threads
        self._asks: dict[Listener, None] = {}  # in their order
        self._streams: set[Listener] = set()
        self._news = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self.revision = 0
        self._recent: deque[Change] = deque(maxlen=KEPT)

    @property
    def waiting(self) -> int:
        """How many asks wait."""
        return len(self._asks)

    def news(self) -> None:
        """Say that the study has changed."""
        self._news.set()

    def wake_all(self) -> None:
        """Wake all who listen: the service ends, or nothing more will be suggested."""
        for listener in [*self._asks, *self._streams]:
            listener.wake()

    @contextmanager
    def ask(self, tokens: Sequence[str]) -> Iterator[Listener]:
        """Listen for the trials of an ask."""
        listener = Listener(tokens)
        self._asks[listener] = None
        try:
            yield listener
        finally:
            del self._asks[listener]

    @contextmanager
    def stream(self) -> Iterator[Listener]:
        """Listen for all changes."""
        listener = Listener()
        self._streams.add(listener)
        try:
            yield listener
        finally:
            self._streams.discard(listener)

    async def ready(self) -> None:
        """Begin to follow the study, if nobody does. The caller listens already."""
        if self._task is None or self._task.done():
            revision, _ = await self._threads.read(self._storage.records, self._study, NEWEST)
            if self._task is None or self._task.done():
                self.revision = revision
                self._recent.clear()
                self._task = asyncio.create_task(self._follow())

    async def after(self, since: int) -> Change:
        """Return what has changed after a revision."""
        if since >= self.revision:
            return Change(since, since, ())
        for change in self._recent:
            if change.since == since:
                return change
        revision, records = await self._threads.read(self._storage.records, self._study, since)
        return Change(since, revision, records)

    async def close(self) -> None:
        """Follow no more."""
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task

    async def _follow(self) -> None:
        while self._asks or self._streams:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._news.wait(), POLL)
            self._news.clear()
            try:
                await self._read()
            except StudyNotFound:
                return self.wake_all()
            except StorageError:  # the asks report it
                pass
            await asyncio.sleep(PAUSE)

    async def _read(self) -> None:
        since = self.revision
        revision, records = await self._threads.read(self._storage.records, self._study, since)
        if revision == since:
            return
        self.revision = revision
        self._recent.append(Change(since, revision, records))
        self._serve(records)
        for listener in self._streams:
            listener.wake()

    def _serve(self, records: Sequence[TrialRecord]) -> None:
        """Give trials to the asks that wait for them, and wake as many asks as there are trials for anybody."""
        running = {record.token: record for record in records if record.state is State.RUNNING}
        queued = sum(record.state is State.WAITING for record in records)
        for listener in list(self._asks):
            mine = [running[token] for token in listener.missing & running.keys()]
            listener.note(mine)
            if mine or queued > 0:
                listener.wake()
            queued -= 0 if mine else len(listener.missing)
