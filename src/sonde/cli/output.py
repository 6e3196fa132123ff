"""Results on standard output: tables for people, JSON for programs. Notices go to standard error."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from sonde.cli.template import argument_text
from sonde.text import printable

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from sonde.study import Study

_UNBOUNDED = 100_000  # columns: a pipe has no width, so cells are not folded


def notice(text: str) -> None:
    """Print a message on standard error."""
    click.echo(printable(text, lines=True), err=True)


def counted(number: int) -> str:
    """Return a number of trials as text: 1 trial, 2 trials."""
    return f"{number} trial" if number == 1 else f"{number} trials"


def counts(study: Study) -> dict[str, int]:
    """Return how many trials of a study have ended, and how many of these failed or were stopped."""
    from sonde.trials import State
    from sonde.trials.state import ENDED

    count = study.history.count
    return {"trials": count(*ENDED), "failed": count(State.FAILED), "stopped": count(State.STOPPED)}


def counted_ends(numbers: Mapping[str, Any]) -> str:
    """Return the numbers of ``counts`` as text: 40 trials (2 failed, 11 stopped)."""
    early = ", ".join(f"{numbers[what]} {what}" for what in ("failed", "stopped") if numbers[what])
    return counted(numbers["trials"]) + (f" ({early})" if early else "")


def print_json(data: Any) -> None:
    """Print data as JSON."""
    click.echo(json.dumps(data, indent=2))


def print_table(headers: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Print a table; cells are folded, not cut, if it is wider than the terminal."""
    console().print(make_table(headers, rows))


def print_narrowest(*tables: Table) -> None:
    """Print the first of several tables that fits the terminal, or the last."""
    from rich.measure import Measurement

    here = console()
    unbounded = here.options.update(width=_UNBOUNDED)
    fits = (table for table in tables if Measurement.get(here, unbounded, table).maximum <= here.width)
    here.print(next(fits, tables[-1]))


def make_table(headers: Sequence[str], rows: Iterable[Sequence[str]]) -> Table:
    """Return a table of plain text."""
    from rich.table import Table
    from rich.text import Text  # not markup: a value may hold [brackets]

    table = Table(box=None, show_header=any(headers), pad_edge=False, padding=(0, 2, 0, 0))
    for header in headers:
        table.add_column(Text(printable(header)), overflow="fold")
    for row in rows:
        table.add_row(*(Text(printable(cell)) for cell in row))
    return table


def console() -> Console:
    """Return the console of standard output."""
    from rich.console import Console

    return Console(highlight=False, width=None if sys.stdout.isatty() else _UNBOUNDED)


def short(value: Any) -> str:
    """Return a value for a table: six digits of a float, an empty text for None."""
    if value is None:
        return ""
    return f"{value:.6g}" if isinstance(value, float) else argument_text(value)


def exact(value: Any) -> str:
    """Return a value as a program needs it, a float exactly; an empty text for None."""
    return "" if value is None else argument_text(value)
