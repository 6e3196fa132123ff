"""Options that several commands share."""

from __future__ import annotations

from functools import partial

import click

storage_option = click.option(
    "--storage", metavar="URL", envvar="SONDE_STORAGE", show_envvar=True, default="sqlite:///sonde.db",
    help="Database: sqlite:///file.db, a path ending in .db, or postgresql://...",
)  # fmt: skip
study_option = partial(click.option, "--name", metavar="NAME", envvar="SONDE_NAME", show_envvar=True)
name_option = study_option(help="Name of the study; not needed for the only one.")
json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON, for programs.")
