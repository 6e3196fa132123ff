"""Notes of people on a study and its trials."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import sonde
from sonde.errors import OptionError, UnknownTrial

SPACE = sonde.Space(x=sonde.Float(0, 1))


@pytest.fixture(params=["memory", "sqlite", "postgres"])
def study(request: pytest.FixtureRequest) -> Iterator[sonde.Study]:
    storage = None if request.param == "memory" else request.getfixturevalue(f"{request.param}_url")
    with sonde.Study(SPACE, storage=storage, name="study", strategy="sobol") as study:
        yield study


@pytest.mark.parametrize("text", ["short", "zwei\nZeilen\t", "\u202eright to left", "<script>alert(1)</script>",
                                  "\x1b[31m\U0001f4a5", "x" * 100_000])  # fmt: skip
def test_notes_are_kept_as_they_are(study: sonde.Study, text: str) -> None:
    assert (study.note, study.notes) == ("", {})
    trial = study.ask()
    study.set_note(text)
    study.set_note(text, trial)
    study.set_note(text + "!" if len(text) < 100 else text, trial=study.ask().number)
    assert study.note == text
    assert list(study.notes) == [0, 1]
    assert study.notes[0] == text
    study.set_note("", trial=0)
    study.set_note("")
    assert (study.note, list(study.notes)) == ("", [1])


@pytest.mark.parametrize("text", [None, 3, b"bytes", "x" * 100_001, "a\0b", "\ud800"])
def test_other_notes_are_refused(study: sonde.Study, text: Any) -> None:
    with pytest.raises(OptionError, match="note") as caught:
        study.set_note(text)
    assert len(str(caught.value)) < 300
    assert study.note == ""


@pytest.mark.parametrize("number", [0, -1, 2**40])
def test_a_trial_that_does_not_exist_has_no_note(study: sonde.Study, number: int) -> None:
    with pytest.raises(UnknownTrial):
        study.set_note("x", trial=number)


def test_a_note_changes_no_trial_and_no_suggestion(study: sonde.Study) -> None:
    trial = study.ask()
    study.tell(trial, 0.5)
    before, revisions = study.trials, study.history.revisions.tolist()
    study.set_note("look", trial)
    assert (study.trials, study.history.revisions.tolist()) == (before, revisions)
    study.tell(study.ask(), 0.4)
    assert study.verify().ok
