"""The application: its commands, and errors in one line."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence
from typing import Annotated, Any

import typer

from sonde.cli.manage import delete, export
from sonde.cli.run import run
from sonde.cli.show import best, studies, trials
from sonde.errors import SondeError
from sonde.text import printable
from sonde.version import __version__

# Plain help: Rich would take longer to load than all the rest.
app = typer.Typer(name="sonde", rich_markup_mode=None, pretty_exceptions_enable=False, add_completion=False,
                  no_args_is_help=True)  # fmt: skip

# Everything after the program's name belongs to the program, with or without "--".
app.command(
    context_settings={"allow_interspersed_args": False, "allow_extra_args": True},
    options_metavar="[OPTIONS] -- PROGRAM [ARGUMENTS]...",
)(run)
app.command()(best)
app.command()(trials)
app.command()(studies)
app.command()(export)
app.command()(delete)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"sonde {__version__}")
        raise typer.Exit


@app.callback()
def application(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Find good settings of any program in few runs.

    Begin with: sonde run --help
    """


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line; what goes wrong on purpose is one line on standard error."""
    warnings.showwarning = _show_warning
    try:
        app(arguments, prog_name="sonde")
    except SondeError as error:
        typer.echo(f"error: {_one_line(error)}", err=True)
        sys.exit(1)


def _one_line(message: object) -> str:
    return printable(" ".join(line.strip() for line in str(message).splitlines()))


def _show_warning(message: object, *_: Any, **__: Any) -> None:
    typer.echo(f"warning: {_one_line(message)}", err=True)
