"""Pauses, notes and replays of a study of a service."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
from tests.remote.conftest import Service

import sonde
from sonde.errors import OptionError, UnknownTrial

SPACE = sonde.Space(x=sonde.Float(0, 1), kind=sonde.Categorical(["a", (1, 2)]))


@pytest.mark.parametrize("workers", [1, 2])
def test_a_run_waits_for_the_end_of_a_pause(service: Service, workers: int) -> None:
    study = sonde.connect(service.url, f"paused-{workers}", space=SPACE, strategy="sobol")
    other = sonde.connect(service.url, f"paused-{workers}")
    other.pause()
    assert study.paused
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(study.optimize, lambda trial: trial["x"], 3, workers=workers, progress=False)
        assert {summary.header.name: summary.paused for summary in study.storage.studies()}[study.name]
        assert other.trials == []
        other.resume()
        running.result(100)
    assert not study.paused
    assert [trial.state for trial in other.trials[:3]] == ["completed"] * 3


def test_a_run_ends_in_a_pause_when_its_time_is_over(service: Service) -> None:
    study = sonde.connect(service.url, "over", space=SPACE, strategy="sobol")
    study.pause()
    study.optimize(lambda trial: trial["x"], workers=2, timeout=0.5, progress=False)
    assert study.trials == []
    study.resume()
    trial = study.ask()
    running = [other.number for other in study.trials if other.state == "running"]
    assert running == [trial.number]  # no ticket was left behind


def test_notes(service: Service) -> None:
    study = sonde.connect(service.url, "noted", space=SPACE, strategy="sobol")
    trial = study.ask()
    study.set_note("größe\n<b>")
    study.set_note("look", trial)
    again = sonde.connect(service.url, "noted")
    assert (again.note, again.notes) == ("größe\n<b>", {trial.number: "look"})
    study.set_note("")
    study.set_note("", trial.number)
    assert (again.note, again.notes) == ("", {})
    with pytest.raises(UnknownTrial):
        study.set_note("nobody", 99)
    with pytest.raises(OptionError, match="at most 100,000"):
        study.set_note("x" * 100_001)


def test_a_study_of_a_service_is_replayed_here(service: Service) -> None:
    study = sonde.connect(service.url, "replayed", space=SPACE, strategy="gp", seed=3)
    study.optimize(lambda trial: trial["x"], 8, workers=2, progress=False)
    study.enqueue({"x": 0.5, "kind": (1, 2)})
    found = study.verify()
    assert (found.deviates, found.unchecked, found.strategy) == (None, 0, "gp")
    assert found.checked >= 8
    assert study.trials[0].seen is not None
