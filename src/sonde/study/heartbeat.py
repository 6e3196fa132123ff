"""A thread that keeps this process's claims alive: leases of its running trials, and its turn while it suggests.

It runs only while there is something to keep and the study is in use; it dies with the process, and so does every
claim a little later.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterable

from sonde.errors import SondeError
from sonde.storage import Asker, Storage

_log = logging.getLogger(__name__)


class Heartbeat:
    """Renews every third of the shortest claim."""

    def __init__(self, storage: Storage, study: str, asker: Asker) -> None:
        self._storage, self._study, self._asker = storage, study, asker
        self._interval = min(asker.turn, asker.lease or asker.turn) / 3
        self._condition = threading.Condition()
        self._tokens: set[str] = set()
        self._suggesting = False
        self._stopped = False
        self._thread: threading.Thread | None = None

    def hold(self, tokens: Iterable[str | None]) -> None:
        """Keep the leases of the trials with these tokens."""
        if self._asker.lease is not None:
            with self._condition:
                self._tokens.update(token for token in tokens if token is not None)
                self._start()

    def drop(self, token: str | None) -> None:
        """Stop keeping a lease."""
        with self._condition:
            self._tokens.discard(token or "")

    def stop(self) -> None:
        """Let go of everything; the thread ends."""
        with self._condition:
            self._stopped = True
            self._tokens.clear()
            self._condition.notify_all()

    def __enter__(self) -> None:
        """Keep the turn."""
        with self._condition:
            self._suggesting = True
            self._start()

    def __exit__(self, *_: object) -> None:
        """Stop keeping the turn."""
        with self._condition:
            self._suggesting = False

    def _start(self) -> None:
        self._stopped = False
        if self._thread is None or not self._thread.is_alive():  # a forked child has no threads
            self._thread = threading.Thread(target=self._run, name="sonde-heartbeat", daemon=True)
            self._thread.start()

    def _run(self) -> None:
        while True:
            with self._condition:
                self._condition.wait_for(lambda: self._stopped, self._interval)
                tokens, suggesting = sorted(self._tokens), self._suggesting
                if self._stopped or (not tokens and not suggesting):
                    self._thread = None
                    return
            try:
                self._beat(tokens, suggesting)
            except SondeError as error:
                _log.warning("could not renew leases, will try again: %s", error)

    def _beat(self, tokens: list[str], suggesting: bool) -> None:
        if tokens and self._asker.lease is not None:
            self._storage.heartbeat(self._study, tokens, self._asker.lease)
        if suggesting:
            self._storage.renew_turn(self._study, self._asker)
