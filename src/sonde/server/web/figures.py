"""Figures, computed in a child process for each study that is looked at.

It is not the child that suggests, nor the one that decides for workers whether to stop: a figure of a model may take a
minute, and nobody but its reader waits for it. It runs at a lower priority. A figure whose reader has gone is finished
for the next one, but for a short time only where somebody else waits: then the child is replaced. Children that nobody
has used for a while end.
"""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from contextlib import suppress
from typing import Any

from sonde.server.child import Child, ChildFailed
from sonde.server.wire import Refused
from sonde.storage import StudyHeader

MOST = 3  # children at once
IDLE = 300.0  # seconds after which a child ends
GONE = 3.0  # seconds that a figure nobody waits for may go on while others wait
KEPT = 128  # answers that are kept
NICE = 5  # how much lower the priority of a child is


class Figures:
    """The child processes of all studies, and their last answers."""

    def __init__(self, storage: str) -> None:
        self._storage = storage
        self._of: OrderedDict[str, _Computing] = OrderedDict()  # the last used last
        self._kept: OrderedDict[tuple[Any, ...], dict[str, Any]] = OrderedDict()
        self._tidying: asyncio.Task[None] | None = None
        self._spare: asyncio.Task[Child] | None = None

    def prepare(self) -> None:
        """Start a child that has imported everything, for the first study that is looked at."""
        if self._spare is None and not self._of:
            self._spare = asyncio.create_task(Child.spare(NICE))

    async def close(self) -> None:
        """End the children."""
        if self._tidying is not None:
            self._tidying.cancel()
        if self._spare is not None:
            await (await self._spare).close()
        await asyncio.gather(*(one.close() for one in self._of.values()))

    async def answer(self, header: StudyHeader, revision: int, command: str, **arguments: Any) -> dict[str, Any]:
        """Return the answer of a study's child to a command, as of a revision or later."""
        name = (header.key, revision, command, *sorted((key, str(value)) for key, value in arguments.items()))
        if name not in self._kept:
            answer = await self._computing(header).call(command, **arguments)
            self._kept[name] = answer
            while len(self._kept) > KEPT:
                self._kept.popitem(last=False)
        self._kept.move_to_end(name)
        return self._kept[name]

    def _computing(self, header: StudyHeader) -> _Computing:
        if self._tidying is None:
            self._tidying = asyncio.create_task(self._tidy())
        if header.key not in self._of:
            self._of[header.key] = _Computing(self._storage, header.name, self._spare)
            self._spare = None
        self._of.move_to_end(header.key)
        return self._of[header.key]

    async def _tidy(self) -> None:
        """End children that nobody uses, or that are too many."""
        while True:
            await asyncio.sleep(1.0)
            for key, one in list(self._of.items()):
                if not one.busy and (len(self._of) > MOST or time.monotonic() - one.used > IDLE):
                    del self._of[key]
                    await one.close()


class _Computing:
    """The child of one study; commands wait for their turn, and one that is given up before it is never sent."""

    def __init__(self, storage: str, name: str, spare: asyncio.Task[Child] | None) -> None:
        self._storage, self._name, self._spare = storage, name, spare
        self._child: Child | None = None
        self._turn = asyncio.Lock()
        self._running: asyncio.Future[dict[str, Any]] | None = None
        self._waiting = 0
        self.used = time.monotonic()

    @property
    def busy(self) -> bool:
        """Whether anybody waits."""
        return self._waiting > 0

    async def call(self, command: str, **arguments: Any) -> dict[str, Any]:
        """Have the child do something."""
        self._waiting += 1
        try:
            async with self._turn:
                await self._end_given_up()
                child = await self._own_child()
                self._running = asyncio.ensure_future(child.call(command, **arguments))
                self._running.add_done_callback(_retrieve)
                return await asyncio.shield(self._running)
        except ChildFailed as error:
            if error.refused:
                raise Refused(422, "OptionError", str(error)) from None
            raise Refused(503, "ComputingFailed", str(error), "try again; see the log of the server") from None
        finally:
            self._waiting -= 1
            self.used = time.monotonic()

    async def _own_child(self) -> Child:
        if self._child is None or self._child.ended:
            spare, self._spare = self._spare, None
            self._child = await (spare if spare is not None else Child.spare(NICE))
            self._child.open(self._storage, self._name)
        return self._child

    async def _end_given_up(self) -> None:
        """Wait a little for what nobody waits for any more; then end the child that computes it."""
        if self._running is None or self._running.done():
            return
        done, _ = await asyncio.wait([self._running], timeout=GONE)
        if not done:
            await self.close()

    async def close(self) -> None:
        """End the child at once."""
        child, self._child = self._child, None
        spare, self._spare = self._spare, None
        for one in (child, None if spare is None else await spare):
            if one is not None:
                with suppress(ProcessLookupError):
                    one.kill()
                await one.close()


def _retrieve(done: asyncio.Future[Any]) -> None:
    """Note the error of an answer that nobody may wait for."""
    if not done.cancelled():
        done.exception()
