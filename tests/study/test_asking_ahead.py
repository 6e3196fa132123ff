"""Asks of a run with workers: the loop is never kept by a suggestion, and a queue is filled where workers are quick."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

import sonde
from sonde.sampling import Key
from sonde.space import Space
from sonde.strategies.random import Random
from sonde.study.suggester import Suggester
from sonde.trials import History, State

SPACE = sonde.Space(x=sonde.Float(-5, 5), k=sonde.Int(1, 5))
PATIENCE = 60.0


class Gated(Random):
    """Suggests at random; from a given number of results on it waits for permission, and notes what it is asked for."""

    def __init__(self, closed_from: int) -> None:
        super().__init__()
        self.closed_from = closed_from
        self.asked: list[int] = []
        self.waits, self.may = threading.Event(), threading.Event()

    def suggest(self, space: Space, history: History, count: int, key: Key) -> Any:
        self.asked.append(count)
        if history.count(State.COMPLETED) >= self.closed_from:
            self.waits.set()
            assert self.may.wait(PATIENCE)
        return super().suggest(space, history, count, key)


def optimize(study: sonde.Study, objective: Any, n_trials: int | None = None, workers: int = 2, **options: Any) -> None:
    with ThreadPoolExecutor(workers) as executor:
        study.optimize(objective, n_trials, executor=executor, progress=False, **options)


@pytest.mark.parametrize("strategy", ["sobol", "gp"])
def test_the_number_of_trials_is_exact(strategy: str, database_url: str) -> None:
    for storage, budget in ((None, "n_trials"), (None, "total_trials"), (database_url, "total_trials")):
        study = sonde.Study(SPACE, strategy=strategy, seed=0, storage=storage)
        optimize(study, lambda trial: trial["x"] ** 2, **{budget: 13}, workers=3)
        assert [trial.state for trial in study.trials] == [State.COMPLETED] * 13


def test_results_are_told_while_a_suggestion_is_computed() -> None:
    strategy = Gated(closed_from=1)
    study = sonde.Study(SPACE, strategy=strategy, seed=0)
    second = threading.Event()
    told: list[int] = []

    def objective(trial: sonde.Trial) -> float:
        if trial.number == 1:  # ends only after the suggestion that follows trial 0 has begun
            assert strategy.waits.wait(PATIENCE)
            second.set()
        return trial["x"]

    def callback(study: sonde.Study, trial: sonde.Trial) -> None:
        told.append(trial.number)
        if trial.number == 1:  # told, though the suggestion has not ended
            assert second.is_set()
            strategy.may.set()

    optimize(study, objective, 6, callbacks=[callback])
    assert sorted(told) == list(range(6))


def test_slow_objectives_get_suggestions_that_know_all_results() -> None:
    strategy = Gated(closed_from=10**6)
    study = sonde.Study(SPACE, strategy=strategy, seed=0)
    clock = threading.Event()
    optimize(study, lambda trial: clock.wait(0.3) or trial["x"], 8, workers=2)
    assert max(strategy.asked) <= 2
    assert sum(strategy.asked) == 8


def test_quick_objectives_find_trials_that_wait() -> None:
    class Slow(Random):
        asked: Sequence[int] = ()

        def suggest(self, space: Space, history: History, count: int, key: Key) -> Any:
            self.asked = [*self.asked, count]
            threading.Event().wait(0.05)
            return super().suggest(space, history, count, key)

    strategy = Slow()
    study = sonde.Study(SPACE, strategy=strategy, seed=0)
    optimize(study, lambda trial: trial["x"], 60, workers=4)
    assert [trial.state for trial in study.trials] == [State.COMPLETED] * 60
    assert len(strategy.asked) <= 25  # of 4 + 3: what runs, and one fewer ahead


def test_an_error_of_the_strategy_is_raised_and_nothing_is_left() -> None:
    class Broken(Random):
        def suggest(self, space: Space, history: History, count: int, key: Key) -> Any:
            if len(history) >= 4:
                raise ZeroDivisionError("in the strategy")
            return super().suggest(space, history, count, key)

    study = sonde.Study(SPACE, strategy=Broken(), seed=0)
    with pytest.raises(ZeroDivisionError, match="in the strategy"):
        optimize(study, lambda trial: trial["x"], 20)
    assert {trial.state for trial in study.trials} <= {State.COMPLETED, State.LOST, State.WAITING}
    assert not any(thread.name == "sonde-suggester" for thread in threading.enumerate())


def test_a_finite_space_ends(database_url: str) -> None:
    study = sonde.Study(sonde.Space(k=sonde.Int(0, 6)), storage=database_url, name="finite", seed=0)
    optimize(study, lambda trial: trial["k"], 100, workers=3)
    assert sorted(trial["k"] for trial in study.trials) == list(range(7))


def test_a_suggester_serves_others_and_fills_the_queue(database_url: str) -> None:
    study = sonde.Study(SPACE, storage=database_url, name="served", seed=0, strategy="sobol")
    suggester = Suggester(study)
    try:
        assert not suggester.suggest()
        assert suggester.suggest(ahead=3)
        assert [trial.state for trial in study.trials] == [State.WAITING] * 3
        assert not suggester.suggest(ahead=3)
        assert [trial.number for trial in study.ask(2)] == [0, 1]
        assert suggester.suggest(ahead=3)
        assert len(study.trials) == 5
    finally:
        suggester.close()


def test_the_same_suggestions_ahead_as_at_once() -> None:
    """A trial that waits is pending for the strategy, so a batch asked for in two ways is the same."""
    at_once = sonde.Study(SPACE, seed=3, strategy="gp")
    ahead = sonde.Study(SPACE, seed=3, strategy="gp")
    for study in (at_once, ahead):
        study.add_trials([{"params": {"x": x, "k": 1}, "value": x * x} for x in (-4.0, -2.0, -1.0, 0.5, 1.0, 2.0, 3.0)])
    suggester = Suggester(ahead)
    suggester.suggest(ahead=2)
    first = [dict(trial.params) for trial in at_once.ask(2)]
    assert [dict(trial.params) for trial in ahead.ask(2)] == first
    suggester.suggest(ahead=1)
    assert ahead.ask().params == at_once.ask().params
    suggester.close()
