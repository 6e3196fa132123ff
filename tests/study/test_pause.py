"""Pauses: nothing begins, what runs ends, and those that wait go on when the study is resumed."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from tests.processes import start

import sonde
from sonde.errors import ConflictingResult
from sonde.storage import MemoryStorage
from sonde.trials import State

SPACE = sonde.Space(x=sonde.Float(0, 1))


def eventually(condition: Callable[[], Any]) -> Any:
    deadline = time.monotonic() + 100
    while not (found := condition()):
        assert time.monotonic() < deadline
        time.sleep(0.02)
    return found


@pytest.fixture(params=["memory", "sqlite", "postgres"])
def study(request: pytest.FixtureRequest) -> Iterator[sonde.Study]:
    storage = None if request.param == "memory" else request.getfixturevalue(f"{request.param}_url")
    with sonde.Study(SPACE, storage=storage, name="study", strategy="sobol", seed=0, lease=1.0) as study:
        yield study


@pytest.fixture
def in_thread() -> Iterator[Callable[..., Future[Any]]]:
    with ThreadPoolExecutor(4) as pool:
        yield pool.submit


def test_an_ask_waits_for_the_end_of_a_pause(study: sonde.Study, in_thread: Callable[..., Future[Any]]) -> None:
    study.pause()
    study.pause()
    assert study.paused
    waiting = in_thread(study.ask)
    number = study.enqueue({"x": 0.5})
    assert len(study.trials) == 1  # the study can be read meanwhile
    assert not waiting.done()
    study.resume()
    study.resume()
    assert not study.paused
    assert waiting.result(20).number == number


def test_what_runs_is_told_in_a_pause(study: sonde.Study) -> None:
    trial, other = study.ask(2)
    study.pause()
    assert study.tell(trial, 0.5).state is State.COMPLETED
    with pytest.raises(ConflictingResult):
        study.tell(trial, 0.6)
    study.release(other)
    assert study.add_trials([{"params": {"x": 0.1}, "value": 2.0}]) == [3]
    assert study.best_value == 0.5
    assert [str(each.state) for each in study.trials] == ["completed", "lost", "waiting", "completed"]


def test_trials_that_an_ask_has_got_already_stay_its_own(
    study: sonde.Study, in_thread: Callable[..., Future[Any]]
) -> None:
    study.enqueue({"x": 0.5})
    storage, key, paused = study.storage, study._header.key, threading.Event()
    suggest = study._suggest

    def pausing(reply: Any) -> Any:
        if not paused.is_set():  # it has claimed the queued trial; then its suggestion is lost
            storage.set_paused(key, True)
            storage.end_suggester_lease(key, study._asker.name)
            paused.set()
        return suggest(reply)

    study._suggest = pausing  # type: ignore[method-assign]
    asked = in_thread(study.ask, 3)
    assert paused.wait(20)
    started = time.monotonic()
    eventually(lambda: time.monotonic() - started > 1.5)  # longer than a lease
    study.resume()
    assert [trial.number for trial in asked.result(20)] == [0, 1, 2]
    assert [trial.state for trial in study.trials] == [State.RUNNING] * 3


@pytest.mark.parametrize("workers", [1, 2])
def test_optimize_waits_and_goes_on(
    study: sonde.Study, in_thread: Callable[..., Future[Any]], workers: int, capsys: pytest.CaptureFixture[str]
) -> None:
    study.pause()
    running = in_thread(study.optimize, lambda trial: trial["x"], 4, workers=workers)
    eventually(lambda: "; paused " in capsys.readouterr().err)
    assert study.trials == []
    study.resume()
    running.result(60)
    assert [trial.state for trial in study.trials] == [State.COMPLETED] * 4


@pytest.mark.parametrize("workers", [1, 2])
def test_optimize_ends_in_a_pause_when_its_time_is_over(study: sonde.Study, workers: int) -> None:
    study.pause()
    study.enqueue({"x": 0.5})
    started = time.monotonic()
    study.optimize(lambda trial: trial["x"], workers=workers, timeout=0.3, progress=False)
    assert time.monotonic() - started < 10
    assert [trial.state for trial in study.trials] == [State.WAITING]
    study.resume()
    assert study.ask().number == 0
    assert study.ask().number == 1  # no ticket was left behind
    assert len(study.trials) == 2


def test_a_callback_pauses_a_run_between_its_trials(study: sonde.Study, in_thread: Callable[..., Future[Any]]) -> None:
    paused = threading.Event()

    def pause(own: sonde.Study, trial: sonde.Trial) -> None:
        if trial.number == 1:
            own.pause()
            paused.set()

    running = in_thread(study.optimize, lambda trial: trial["x"], 4, callbacks=[pause], progress=False)
    assert paused.wait(60)
    assert len(study.trials) == 2
    study.resume()
    running.result(60)
    assert len(study.trials) == 4


PAUSE = """
import sys, sonde
with sonde.load(sys.argv[1], "study") as study:
    getattr(study, sys.argv[2])()
"""


def test_another_process_pauses_and_resumes(tmp_path: Path, in_thread: Callable[..., Future[Any]]) -> None:
    url = str(tmp_path / "study.db")
    with sonde.Study(SPACE, storage=url, name="study", strategy="sobol") as study:
        start(PAUSE, url, "pause").join(60)
        assert study.paused
        waiting = in_thread(study.ask, 2)
        started = time.monotonic()
        start(PAUSE, url, "resume").join(60)
        assert len(waiting.result(20)) == 2
        assert time.monotonic() - started < 20
        assert {summary.paused for summary in study.storage.studies()} == {False}


def test_a_pause_outlives_the_process(tmp_path: Path) -> None:
    url = str(tmp_path / "study.db")
    with sonde.Study(SPACE, storage=url, name="study") as study:
        study.pause()
    with sonde.load(url, "study") as study:
        assert study.paused


def test_studies_pause_one_by_one() -> None:
    storage = MemoryStorage()
    first, second = (sonde.Study(SPACE, storage=storage, name=name, strategy="sobol") for name in ("a", "b"))
    first.pause()
    assert second.ask().number == 0
    assert {summary.header.name: summary.paused for summary in storage.studies()} == {"a": True, "b": False}
