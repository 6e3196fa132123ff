"""The workers of a study that were seen lately: the queue is as long as there are of them."""

from __future__ import annotations

import time
from collections.abc import Iterable

LATELY = 60.0  # seconds
MOST = 4096  # names that count, and so the longest queue: a client may make up names


class Workers:
    """Names of workers, and when they asked, told or sent a heartbeat last."""

    def __init__(self) -> None:
        self._seen: dict[str, float] = {}  # the latest last
        self._of: dict[str, str] = {}  # workers by the tokens of their trials

    def asked(self, worker: str, tokens: Iterable[str]) -> None:
        """Note an ask."""
        self._note(worker)
        for token in tokens:
            self._of[token] = worker
        while len(self._of) > 16 * MOST:
            del self._of[next(iter(self._of))]

    def works(self, token: str, worker: str | None) -> None:
        """Note a sign of life of the worker that has this trial."""
        self._note(worker or self._of.get(token, token))

    def told(self, token: str, worker: str | None) -> None:
        """Note a result."""
        self.works(token, worker)
        self._of.pop(token, None)

    def count(self) -> int:
        """Return how many were seen lately."""
        oldest = time.monotonic() - LATELY
        while self._seen:
            first = next(iter(self._seen))
            if self._seen[first] >= oldest:
                break
            del self._seen[first]
        return len(self._seen)

    def _note(self, worker: str) -> None:
        self._seen.pop(worker, None)
        if len(self._seen) < MOST:
            self._seen[worker] = time.monotonic()
