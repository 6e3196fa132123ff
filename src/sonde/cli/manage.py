"""The commands ``export`` and ``delete``."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from sonde.cli import output
from sonde.cli.opening import existing_storage, existing_study, only_study
from sonde.cli.options import anywhere_option, json_option, name_option, token_option
from sonde.errors import OptionError
from sonde.text import printable

_FORMATS = ("csv", "json")


@click.command
@anywhere_option
@token_option
@name_option
@click.option(
    "--output", "-o", "target", metavar="FILE", type=click.Path(path_type=Path),
    help="File to write; its ending, .csv or .json, is the format.",
)  # fmt: skip
@click.option(
    "--format", "kind", metavar="<csv|json>", type=click.Choice(_FORMATS),
    help="Format; without --output, print it. [default: csv]",
)  # fmt: skip
@click.option("--raw", is_flag=True, help="Do not put an apostrophe before text that a spreadsheet would run.")
@json_option
def export(storage: str, name: str | None, target: Path | None, kind: str | None, raw: bool, as_json: bool) -> None:
    """Write all trials of a study as CSV or JSON.

    \b
    Examples:
      sonde export -o trials.csv
      sonde export --name cnn --format json
    """
    chosen = _format(target, "json" if as_json else kind)
    with existing_study(storage, name) as study:
        from sonde.study.export import text

        found = study.trials
        written = text(found, study.space, chosen, raw=raw)
    if target is None:
        shown = written.removesuffix("\n")
        click.echo(printable(shown, lines=True) if sys.stdout.isatty() else shown)
        return
    _write(target, written)
    output.notice(f"wrote {output.counted(len(found))} to {target}")


@click.command
@anywhere_option
@token_option
@name_option
@click.option("--yes", "-y", is_flag=True, help="Do not ask.")
@json_option
def delete(storage: str, name: str | None, yes: bool, as_json: bool) -> None:
    """Delete a study and its trials.

    \b
    Examples:
      sonde delete --name cnn
      sonde delete --name cnn --yes
    """
    from sonde.study import checks

    with existing_storage(storage) as opened:
        chosen = opened.find_study(checks.name(name or only_study(opened))).name
        count = sum(sum(one.counts.values()) for one in opened.studies(chosen))
        if not yes:
            _confirm(f"Delete study {chosen!r} with its {output.counted(count)}?")
        opened.delete_study(chosen)
    if as_json:
        output.print_json({"deleted": chosen, "trials": count})
    else:
        output.notice(f"deleted study {chosen!r} with its {output.counted(count)}")


def _format(target: Path | None, kind: str | None) -> str:
    if kind is not None:
        return kind
    if target is None:
        return "csv"
    ending = target.suffix.removeprefix(".").lower()
    if ending not in _FORMATS:
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
    click.confirm(question, abort=True, err=True)
