"""Taking results out and throwing studies away: ``export`` and ``delete``."""

from __future__ import annotations

import enum
import sys
from pathlib import Path
from typing import Annotated

import typer

from sonde.cli import output
from sonde.cli.opening import existing_storage, existing_study, only_study
from sonde.cli.options import DEFAULT_STORAGE, JsonOption, NameOption, StorageOption
from sonde.errors import OptionError
from sonde.text import printable


class Format(enum.StrEnum):
    """How to write a table."""

    csv = "csv"
    json = "json"


def export(
    storage: StorageOption = DEFAULT_STORAGE,
    name: NameOption = None,
    target: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", help="File to write; its ending, .csv or .json, is the format."),
    ] = None,
    kind: Annotated[
        Format | None, typer.Option("--format", help="Format; without --output, print it. [default: csv]")
    ] = None,
    raw: Annotated[
        bool, typer.Option("--raw", help="Do not put an apostrophe before text that a spreadsheet would run.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Write all trials of a study as CSV or JSON."""
    chosen = _format(target, Format.json if as_json else kind)
    with existing_study(storage, name) as study:
        from sonde.study.export import text

        found = study.trials
        written = text(found, study.space, chosen, raw=raw)
    if target is None:
        shown = written.removesuffix("\n")
        typer.echo(printable(shown, lines=True) if sys.stdout.isatty() else shown)
        return
    _write(target, written)
    output.notice(f"wrote {output.counted(len(found))} to {target}")


def delete(
    storage: StorageOption = DEFAULT_STORAGE,
    name: NameOption = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Delete a study and its trials."""
    from sonde.study import checks

    with existing_storage(storage) as opened:
        chosen = opened.find_study(checks.name(name or only_study(opened))).name
        count = next(sum(one.counts.values()) for one in opened.studies() if one.header.name == chosen)
        if not yes:
            _confirm(f"Delete study {chosen!r} with its {output.counted(count)}?")
        opened.delete_study(chosen)
    if as_json:
        output.print_json({"deleted": chosen, "trials": count})
    else:
        output.notice(f"deleted study {chosen!r} with its {output.counted(count)}")


def _format(target: Path | None, kind: Format | None) -> str:
    if kind is not None:
        return kind.value
    if target is None:
        return Format.csv.value
    ending = target.suffix.removeprefix(".").lower()
    if ending not in list(Format):
        raise OptionError(f"the file must end in .csv or .json, got {str(target)!r}; rename it or give --format")
    return ending


def _write(target: Path, text: str) -> None:
    try:
        target.write_text(text, encoding="utf-8", newline="")
    except OSError as error:
        raise OptionError(f"cannot write {str(target)!r}: {error.strerror}; choose another file") from None


def _confirm(question: str) -> None:
    if not sys.stdin.isatty():
        raise OptionError("delete asks before it deletes, and there is no terminal to answer in; give --yes")
    typer.confirm(question, abort=True, err=True)
