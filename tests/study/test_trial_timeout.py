from __future__ import annotations

import os
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import sonde
from sonde.errors import NoWorkers, OptionError
from sonde.study import Study

SPACE = sonde.Space(x=sonde.Float(0, 1))


def hanging(folder: Path, number: int) -> Any:
    """An objective that hangs in one trial, with a program of its own, and writes down who hangs."""

    def objective(trial: sonde.Trial) -> float:
        import subprocess

        if trial.number == number:
            child = subprocess.Popen(["sleep", "600"])
            (folder / "pids").write_text(f"{os.getpid()} {child.pid}")
            while True:
                time.sleep(60)
        return float(trial["x"])

    return objective


def is_gone(pid: int) -> bool:
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        try:
            if Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z":
                return True
            os.kill(pid, 0)
        except (ProcessLookupError, FileNotFoundError):
            return True
        time.sleep(0.02)
    return False


@pytest.mark.parametrize("workers", [None, 2])
def test_an_objective_that_hangs_is_stopped_and_the_study_continues(tmp_path: Path, workers: int | None) -> None:
    study = Study(SPACE, strategy="sobol", seed=0)
    study.optimize(hanging(tmp_path, 1), 5, workers=workers, trial_timeout=1, progress=False)
    assert [trial.state for trial in study.trials] == ["completed", "failed", *["completed"] * 3]
    assert study.trial(1).error == "took longer than trial_timeout=1 s and was stopped"
    assert all(is_gone(int(pid)) for pid in (tmp_path / "pids").read_text().split())


def test_the_clock_starts_when_the_objective_starts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither the start of a process nor what the objective imports is the trial's time."""
    (tmp_path / "slow_to_import.py").write_text("import time\ntime.sleep(1.5)\ndef f(trial):\n    return 1.0\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}:{os.environ.get('PYTHONPATH', '')}")
    import slow_to_import  # type: ignore[import-not-found]

    study = Study(SPACE, strategy="sobol")
    study.optimize(slow_to_import.f, 2, trial_timeout=1, progress=False)
    assert [trial.state for trial in study.trials] == ["completed"] * 2


def test_many_hang_and_each_slot_is_used_again() -> None:
    study = Study(SPACE, strategy="sobol", seed=0)
    study.optimize(
        lambda trial: time.sleep(60 if trial.number < 4 else 0) or 1.0, 8, workers=2, trial_timeout=1, progress=False
    )
    assert [str(trial.state) for trial in study.trials] == ["failed"] * 4 + ["completed"] * 4


def test_a_late_result_of_an_executor_is_ignored() -> None:
    release = threading.Event()
    study = Study(SPACE, strategy="sobol", seed=0)

    def objective(trial: sonde.Trial) -> float:
        if trial.number == 0:
            release.wait(60)
        return 1.0

    def told(study: Study, trial: sonde.Trial) -> None:
        if trial.number == 0:
            release.set()

    with ThreadPoolExecutor(2) as executor:
        study.optimize(objective, 8, executor=executor, trial_timeout=1, callbacks=[told], progress=False)
    assert [str(trial.state) for trial in study.trials] == ["failed"] + ["completed"] * 7
    assert "took longer than trial_timeout=1 s and was given up" in str(study.trial(0).error)


def test_a_stuck_worker_that_ends_its_call_is_used_again() -> None:
    study = Study(SPACE, strategy="sobol", seed=0)

    def objective(trial: sonde.Trial) -> float:
        time.sleep(1.5 if trial.number == 0 else 0)
        return 1.0

    with ThreadPoolExecutor(1) as executor:
        study.optimize(objective, 3, executor=executor, trial_timeout=1, progress=False)
    assert [str(trial.state) for trial in study.trials] == ["failed", "completed", "completed"]


def test_workers_that_all_hang_end_the_run() -> None:
    release = threading.Event()
    study = Study(SPACE, strategy="sobol", seed=0)
    with ThreadPoolExecutor(2) as executor:
        try:
            with pytest.raises(NoWorkers, match="all workers of the executor hang"):
                study.optimize(
                    lambda trial: release.wait(60) and 1.0, 8, executor=executor, trial_timeout=0.2, progress=False
                )
        finally:
            release.set()
    assert [str(trial.state) for trial in study.trials] == ["failed"] * 2


def test_the_last_trial_may_hang_and_nobody_waits() -> None:
    release = threading.Event()
    study = Study(SPACE, strategy="sobol", seed=0)
    with ThreadPoolExecutor(1) as executor:
        try:
            study.optimize(lambda trial: release.wait(60) and 1.0, total_trials=1, executor=executor,
                           trial_timeout=0.2, progress=False)  # fmt: skip
        finally:
            release.set()
    assert study.trial(0).state == "failed"


def test_more_calls_than_the_executor_has_workers_are_refused() -> None:
    with ThreadPoolExecutor(2) as executor, pytest.raises(OptionError, match=r"workers=3 .* the executor has 2"):
        Study(SPACE).optimize(lambda trial: 1.0, 3, executor=executor, workers=3, progress=False)


@pytest.mark.parametrize("wrong", [0, -1, float("nan"), True, "3"])
def test_a_wrong_time(wrong: Any) -> None:
    with pytest.raises(OptionError, match="trial_timeout must be a positive number of seconds"):
        Study(SPACE).optimize(lambda trial: 1.0, 3, trial_timeout=wrong)
