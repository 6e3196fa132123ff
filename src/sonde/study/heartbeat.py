"""A thread that renews the leases of this process: those of its running trials, and the suggester's lease.

It runs only while there are leases to renew. It dies with the process, and the leases end soon after.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterable

from sonde.errors import SondeError
from sonde.storage import Asker, Storage

_log = logging.getLogger(__name__)


class Heartbeat:
    """Renews leases, at intervals of a third of the shortest one."""

    def __init__(self, storage: Storage, study: str, asker: Asker) -> None:
        self._storage, self._study, self._asker = storage, study, asker
        self._interval = min(asker.suggester_lease, asker.lease or asker.suggester_lease) / 3
        self._condition = threading.Condition()
        self._tokens: set[str] = set()
        self._suggesting = False
        self._stopped = False
        self._thread: threading.Thread | None = None

    def hold(self, tokens: Iterable[str | None]) -> None:
        """Begin to renew the leases of the trials with these tokens."""
        if self._asker.lease is not None:
            with self._condition:
                self._tokens.update(token for token in tokens if token is not None)
                self._start()

    def drop(self, token: str | None) -> None:
        """Stop renewing a lease."""
        with self._condition:
            self._tokens.discard(token or "")

    def stop(self) -> None:
        """Stop renewing all leases; the thread ends."""
        with self._condition:
            self._stopped = True
            self._tokens.clear()
            self._condition.notify_all()

    def __enter__(self) -> None:
        """Begin to renew the suggester's lease."""
        with self._condition:
            self._suggesting = True
            self._start()

    def __exit__(self, *_: object) -> None:
        """Stop renewing the suggester's lease."""
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
            self._storage.renew_suggester_lease(self._study, self._asker)
