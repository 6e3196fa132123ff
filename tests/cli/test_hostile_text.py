"""Names, values and errors with control characters are escaped before they are printed."""

from __future__ import annotations

import csv
import io
import os
import pty
import subprocess
import sys

import pytest
from tests.cli.conftest import START, Sonde

import sonde

EVIL = "\x1b]0;gotcha\x07\x9b31m\u202eevil"
SHOWN = r"\x1b]0;gotcha\x07\x9b31m\u202eevil"


@pytest.fixture
def evil() -> sonde.Study:
    space = sonde.Space({EVIL: sonde.Categorical([EVIL, "=1+1"]), "[/foo]": sonde.Float(0, 1)})
    study = sonde.Study(space, storage="sqlite:///sonde.db", name=f"[/foo]{EVIL}", seed=0)
    study.add_trials(
        [
            {"params": {EVIL: EVIL, "[/foo]": 0.5}, "value": 1.0, "attributes": {EVIL: EVIL}},
            {"params": {EVIL: "=1+1", "[/foo]": 0.25}, "failed": EVIL},
        ]
    )
    study.storage.close()
    return study


def _clean(said: str) -> bool:
    return not any(letter in said for letter in "\x1b\x07\x9b\u202e")


@pytest.mark.parametrize("command", ["best", "trials", "studies"])
def test_what_is_shown_is_escaped(cli: Sonde, evil: sonde.Study, command: str) -> None:
    ended = cli(command)
    assert (ended.code, ended.err) == (0, "")
    assert _clean(ended.out)
    assert SHOWN in ended.out
    assert "[/foo]" in ended.out
    assert _clean(cli(command, "--json").out)


def test_errors_warnings_and_notices_are_escaped(
    cli: Sonde, evil: sonde.Study, capsys: pytest.CaptureFixture[str]
) -> None:
    ended = cli("best", "--name", EVIL)
    assert ended.code == 1
    assert _clean(ended.err)
    assert SHOWN in ended.err
    assert _clean(cli("export", "-o", f"{EVIL}.csv").err)
    assert _clean(cli("delete", "--yes", "--name", evil.name).err)
    sonde.cli.output.notice(EVIL)
    assert capsys.readouterr().err == SHOWN + "\n"


@pytest.mark.parametrize("arguments", [["best", EVIL], ["best", f"--{EVIL}"], ["run", "-n", EVIL], [f"tune{EVIL}"]])
def test_wrong_usage_is_escaped(cli: Sonde, arguments: list[str]) -> None:
    ended = cli(*arguments)
    assert ended.code == 2
    assert _clean(ended.err)
    assert "evil" in ended.err


def test_an_export_is_escaped_in_a_terminal_and_left_as_it_is_in_a_pipe(cli: Sonde, evil: sonde.Study) -> None:
    piped = cli("export").out
    assert EVIL in piped
    master, slave = pty.openpty()
    with subprocess.Popen([sys.executable, "-c", START, "export"], stdout=slave, stderr=subprocess.PIPE) as process:
        os.close(slave)
        seen = b""
        try:
            while part := os.read(master, 65536):
                seen += part
        except OSError:  # the other end was closed
            pass
        assert process.wait() == 0
    os.close(master)
    assert _clean(seen.decode())
    assert SHOWN in seen.decode()


def test_cells_that_a_spreadsheet_would_run_are_quoted_unless_raw(cli: Sonde, evil: sonde.Study) -> None:
    rows = list(csv.DictReader(io.StringIO(cli("export").out)))
    assert rows[1][f"params_{EVIL}"] == "'=1+1"
    raw = list(csv.DictReader(io.StringIO(cli("export", "--raw").out)))
    assert raw[1][f"params_{EVIL}"] == "=1+1"
