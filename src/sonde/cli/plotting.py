"""``sonde plot`` and ``sonde report``: figures of a study, their numbers, and all of them in one file."""

from __future__ import annotations

import math
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sonde.cli import completing, output
from sonde.cli.opening import existing_study
from sonde.cli.options import anywhere_option, json_option, name_option, token_option
from sonde.errors import OptionError
from sonde.text import printable

if TYPE_CHECKING:
    pass

DRAWN = (".html", ".png", ".svg")
NUMBERS = (".csv", ".json")


@click.command
@click.argument("figure", required=False, shell_complete=completing.figures)
@click.option(
    "--output", "-o", "target", metavar="FILE", type=click.Path(dir_okay=False, path_type=Path),
    help="File to write: .html, .png or .svg has the figure, .csv or .json its numbers.",
)  # fmt: skip
@click.option("--list", "listed", is_flag=True, help="List the figures.")
@anywhere_option
@token_option
@name_option
@json_option
def plot(
    figure: str | None, target: Path | None, listed: bool, storage: str, name: str | None, as_json: bool
) -> None:  # fmt: skip
    """Draw a figure of a study to a file; without -o, print its numbers.

    \b
    Examples:
      sonde plot --list
      sonde plot history -o history.html
      sonde plot history --name cnn -o history.png
      sonde plot history
    """
    if listed:
        _list(as_json)
        return
    ending = None if target is None else _ending(target, (*DRAWN, *NUMBERS))
    chosen = _figure(figure)
    with existing_study(storage, name, suggests=True) as study:
        if target is None:
            _print(getattr(study.plot, chosen)(data=True), as_json)
            return
        if ending in NUMBERS:
            _write(getattr(study.plot, chosen)(data=True).write, target)
        else:
            _write(getattr(study.plot, chosen)().save, target)
    output.notice(f"wrote {chosen} to {target}")


@click.command
@click.option(
    "--output", "-o", "target", metavar="FILE", type=click.Path(dir_okay=False, path_type=Path),
    default=Path("report.html"), help="File to write.",
)  # fmt: skip
@anywhere_option
@token_option
@name_option
def report(target: Path, storage: str, name: str | None) -> None:
    """Write a report of a study: one HTML file with its figures, best trials, failures, model and settings.

    It needs no network to be read, and no Sonde.

    \b
    Examples:
      sonde report
      sonde report --name cnn -o cnn.html
    """
    _ending(target, (".html",))
    with existing_study(storage, name, suggests=True) as study:
        _write(study.report, target)
    output.notice(f"wrote the report to {target}")


def _list(as_json: bool) -> None:
    from sonde.plots.plots import descriptions

    names = descriptions()
    if as_json:
        output.print_json(names)
    else:
        output.print_table(("figure", "what it shows"), list(names.items()))


def _figure(name: str | None) -> str:
    from sonde.plots.plots import FIGURES

    if name is None:
        raise click.UsageError("a figure is missing; sonde plot --list has their names")
    if name not in FIGURES:
        raise OptionError(f"there is no figure {name!r}; there are {', '.join(FIGURES)}")
    return name


def _print(table: Any, as_json: bool) -> None:
    """Print the numbers of a figure, as aligned text or as JSON."""
    if as_json:
        output.print_json([{name: _finite(cell) for name, cell in row.items()} for row in table.rows()])
        return
    shown = "\n".join(part for part in (table.text(), table.note) if part)
    click.echo(printable(shown, lines=True) if sys.stdout.isatty() else shown)


def _finite(cell: Any) -> Any:
    """Return a cell for JSON, which has no NaN."""
    return None if isinstance(cell, float) and not math.isfinite(cell) else cell


def _ending(target: Path, allowed: tuple[str, ...]) -> str:
    ending = target.suffix.lower()
    if ending not in allowed:
        raise OptionError(f"the file must end in {', '.join(allowed)}, got {str(target)!r}")
    return ending


def _write(write: Any, target: Path) -> None:
    try:
        write(target)
    except OSError as error:
        raise OptionError(f"cannot write {str(target)!r}: {error.strerror}; choose another file") from None
