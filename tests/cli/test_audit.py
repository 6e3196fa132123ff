"""``sonde verify``, ``pause``, ``resume`` and ``note``."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import sonde

Cli = Callable[..., Any]


@pytest.fixture
def run(own_folder: None) -> Path:
    """A study of ten trials in the default storage."""
    with sonde.Study(
        sonde.Space(x=sonde.Float(0, 1)), storage="sonde.db", name="s\x1b[31m", seed=1, strategy="sobol"
    ) as s:
        s.optimize(lambda trial: trial["x"], 10, progress=False)
    return Path("sonde.db")


def test_verify_says_that_a_study_is_its_method_s(cli: Cli, run: Path) -> None:
    ended = cli("verify")
    assert (ended.code, ended.err) == (0, "")
    assert ended.out.splitlines() == [
        "Study s\\x1b[31m", "VERIFIED: 10 suggestions replayed, each is what sobol suggests."
    ]  # fmt: skip
    told = json.loads(cli("verify", "--json").out)
    assert (told["ok"], told["checked"], told["deviates"], told["study"]) == (True, 10, None, "s\x1b[31m")


def test_verify_finds_what_was_changed(cli: Cli, program: Cli, run: Path) -> None:
    with sqlite3.connect(run) as connection:
        connection.execute("UPDATE trials SET row = (SELECT row FROM trials WHERE number = 2) WHERE number = 7")
    connection.close()
    ended = program("verify")
    assert (ended.code, ended.err) == (1, "")
    assert "DEVIATES: from trial 7 on, the study is not what sobol suggests; the 7 suggestions before it" in ended.out
    ended = cli("verify", "--json")
    assert (ended.code, json.loads(ended.out)["deviates"]) == (1, 7)


def test_verify_fails_if_nothing_can_be_checked(cli: Cli, run: Path) -> None:
    with sqlite3.connect(run) as connection:
        connection.execute("UPDATE trials SET seen = NULL")
    connection.close()
    ended = cli("verify")
    assert (ended.code, ended.err) == (1, "")
    assert "NOT CHECKED" in ended.out


def test_a_study_is_paused_and_resumed(cli: Cli, run: Path) -> None:
    for _ in range(2):
        ended = cli("pause")
        assert (ended.code, ended.out) == (0, "")
        assert ended.err == "paused study 's\\x1b[31m'; to go on: sonde resume\n"
    with sonde.load("sonde.db", "s\x1b[31m") as study:
        assert study.paused
        assert (cli("resume").code, cli("resume").code) == (0, 0)
        assert not study.paused


def test_notes_are_written_printed_and_removed(cli: Cli, run: Path) -> None:
    assert cli("note").out == ""
    assert cli("note", "with new data\n\x1b[2J").code == 0
    assert cli("note", "--trial", "3", "look \u202e").code == 0
    assert cli("note").out == "with new data\n\\x1b[2J\ntrial 3: look \\u202e\n"
    assert cli("note", "--trial", "3").out == "look \\u202e\n"
    assert cli("note", "--trial", "4").out == ""
    told = {"note": "with new data\n\x1b[2J", "trials": {"3": "look \u202e"}}
    assert json.loads(cli("note", "--json").out) == told
    cli("note", "")
    cli("note", "--trial", "3", "")
    assert cli("note").out == ""


@pytest.mark.parametrize(
    ("arguments", "said"),
    [(["note", "--trial", "99", "x"], "has no trial number 99"), (["note", "x" * 100_001], "at most 100,000"),
     (["verify", "--name", "other"], "no study 'other'"), (["pause", "--storage", "no.db"], "no database")],
)  # fmt: skip
def test_what_is_wrong_is_said_in_one_line(cli: Cli, run: Path, arguments: list[str], said: str) -> None:
    ended = cli(*arguments)
    assert ended.code == 1
    assert said in ended.err
    assert ended.err.count("\n") == 1


@pytest.mark.parametrize("command", ["verify", "pause", "resume", "note"])
def test_the_help_has_examples(cli: Cli, command: str) -> None:
    shown = cli(command, "--help").out
    assert f"Examples:\n    sonde {command}" in shown
