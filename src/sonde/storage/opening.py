"""From a URL to a storage. SQLAlchemy is loaded only where a database is asked for."""

from __future__ import annotations

import os
import re

from sonde.errors import OptionError, StorageError
from sonde.storage.memory import MemoryStorage
from sonde.storage.port import Storage

EXPECTED = "'sqlite:///file.db', 'postgresql://user@host/database', a path ending in .db, or None for memory"


def open_storage(storage: str | os.PathLike[str] | Storage | None, *, existing: bool = False) -> Storage:
    """Return the storage for a URL or path; None is a new one in memory, and a storage is itself.

    ``existing`` refuses a SQLite file that is not there instead of creating it.
    """
    if storage is None:
        return MemoryStorage()
    if isinstance(storage, Storage):
        return storage
    if not isinstance(storage, str | os.PathLike):
        raise OptionError(f"storage must be {EXPECTED}; got {storage!r}")
    url = _url(os.fspath(storage))
    path = url.partition(":///")[2].partition("?")[0]
    if existing and url.startswith("sqlite") and path and not os.path.exists(path):
        raise StorageError(f"there is no database {path!r}; check the path")
    from sonde.storage.sql import SqlStorage

    return SqlStorage.open(url)


def _url(text: str) -> str:
    if re.match(r"sqlite(\+\w+)?://", text):
        return text
    if re.match(r"postgres(ql)?(\+psycopg)?://", text):
        return re.sub(r"^postgres(ql)?(\+psycopg)?://", "postgresql+psycopg://", text)
    if "://" not in text and text.endswith((".db", ".sqlite", ".sqlite3")):
        return f"sqlite:///{text}"
    raise OptionError(f"storage must be {EXPECTED}; got {text!r}")
