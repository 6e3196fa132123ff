"""A study is the same wherever its trials are kept: in memory, in a database, or at a service."""

from __future__ import annotations

import json
import math
import pickle
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sonde
from sonde.errors import (
    ConfigurationError,
    ConflictingResult,
    IllegalTransition,
    NoResult,
    OptionError,
    SpaceError,
    SpaceExhausted,
    StudyMismatch,
    StudyNotFound,
    UnknownTrial,
)

Make = Callable[..., sonde.Study]

SPACE = sonde.Space(
    lr=sonde.Float(1e-5, 1e-1, log=True),
    layers=sonde.Int(1, 8),
    model=sonde.Categorical(["mlp", "svm"]),
    width=sonde.Int(16, 256, log=True, when={"model": "mlp"}),
)
# Choices of every kind, also such that read alike.
ODD = sonde.Space(
    {
        "any": sonde.Categorical(
            [None, True, 1, "1", 1.5, "None", (1, 2), [1, 2], {"a": (1,)}, math.inf, "inf", -math.inf, "ü/\u202e"]
        ),
        "odd name / ü": sonde.Float(-1, 1, step=0.1),
        "bias": sonde.Bool(),
    }
)
PARAMS = {"lr": 0.1 + 0.2 - 0.29, "layers": 3, "model": "mlp", "width": 64}
EVERYWHERE = ["memory", "sqlite", "postgres", "service"]


@pytest.fixture(params=EVERYWHERE)
def make(request: pytest.FixtureRequest) -> Make:
    """Open a study, or create it; every test has its own, of the test's name."""
    kind, name = request.param, request.node.name
    if kind == "memory":
        return sonde.Study
    if kind == "service":
        service = request.getfixturevalue("service")
        return lambda space, name=name, **settings: sonde.connect(service.url, name, space=space, **settings)
    return partial(sonde.Study, storage=request.getfixturevalue(f"{kind}_url"), name=name)


@pytest.fixture(params=EVERYWHERE[1:])
def again(request: pytest.FixtureRequest) -> tuple[Make, Make]:
    """Create a study that other processes can open; open it as they do."""
    create: Make
    if request.param == "service":
        service = request.getfixturevalue("service")
        create = lambda space, name="again", **rest: sonde.connect(service.url, name, space=space, **rest)  # noqa: E731
        return create, lambda name: sonde.connect(service.url, name)
    url = request.getfixturevalue(f"{request.param}_url")
    return partial(sonde.Study, storage=url), partial(sonde.load, url)


def test_ask_tell_best(make: Make) -> None:
    study = make(SPACE, seed=0, strategy="sobol")
    for value in (3.0, 1.0, 2.0):
        trial = study.ask()
        assert dict(trial) in SPACE
        assert trial.state == "running"
        told = study.tell(trial, value)
        assert (told.number, told.value, told.state) == (trial.number, value, "completed")
        assert dict(told) == dict(trial)
    assert study.best_value == 1.0
    assert study.best_trial == study.trial(study.best_trial.number)
    assert [trial.value for trial in study.trials if trial.value is not None] == [3.0, 1.0, 2.0]


def test_a_batch_is_asked_for_at_once(make: Make) -> None:
    study = make(SPACE, seed=0, strategy="random")
    trials = study.ask(5)
    assert len({tuple(trial.items()) for trial in trials}) == 5
    for trial in trials:
        study.tell(trial, trial["lr"])
    assert study.history.count(sonde.State.COMPLETED) == 5


def test_results_come_back_as_they_were(make: Make) -> None:
    study = make(SPACE, seed=0)
    number = study.enqueue(PARAMS, attributes={"from": ["elsewhere", 1]})
    trial = study.ask()
    assert (trial.number, dict(trial)) == (number, PARAMS)
    gradient = {"lr": -1e-300, "layers": 1 / 3}
    hessian = {"lr": {"lr": 2 / 3, "layers": 0.1}, "layers": {"lr": 0.1}}
    levels = {"memory": -0.1, "time/s": 1e300}
    study.tell(
        trial, 0.1 + 0.2, gradient=gradient, hessian=hessian, noise=1e-17, constraints=levels, attributes={"a": None}
    )
    found = study.trial(number)
    assert (found.value, found.gradient, found.noise, found.constraints) == (0.1 + 0.2, gradient, 1e-17, levels)
    assert found.hessian == hessian
    assert found.attributes == {"from": ["elsewhere", 1], "a": None}
    assert None not in (found.created, found.started, found.finished, found.duration, found.worker)
    [shown] = [each for each in study.trials if each.number == number]
    assert shown == found
    assert study.history.unit_gradients(np.array([number])).tolist() != [[math.nan] * 4]


def test_choices_of_every_kind_come_back(make: Make) -> None:
    study = make(ODD, seed=0)
    expected = [
        {"any": choice, "odd name / ü": i / 10 - 0.5, "bias": i % 2 == 0}
        for i, choice in enumerate(ODD["any"].choices)  # type: ignore[attr-defined]
    ]
    for params in expected:
        study.enqueue(params)
    trials = study.ask(len(expected))
    for trial, params in zip(trials, expected, strict=True):
        assert repr(dict(trial)) == repr(ODD.validate(params))
        study.tell(trial, 1.0)
    assert [repr(dict(trial)) for trial in study.trials[: len(trials)]] == [repr(dict(trial)) for trial in trials]


def test_failures_and_stopped_trials(make: Make) -> None:
    study = make(SPACE, seed=0, strategy="random")
    failed, nan, stopped = study.ask(3)
    study.tell(failed, failed="out of memory: ünïcode \U0001f4a5\nand more")
    study.tell(nan, math.nan)
    study.tell(stopped, stopped=True)
    trials = study.trials
    assert trials[failed.number].error == "out of memory: ünïcode \U0001f4a5\nand more"
    assert (trials[nan.number].state, trials[nan.number].error) == ("failed", "the value is nan")
    assert (trials[stopped.number].state, trials[stopped.number].mean) == ("stopped", None)
    with pytest.raises(NoResult, match=r"no trial has completed; the last one failed: "):
        _ = study.best_trial


def test_telling_again_and_telling_otherwise(make: Make) -> None:
    study = make(SPACE, seed=0, strategy="random")
    trial = study.ask()
    first = study.tell(trial, 0.5, gradient={"lr": 1.0})
    assert study.tell(trial, 0.5, gradient={"lr": 1.0}) == first
    with pytest.raises(ConflictingResult, match=r"was told 0\.5 with gradient before and is now told 0\.6"):
        study.tell(trial, 0.6)
    with pytest.raises(UnknownTrial, match="has no trial number 1000"):
        study.tell(1000, 0.6)
    with pytest.raises(ConfigurationError, match=r"parameter 'layers': got 9"):
        study.enqueue({**PARAMS, "layers": 9})
    with pytest.raises(IllegalTransition, match=r"is completed and cannot become cancelled"):
        study.cancel(trial)


def test_trials_are_cancelled_and_given_back(make: Make) -> None:
    study = make(SPACE, seed=0, strategy="random")
    first, second = study.ask(2)
    study.cancel(first)
    study.release(second)
    asked = [study.ask() for _ in range(3)]  # a service may have suggested some before
    [again] = [trial for trial in asked if trial.retry_of is not None]
    assert (again.retry_of, dict(again)) == (second.number, dict(second))
    assert [study.trial(one.number).state for one in (first, second, again)] == ["cancelled", "lost", "running"]


def test_several_objectives(make: Make) -> None:
    study = make(
        SPACE, objectives={"loss": "minimize", "size": "maximize"}, thresholds={"size": 1}, seed=0, strategy="random"
    )
    values = [{"loss": 0.1, "size": 5.0}, {"loss": 1 / 3, "size": 7.0}, {"loss": 0.5, "size": 2.0}]
    trials = study.ask(3)
    for trial, value in zip(trials, values, strict=True):
        study.tell(trial, value, gradient={"loss": {"lr": value["loss"]}}, noise={"size": 0.1})
    assert [trial.value for trial in study.pareto_front] == values[:2]
    found = study.trial(trials[1].number)
    assert (found.gradient, found.noise) == ({"loss": {"lr": 1 / 3}}, {"size": 0.1})
    assert study.hypervolume() > 0
    assert study.history.outcomes[[trial.number for trial in trials]].tolist() == [
        [value["loss"], -value["size"]] for value in values
    ]


def test_learning_curves(make: Make) -> None:
    study = make(SPACE, seed=0, strategy="random")
    trial = study.ask()
    for step, value in ((1, 0.5), (2, math.inf), (3, math.nan), (0.5, 1 / 3)):
        trial.report(step, value)
    study.tell(trial, 0.25)
    curve = study.trials[trial.number].curve
    assert curve[:3] == [(0.5, 1 / 3), (1.0, 0.5), (2.0, math.inf)]
    assert math.isnan(curve[3][1])


def test_trials_of_other_sources_and_exports(make: Make, tmp_path: Path) -> None:
    study = make(ODD, seed=0)
    base = {"odd name / ü": 0.1, "bias": True}
    entries: list[dict[str, Any]] = [
        {"params": {**base, "any": (1, 2)}, "value": 1 / 3, "noise": 0.5, "curve": [(1, 2.0), (2, math.nan)]},
        {"params": {**base, "any": [1, 2]}, "failed": "why"},
        {"params": {**base, "any": math.inf}, "value": 0.5, "attributes": {"a": [1]}},
    ]
    assert study.add_trials(entries) == [0, 1, 2]
    assert [trial.state for trial in study.trials] == ["completed", "failed", "completed"]
    study.export(tmp_path / "trials.json")
    other = sonde.Study(ODD)
    other.add_trials(json.loads((tmp_path / "trials.json").read_text()))
    for left, right in zip(study.trials, other.trials, strict=True):
        for name in ("params", "state", "value", "noise", "error", "attributes"):
            assert repr(getattr(left, name)) == repr(getattr(right, name))
        assert repr(left.curve) == repr(right.curve)


def test_optimize_here_and_in_processes(make: Make) -> None:
    study = make(SPACE, seed=0, strategy="random")
    seen: list[int] = []

    def objective(trial: sonde.Trial) -> float:
        trial.report(1, trial["lr"])
        trial.attributes["layers"] = trial["layers"]
        if trial["layers"] == 8:
            raise ValueError("too many")
        return float(trial["lr"])

    study.optimize(objective, 4, callbacks=[lambda _, trial: seen.append(trial.number)], progress=False)
    study.optimize(objective, total_trials=10, workers=2, progress=False)
    ended = [trial for trial in study.trials if trial.state.finished]
    assert len(ended) == 10
    assert len(seen) == 4
    for trial in ended:
        assert trial.attributes == {"layers": trial["layers"]}
        assert trial.curve == [(1.0, trial["lr"])]
        assert (trial.state == "failed") == (trial["layers"] == 8)


def test_a_small_space_is_exhausted(make: Make) -> None:
    study = make(sonde.Space(x=sonde.Int(1, 3)), seed=0, strategy="random")
    study.optimize(lambda trial: trial["x"], progress=False)
    assert sorted(trial["x"] for trial in study.trials) == [1, 2, 3]
    with pytest.raises(SpaceExhausted):
        study.ask()
    study.optimize(lambda trial: trial["x"], n_trials=2, workers=2, progress=False)
    assert len(study.trials) == 3


def test_others_open_the_same_study(again: tuple[Make, Make]) -> None:
    create, opened = again
    name = "of others / ü.."
    study = create(SPACE, name=name, direction="maximize", seed=5, strategy="random")
    other = opened(name)
    assert (other.space, other.direction, other.seed) == (SPACE, "maximize", 5)
    other.tell(study.ask(), 2.0)
    assert study.best_value == create(SPACE, name=name, direction="maximize").best_value == 2.0
    third = pickle.loads(pickle.dumps(other))
    assert third.trials == study.trials
    with pytest.raises(StudyMismatch, match="exists with another space"):
        create(sonde.Space(x=sonde.Float(0, 1)), name=name, direction="maximize")
    with pytest.raises(StudyMismatch, match="direction='maximize', not 'minimize'"):
        create(SPACE, name=name)
    assert name in [one.header.name for one in study.storage.studies()]
    study.storage.delete_study(name)
    with pytest.raises(StudyNotFound, match=r"there is no study 'of others / ü\.\.'"):
        opened(name)


def test_a_deleted_study_is_not_the_new_one_of_its_name(again: tuple[Make, Make]) -> None:
    create, _ = again
    old = create(SPACE, name="short-lived", strategy="random")
    trial = old.ask()
    old.storage.delete_study("short-lived")
    new = create(SPACE, name="short-lived", strategy="random")
    calls: list[Callable[[], Any]] = [lambda: old.tell(trial, 1.0), lambda: old.trials, old.ask]
    for call in calls:
        with pytest.raises(StudyNotFound):
            call()
    assert new.history.count(sonde.State.COMPLETED) == 0
    new.storage.delete_study("short-lived")


def test_settings_without_a_space_are_refused() -> None:
    for setting in ({"direction": "maximize"}, {"seed": 1}, {"objectives": ["min", "min"]}):
        with pytest.raises(OptionError, match=r"which needs space=, too"):
            sonde.connect("http://127.0.0.1:1", "study", **setting)  # type: ignore[arg-type]


def test_a_constraint_that_a_service_cannot_evaluate_is_refused() -> None:
    space = SPACE.where(lambda p: p["layers"] < 4)
    with pytest.raises(SpaceError, match=r"is a Python function, which a service cannot evaluate; write it as an exp"):
        sonde.connect("http://127.0.0.1:1", "study", space=space)
