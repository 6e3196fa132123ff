"""An objective that ends its process makes a failed trial."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import sonde
from sonde.study import Study

SPACE = sonde.Space(x=sonde.Float(0, 1))


def leaves(number: int, how: str) -> Any:
    def objective(trial: sonde.Trial) -> float:
        import ctypes

        class Mine(BaseException):
            pass

        if trial.number == number:
            if how == "segfault":
                ctypes.string_at(0)
            if how == "_exit":
                os._exit(3)
            if how == "kill":
                os.kill(os.getpid(), signal.SIGKILL)
            raise {"exit": SystemExit(3), "generator": GeneratorExit(), "mine": Mine("my own")}[how]
        return 1.0

    return objective


RAISED = [("exit", "SystemExit: 3"), ("generator", "GeneratorExit"), ("mine", "Mine: my own")]


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize(("how", "reason"), RAISED)
def test_whatever_an_objective_raises_is_a_failed_trial(workers: int, how: str, reason: str) -> None:
    study = Study(SPACE, strategy="sobol", seed=0)
    study.optimize(leaves(1, how), 4, workers=workers, progress=False)
    assert [str(trial.state) for trial in study.trials] == ["completed", "failed", "completed", "completed"]
    assert str(study.trial(1).error).splitlines()[-1].endswith(reason)


@pytest.mark.parametrize("how", ["segfault", "_exit", "kill"])
def test_whatever_ends_a_worker_is_a_failed_trial(how: str) -> None:
    study = Study(SPACE, strategy="sobol", seed=0)
    study.optimize(leaves(1, how), 4, workers=2, progress=False)
    assert [str(trial.state) for trial in study.trials] == ["completed", "failed", "completed", "completed"]
    assert "the worker died" in str(study.trial(1).error)


def test_catch_exceptions_only_raises_sys_exit_after_telling_it() -> None:
    study = Study(SPACE, strategy="sobol", seed=0)
    with pytest.raises(SystemExit):
        study.optimize(leaves(1, "exit"), 4, catch=Exception, progress=False)
    assert [str(trial.state) for trial in study.trials] == ["completed", "failed"]


def test_an_exception_that_cannot_be_printed_is_told() -> None:
    def objective(trial: sonde.Trial) -> float:
        class Bad(Exception):
            def __str__(self) -> str:
                raise ValueError("no words")

            def __reduce__(self) -> Any:
                raise TypeError("no way")

        raise Bad

    study = Study(SPACE, strategy="sobol", seed=0)
    study.optimize(objective, 2, workers=2, progress=False)
    assert all("Bad: <exception str() failed>" in str(trial.error) for trial in study.trials)


DEADLY = """
import os, sys, sonde
def objective(trial):
    if trial["x"] == 0.5:
        with open(sys.argv[2], "a") as deaths:
            deaths.write("x")
        os._exit(1)
    return trial["x"]
study = sonde.Study(sonde.Space(x=sonde.Float(0, 1)), storage=sys.argv[1], strategy="sobol", seed=1, lease=0.5)
if not study.trials:
    study.enqueue({"x": 0.5})
study.optimize(objective, total_trials=4, progress=False)
"""


def test_a_configuration_that_ends_its_process_is_tried_twice_and_no_more(tmp_path: Path, sqlite_url: str) -> None:
    """The same command again and again gets past it."""
    deaths, script = tmp_path / "deaths", tmp_path / "script.py"
    script.write_text(DEADLY)
    for _ in range(20):
        ended = subprocess.run([sys.executable, str(script), sqlite_url, str(deaths)], capture_output=True, timeout=60)
        with sonde.load(sqlite_url, "default") as study:
            open_ones = [trial for trial in study.trials if trial.state in ("running", "waiting")]
        if ended.returncode == 0 and not open_ones:
            break
    assert not open_ones
    assert deaths.read_text() == "xx"
    assert sum(trial.state == "completed" for trial in study.trials) >= 3
