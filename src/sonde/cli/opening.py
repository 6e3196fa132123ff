"""Opening existing storages and studies. A command that only reads creates none.

A storage is a database, or a service that has one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sonde.errors import StorageError

if TYPE_CHECKING:
    from sonde.storage import Storage
    from sonde.study import Study


TOKEN = "sonde.token"  # where a context keeps the token of a service


def is_service(url: str) -> bool:
    """Whether a URL is the address of a service."""
    return url.startswith(("http://", "https://"))


def place(url: str, **options: Any) -> str | Storage:
    """Return the storage of a service, with options of its own; a database's URL as it is."""
    if not is_service(url):
        return url
    from sonde.remote import RemoteStorage

    return RemoteStorage(url, click.get_current_context().meta.get(TOKEN), **options)


@contextmanager
def existing_storage(url: str, **options: Any) -> Iterator[Storage]:
    """Open an existing storage; close it at the end."""
    path = None if is_service(url) else sqlite_path(url)
    if path is not None and not path.exists():
        raise StorageError(
            f"there is no database {str(path)!r}; check --storage and SONDE_STORAGE, or start a study with: sonde run"
        )
    from sonde.storage import open_storage

    storage = open_storage(place(url, **options))
    try:
        yield storage
    finally:
        storage.close()


@contextmanager
def existing_study(url: str, name: str | None, *, suggests: bool = False) -> Iterator[Study]:
    """Open a study, with its own strategy where it ``suggests``: that one need not be installed to read a study."""
    with existing_storage(url) as storage:
        from sonde.study import Study

        yield Study.load(storage, name, strategy=None if suggests else "random")


def only_study(storage: Storage) -> str:
    """Return the name of the only study."""
    from sonde import storage as storages

    return storages.only_study(storage)


def sqlite_path(url: str) -> Path | None:
    """Return the file of a SQLite URL or path; None for everything else."""
    found = re.fullmatch(r"sqlite(?:\+\w+)?:///([^?]+)(?:\?.*)?", url)
    path = found.group(1) if found else url
    return None if "://" in path or path.startswith(("file:", ":memory:")) else Path(path)
