"""Fitted models of strategies, cached in the storage for other processes."""

from __future__ import annotations

import logging

from sonde.errors import SondeError
from sonde.storage import Storage

_log = logging.getLogger(__name__)


class StoredStates:
    """The ``StateCache`` of a study: errors of the storage are logged, not raised."""

    def __init__(self, storage: Storage, study: str) -> None:
        self._storage, self._study = storage, study

    def get(self, name: str) -> bytes | None:
        """Return a state, or None."""
        try:
            return self._storage.load_state(self._study, name)
        except SondeError as error:
            _log.warning("could not read a cached model: %s", error)
            return None

    def put(self, name: str, state: bytes) -> None:
        """Keep a state."""
        try:
            self._storage.save_state(self._study, name, state)
        except SondeError as error:
            _log.warning("could not store a cached model: %s", error)
