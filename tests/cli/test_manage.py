from __future__ import annotations

import csv
import io
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Cli = Callable[..., Any]

pytestmark = pytest.mark.usefixtures("study")


def test_export_prints_csv(cli: Cli) -> None:
    for options in ([], ["--format", "csv"]):
        rows = list(csv.DictReader(io.StringIO(cli("export", *options).out)))
        assert len(rows) == 25
        assert (rows[21]["value"], rows[21]["params_kind"], rows[20]["params_n"]) == ("0.0", "round", "")


def test_export_prints_json(cli: Cli) -> None:
    for option in (["--json"], ["--format", "json"]):
        trials = json.loads(cli("export", *option).out)
        assert trials[21]["params"] == {"x": 0.65625, "kind": "round", "n": 22}


def test_export_writes_files(cli: Cli) -> None:
    ended = cli("export", "-o", "out.csv")
    assert (ended.code, ended.out, ended.err) == (0, "", "wrote 25 trials to out.csv\n")
    with Path("out.csv").open(newline="") as file:
        assert len(list(csv.DictReader(file))) == 25
    cli("export", "-o", "out.json")
    assert len(json.loads(Path("out.json").read_text())) == 25
    cli("export", "-o", "out.txt", "--format", "json")
    assert len(json.loads(Path("out.txt").read_text())) == 25


def test_export_says_what_is_wrong_with_a_file(cli: Cli) -> None:
    assert cli("export", "-o", "out.xlsx").err.startswith("error: the file must end in .csv or .json, got 'out.xlsx'")
    assert cli("export", "-o", "no/out.csv").err.startswith("error: cannot write 'no/out.csv': No such file")
    assert cli("export", "--format", "xlsx").code == 2


def test_delete_with_yes(cli: Cli) -> None:
    ended = cli("delete", "--yes")
    assert (ended.code, ended.out, ended.err) == (0, "", "deleted study 'shapes' with its 25 trials\n")
    assert cli("best").err == (
        "error: the storage has no studies yet; sonde run, sonde.minimize and sonde.Study start one\n"
    )


def test_delete_for_programs(cli: Cli) -> None:
    assert json.loads(cli("delete", "-y", "--json").out) == {"deleted": "shapes", "trials": 25}


def test_delete_needs_yes_where_nobody_can_answer(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("y\n"))
    ended = cli("delete")
    assert ended.code == 1
    assert ended.err.endswith("give --yes\n")
    assert cli("best").code == 0


@pytest.mark.parametrize(("answer", "code"), [("y\n", 0), ("n\n", 1), ("\n", 1)])
def test_delete_asks(cli: Cli, monkeypatch: pytest.MonkeyPatch, answer: str, code: int) -> None:
    terminal = io.StringIO(answer)
    monkeypatch.setattr(terminal, "isatty", lambda: True)
    monkeypatch.setattr(sys, "stdin", terminal)
    ended = cli("delete")
    assert ended.code == code
    assert "Delete study 'shapes' with its 25 trials?" in ended.out + ended.err
    assert cli("best").code == 1 - code


def test_deleting_what_is_not_there(cli: Cli) -> None:
    assert cli("delete", "--yes", "--name", "x").err.startswith("error: there is no study 'x' in this storage")
