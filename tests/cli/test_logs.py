"""``--logs``: what each program printed."""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import sonde
from sonde.cli.children import Children
from sonde.cli.command import Command
from sonde.cli.template import parse

Cli = Callable[..., Any]


def test_every_trial_has_its_logs_and_names_them(cli: Cli) -> None:
    script = "echo words; echo oh no >&2; test $SONDE_TRIAL != 1 || exit 3; echo {x:float:0..1}"
    assert cli("run", "-n", "3", "--name", "my/../study", "--logs", "logs", "sh", "-c", script).code == 0
    trials = sonde.load("sonde.db", "my/../study").trials
    for trial in trials:
        folder = Path(trial.attributes["log"])
        assert folder.is_absolute()
        assert folder == Path("logs", "my_.._study", str(trial.number)).resolve()
        value = "" if trial.state == "failed" else f"{trial.value!r}\n"
        assert (folder / "stdout").read_text() == f"words\n{value}"
        assert (folder / "stderr").read_text() == "oh no\n"
        assert json.loads((folder / "params.json").read_text()) == dict(trial)
    assert [trial.state for trial in trials].count("failed") == 1


def test_logs_are_written_as_the_program_goes(tmp_path: Path) -> None:
    code = "import os, time\nprint('begun')\nwhile not os.path.exists('go'): time.sleep(0.01)\nprint(1.5)"
    command = Command(parse([sys.executable, "-c", code]), "study", Children(), logs=tmp_path)
    told: list[Any] = []
    thread = threading.Thread(target=lambda: told.append(command(sonde.Trial(7, {"x": 1.0}))))
    thread.start()
    log = tmp_path / "study" / "7" / "stdout"
    deadline = time.monotonic() + 60
    while not (log.exists() and log.read_text() == "begun\n") and time.monotonic() < deadline:
        time.sleep(0.01)
    written = log.read_text()
    Path("go").touch()
    thread.join(60)
    assert (written, told) == ("begun\n", [1.5])


def test_long_outputs_are_in_the_log_and_not_in_memory(tmp_path: Path) -> None:
    code = "import sys; sys.stdout.write('word ' * 10**6); print(0.5)"
    ended = Children().run([sys.executable, "-c", code], os.environ, logs=tmp_path)
    assert len(ended.stdout) < 10**5
    assert (tmp_path / "stdout").stat().st_size == 5 * 10**6 + 4


def test_a_number_that_was_handed_out_again_has_a_folder_of_its_own(tmp_path: Path) -> None:
    command = Command(parse(["echo", "1"]), "study", Children(), logs=tmp_path)
    trials = [sonde.Trial(0, {"x": 1.0}) for _ in range(3)]
    for trial in trials:
        command(trial)
    assert [Path(trial.attributes["log"]).name for trial in trials] == ["0", "0-2", "0-3"]


def test_a_log_that_cannot_be_written_is_a_warning(tmp_path: Path) -> None:
    (tmp_path / "stdout").mkdir()
    with pytest.warns(UserWarning, match="stdout is not complete: Is a directory"):
        assert Children().run(["echo", "1"], os.environ, logs=tmp_path).stdout == "1\n"


def test_a_folder_that_cannot_be_made_ends_the_run_before_it_begins(cli: Cli) -> None:
    Path("file").touch()
    ended = cli("run", "-n", "1", "--logs", "file/logs", "sh", "-c", "echo {x:bool}")
    assert ended.code == 1
    assert ended.err.startswith("error: cannot create the folder 'file/logs': ")
    assert not Path("sonde.db").exists()
