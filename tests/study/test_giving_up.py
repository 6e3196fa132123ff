from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

import sonde
from sonde.errors import AllFailed, NoResult, OptionError

SPACE = sonde.Space(x=sonde.Float(0, 1))


def failing(reason: Callable[[int], str], until: int = 10**9) -> Callable[[sonde.Trial], float]:
    def objective(trial: sonde.Trial) -> float:
        if trial.number < until:
            raise ValueError(reason(trial.number))
        return 1.0

    return objective


def run(objective: Callable[[sonde.Trial], float], count: int = 40, **options: Any) -> sonde.Study:
    study = sonde.Study(SPACE, strategy="sobol", seed=0)
    study.optimize(objective, count, progress=False, **options)
    return study


def test_a_run_gives_up_after_ten_equal_failures_and_keeps_its_trials() -> None:
    with pytest.raises(AllFailed) as caught:
        sonde.minimize(lambda trial: trial["learning_rate"], SPACE, 200, seed=0, progress=False)
    error = caught.value
    assert "10 trials in a row failed for the same reason and none has completed: KeyError: 'learning_rate'" in str(
        error
    )
    assert "correct the objective and run it again, or continue anyway with give_up_after=None" in str(error)
    assert error.study is not None
    assert [trial.state for trial in error.study.trials] == ["failed"] * 10
    error.study.optimize(lambda trial: trial["x"], 3, progress=False)  # mended
    assert error.study.best_value <= 1


def test_numbers_in_a_reason_do_not_count() -> None:
    with pytest.raises(AllFailed, match="row 9 is"):
        run(failing(lambda number: f"row {number} is -0.{number}"))


def test_other_reasons_begin_a_new_count() -> None:
    assert len(run(failing(lambda number: "abc"[number % 3])).trials) == 40
    with pytest.raises(AllFailed):
        run(failing(lambda number: "a" if number < 6 else "b"))


def test_after_a_completed_trial_a_run_never_gives_up() -> None:
    assert len(run(failing(lambda number: "same", until=9), 12).trials) == 12
    study = sonde.Study(SPACE, strategy="sobol", seed=0)
    study.add_trials([{"params": {"x": 0.5}, "value": 1.0}])
    study.optimize(failing(lambda number: "same"), 30, progress=False)
    assert len(study.trials) == 31


@pytest.mark.parametrize(("most", "tried"), [(3, 3), (None, 25)])
def test_the_number_may_be_chosen(most: int | None, tried: int) -> None:
    study = sonde.Study(SPACE, strategy="sobol", seed=0)
    try:
        study.optimize(failing(lambda number: "same"), 25, give_up_after=most, progress=False)
    except AllFailed:
        assert most == 3
    assert len(study.trials) == tried


def test_a_run_that_had_no_more_to_do_has_not_given_up() -> None:
    assert len(run(failing(lambda number: "same"), 10).trials) == 10
    with pytest.raises(NoResult) as caught:
        sonde.minimize(failing(lambda number: "same"), SPACE, 10, progress=False)
    assert not isinstance(caught.value, AllFailed)
    assert caught.value.study is not None
    assert len(caught.value.study.trials) == 10


def test_a_running_trial_that_completes_continues_the_run() -> None:
    """Trial 0 completes only after ten others have failed."""
    failed: list[int] = []
    enough = threading.Event()

    def objective(trial: sonde.Trial) -> float:
        if trial.number == 0:
            assert enough.wait(60)
        elif trial.number <= 10:
            raise ValueError("same")
        return 1.0

    def told(study: sonde.Study, trial: sonde.Trial) -> None:
        failed.append(trial.number)
        if len(failed) == 10:
            enough.set()

    with ThreadPoolExecutor(2) as executor:
        study = run(objective, 20, executor=executor, callbacks=[told])
    assert [str(trial.state) for trial in study.trials] == ["completed", *["failed"] * 10, *["completed"] * 9]


@pytest.mark.parametrize("wrong", [0, -1, 2.5, True])
def test_a_wrong_number(wrong: Any) -> None:
    with pytest.raises(OptionError, match="give_up_after"):
        run(failing(lambda number: "same"), give_up_after=wrong)
