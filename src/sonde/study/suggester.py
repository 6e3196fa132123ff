"""The suggester: computes suggestions for all that wait, and ahead of them.

``Study.ask`` suggests when it is called. Where workers must not wait for that, somebody suggests all the time instead:
a thread of the loop of ``optimize``, or a process of the service. A trial that was suggested ahead waits in the queue;
for the strategy it is pending, as one that runs.
"""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

from sonde.storage.machine import is_dead

if TYPE_CHECKING:
    from sonde.storage import AskReply
    from sonde.study.study import Study


class Suggester:
    """Suggests one batch after another for a study."""

    def __init__(self, study: Study) -> None:
        self._own = study._apart()
        self._closed = threading.Event()
        self.seconds = 0.0  # that the last batch took
        self.exhausted = False  # whether the space has no more configurations

    def suggest(self, ahead: int = 0) -> bool:
        """Suggest for all waiting asks, and so many more that ``ahead`` trials wait; return whether any were added."""
        return self.serve(self.begin(ahead))

    def begin(self, ahead: int) -> AskReply:
        """Become the suggester, and learn for how many to suggest."""
        own = self._own
        return own.storage.begin_ask(own._header.key, [], own._asker, since=own._history.revision, ahead=ahead)

    def serve(self, reply: AskReply) -> bool:
        """Suggest what was begun, if this is the suggester; return whether any trials were added."""
        own, asker = self._own, self._own._asker
        storage, study = own.storage, own._header.key
        if not reply.granted:
            if reply.suggester is not None and is_dead(reply.process):
                storage.end_suggester_lease(study, reply.suggester)
            return False
        started = time.monotonic()
        try:
            rows = own._suggest(reply)
        except BaseException:
            storage.end_suggester_lease(study, asker.name)
            raise
        if self._closed.is_set():
            storage.end_suggester_lease(study, asker.name)
            return False
        storage.finish_ask(study, reply, rows, [], asker)
        self.seconds = time.monotonic() - started
        self.exhausted = len(rows) < reply.wanted
        return bool(rows)

    def close(self) -> None:
        """Insert nothing more, not even the suggestion that is computed now."""
        self._closed.set()
        self._own._heartbeat.stop()
        self._own._curves.close()
