"""Completion through a real bash, with the variables that it sets."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import sonde
from sonde.cli.completing import STATES, STRATEGIES
from sonde.strategies import resolve_strategy
from sonde.trials import State

BIN = Path(sys.executable).parent  # where sonde is that of the tests
SCRIPT = """
eval "$SONDE_SCRIPT"
compopt() { COMPREPLY=("files"); }  # bash has it only while it completes
COMP_WORDS=(%s)
COMP_CWORD=$(( ${#COMP_WORDS[@]} - 1 ))
_sonde_completion sonde
printf '%%s\\n' "${COMPREPLY[@]}"
"""

Complete = Callable[..., list[str]]


PATH = f"{BIN}{os.pathsep}{os.environ['PATH']}"


@pytest.fixture(scope="module")
def script() -> str:
    """The script for bash."""
    return subprocess.run(
        [str(BIN / "sonde"), "completion", "bash"],
        capture_output=True,
        text=True,
        check=True,
        env=os.environ | {"PATH": PATH},
    ).stdout


@pytest.fixture
def complete(script: str) -> Complete:
    """What bash offers for the last word."""

    def run(*words: str) -> list[str]:
        command = SCRIPT % " ".join(shlex.quote(word) for word in ("sonde", *words))
        ended = subprocess.run(
            ["bash", "--norc", "-c", command], capture_output=True, text=True, timeout=60,
            env=os.environ | {"PATH": PATH, "SONDE_SCRIPT": script},
        )  # fmt: skip
        assert ended.stderr == ""
        return [line for line in ended.stdout.splitlines() if line]

    return run


def test_commands_and_options(complete: Complete) -> None:
    assert complete("st") == ["studies"]
    assert complete("tell", "--grad") == ["--gradient"]
    assert complete("token", "rev") == ["revoke"]
    assert complete("no-such-command", "x") == []


@pytest.mark.usefixtures("study")
def test_what_a_study_has(complete: Complete) -> None:
    assert complete("best", "--name", "") == ["shapes"]
    assert complete("tell", "3", "--gradient", "") == ["x=", "kind=", "n="]
    assert complete("tell", "3", "--gradient", "k") == ["kind="]
    assert complete("worker", "sonde.db", "--", "python", "train.py", "{k") == ["{kind}"]
    assert complete("worker", "sonde.db", "--", "python", "tr") == ["files"]


@pytest.mark.usefixtures("study")
def test_storage_and_name_of_the_line_or_the_environment(complete: Complete, monkeypatch: pytest.MonkeyPatch) -> None:
    space = sonde.Space(lr=sonde.Float(0, 1))
    sonde.Study(space, storage="other.db", name="one", objectives={"loss": "minimize", "size": "minimize"}).close()
    sonde.Study(space, storage="other.db", name="two").close()
    assert complete("best", "--storage", "other.db", "--name", "") == ["one", "two"]
    assert complete("tell", "--storage", "other.db", "--name", "one", "3", "--objective", "l") == ["loss="]
    monkeypatch.setenv("SONDE_STORAGE", "other.db")
    assert complete("best", "--name", "t") == ["two"]
    assert complete("tell", "3", "--gradient", "") == []  # which of the two is not known
    monkeypatch.setenv("SONDE_NAME", "two")
    assert complete("tell", "3", "--gradient", "") == ["lr="]


def test_names_with_blanks_are_quoted_and_control_characters_left_out(complete: Complete) -> None:
    for name in ("a b", "plain", "it's", "\x1b[31m", "two\nlines", "شكل"):
        sonde.Study(sonde.Space(x=sonde.Bool()), storage="sonde.db", name=name).close()
    assert complete("best", "--name", "") == ["'a b'", "'it'\"'\"'s'", "plain", "'شكل'"]


def test_words_that_never_change(complete: Complete) -> None:
    assert complete("trials", "--state", "c") == ["completed", "cancelled"]
    assert "history" in complete("plot", "h")
    assert complete("run", "--strategy", "f") == ["fobo"]
    assert complete("completion", "") == ["bash", "zsh", "fish"]


def test_the_lists_are_those_of_the_library() -> None:
    assert tuple(State) == STATES
    assert [resolve_strategy(name).name for name in STRATEGIES] == list(STRATEGIES)


@pytest.mark.parametrize("url", ["none.db", "sqlite:///none.db", "http://127.0.0.1:9", "mysql://x/y", "text.db"])
def test_what_is_not_there_is_no_error_and_not_created(complete: Complete, url: str) -> None:
    Path("text.db").write_text("this is no database " * 100)
    assert complete("tell", "--storage", url, "3", "--gradient", "") == []
    assert [path.name for path in Path.cwd().iterdir()] == ["text.db"]


@pytest.mark.parametrize(
    ("shell", "word"), [("zsh", "#compdef sonde"), ("fish", "complete --no-files --command sonde")]
)
def test_scripts_of_other_shells(cli: Callable[..., Any], shell: str, word: str) -> None:
    ended = cli("completion", shell)
    assert ended.code == 0
    assert word in ended.out
    assert "_SONDE_COMPLETE" in ended.out


def test_another_shell_is_a_usage_error(cli: Callable[..., Any]) -> None:
    assert cli("completion", "tcsh").code == 2
