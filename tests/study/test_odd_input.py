"""Mistaken arguments."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import pytest

import sonde
from sonde import Categorical, Float, Int, Space, Study
from sonde.errors import OptionError, UnknownTrial


@pytest.mark.parametrize("number", [2**70, 2**31, 99, -1, -(2**70)])
def test_a_number_that_no_trial_has_is_unknown(number: int, tmp_path: Path) -> None:
    for storage in (None, tmp_path / "runs.db"):
        study = Study(Space(x=Float(0, 1)), storage=storage, name="a")
        for call in (lambda: study.tell(number, 1.0), lambda: study.trial(number), lambda: study.cancel(number)):  # noqa: B023
            with pytest.raises(UnknownTrial):
                call()


@pytest.mark.parametrize("reason", [True, False, 3, ValueError("no"), ["why"]])
def test_the_reason_of_a_failure_is_a_text(reason: Any) -> None:
    study = Study(Space(x=Float(0, 1)))
    trial = study.ask()
    with pytest.raises(OptionError, match="failed= takes the reason, a text such as 'out of memory', got"):
        study.tell(trial, failed=reason)
    assert study.trials[0].state == "running"


def test_a_lone_surrogate_is_refused_in_a_name_and_kept_in_attributes(tmp_path: Path) -> None:
    for call in (
        lambda: Study(Space(x=Float(0, 1)), storage=tmp_path / "runs.db", name="\ud800"),
        lambda: sonde.load(tmp_path / "runs.db", "\ud800"),
        lambda: sonde.delete(tmp_path / "runs.db", "\ud800"),
    ):
        Study(Space(x=Float(0, 1)), storage=tmp_path / "runs.db", name="a")
        with pytest.raises(OptionError, match="half a character"):
            call()
    study = Study(Space(c=Categorical(["\ud800", "a"])), storage=tmp_path / "runs.db", name="b")
    study.enqueue({"c": "\ud800"})
    told = study.tell(study.ask(), failed="\ud800", attributes={"\ud800": "\ud800"})
    assert (told["c"], told.attributes) == ("\ud800", {"\ud800": "\ud800"})
    study.export(tmp_path / "trials.csv")
    study.export(tmp_path / "trials.json")
    assert Study(Space(c=Categorical(["\ud800", "a"]))).add_trials(study.trials) == [0]


def test_an_inactive_parameter_of_a_trial_says_so() -> None:
    space = Space(kind=Categorical(["a", "b"]), depth=Int(1, 3, when={"kind": "b"}))
    study = Study(space)
    study.enqueue({"kind": "a"})
    trial = study.ask()
    with pytest.raises(
        KeyError, match=r"'depth' \(trial 0 has no value for it: .* inactive .* active are kind;"
    ) as caught:
        trial["depth"]
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)
    assert trial.get("depth") is None
    assert "depth" not in trial
    assert space.where(lambda p: p["depth"] < 2).feasible(trial)
