"""Many processes on one study, and processes that die at any instant."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.processes import start

import sonde

WORKER = f"import runpy; runpy.run_path({str(Path(__file__).with_name('crash_worker.py'))!r}, run_name='__main__')"


def told(log: Path) -> dict[int, float]:
    """Return what a worker knew to be told; a killed one may have died inside its last line."""
    lines = log.read_text().split("\n")[:-1] if log.exists() else []
    return {int(number): float(value) for number, value in (line.split() for line in lines if line != "ready")}


@pytest.mark.parametrize(("kind", "workers", "each"), [("sqlite", 16, 6), ("postgres", 16, 6)])
def test_sixteen_processes_store_every_result_once(
    request: pytest.FixtureRequest, tmp_path: Path, kind: str, workers: int, each: int
) -> None:
    url = request.getfixturevalue(f"{kind}_url")
    logs = [tmp_path / f"{i}.log" for i in range(workers)]
    processes = [start(WORKER, url, str(log), str(each)) for log in logs]
    for process in processes:
        process.join()
    assert [process.exitcode for process in processes] == [0] * workers
    results = [told(log) for log in logs]
    numbers = [number for result in results for number in result]
    assert sorted(numbers) == list(range(workers * each))  # nothing doubled, nothing lost
    with sonde.load(url, "study") as study:
        trials = study.trials
    assert {trial.number: trial.value for trial in trials} == {k: v for result in results for k, v in result.items()}
    assert len({tuple(trial.params.values()) for trial in trials}) == workers * each  # no point asked twice
    reference = sonde.Study(study.space, seed=0, strategy="sobol")
    assert [dict(trial) for trial in trials] == [dict(trial) for trial in reference.ask(workers * each)]


@pytest.mark.parametrize(("kind", "kills"), [("sqlite", 100), ("postgres", 20)])
def test_killed_at_any_instant_every_told_result_is_there(
    request: pytest.FixtureRequest, tmp_path: Path, kind: str, kills: int
) -> None:
    url = request.getfixturevalue(f"{kind}_url")
    logs = [tmp_path / f"{i}.log" for i in range(kills)]
    rng = random.Random(0)
    for log in logs:
        process, lines = start(WORKER, url, str(log), str(10**6)), rng.randrange(8)  # at 0 it opens the study
        while process.is_alive() and (log.read_text().count("\n") if log.exists() else 0) < lines:
            time.sleep(0.001)
        time.sleep(rng.uniform(0.0, 0.05))  # several trials, so that any part of one is hit
        process.kill()
        process.join()
        assert process.exitcode == -signal.SIGKILL
    expected = {number: value for log in logs for number, value in told(log).items()}
    assert len(expected) > kills  # they did get to work
    with sonde.load(url, "study") as study:
        kept = {trial.number: trial.value for trial in study.trials if trial.state == "completed"}
        assert expected.items() <= kept.items()
        assert len(kept) - len(expected) <= kills  # at most the one each died while writing down
        assert [trial.number for trial in study.trials] == list(range(len(study.trials)))
        study.tell(study.ask(), 0.0)


def test_a_dead_suggester_is_noticed_at_once(sqlite_url: str, tmp_path: Path) -> None:
    code = """
import os, sys, sonde
class Dies(sonde.Strategy):
    name = "dies"
    def suggest(self, space, history, count, key): os._exit(9)
    def explain(self, space, history): return "dies"
sonde.Study(sonde.Space(x=sonde.Float(0, 1)), storage=sys.argv[1], name="study", strategy=Dies()).ask()
"""
    assert subprocess.run([sys.executable, "-c", code, sqlite_url], check=False).returncode == 9
    study = sonde.Study(sonde.Space(x=sonde.Float(0, 1)), storage=sqlite_url, name="study")
    started = time.monotonic()
    assert study.ask().number == 0
    assert time.monotonic() - started < 15  # of the 20 of its lease
