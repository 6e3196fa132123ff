"""The command-line application: its commands, and error messages in one line."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import click

from sonde.cli.manage import delete, export
from sonde.cli.run import run
from sonde.cli.serve import serve
from sonde.cli.show import best, studies, trials
from sonde.cli.token import token
from sonde.cli.worker import worker
from sonde.errors import SondeError
from sonde.text import printable
from sonde.version import __version__


class Application(click.Group):
    """Commands in the order in which they are added; a ``SondeError`` is one line on standard error."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of the commands."""
        return list(self.commands)

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command."""
        try:
            return super().invoke(ctx)
        except SondeError as error:
            click.echo(f"error: {_one_line(error)}", err=True)
            ctx.exit(1)
        except click.UsageError as error:
            # Click repeats surplus arguments without escaping them.
            raise click.UsageError(printable(error.format_message()), error.ctx) from None
        except KeyboardInterrupt:
            ctx.exit(130)  # the convention of shells; Click would exit with 1


@click.group(cls=Application, context_settings={"show_default": True})
@click.version_option(__version__, message="%(prog)s %(version)s", help="Show the version.")
def app() -> None:
    """Find good settings of any program in few runs.

    Begin with: sonde run --help
    """


for command in (run, worker, best, trials, studies, export, delete, serve, token):
    app.add_command(command)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line."""
    warnings.showwarning = _show_warning
    app(arguments, prog_name="sonde")


def _one_line(message: object) -> str:
    return printable(" ".join(line.strip() for line in str(message).splitlines()))


def _show_warning(message: object, *_: Any, **__: Any) -> None:
    click.echo(f"warning: {_one_line(message)}", err=True)
