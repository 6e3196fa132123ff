"""What several commands share: options, and opening existing storages. A command that only reads creates none."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from sonde.errors import OptionError, StorageError, StudyNotFound

if TYPE_CHECKING:
    from sonde.storage import Storage
    from sonde.study import Study


storage_option = click.option(
    "--storage", metavar="URL", envvar="SONDE_STORAGE", show_envvar=True, default="sqlite:///sonde.db",
    help="Database: sqlite:///file.db, a path ending in .db, or postgresql://...",
)  # fmt: skip
study_option = partial(click.option, "--name", metavar="NAME", envvar="SONDE_NAME", show_envvar=True)
name_option = study_option(help="Name of the study; not needed for the only one.")
json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON, for programs.")


@contextmanager
def existing_storage(url: str) -> Iterator[Storage]:
    """Open an existing storage; close it at the end."""
    path = sqlite_path(url)
    if path is not None and not path.exists():
        raise StorageError(
            f"there is no database {str(path)!r}; check --storage and SONDE_STORAGE, or start a study with: sonde run"
        )
    from sonde.storage import open_storage

    storage = open_storage(url)
    try:
        yield storage
    finally:
        storage.close()


@contextmanager
def existing_study(url: str, name: str | None) -> Iterator[Study]:
    """Open a study to read it."""
    with existing_storage(url) as storage:
        from sonde.study import Study

        # Nothing is suggested here, so the study's own strategy need not be installed.
        yield Study.load(storage, name or only_study(storage), strategy="random")


def only_study(storage: Storage) -> str:
    """Return the name of the only study."""
    names = [summary.header.name for summary in storage.studies()]
    if not names:
        raise StudyNotFound("the storage has no studies yet; start one with: sonde run")
    if len(names) > 1:
        raise OptionError(f"the storage has {len(names)} studies ({', '.join(names)}); choose one with --name")
    return names[0]


def sqlite_path(url: str) -> Path | None:
    """Return the file of a SQLite URL or path; None for everything else."""
    found = re.fullmatch(r"sqlite(?:\+\w+)?:///([^?]+)(?:\?.*)?", url)
    path = found.group(1) if found else url
    return None if "://" in path or path.startswith(("file:", ":memory:")) else Path(path)
