"""Options that several commands share."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import click

from sonde.cli import completing
from sonde.cli.opening import TOKEN

storage_option = click.option(
    "--storage", metavar="URL", envvar="SONDE_STORAGE", show_envvar=True, default="sqlite:///sonde.db",
    help="Database: sqlite:///file.db, a path ending in .db, or postgresql://...",
)  # fmt: skip
anywhere_option = click.option(
    "--storage", metavar="URL", envvar="SONDE_STORAGE", show_envvar=True, default="sqlite:///sonde.db",
    help="Database: sqlite:///file.db, a path ending in .db, postgresql://..., or a service: http://host:8080",
)  # fmt: skip
token_option = click.option(
    "--token", metavar="TOKEN", envvar="SONDE_TOKEN", show_envvar=True, expose_value=False, is_eager=True,
    help="Token for a service; others of this machine can see what is on a command line.",
    callback=lambda context, _, value: context.meta.__setitem__(TOKEN, value),
)  # fmt: skip
study_option = partial(
    click.option, "--name", metavar="NAME", envvar="SONDE_NAME", show_envvar=True, shell_complete=completing.studies
)
name_option = study_option(help="Name of the study; not needed for the only one.")
json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON, for programs.")


class Seconds(click.FloatRange):
    """Seconds within a range; Click's own lets NaN pass."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the number."""
        seconds = super().convert(value, param, ctx)
        if math.isnan(seconds):
            self.fail(f"{value!r} is not a number of seconds", param, ctx)
        return seconds
