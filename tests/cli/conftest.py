from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

import sonde
from sonde.cli.main import main

START = "from sonde.cli.main import main; main()"

Sonde = Callable[..., "Ended"]


class Ended(NamedTuple):
    code: int
    out: str
    err: str


@pytest.fixture(autouse=True)
def own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every test in an empty folder, without the user's settings."""
    monkeypatch.chdir(tmp_path)
    for name in ("SONDE_STORAGE", "SONDE_NAME"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str]) -> Sonde:
    """The command line in this process."""

    def run(*arguments: str) -> Ended:
        capsys.readouterr()
        try:
            main(arguments)
            code = 0
        except SystemExit as exit:
            code = int(exit.code or 0)
        return Ended(code, *capsys.readouterr())

    return run


@pytest.fixture
def program() -> Sonde:
    """The command line in a process of its own."""

    def run(*arguments: str) -> Ended:
        ended = subprocess.run(
            [sys.executable, "-c", START, *arguments], capture_output=True, text=True, timeout=60, env=dict(os.environ)
        )
        return Ended(ended.returncode, ended.stdout, ended.stderr)

    return run


@pytest.fixture
def is_gone() -> Callable[[int], bool]:
    """Whether a process ends within a few seconds; one that is dead but not yet collected has ended."""

    def gone(pid: int) -> bool:
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline:
            try:
                os.kill(pid, 0)
            except ProcessLookupError:
                return True
            status = Path(f"/proc/{pid}/stat")
            if status.exists() and status.read_text().rpartition(")")[2].split()[0] == "Z":
                return True
            time.sleep(0.02)
        return False

    return gone


@pytest.fixture
def study() -> sonde.Study:
    """A study 'shapes' in the default database: trials 0 to 24, of which every fifth failed; the best is 21."""
    space = sonde.Space(
        x=sonde.Float(0, 1), kind=sonde.Categorical(["round", "[flat]"]), n=sonde.Int(1, 50, when={"kind": "round"})
    )
    study = sonde.Study(space, storage="sqlite:///sonde.db", name="shapes", seed=0)
    trials = []
    for number in range(25):
        flat = {"x": 0.5 + (number - 6) / 64, "kind": "[flat]"}  # none of them twice: values that differ would be noise
        params = {"x": number / 32, "kind": "round", "n": number + 1} if number % 2 else flat
        told = {"failed": "exit code 3\nsome words\nout of memory"} if number % 5 == 0 else {"value": abs(number - 21)}
        trials.append({"params": params, **told})
    study.add_trials(trials)
    study.storage.close()
    return study
