"""Opens the storage of a URL, and finds its only study. SQLAlchemy is loaded only for a database."""

from __future__ import annotations

import os

from sonde.errors import OptionError, StorageError, StudyNotFound
from sonde.storage.memory import MemoryStorage
from sonde.storage.port import Storage


def open_storage(storage: str | os.PathLike[str] | Storage | None, *, existing: bool = False) -> Storage:
    """Return the storage of a URL or path. None gives a new one in memory; a ``Storage`` is returned as it is.

    With ``existing`` a missing SQLite file raises ``StorageError`` instead of being created.
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
    return SqlStorage(text)


def only_study(storage: Storage) -> str:
    """Return the name of the only study of a storage."""
    names = [summary.header.name for summary in storage.studies()]
    if not names:
        raise StudyNotFound("the storage has no studies yet; sonde run, sonde.minimize and sonde.Study start one")
    if len(names) > 1:
        listed = ", ".join(names[:20]) + (", ..." if len(names) > 20 else "")
        raise OptionError(f"the storage has {len(names)} studies ({listed}); choose one by its name (name=, --name)")
    return names[0]
