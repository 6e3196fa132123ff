from __future__ import annotations

import json
import pickle
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import sonde
from sonde.errors import (
    ConfigurationError,
    ConflictingResult,
    EvaluationError,
    NoResult,
    OptionError,
    SpaceError,
    SpaceExhausted,
    StorageError,
    StudyMismatch,
    StudyNotFound,
    UnknownTrial,
)

SPACE = sonde.Space(
    lr=sonde.Float(1e-5, 1e-1, log=True),
    layers=sonde.Int(1, 8),
    model=sonde.Categorical(["mlp", "svm"]),
    width=sonde.Int(16, 256, log=True, when={"model": "mlp"}),
)


def test_ask_tell_best() -> None:
    study = sonde.Study(SPACE, seed=0)
    for value in (3.0, 1.0, 2.0):
        trial = study.ask()
        assert dict(trial) in SPACE
        assert trial.state == "running"
        told = study.tell(trial, value)
        assert (told.number, told.value, told.state) == (trial.number, value, "completed")
    assert study.best_trial.number == 1
    assert study.best_value == 1.0
    assert study.best_params == dict(study.trials[1])
    assert [trial.value for trial in study.trials] == [3.0, 1.0, 2.0]


def test_maximize() -> None:
    study = sonde.Study(SPACE, direction="maximize")
    for value in (3.0, 1.0, 4.0):
        study.tell(study.ask(), value)
    assert study.best_value == 4.0


def test_a_batch_is_a_list_even_of_one() -> None:
    study = sonde.Study(SPACE)
    assert [trial.number for trial in study.ask(1)] == [0]
    assert [trial.number for trial in study.ask(8)] == list(range(1, 9))


@pytest.mark.parametrize("strategy", ["auto", "random", "sobol"])
def test_same_seed_same_suggestions_whatever_the_batch(strategy: str) -> None:
    one, many, other = (sonde.Study(SPACE, seed=seed, strategy=strategy) for seed in (5, 5, 6))
    single = [dict(one.ask()) for _ in range(12)]
    assert [dict(trial) for trial in [*many.ask(5), *many.ask(7)]] == single
    assert [dict(trial) for trial in other.ask(12)] != single


def test_reopened_the_next_suggestion_is_the_same(database_url: str) -> None:
    whole = sonde.Study(SPACE, seed=3)
    expected = [dict(whole.ask()) for _ in range(10)]
    got = []
    for _ in range(10):
        study = sonde.Study(SPACE, seed=3, storage=database_url, name="study")
        got.append(dict(study.ask()))
        study.close()
    assert got == expected


def test_resume_and_load(sqlite_url: str) -> None:
    study = sonde.Study(SPACE, storage=sqlite_url, name="study", seed=1, strategy="random")
    study.tell(study.ask(), 0.5)
    again = sonde.Study(SPACE, storage=sqlite_url, name="study")
    assert (again.seed, again.best_value) == (1, 0.5)
    loaded = sonde.load(sqlite_url, "study")
    assert loaded.space == SPACE
    assert loaded.best_params == study.best_params
    assert loaded.explain().startswith("random")


def test_resuming_with_other_settings_is_refused(sqlite_url: str) -> None:
    sonde.Study(SPACE, storage=sqlite_url, name="study", seed=1)
    with pytest.raises(StudyMismatch, match="another space"):
        sonde.Study(sonde.Space(x=sonde.Float(0, 1)), storage=sqlite_url, name="study")
    with pytest.raises(StudyMismatch, match="direction='minimize'"):
        sonde.Study(SPACE, direction="maximize", storage=sqlite_url, name="study")
    with pytest.raises(StudyMismatch, match="seed=1"):
        sonde.Study(SPACE, seed=2, storage=sqlite_url, name="study")


def test_delete(sqlite_url: str) -> None:
    sonde.Study(SPACE, storage=sqlite_url, name="study")
    sonde.delete(sqlite_url, "study")
    with pytest.raises(StudyNotFound):
        sonde.load(sqlite_url, "study")


def test_load_and_delete_do_not_create_a_database(tmp_path: Path) -> None:
    for attempt in (sonde.load, sonde.delete):
        with pytest.raises(StorageError, match="there is no database"):
            attempt(tmp_path / "nothing.db", "study")
    assert list(tmp_path.iterdir()) == []


def test_function_constraints_must_be_given_again(sqlite_url: str) -> None:
    space = sonde.Space(a=sonde.Int(0, 100), b=sonde.Int(0, 100)).where(lambda p: p["a"] + p["b"] <= 100)
    study = sonde.Study(space, storage=sqlite_url, name="study")
    assert all(trial["a"] + trial["b"] <= 100 for trial in study.ask(50))
    loaded = sonde.load(sqlite_url, "study")
    assert len(loaded.trials) == 50
    with pytest.raises(SpaceError, match="open the study with"):
        loaded.ask()
    again = sonde.Study(space, storage=sqlite_url, name="study")
    assert again.ask().number == 50


def test_expression_constraints_are_stored(sqlite_url: str) -> None:
    space = sonde.Space(a=sonde.Int(0, 100), b=sonde.Int(0, 100)).where("a + b <= 100")
    sonde.Study(space, storage=sqlite_url, name="study")
    assert all(trial["a"] + trial["b"] <= 100 for trial in sonde.load(sqlite_url, "study").ask(50))


def test_choices_that_json_cannot_hold(sqlite_url: str) -> None:
    space = sonde.Space(f=sonde.Categorical([np.tanh, np.sin, (1, 2), None]))
    study = sonde.Study(space, storage=sqlite_url, name="study", seed=0)
    study.enqueue({"f": np.sin})
    study.tell(study.ask(), 1.0)
    again = sonde.Study(space, storage=sqlite_url, name="study")
    assert again.best_params["f"] is np.sin
    assert "sin" in repr(sonde.load(sqlite_url, "study").best_params["f"])


def test_enqueue_goes_first() -> None:
    study = sonde.Study(SPACE, seed=0)
    params = {"lr": 1e-3, "layers": 2, "model": "svm"}
    number = study.enqueue(params, attributes={"from": "me"})
    trial = study.ask()
    assert (trial.number, dict(trial), trial.attributes) == (number, params, {"from": "me"})
    with pytest.raises(ConfigurationError, match="'layers'"):
        study.enqueue({"lr": 1e-3, "layers": 20, "model": "svm"})


def test_everything_told_comes_back(database_url: str) -> None:
    study = sonde.Study(SPACE, storage=database_url, name="study", seed=0)
    study.enqueue({"lr": 1e-3, "layers": 2, "model": "svm"})
    trial = study.ask()
    trial.attributes["epochs"] = 10
    study.tell(
        trial, 0.31, gradient={"lr": -2.0}, hessian={"lr": {"lr": 4.0, "layers": 1.0}}, noise=0.01,
        constraints={"memory": -1.0},
    )  # fmt: skip
    told = sonde.load(database_url, "study").trials[0]
    assert told.gradient == {"lr": -2.0}
    assert told.hessian == {"lr": {"lr": 4.0, "layers": 1.0}, "layers": {"lr": 1.0}}
    assert (told.noise, told.constraints, told.attributes) == (0.01, {"memory": -1.0}, {"epochs": 10})
    assert told.finished is not None
    assert told.duration is not None
    assert 0 <= told.duration < 60
    study.close()


def test_tell_is_idempotent_and_never_overwrites() -> None:
    study = sonde.Study(SPACE)
    trial = study.ask()
    study.tell(trial, 1.0)
    study.tell(trial.number, 1.0)
    with pytest.raises(ConflictingResult, match=r"1\.0.*2\.0"):
        study.tell(trial, 2.0)
    assert study.best_value == 1.0


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf"), np.float32("nan"), 10**400])
def test_values_that_are_not_finite_fail(value: float) -> None:
    study = sonde.Study(SPACE)
    told = study.tell(study.ask(), value)
    assert told.state == "failed"
    assert "the value is" in str(told.error)
    with pytest.raises(NoResult, match="no trial has completed"):
        _ = study.best_trial


@pytest.mark.parametrize("value", ["0.3", [1.0, 2.0], True, object(), {"value": 1.0}, 1j])
def test_values_that_are_no_numbers_are_refused_and_the_trial_stays_running(value: object) -> None:
    study = sonde.Study(SPACE)
    trial = study.ask()
    with pytest.raises(EvaluationError, match="must be a number"):
        study.tell(trial, value)  # type: ignore[arg-type]
    assert study.trial(trial.number).state == "running"


def test_tell_needs_a_value_or_a_failure() -> None:
    study = sonde.Study(SPACE)
    trial = study.ask()
    with pytest.raises(OptionError, match="needs a value"):
        study.tell(trial)
    with pytest.raises(OptionError, match="not both"):
        study.tell(trial, 1.0, failed="no")
    with pytest.raises(OptionError, match="leave out noise"):
        study.tell(trial, sonde.Evaluation(1.0), noise=0.1)
    with pytest.raises(UnknownTrial):
        study.tell(17, 1.0)
    with pytest.raises(OptionError, match="Trial or its number"):
        study.tell("0", 1.0)  # type: ignore[arg-type]
    assert study.tell(trial, failed="out of memory").error == "out of memory"


def test_best_meets_its_constraints() -> None:
    study = sonde.Study(SPACE)
    study.tell(study.ask(), 0.0, constraints={"memory": 0.1})
    with pytest.raises(NoResult, match="none of 1 completed trials meets its constraints"):
        _ = study.best_trial
    study.tell(study.ask(), 5.0, constraints={"memory": 0.0, "time": -3.0})
    assert study.best_value == 5.0
    assert [trial.feasible for trial in study.trials] == [False, True]


def test_add_trials() -> None:
    study = sonde.Study(SPACE)
    params = {"lr": 1e-3, "layers": 2, "model": "svm"}
    numbers = study.add_trials(
        [{"params": params, "value": 0.4, "gradient": {"lr": 1.0}}, {"params": params, "failed": "no"}]
    )
    assert numbers == [0, 1]
    assert [trial.state for trial in study.trials] == ["completed", "failed"]
    with pytest.raises(ConfigurationError, match=r"trials\[1\].*'layers'"):
        study.add_trials([{"params": params, "value": 1.0}, {"params": {**params, "layers": 0}, "value": 1.0}])
    with pytest.raises(OptionError, match=r"trials\[0\]"):
        study.add_trials([{"parameters": params, "value": 1.0}])
    with pytest.raises(EvaluationError, match=r"trials\[0\]"):
        study.add_trials([{"params": params, "value": "much"}])
    assert len(study.trials) == 2
    assert study.add_trials([]) == []


def test_tens_of_thousands_of_trials_at_once(sqlite_url: str) -> None:
    space = sonde.Space(x=sonde.Float(0, 1), k=sonde.Int(0, 9))
    study = sonde.Study(space, storage=sqlite_url, name="study", strategy="sobol")
    study.add_trials({"params": {"x": i / 3e4, "k": i % 10}, "value": float(i)} for i in range(30_000))
    started = time.process_time()
    opened = sonde.load(sqlite_url, "study")
    assert (len(opened.history), opened.best_value) == (30_000, 0.0)
    reading = time.process_time() - started
    assert reading < 5
    opened.tell(opened.ask(), -1.0)
    started = time.process_time()
    assert opened.best_value == -1.0
    assert time.process_time() - started < reading / 2  # what it has is not read again


def test_a_lattice_is_never_repeated_and_ends() -> None:
    space = sonde.Space(a=sonde.Int(1, 3), b=sonde.Bool(), c=sonde.Categorical(list("xyz"), when={"b": True}))
    study = sonde.Study(space, seed=0)
    seen = [dict(trial) for trial in study.ask(9)]
    seen += [dict(trial) for trial in study.ask(9)]  # only three are left
    assert len(seen) == space.size == 12
    assert len({json.dumps(params) for params in seen}) == 12
    with pytest.raises(SpaceExhausted, match="all 12 configurations"):
        study.ask()


def test_lost_trials_come_back_once(sqlite_url: str) -> None:
    dead = sonde.Study(SPACE, storage=sqlite_url, name="study", seed=0)
    trial = dead.ask(lease=0.05)  # a lease of its own is not renewed
    time.sleep(0.1)
    alive = sonde.Study(SPACE, storage=sqlite_url, name="study")
    again = alive.ask()
    assert dict(again) == dict(trial)
    assert again.retry_of == trial.number
    assert alive.trial(trial.number).state == "lost"
    dead.tell(trial, 7.0)
    assert alive.trial(trial.number).value == 7.0


def test_a_living_process_keeps_its_trials(sqlite_url: str) -> None:
    study = sonde.Study(SPACE, storage=sqlite_url, name="study", lease=0.3)
    trial = study.ask()
    time.sleep(1.0)
    other = sonde.Study(SPACE, storage=sqlite_url, name="study", lease=0.3)
    assert other.ask().retry_of is None
    assert other.trial(trial.number).state == "running"


@pytest.mark.parametrize("kind", ["memory", "sqlite", "postgres"])
def test_a_released_trial_is_queued_again_every_time(request: pytest.FixtureRequest, kind: str) -> None:
    url = None if kind == "memory" else request.getfixturevalue(f"{kind}_url")
    study = sonde.Study(SPACE, storage=url, name="study", seed=0)
    first = study.ask()
    for trial in (first, first.number + 1, [first.number + 2]):
        study.release(trial)
        assert dict(study.ask()) == dict(first)
    assert [trial.state for trial in study.trials] == ["lost", "lost", "lost", "running"]
    study.close()


def test_cancel() -> None:
    study = sonde.Study(SPACE)
    trial = study.ask()
    study.cancel(trial)
    assert study.trial(0).state == "cancelled"


def test_a_study_can_be_sent_to_another_process(sqlite_url: str) -> None:
    study = sonde.Study(SPACE, storage=sqlite_url, name="study", seed=0)
    copy = pickle.loads(pickle.dumps(study))
    assert copy.ask().number == 0
    assert study.ask().number == 1
    with pytest.raises(OptionError, match="give it a storage"):
        pickle.dumps(sonde.Study(SPACE))


def test_tables(tmp_path: Path) -> None:
    study = sonde.Study(SPACE, seed=0)
    study.tell(study.ask(), 1.0, constraints={"memory": -1.0}, attributes={"note": "a, b"})
    study.tell(study.ask(), failed="line one\nline two")
    frame = study.dataframe()
    assert list(frame["state"]) == ["completed", "failed"]
    assert {"params_lr", "constraints_memory", "attributes_note", "error"} <= set(frame.columns)
    study.export(tmp_path / "trials.csv")
    study.export(tmp_path / "trials.json")
    assert (tmp_path / "trials.csv").read_text().count("\n") >= 3
    documents = json.loads((tmp_path / "trials.json").read_text())
    assert documents[0]["params"] == dict(study.trials[0])
    assert documents[1]["error"] == "line one\nline two"
    with pytest.raises(OptionError, match=r"\.csv or \.json"):
        study.export(tmp_path / "trials.xlsx")
    assert len(sonde.Study(SPACE).dataframe()) == 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"direction": "up"}, "minimize"),
        ({"seed": -1}, "seed"),
        ({"seed": 1.5}, "seed"),
        ({"seed": True}, "seed"),
        ({"name": ""}, "name"),
        ({"name": 3}, "name"),
        ({"strategy": "magic"}, "auto, random, dngo, fobo, igo, gp, sobol"),
        ({"storage": "nowhere"}, "storage"),
        ({"lease": "60"}, "lease"),
    ],
)
def test_wrong_options(options: dict[str, object], message: str) -> None:
    with pytest.raises(OptionError, match=message):
        sonde.Study(SPACE, **options)  # type: ignore[arg-type]


@pytest.mark.parametrize("count", [0, -1, 1.5, "2", True])
def test_wrong_counts(count: object) -> None:
    with pytest.raises(OptionError, match="count"):
        sonde.Study(SPACE).ask(count)  # type: ignore[call-overload]


def test_wrong_space_and_lease(sqlite_url: str) -> None:
    with pytest.raises(SpaceError, match=r"sonde\.Space"):
        sonde.Study(3)
    with pytest.raises(OptionError, match="lease"):
        sonde.Study(SPACE, storage=sqlite_url, lease=-1)


@pytest.mark.parametrize(
    ("act", "message"),
    [
        (
            lambda study: study.tell(study.ask(), 1.0, attributes=["a"]),
            r"attributes must be a dict by name, got \['a'\]",
        ),
        (lambda study: study.enqueue({"x": 1}, attributes="a"), "attributes must be a dict by name, got 'a'"),
        (lambda study: study.add_trials({"params": {"x": 1}, "value": 0.0}), "add_trials takes a list"),
        (lambda study: study.add_trials(None), "add_trials takes a list"),
        (lambda study: study.trial("first"), "expected a Trial or its number, got 'first'"),
        (lambda study: study.release("first"), "expected a Trial or its number"),
    ],
)
def test_errors_say_what_is_wrong(act: Callable[[sonde.Study], object], message: str) -> None:
    with pytest.raises(OptionError, match=message):
        act(sonde.Study(sonde.Space(x=sonde.Int(0, 3))))
