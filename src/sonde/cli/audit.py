"""The commands ``verify``, ``pause``, ``resume`` and ``note``."""

from __future__ import annotations

import sys

import click

from sonde.cli import output
from sonde.cli.opening import existing_study
from sonde.cli.options import anywhere_option, json_option, name_option, token_option
from sonde.text import printable


@click.command
@anywhere_option
@token_option
@name_option
@json_option
def verify(storage: str, name: str | None, as_json: bool) -> None:
    """Check that the suggestions of a study are those of its method.

    It replays the study from its seed and its results in their order, which takes about as long as the suggestions
    have taken. The exit code is 0 if every suggestion is what the method suggests, and 1 if one is not or cannot be
    checked.

    \b
    Examples:
      sonde verify
      sonde verify --storage runs.db --name cnn
      sonde verify --json
    """
    with existing_study(storage, name) as study:
        found = study.verify(_show if sys.stderr.isatty() else None)
        shown = study.name
    if as_json:
        output.print_json({"study": shown, **found.document()})
    else:
        click.echo(printable(f"Study {shown}\n{found}", lines=True))
    if not found.ok:
        click.get_current_context().exit(1)


@click.command
@anywhere_option
@token_option
@name_option
def pause(storage: str, name: str | None) -> None:
    """Have no trial of a study begin until it is resumed; running trials end.

    \b
    Examples:
      sonde pause
      sonde pause --storage http://host:8080 --name cnn
    """
    with existing_study(storage, name) as study:
        study.pause()
        output.notice(f"paused study {study.name!r}; to go on: sonde resume")


@click.command
@anywhere_option
@token_option
@name_option
def resume(storage: str, name: str | None) -> None:
    """End a pause of a study: those that wait for trials go on.

    \b
    Examples:
      sonde resume
      sonde resume --storage runs.db --name cnn
    """
    with existing_study(storage, name) as study:
        study.resume()
        output.notice(f"resumed study {study.name!r}")


@click.command
@click.argument("text", required=False)
@click.option("--trial", metavar="N", type=click.IntRange(min=0), help="Number of a trial; else the study's note.")
@anywhere_option
@token_option
@name_option
@json_option
def note(text: str | None, trial: int | None, storage: str, name: str | None, as_json: bool) -> None:
    """Write a note on a study or a trial; without TEXT, print what is noted.

    An empty TEXT removes the note.

    \b
    Examples:
      sonde note "with the new data"
      sonde note --trial 17 "look at this one"
      sonde note
    """
    with existing_study(storage, name) as study:
        if text is not None:
            study.set_note(text, trial)
        own, notes = study.note, study.notes
    notes = notes if trial is None else {trial: notes.get(trial, "")}
    if as_json:
        output.print_json({"note": own, "trials": {str(number): noted for number, noted in notes.items()}})
    elif text is None:
        listed = [f"trial {number}: {noted}" for number, noted in sorted(notes.items())]
        for line in [notes[trial]] if trial is not None else [own, *listed]:
            if line:
                click.echo(printable(line, lines=True))


def _show(done: int, total: int) -> None:
    """Show how far the replay is, on one line of a terminal."""
    click.echo(f"\r{done} of {total} suggestions" + "\r\x1b[K" * (done == total), nl=False, err=True)
