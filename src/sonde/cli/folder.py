"""The folder of one trial, where Sonde and a program leave files for each other, and the environment that names them.

With ``--logs`` it stays, with what the program printed; else it is removed when the program has ended.
"""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import click

from sonde.cli.template import argument_text
from sonde.errors import OptionError
from sonde.text import folder_name, is_encodable

if TYPE_CHECKING:
    from sonde.trials import Trial

logs_option = click.option(
    "--logs", metavar="FOLDER", type=click.Path(file_okay=False, path_type=Path), envvar="SONDE_LOGS",
    show_envvar=True, help="Keep what each program prints, in FOLDER/STUDY/NUMBER/stdout and stderr.",
)  # fmt: skip

PARAMS = "params.json"
RESULT = "result.json"


def check_logs(logs: Path | None) -> Path | None:
    """Return the folder of all logs as an absolute path, created; None where none are kept."""
    if logs is None:
        return None
    try:
        logs.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OptionError(f"cannot create the folder {str(logs)!r}: {error.strerror}; give another --logs") from None
    return logs.resolve()


@contextmanager
def trial_folder(logs: Path | None, study: str, number: int) -> Iterator[Path]:
    """Yield a new folder for a trial."""
    if logs is None:
        with TemporaryDirectory(prefix="sonde-", ignore_cleanup_errors=True) as made:
            yield Path(made)
        return
    within = logs / folder_name(study)
    within.mkdir(exist_ok=True)
    yield _created(within, number)


def environment(trial: Trial, study: str, folder: Path) -> dict[str, str]:
    """Return what a program finds in its environment besides ours, and write the parameters to their file."""
    from sonde.study.export import configuration

    params = json.dumps(configuration(trial.params))
    (folder / PARAMS).write_text(params, encoding="utf-8")
    return {
        "SONDE_STUDY": study,
        "SONDE_TRIAL": str(trial.number),
        "SONDE_PARAMS": params,
        "SONDE_PARAMS_FILE": str(folder / PARAMS),
        "SONDE_RESULT_FILE": str(folder / RESULT),
        **_variables(trial.params),
    }


def _variables(params: Mapping[str, Any]) -> dict[str, str]:
    """Return one variable for each active parameter; names that become the same one are left out."""
    names = {name: "SONDE_PARAM_" + re.sub(r"[^A-Za-z0-9_]", "_", name) for name in params}
    unique = {name for name, own in names.items() if Counter(names.values())[own] == 1}
    texts = {names[name]: argument_text(value) for name, value in params.items() if name in unique}
    return {name: text for name, text in texts.items() if "\0" not in text and is_encodable(text)}


def _created(within: Path, number: int) -> Path:
    """Create and return the folder of a number; another one if the number was handed out before."""
    for again in count(1):
        folder = within / (str(number) if again == 1 else f"{number}-{again}")
        try:
            os.mkdir(folder)
        except FileExistsError:
            continue
        return folder
    raise AssertionError  # count has no end
