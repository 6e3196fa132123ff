"""Learning curves of a study: reports, stopped trials, exports, other processes."""

from __future__ import annotations

import math
import multiprocessing
import pickle
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.processes import start

import sonde
from sonde.errors import ConflictingResult, EvaluationError, OptionError, StorageError
from sonde.execution import Executor
from sonde.study.curves import learned_from

SPACE = sonde.Space(x=sonde.Float(0, 1), y=sonde.Float(0, 1))
STEPS = 20


def training() -> Callable[[sonde.Trial], float | None]:
    """Return an objective whose curve tells early how it ends; workers get it by value."""
    exp, steps = math.exp, STEPS

    def train(trial: sonde.Trial) -> float | None:
        for step in range(1, steps + 1):
            trial.report(step, trial["x"] + exp(-step))
            if trial.should_stop():
                return None
        return float(trial["x"])

    return train


train = training()


def states(study: sonde.Study) -> list[str]:
    return [trial.state.value for trial in study.trials]


def told(study: sonde.Study, x: float, value: float | None = None, steps: int = STEPS) -> sonde.Trial:
    """Run one trial at x by ask and tell."""
    study.enqueue({"x": x, "y": 0.5})
    trial = study.ask()
    for step in range(1, steps + 1):
        trial.report(step, x + math.exp(-step))
    return study.tell(trial, x if value is None else value)


@pytest.fixture(params=["memory", "sqlite"])
def storage(request: pytest.FixtureRequest, tmp_path: Path) -> str | None:
    return None if request.param == "memory" else f"sqlite:///{tmp_path}/curves.db"


@pytest.mark.parametrize("workers", [1, 2])
def test_hopeless_trials_are_stopped(storage: str | None, workers: int) -> None:
    study = sonde.Study(SPACE, storage=storage, seed=1, strategy="random")
    study.optimize(train, 40, workers=workers, progress=False)
    assert set(states(study)) == {"completed", "stopped"}
    stopped = [trial for trial in study.trials if trial.state == "stopped"]
    assert 10 < len(stopped) < 35
    best = study.best_value
    assert best <= sorted(trial["x"] for trial in study.trials)[2]
    for trial in stopped:
        assert (trial.value, trial.noise, trial.error) == (None, None, None)
        assert trial.std is not None
        assert 0 < len(trial.curve) < STEPS
        assert [step for step, _ in trial.curve] == list(range(1, len(trial.curve) + 1))
    predictions = np.array([(trial.mean, trial["x"]) for trial in stopped])
    assert (predictions[:, 0] >= best).all()
    assert np.corrcoef(predictions.T)[0, 1] > 0.5


def test_the_surrogate_learns_from_stopped_trials() -> None:
    study = sonde.Study(SPACE, seed=1, strategy="random")
    study.optimize(train, 30, progress=False)
    history = study.history
    stopped = [trial for trial in study.trials if trial.state == "stopped"]
    assert len(history.completed) == 30
    assert len(history.measured) == 30 - len(stopped)
    numbers = [trial.number for trial in stopped]
    assert history.values[numbers].tolist() == [trial.mean for trial in stopped]
    assert history.noise[numbers].tolist() == [trial.std for trial in stopped]
    assert not history.noisy  # nobody declared noise: the best trial is the one with the best value
    assert not history.noise_found
    assert study.best().mean is None


def test_maximize_and_values_of_another_metric() -> None:
    """Reports are of ten times the accuracy; higher is better."""

    def objective(trial: sonde.Trial) -> float | None:
        for step in range(1, STEPS + 1):
            trial.report(step, 10 * (1 - trial["x"] - math.exp(-step)))
            if trial.should_stop():
                return None
        return 1 - float(trial["x"])

    study = sonde.maximize(objective, SPACE, 40, seed=1, strategy="random", progress=False).study
    stopped = [trial for trial in study.trials if trial.state == "stopped"]
    assert len(stopped) > 10
    assert np.corrcoef([trial.mean for trial in stopped], [trial["x"] for trial in stopped])[0, 1] < -0.5
    assert study.best_trial.state == "completed"


def test_curves_that_tell_nothing_stop_nothing() -> None:
    noise = np.random.default_rng(0).normal(size=(60, STEPS))

    def objective(trial: sonde.Trial) -> float | None:
        for step, value in enumerate(noise[trial.number]):
            trial.report(step, value)
            if trial.should_stop():
                return None
        return float(trial["x"])

    study = sonde.Study(SPACE, seed=1, strategy="random")
    study.optimize(objective, 60, progress=False)
    assert states(study).count("stopped") <= 3


@pytest.mark.parametrize("options", [{"stopping": "none"}, {"objectives": ["minimize", "minimize"]}])
def test_nothing_is_stopped_if_not_wanted_or_with_several_objectives(options: dict[str, Any]) -> None:
    def objective(trial: sonde.Trial) -> Any:
        value = train(trial)
        return (value, value) if "objectives" in options else value

    study = sonde.Study(SPACE, seed=1, strategy="random", **options)
    study.optimize(objective, 20, progress=False)
    assert set(states(study)) == {"completed"}
    assert all(len(trial.curve) == STEPS for trial in study.trials)


def test_an_objective_may_stop_by_itself() -> None:
    def objective(trial: sonde.Trial) -> float:
        trial.report(1, trial["x"])
        if trial["x"] > 0.5:
            raise sonde.Stopped
        return float(trial["x"])

    study = sonde.Study(SPACE, seed=1, strategy="random")
    study.optimize(objective, 20, progress=False)
    early, late = ([trial for trial in study.trials if trial["x"] > 0.5][i] for i in (0, -1))
    assert (early.state, early.error) == ("stopped", None)
    assert late.mean is not None  # by now there is a model
    assert all(trial["x"] <= 0.5 for trial in study.trials if trial.state == "completed")


def test_with_several_objectives_a_stopped_trial_has_no_value() -> None:
    def objective(trial: sonde.Trial) -> tuple[float, float]:
        trial.report(1, trial["x"])
        if trial.number % 3 == 2:
            raise sonde.Stopped
        return trial["x"], 1 - trial["x"] + trial["y"]

    study = sonde.Study(SPACE, objectives=["minimize", "minimize"], seed=0)
    study.optimize(objective, 20, progress=False)
    stopped = [trial for trial in study.trials if trial.state == "stopped"]
    assert {(trial.value, trial.mean, trial.std) for trial in stopped} == {(None, None, None)}
    assert len(study.history.completed) == 20 - len(stopped) == 14


def test_a_trial_stopped_before_a_model_has_no_value() -> None:
    study = sonde.Study(SPACE, seed=1)
    trial = study.ask()
    trial.report(1, 0.5)
    shown = study.tell(trial, stopped=True)
    assert (shown.state, shown.value, shown.mean, shown.std) == ("stopped", None, None, None)
    assert shown.curve == [(1.0, 0.5)]
    assert len(study.history.completed) == 0
    assert study.ask().number == 1


def test_returning_none_without_being_told_to_stop_is_a_failure() -> None:
    study = sonde.Study(SPACE, seed=1)
    study.optimize(lambda trial: trial.report(1, 0.5), 1, progress=False)
    assert "number, got NoneType None" in str(study.trials[0].error)


def test_ask_and_tell_and_a_late_teller(tmp_path: Path) -> None:
    study = sonde.Study(SPACE, storage=tmp_path / "a.db", strategy="random", seed=1)
    for x in np.linspace(0, 0.2, 8):
        told(study, float(x))
    study.enqueue({"x": 0.9, "y": 0.5})
    trial = study.ask()
    while not trial.should_stop():
        trial.report(len(study.trial(trial.number).curve) + 1, 0.9)
        assert len(study.trial(trial.number).curve) < STEPS
    other = sonde.load(tmp_path / "a.db", "default")
    shown = other.tell(trial.number, stopped=True)
    assert (shown.state, shown.std is None) == ("stopped", False)
    assert other.tell(trial, stopped=True) == shown  # again, from elsewhere
    with pytest.raises(ConflictingResult, match="told stopped before"):
        study.tell(trial, 0.3)


def test_what_the_objective_returns_can_be_told() -> None:
    study = sonde.Study(SPACE, strategy="random", seed=1)
    for _ in range(30):
        trial = study.ask()
        study.tell(trial, train(trial))
    assert set(states(study)) == {"completed", "stopped"}
    trial = study.ask()
    trial.report(1, 0.0)
    assert not trial.should_stop()
    with pytest.raises(OptionError, match="stopped=True"):
        study.tell(trial, None)


def test_reports_late_twice_and_out_of_order() -> None:
    study = sonde.Study(SPACE)
    trial = study.ask()
    for step, value in [(3, 0.3), (1, 0.1), (2, 9.0), (2, 0.2)]:
        trial.report(step, value)
    assert study.trial(0).curve == [(1.0, 0.1), (2.0, 0.2), (3.0, 0.3)]
    study.tell(trial, 0.5)
    trial.report(4, float("nan"))
    assert len(study.trials[0].curve) == 4
    assert study.history.curves[0].shape == (4, 2)
    trial.report(4, 0.4)
    assert study.history.curves[0].tolist() == [[1, 0.1], [2, 0.2], [3, 0.3], [4, 0.4]]


@pytest.mark.parametrize(
    ("step", "value", "said"),
    [
        ("a", 1.0, "step of a report must be a number"),
        (float("nan"), 1.0, "must be finite"),
        (1, "x", "value of a rep"),
    ],
)
def test_wrong_reports_say_what_is_wrong(step: Any, value: Any, said: str) -> None:
    trial = sonde.Study(SPACE).ask()
    with pytest.raises(EvaluationError, match=said):
        trial.report(step, value)


def test_a_finished_trial_cannot_report() -> None:
    study = sonde.Study(SPACE)
    trial = study.ask()
    study.tell(trial, 1.0)
    with pytest.raises(EvaluationError, match=r"study\.ask"):
        study.trials[0].report(1, 0.5)
    with pytest.raises(EvaluationError, match=r"study\.ask"):
        sonde.Trial(0, {}).should_stop()


@pytest.mark.parametrize("wrong", [{"value": 1.0}, {"failed": "why"}, {"noise": 1.0}])
def test_stopped_is_told_alone(wrong: dict[str, Any]) -> None:
    study = sonde.Study(SPACE)
    with pytest.raises(OptionError, match="stopped=True alone"):
        study.tell(study.ask(), stopped=True, **wrong)
    with pytest.raises(OptionError, match="'auto' or 'none'"):
        sonde.Study(SPACE, stopping="yes")  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", ["json", "csv", "trials"])
def test_exports_have_curves_and_are_read_again(kind: str, tmp_path: Path) -> None:
    study = sonde.Study(SPACE, seed=1, strategy="random")
    study.optimize(train, 20, progress=False)
    copy = sonde.Study(SPACE)
    if kind == "trials":
        copy.add_trials(study.trials)
    else:
        study.export(tmp_path / f"a.{kind}")
        copy.add_trials(_read(tmp_path / f"a.{kind}"))
    assert states(copy) == states(study)
    for name in ("params", "value", "mean", "std", "curve"):
        assert [getattr(trial, name) for trial in copy.trials] == [getattr(trial, name) for trial in study.trials]


def _read(path: Path) -> list[dict[str, Any]]:
    import csv
    import json

    with path.open() as file:
        return json.load(file) if path.suffix == ".json" else list(csv.DictReader(file))


def test_a_damaged_prediction_is_refused() -> None:
    entry = {"params": {"x": 0.5, "y": 0.5}, "state": "stopped", "mean": math.nan, "std": 1.0}
    with pytest.raises(OptionError, match="finite"):
        sonde.Study(SPACE).add_trials([entry])
    with pytest.raises(OptionError, match="pairs of step and value"):
        sonde.Study(SPACE).add_trials([{"params": {"x": 0.5, "y": 0.5}, "value": 1.0, "curve": 3}])


def test_infeasible_and_failed_trials_are_no_measure() -> None:
    """A trial that breaks its constraints has the lowest value; nothing is stopped for being above it."""
    study = sonde.Study(SPACE, strategy="random", seed=1)
    for x in np.linspace(0.5, 0.7, 8):
        told(study, float(x))
    study.enqueue({"x": 0.0, "y": 0.5})
    broken = study.ask()
    broken.report(1, -100.0)
    study.tell(broken, -100.0, constraints={"size": 1.0})
    study.enqueue({"x": 0.3, "y": 0.5})
    promising = study.ask()
    for step in range(1, STEPS):
        promising.report(step, 0.3 + math.exp(-step))
        assert not promising.should_stop()


@pytest.mark.parametrize("pool", [ThreadPoolExecutor, ProcessPoolExecutor])
def test_other_executors(pool: type[Any], storage: str | None) -> None:
    context = {"mp_context": multiprocessing.get_context("spawn")} if pool is ProcessPoolExecutor else {}
    executor: Executor = pool(2, **context)
    with executor:  # type: ignore[attr-defined]
        study = sonde.Study(SPACE, storage=storage, seed=1, strategy="random")
        study.optimize(train, 25, executor=executor, progress=False)
    assert set(states(study)) == {"completed", "stopped"}


def test_a_pickled_trial_reports_from_another_process(storage: str | None) -> None:
    study = sonde.Study(SPACE, storage=storage)
    trial = study.ask()
    process = start("import pickle; pickle.loads(packed).report(1, 0.25)", packed=pickle.dumps(trial))
    process.join(60)
    assert process.exitcode == 0
    assert study.trial(0).curve == [(1.0, 0.25)]
    assert pickle.loads(pickle.dumps(trial)) == trial


def test_a_database_that_is_down_does_not_fail_a_training(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    study = sonde.Study(SPACE, storage=tmp_path / "a.db", strategy="random")

    def down(*_: object) -> None:
        raise StorageError("the database does not answer")

    def objective(trial: sonde.Trial) -> float:
        with monkeypatch.context() as patched:
            patched.setattr(study.storage, "report", down)
            trial.report(1, 0.5)
            assert not trial.should_stop()
        return 0.25

    with pytest.warns(UserWarning, match="incomplete: the database does not answer"):
        study.optimize(objective, 1, progress=False)
    assert study.trials[0].value == 0.25


def test_the_end_of_a_study_in_memory_is_said() -> None:
    study = sonde.Study(SPACE)
    elsewhere = pickle.loads(pickle.dumps(study.ask()))
    elsewhere.report(1, 0.5)
    study.close()
    with pytest.warns(UserWarning, match="trial 0 is incomplete.*give it a storage"):
        elsewhere.report(2, 0.5)
    with pytest.warns(UserWarning, match="incomplete"):
        assert not elsewhere.should_stop()


def test_without_sockets_only_reports_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object, **__: object) -> None:
        raise PermissionError("no sockets")

    monkeypatch.setattr("sonde.study.channel.Listener", refused)
    elsewhere = pickle.loads(pickle.dumps(sonde.Study(SPACE).ask()))
    with pytest.warns(UserWarning, match="give it a storage"):
        elsewhere.report(1, 0.5)
    assert not elsewhere.should_stop()


def test_the_model_is_fitted_to_a_growing_share() -> None:
    sizes = [learned_from(n) for n in range(3000)]
    assert sizes[:51] == list(range(51))
    assert all(0.96 * n <= size <= n for n, size in enumerate(sizes))
    assert sizes == sorted(sizes)
    assert len(set(sizes)) < 300


def test_a_retry_begins_a_new_curve(tmp_path: Path) -> None:
    study = sonde.Study(SPACE, storage=tmp_path / "a.db")
    trial = study.ask()
    trial.report(1, 0.5)
    study.release([trial])
    again = study.ask()
    assert (again.number, again.retry_of, again.curve) == (1, 0, [])
    again.report(1, 0.4)
    assert [each.curve for each in study.trials] == [[(1.0, 0.5)], [(1.0, 0.4)]]


def test_a_study_continues_after_its_process_died(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/a.db"
    first = sonde.Study(SPACE, storage=url, seed=1, strategy="random")
    first.optimize(train, 15, progress=False)
    before = first.trials
    second = sonde.load(url, "default")
    assert second.trials == before
    second.optimize(train, 15, progress=False)
    whole = sonde.Study(SPACE, seed=1, strategy="random")
    whole.optimize(train, 30, progress=False)
    assert states(second) == states(whole)
    assert [trial.mean for trial in second.trials] == [trial.mean for trial in whole.trials]
