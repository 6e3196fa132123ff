"""Options that several commands share."""

from __future__ import annotations

import enum
from typing import Annotated

import typer

DEFAULT_STORAGE = "sqlite:///sonde.db"
DEFAULT_NAME = "default"

StorageOption = Annotated[
    str,
    typer.Option(
        "--storage", metavar="URL", envvar="SONDE_STORAGE", help="Database: sqlite:///file.db, a path ending in .db, or postgresql://..."
    ),
]  # fmt: skip
NameOption = Annotated[
    str | None,
    typer.Option("--name", metavar="NAME", envvar="SONDE_NAME", help="Name of the study; not needed for the only one."),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")]


class Direction(enum.StrEnum):
    """Which way is better."""

    minimize = "minimize"
    maximize = "maximize"
