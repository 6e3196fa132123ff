"""``sonde plot`` and ``sonde report``: figures of a study, their numbers, and all of them in one file."""

from __future__ import annotations

import math
import sys
from functools import partial
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sonde.cli import completing, output
from sonde.cli.opening import existing_study
from sonde.cli.options import anywhere_option, json_option, name_option, token_option
from sonde.errors import OptionError
from sonde.text import printable

if TYPE_CHECKING:
    from sonde.study import Study

DRAWN = (".html", ".png", ".svg", ".pdf")
NUMBERS = (".csv", ".json")
FLAGS = {"objective": "--objective", "x": "--x", "y": "--y", "parameters": "--parameter", "log": "--log"}


@click.command
@click.argument("figure", required=False, shell_complete=completing.figures)
@click.option(
    "--output", "-o", "target", metavar="FILE", type=click.Path(dir_okay=False, path_type=Path),
    help="File to write: .html, .png, .svg or .pdf has the figure, .csv or .json its numbers.",
)  # fmt: skip
@click.option("--list", "listed", is_flag=True, help="List the figures.")
@click.option(
    "--objective", metavar="NAME", shell_complete=completing.objective_names,
    help="Of several objectives, the one that is shown.",
)  # fmt: skip
@click.option("--x", metavar="NAME", shell_complete=completing.parameter_names, help="Parameter of the x axis.")
@click.option("--y", metavar="NAME", shell_complete=completing.parameter_names, help="Parameter of the y axis.")
@click.option(
    "--parameter", "parameters", metavar="NAME", multiple=True, shell_complete=completing.parameter_names,
    help="A parameter of slices or parallel; may be repeated.",
)  # fmt: skip
@click.option("--log/--linear", default=None, help="The axis of values; by default logarithmic where that helps.")
@click.option(
    "--with", "others", metavar="STUDY", multiple=True, shell_complete=completing.studies,
    help="A study to compare with; may be repeated.",
)  # fmt: skip
@click.option("--dark", is_flag=True, help="Draw it for a dark page.")
@anywhere_option
@token_option
@name_option
@json_option
def plot(
    figure: str | None, target: Path | None, listed: bool, others: tuple[str, ...], dark: bool, storage: str,
    name: str | None, as_json: bool, **options: Any,
) -> None:  # fmt: skip
    """Draw a figure of a study to a file; without -o, print its numbers.

    \b
    Examples:
      sonde plot --list
      sonde plot history -o history.html
      sonde plot history --name cnn -o history.png
      sonde plot contours --x lr --y layers -o contours.svg --dark
      sonde plot compare --name cnn --with cnn-2 -o both.png
      sonde plot history
    """
    if listed:
        _list(as_json)
        return
    ending = None if target is None else _ending(target, (*DRAWN, *NUMBERS))
    chosen = _figure(figure)
    given = _options(chosen, options)
    if bool(others) != (chosen == "compare"):
        raise OptionError("--with STUDY goes with compare: sonde plot compare --with NAME")
    with existing_study(storage, name, suggests=True) as study:
        draw = partial(getattr(study.plot, chosen), *_loaded(study, others), **given)
        if target is None:
            _print(draw(data=True), as_json)
            return
        if ending in NUMBERS:
            _write(draw(data=True).write, target)
        else:
            shown = draw()
            _write((shown.dark() if dark else shown).save, target)
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


def _options(figure: str, options: dict[str, Any]) -> dict[str, Any]:
    """Return the options of a figure that were given; raise ``OptionError`` for one that it does not have."""
    from sonde.plots import Plots

    known = signature(getattr(Plots, figure)).parameters
    given = {name: value for name, value in options.items() if value not in (None, ())}
    for name in given:
        if name not in known:
            own = [flag for option, flag in FLAGS.items() if option in known]
            raise OptionError(f"{figure} has no {FLAGS[name]}; it has {', '.join(own) or 'no options'}")
    return {name: list(value) if isinstance(value, tuple) else value for name, value in given.items()}


def _loaded(study: Study, others: tuple[str, ...]) -> list[Study]:
    """Return other studies of the same storage."""
    from sonde.study import Study

    return [Study.load(study.storage, name, strategy="random") for name in others]


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
