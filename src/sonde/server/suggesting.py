"""Has a child process suggest for a study, so that asks find trials that wait.

The queue is as long as the number of workers seen lately: each of them finds a trial when it comes back. A child that
dies is replaced at once. One that fails again and again has a broken study; then the pauses get longer, and asks are
answered with the reason. A child that nobody has needed for a while ends.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress

from sonde.server.child import Child, ChildFailed
from sonde.server.metrics import Metrics
from sonde.server.watch import Watch

BROKEN = 3  # failures in a row after which asks are told
LONGEST_PAUSE = 60.0  # seconds between two tries of a broken study
TOGETHER = 0.02  # seconds in which asks gather before the queue is filled again, if nobody waits
AGAIN = 0.05  # seconds until the next try if another process suggests now
PAUSED = 1.0  # seconds until the next try of a study that is paused

_log = logging.getLogger("sonde.server")


class Suggesting:
    """The suggestions of one study."""

    def __init__(
        self, name: str, start: Callable[[], Awaitable[Child]], ahead: Callable[[], int], watch: Watch,
        metrics: Metrics, idle: float,
    ) -> None:  # fmt: skip
        self._name, self._start, self._ahead, self._watch, self._metrics = name, start, ahead, watch, metrics
        self._idle = idle  # seconds without asks after which the child ends
        self._wanted = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._failures = 0
        self.broken = ""  # why nothing can be suggested
        self.exhausted = False  # whether the space has no more configurations

    def wake(self) -> None:
        """Have the waiting asks served and the queue filled."""
        self._wanted.set()
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._run())

    async def close(self) -> None:
        """End the child."""
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task

    async def _run(self) -> None:
        child: Child | None = None
        try:
            while True:
                try:
                    if await self._needed():
                        child = child or await self._start()
                        await self._suggest(child)
                    else:  # an ask that comes while the child ends has another one started
                        await self._end(child)
                        child = None
                except ChildFailed as error:
                    self._note(error)
                    await self._end(child)
                    child = None
                    await asyncio.sleep(self._pause())
        finally:
            await self._end(child)

    async def _needed(self) -> bool:
        """Wait until there is something to do; return False if there is nothing for long."""
        try:
            await asyncio.wait_for(self._wanted.wait(), self._idle)
        except TimeoutError:
            return self._watch.waiting > 0
        if not self._watch.waiting:
            await asyncio.sleep(TOGETHER)
        self._wanted.clear()
        return True

    async def _suggest(self, child: Child) -> None:
        answer = await child.call("suggest", ahead=self._ahead())
        self._failures, self.broken = 0, ""
        changed = self.exhausted != answer["exhausted"]
        self.exhausted = answer["exhausted"]
        if answer["added"]:
            self._metrics.suggestion.labels(self._name).observe(answer["seconds"])
            self._watch.news()
        elif self._watch.waiting and not self.exhausted:
            if answer["paused"]:
                with suppress(TimeoutError):  # woken at once if this server resumes it
                    await asyncio.wait_for(self._wanted.wait(), PAUSED)
            else:  # another process suggests
                await asyncio.sleep(AGAIN)
            self._wanted.set()
        if changed:
            self._watch.wake_all()
        if answer["added"] and self._watch.waiting:
            self._wanted.set()  # some may have come meanwhile

    def _note(self, error: ChildFailed) -> None:
        self._failures += 1
        _log.warning("study %r: suggesting failed: %s", self._name, error)
        if self._failures >= BROKEN:
            self.broken = str(error)
            self._watch.wake_all()
        else:
            self._wanted.set()

    def _pause(self) -> float:
        """Return the seconds until the next try: none after the first failure."""
        return 0.0 if self._failures == 1 else min(0.25 * 2.0**self._failures, LONGEST_PAUSE)

    async def _end(self, child: Child | None) -> None:
        if child is not None:
            await asyncio.shield(asyncio.ensure_future(child.close()))
