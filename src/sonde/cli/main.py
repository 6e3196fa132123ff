"""The command-line application: its commands, loaded when they are used, and error messages in one line."""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from importlib import import_module
from typing import Any

import click

from sonde.cli.commands import COMMANDS
from sonde.errors import SondeError
from sonde.text import printable
from sonde.version import __version__

COMPLETE = "_SONDE_COMPLETE"  # Click's name for the variable by which a shell asks for completions


class Application(click.Group):
    """The commands of the table; a ``SondeError`` is one line on standard error."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of the commands."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context | None, cmd_name: str) -> click.Command | None:
        """Load a command."""
        if cmd_name not in COMMANDS:
            return None
        place = COMMANDS[cmd_name]
        command: click.Command = getattr(import_module(f"sonde.cli.{place.module}"), place.function)
        return command

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        """Return the command of the arguments; one that is not there is answered with the nearest one."""
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            from difflib import get_close_matches

            near = get_close_matches(args[0], COMMANDS, n=1)
            hint = f" Did you mean {near[0]}?" if near else ""
            raise click.UsageError(f"{error.message}{hint}", ctx) from None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands without loading them."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, place.help) for name, place in COMMANDS.items()])

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[Any]:
        """Complete the name of a command, without loading any, or an option."""
        from click.shell_completion import CompletionItem

        found = [name for name in COMMANDS if name.startswith(incomplete)]
        return [
            *(CompletionItem(name, help=COMMANDS[name].help) for name in found),
            *click.Command.shell_complete(self, ctx, incomplete),
        ]

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

    \b
    Examples:
      sonde run -n 30 -- python train.py --lr '{lr:float:1e-5..1e-1:log}'
      sonde show
      sonde run --help
    """


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line."""
    warnings.showwarning = _show_warning
    if COMPLETE in os.environ:
        import_module("sonde.cli.completion")
    app(arguments, prog_name="sonde")


def _one_line(message: object) -> str:
    return printable(" ".join(line.strip() for line in str(message).splitlines()))


def _show_warning(message: object, *_: Any, **__: Any) -> None:
    click.echo(f"warning: {_one_line(message)}", err=True)
