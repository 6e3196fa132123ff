"""A study that is replayed: what its strategy suggested is verified, and what was changed is found."""

from __future__ import annotations

import json
import math
import sqlite3
import struct
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.processes import start

import sonde
from sonde.strategies import Strategy
from sonde.study.verification import Verification
from sonde.trials import State

PLANE = sonde.Space(x=sonde.Float(0, 1), y=sonde.Float(1e-3, 1, log=True))
MIXED = sonde.Space(
    kind=sonde.Categorical(["a", "b"]),
    x=sonde.Float(0, 1, when={"kind": "a"}),
    n=sonde.Int(1, 9),
)
BITS = sonde.Space(**{f"b{k}": sonde.Categorical([0, 1]) for k in range(8)})


def bowl(trial: Any) -> float:
    return float((trial["x"] - 0.3) ** 2 + (math.log10(trial["y"]) + 1) ** 2)


def mixed(trial: Any) -> float:
    if trial["n"] == 7:
        raise ValueError("seven")
    return float(trial.get("x", 0.5) + trial["n"] / 9)


def with_gradient(trial: Any) -> sonde.Evaluation:
    return sonde.Evaluation(bowl(trial), gradient={"x": 2 * (trial["x"] - 0.3)})


def noisy(trial: Any) -> sonde.Evaluation:
    return sonde.Evaluation(bowl(trial), noise=0.1, constraints={"c": trial["x"] - 0.9})


CASES: dict[str, tuple[str, sonde.Space, Callable[[Any], Any], int]] = {
    "a Gaussian process": ("gp", PLANE, bowl, 10),
    "failures and conditions": ("auto", MIXED, mixed, 12),
    "noise and constraints": ("auto", PLANE, noisy, 9),
    "gradients": ("auto", PLANE, with_gradient, 8),
    "a natural gradient": ("igo", BITS, lambda trial: float(sum(trial.values())), 60),
    "networks": ("dngo", PLANE, bowl, 8),
    "Sobol": ("sobol", MIXED, mixed, 40),
    "random": ("random", MIXED, mixed, 40),
}


@pytest.mark.parametrize("case", CASES)
def test_every_suggestion_of_a_method_is_verified(case: str) -> None:
    strategy, space, objective, count = CASES[case]
    study = sonde.Study(space, seed=5, strategy=strategy)
    study.optimize(objective, count, progress=False)
    found = study.verify()
    assert (found.checked, found.deviates, found.others, found.distance) == (count, None, 0, 0.0)
    assert (found.ok, found.strategy) == (True, strategy)
    assert str(found).startswith(f"VERIFIED: {count} suggestions")


def test_several_objectives_are_verified() -> None:
    study = sonde.Study(PLANE, seed=5, objectives={"loss": "min", "size": "max"})
    study.optimize(lambda trial: {"loss": bowl(trial), "size": trial["x"]}, 8, progress=False)
    assert study.verify() == Verification("auto", checked=8)


def test_stopped_trials_are_verified_with_their_predicted_values() -> None:
    study = sonde.Study(PLANE, seed=4, strategy="gp")

    def train(trial: sonde.Trial) -> float | None:
        for step in range(1, 21):
            trial.report(step, trial["x"] + math.exp(-step))
            if trial.should_stop():
                return None
        return float(trial["x"])

    study.optimize(train, 24, progress=False)
    assert any(trial.state is State.STOPPED for trial in study.trials[:-1])
    assert study.verify() == Verification("gp", checked=24)


def test_batches_queues_and_retries_are_verified() -> None:
    study = sonde.Study(PLANE, seed=2, strategy="gp")
    for trial in study.ask(6):
        study.tell(trial, bowl(trial))
    assert study.verify().checked == 6  # joint suggestions
    pending = study.ask(3)
    study.enqueue({"x": 0.3, "y": 0.1})
    study.add_trials([{"params": {"x": 0.9, "y": 0.9}, "value": 9.0}, {"params": {"x": 0, "y": 1}, "failed": "no"}])
    study.tell(pending[1], bowl(pending[1]))  # not in the order of the numbers
    queued = study.ask()
    study.release(pending[0])
    again = study.ask()
    assert again.retry_of == pending[0].number
    study.tell(again, bowl(again))
    study.tell(queued, failed="no")
    study.cancel(pending[2])
    for trial in study.ask(2):
        study.tell(trial, bowl(trial), attributes={"kept": True})
        study.tell(trial, bowl(trial), attributes={"again": True})
    assert study.verify() == Verification("gp", checked=11, others=4)
    assert "4 other trials have no record" in str(study.verify())


def test_a_trial_that_was_lost_and_told_later_was_lost_meanwhile() -> None:
    study = sonde.Study(PLANE, seed=2, strategy="gp")
    for trial in study.ask(6):
        study.tell(trial, bowl(trial))
    late = study.ask()
    study.release(late)
    retry = study.ask()
    study.tell(study.ask(), 0.5)
    study.tell(late, bowl(late))
    study.tell(study.ask(), 0.4)
    study.tell(retry, 0.45)
    study.tell(study.ask(), 0.3)
    assert study.verify() == Verification("gp", checked=10, others=1)


WORKER = """
import sys, sonde
with sonde.load(sys.argv[1], "study") as study:
    study.optimize(lambda trial: (trial["x"] - 0.3) ** 2 + trial["y"], total_trials=20, progress=False)
"""


def test_processes_that_share_a_study_suggest_as_one(tmp_path: Path) -> None:
    url = str(tmp_path / "study.db")
    with sonde.Study(PLANE, storage=url, name="study", seed=3, strategy="gp") as study:
        process = start(WORKER, url)
        study.optimize(
            lambda trial: (trial["x"] - 0.3) ** 2 + trial["y"], total_trials=20, workers=3, progress=False
        )  # fmt: skip
        process.join(200)
        assert process.exitcode == 0
        assert len({trial.worker for trial in study.trials} - {None}) == 2
        found = study.verify()
        assert (found.deviates, found.unchecked, found.checked + found.others) == (None, 0, len(study.trials))
        assert found.distance <= 1e-9


CRASH = """
import os, signal, sys, sonde
study = sonde.load(sys.argv[1], "study")
for _ in range(7):
    trial = study.ask()
    study.tell(trial, (trial["x"] - 0.3) ** 2 + trial["y"])
study.ask(2, lease=0.2)
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_study_goes_on_after_a_crash_as_if_there_was_none(tmp_path: Path) -> None:
    url = str(tmp_path / "study.db")
    with sonde.Study(PLANE, storage=url, name="study", seed=3, strategy="gp") as study:
        process = start(CRASH, url)
        process.join(100)
        assert process.exitcode == -9
        deadline = time.monotonic() + 60
        while sum(trial.retry_of is not None for trial in study.trials) < 2:
            trial = study.ask()
            study.tell(trial, bowl(trial))
            assert time.monotonic() < deadline
        study.tell(7, 0.2)  # of the process that was killed, by hand
        for trial in study.ask(2):
            study.tell(trial, bowl(trial))
        found = study.verify()
        assert (found.deviates, found.unchecked, found.others) == (None, 0, 2)
        assert found.checked == len(study.trials) - 2


def test_what_is_not_stored_is_said_and_is_no_deviation() -> None:
    study = sonde.Study(PLANE, seed=4, strategy="gp")
    for trial in study.ask(8):
        study.tell(trial, bowl(trial))
    first = study.ask(lease=0.001)
    retry = _next(study, lambda trial: trial.retry_of == first.number, lease=0.001)
    _next(study, lambda _: study.trial(retry.number).state is State.FAILED)  # it has ended two workers
    study.tell(study.ask(), 0.5)
    study.tell(retry, 0.0)  # after all
    study.tell(study.ask(), 0.4)
    found = study.verify()
    assert (found.deviates, found.ok) == (None, False)
    assert found.unchecked > 0
    assert found.checked + found.unchecked + found.others == len(study.trials)
    assert f"trial {retry.number} ended after it had been given to a second worker" in str(found)
    assert str(found).startswith("NOT FULLY CHECKED")


def _next(study: sonde.Study, wanted: Callable[[sonde.Trial], bool], **options: Any) -> sonde.Trial:
    """Ask and tell until a trial is as wanted."""
    for _ in range(100):
        trial = study.ask(**options)
        if wanted(trial):
            return trial
        study.tell(trial, bowl(trial))
    raise AssertionError("it never came")


# what somebody has changed


@pytest.fixture(scope="module")
def run_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("verify") / "study.db"
    with sonde.Study(MIXED, storage=str(path), name="study", seed=6, strategy="gp") as study:
        study.optimize(lambda trial: trial.get("x", 0.5) + trial["n"] / 9, 12, progress=False)
    return path


@pytest.fixture
def stored(run_once: Path, tmp_path: Path) -> Iterator[Callable[[str], sonde.Study]]:
    """Return a study in which SQL has changed something."""
    path = tmp_path / "study.db"
    path.write_bytes(run_once.read_bytes())
    opened: list[sonde.Study] = []

    def changed(statement: str, *values: Any) -> sonde.Study:
        with sqlite3.connect(path) as connection:
            connection.execute(statement, values)
        connection.close()
        opened.append(sonde.load(str(path), "study"))
        return opened[0]

    yield changed
    opened[0].close()


def test_without_a_change_it_is_verified_from_the_file(stored: Callable[..., sonde.Study]) -> None:
    calls: list[tuple[int, int]] = []
    found = stored("UPDATE studies SET paused = NULL").verify(lambda done, total: calls.append((done, total)))
    assert found == Verification("gp", checked=12)
    assert calls == [(number, 12) for number in range(1, 13)]


def test_an_altered_result_is_found_at_the_next_suggestion(stored: Callable[..., sonde.Study]) -> None:
    found = stored("UPDATE trials SET value = value - 1 WHERE number = 8").verify()
    assert (found.deviates, found.checked, found.ok) == (9, 9, False)
    assert str(found).startswith("DEVIATES: from trial 9 on, the study is not what gp suggests; the 9 suggestions")


@pytest.mark.parametrize("number", [0, 5, 11])
def test_an_altered_suggestion_is_found(stored: Callable[..., sonde.Study], number: int) -> None:
    row = struct.pack("<3d", 0.0, 0.25, 3.0)
    found = stored("UPDATE trials SET row = ? WHERE number = ?", row, number).verify()
    assert (found.deviates, found.checked) == (number, number)


def test_an_altered_seed_is_found(stored: Callable[..., sonde.Study]) -> None:
    assert stored("UPDATE studies SET seed = seed + 1").verify().deviates in (0, 1)  # the first may be the centre


def test_an_altered_strategy_is_found(stored: Callable[..., sonde.Study]) -> None:
    found = stored("UPDATE studies SET strategy = 'random'").verify()
    assert (found.deviates, found.strategy) == (0, "random")


@pytest.mark.parametrize(
    "change", ["batch_first = 9 WHERE number = 4", "batch_size = 0 WHERE number = 4", "retry_of = 99 WHERE number = 4"]
)
def test_a_record_that_contradicts_itself_is_no_crash(stored: Callable[..., sonde.Study], change: str) -> None:
    found = stored(f"UPDATE trials SET {change}").verify()
    assert found.deviates in (4, None)
    assert found.ok is (found.deviates is None)


def test_a_deleted_trial_is_found(stored: Callable[..., sonde.Study]) -> None:
    found = stored("DELETE FROM trials WHERE number = 7").verify()
    assert (found.deviates, found.checked) == (7, 7)
    assert "it was deleted" in str(found)


def test_a_trial_of_which_nothing_is_recorded_is_counted(stored: Callable[..., sonde.Study]) -> None:
    found = stored("UPDATE trials SET seen = NULL, batch_first = NULL WHERE number < 6").verify()
    assert (found.checked, found.others, found.ok) == (6, 6, True)


# what it says


def test_rounding_is_no_deviation(stored: Callable[..., sonde.Study]) -> None:
    before = stored("UPDATE studies SET paused = NULL")
    number = next(trial.number for trial in before.trials if "x" in trial.params)
    kind, x, n = before.history.rows[number]
    row = struct.pack("<3d", kind, x + (1e-8 if x < 0.5 else -1e-8), n)
    found = stored("UPDATE trials SET row = ? WHERE number = ?", row, number).verify()
    assert found.distance == pytest.approx(1e-8)
    assert found.deviates != number  # later ones may have been drawn to the other side
    assert "1e-08 of the unit cube" in str(found) or found.deviates is not None


@pytest.mark.parametrize("trials", [0, 1])
def test_studies_of_nothing_and_of_one(trials: int) -> None:
    study = sonde.Study(PLANE)
    for trial in study.ask(trials) if trials else []:
        study.tell(trial, 1.0)
    assert study.verify() == Verification("auto", checked=trials)


def test_a_study_of_added_trials_has_nothing_to_check() -> None:
    study = sonde.Study(PLANE)
    study.add_trials([{"params": {"x": 0.5, "y": 0.5}, "value": 1.0}])
    found = study.verify()
    assert (found.ok, found.others) == (False, 1)
    assert str(found).startswith("NOT CHECKED")


def test_the_document_is_json() -> None:
    found = Verification("gp", checked=2, deviates=2, distance=math.inf, reasons=("Trial 2: a choice differs.",))
    told = json.loads(json.dumps(found.document(), allow_nan=False))
    assert told == {"strategy": "gp", "checked": 2, "unchecked": 0, "others": 0, "deviates": 2, "distance": None,
                    "reasons": ["Trial 2: a choice differs."], "ok": False}  # fmt: skip


class Mine(Strategy):
    """A strategy of one's own, whose function no storage can keep."""

    name = "mine"

    def __init__(self, place: Callable[[int], float]) -> None:
        self.place, self.used = place, False

    def suggest(self, space: sonde.Space, history: Any, count: int, key: Any) -> Any:
        assert not (self.used and len(history) == 0), "it was used before"
        self.used = True
        import numpy as np

        first = len(history)
        return np.array([[self.place(first + k), 0.5] for k in range(count)])

    def explain(self, space: sonde.Space, history: Any) -> str:
        return ""


def test_an_own_strategy_is_replayed_by_a_new_one_with_the_same_options() -> None:
    study = sonde.Study(PLANE, strategy=Mine(lambda number: 1 / (number + 2)))
    study.optimize(bowl, 4, progress=False)
    assert study.verify() == Verification("mine", checked=4)


def test_a_trial_shows_what_its_suggestion_knew() -> None:
    study = sonde.Study(PLANE, strategy="sobol")
    trials = study.ask(2)
    assert [trial.seen for trial in trials] == [trials[0].seen] * 2
    assert all(trial.suggested_in is not None and 0 < trial.suggested_in < 60 for trial in trials)
    for trial in trials:
        study.tell(trial, 1.0)
    later = study.ask()
    assert (later.seen or 0) > (trials[0].seen or 0)
    from sonde.study.export import document

    shown = document(study.trial(later.number))
    assert (shown["seen"], shown["suggested_in"], list(shown["batch"])) == (later.seen, later.suggested_in, [2, 1])
    other = sonde.Study(PLANE)
    other.add_trials(study.trials[:2])  # of another study: there they were not suggested
    other.add_trials([document(trial) for trial in study.trials[:2]])
    assert [(trial.seen, trial.suggested_in, trial.batch) for trial in other.trials] == [(None, None, None)] * 4
