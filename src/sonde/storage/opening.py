"""From a URL to a storage. SQLAlchemy is loaded only where a database is asked for."""

from __future__ import annotations

import os

from sonde.errors import OptionError, StorageError
from sonde.storage.memory import MemoryStorage
from sonde.storage.port import Storage


def open_storage(storage: str | os.PathLike[str] | Storage | None, *, existing: bool = False) -> Storage:
    """Return the storage for a URL or path; None is a new one in memory, and a storage is itself.

    ``existing`` refuses a SQLite file that is not there instead of creating it.
    """
    if storage is None:
        return MemoryStorage()
    if isinstance(storage, Storage):
        return storage
    from sonde.storage.sql import SqlStorage, urls

    text = os.fspath(storage) if isinstance(storage, str | os.PathLike) else None
    if not isinstance(text, str):
        raise OptionError(f"storage must be {urls.EXPECTED}; got {storage!r}")
    url = urls.parse(text)
    if existing and url.get_backend_name() == "sqlite" and not os.path.exists(str(url.database)):
        raise StorageError(f"there is no database {str(url.database)!r}; check the path")
    return SqlStorage.open(text)
