"""When and where trials ran, read from the storage as it changes."""

from __future__ import annotations

import threading

from sonde.storage import Storage
from sonde.trials.times import Times


class Columns:
    """The times of a study; only what has changed since the last call is read."""

    def __init__(self, storage: Storage, study: str) -> None:
        self._storage, self._study = storage, study
        self._lock = threading.Lock()
        self._times, self._revision = Times.empty(), 0

    def times(self) -> Times:
        """Return the columns, up to date."""
        with self._lock:
            self._revision, rows = self._storage.times(self._study, self._revision)
            self._times = self._times.with_rows(rows)
            return self._times
