"""Studies with several objectives: ask, tell, run, read, store, export."""

from __future__ import annotations

import csv
import json
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sonde
from sonde.errors import ConflictingResult, EvaluationError, NoResult, OptionError, StudyMismatch
from sonde.study.front import Front, front

SPACE = sonde.Space(x=sonde.Float(0, 1), n=sonde.Int(1, 4))
GOALS = {"loss": "minimize", "speed": "maximize"}

both = lambda trial: {"loss": trial["x"] ** 2 + trial["n"], "speed": trial["n"] - trial["x"]}  # noqa: E731
ordered = lambda trial: tuple(both(trial).values())  # noqa: E731

# the values of trials 0 to 6 of ``told``; on the front are 0, 2 and 5
VALUES: list[Any] = [(1.0, 1.0), (2.0, 1.0), (2.0, 3.0), (1.0, 1.0), None, (4.0, 6.0), (9.0, 3.0)]


def told(**options: Any) -> sonde.Study:
    """A study with the values above; trial 4 failed, and a trial that breaks its constraint is the best of all."""
    study = sonde.Study(SPACE, **({"objectives": GOALS, "strategy": "sobol", "seed": 0} | options))
    params = [{"x": number / 8, "n": 1} for number in range(8)]
    results = [{"failed": "no"} if each is None else {"value": each} for each in VALUES]
    results.append({"value": {"speed": 99.0, "loss": -99.0}, "constraints": {"memory": 1.0}})
    study.add_trials([{"params": given} | result for given, result in zip(params, results, strict=True)])
    return study


def numbers(trials: list[sonde.Trial]) -> list[int]:
    return [trial.number for trial in trials]


# asking and telling


def test_ask_and_tell() -> None:
    study = sonde.Study(SPACE, objectives=GOALS, seed=0)
    first, second, third = study.ask(3)
    shown = study.tell(first, {"speed": 2, "loss": np.float32(0.5)})
    assert shown.value == {"loss": 0.5, "speed": 2.0}
    assert list(shown.value) == ["loss", "speed"]
    extras: dict[str, Any] = {
        "gradient": {"loss": {"x": 1.0}}, "hessian": {"speed": {"x": {"x": 2.0}}}, "noise": {"speed": 0.1}
    }  # fmt: skip
    shown = study.tell(second, (0.25, 3), **extras, constraints={"memory": -1})
    assert (shown.value, shown.constraints) == ({"loss": 0.25, "speed": 3.0}, {"memory": -1.0})
    assert {name: getattr(shown, name) for name in extras} == extras
    failed = study.tell(third, {"loss": float("nan"), "speed": 1})
    assert (failed.state, failed.value, failed.error) == ("failed", None, "the value of 'loss' is nan")
    assert study.trials == [study.trial(number) for number in range(3)]
    assert repr(study).endswith(": minimize loss, maximize speed, 2 parameters, 3 trials>")
    assert study.directions == GOALS
    with pytest.raises(OptionError, match=r"several objectives; use study\.directions"):
        _ = study.direction


def test_the_same_result_again_changes_nothing_and_another_one_is_refused() -> None:
    study = sonde.Study(SPACE, objectives=GOALS, strategy="sobol", seed=0)
    trial = study.ask()
    first = study.tell(trial, {"loss": 1, "speed": 2}, noise={"loss": 0.5})
    again = sonde.Evaluation([1.0, 2.0], noise={"loss": 0.5})
    assert study.tell(trial, again) == first
    for other in ({"loss": 1, "speed": 3}, (1, 2)):
        with pytest.raises(ConflictingResult, match=r"trial 0 was told \[1\.0, 2\.0\].*the first result stands"):
            study.tell(trial, other)
    assert study.trial(0) == first


def test_a_result_that_cannot_be_read_leaves_the_trial_running() -> None:
    study = sonde.Study(SPACE, objectives=GOALS, strategy="sobol", seed=0)
    trial = study.ask()
    for value in (1.0, {"loss": 1.0}, (1.0, "fast")):
        with pytest.raises(EvaluationError):
            study.tell(trial, value)
    assert study.trial(0).state == "running"
    assert study.tell(trial, (1, 2)).state == "completed"


def test_enqueue_and_cancel_need_no_values() -> None:
    study = sonde.Study(SPACE, objectives=GOALS, strategy="sobol", seed=0)
    study.enqueue({"x": 0.25, "n": 2})
    study.cancel(study.enqueue({"x": 0.5, "n": 2}))
    trial = study.ask()
    assert trial.params == {"x": 0.25, "n": 2}
    study.tell(trial, both(trial))
    assert [each.state for each in study.trials] == ["completed", "cancelled"]


# running


@pytest.mark.parametrize("objective", [both, ordered])
def test_an_objective_returns_values_by_name_or_in_order(objective: Any) -> None:
    result = sonde.minimize(objective, SPACE, 8, objectives=GOALS, strategy="sobol", seed=0, progress=False)
    assert [trial.value for trial in result.trials] == [both(trial) for trial in result.trials]
    assert result.front == result.study.pareto_front
    assert repr(result) == f"Result(front of {len(result.front)}, trials=8)"


def test_minimize_and_maximize_are_one_with_several_objectives() -> None:
    options: dict[str, Any] = {"objectives": ["min", "max"], "strategy": "sobol", "seed": 0, "progress": False}
    low, high = sonde.minimize(ordered, SPACE, 6, **options), sonde.maximize(ordered, SPACE, 6, **options)
    assert [trial.value for trial in low.front] == [trial.value for trial in high.front]
    assert low.front[0].value.keys() == {"0", "1"}


def test_a_result_of_one_objective_has_a_front_of_one() -> None:
    result = sonde.minimize(lambda trial: trial["x"], SPACE, 4, strategy="sobol", seed=0, progress=False)
    assert result.front == [result.best_trial]


def test_workers_return_values_of_all_objectives() -> None:
    one, two = (
        sonde.minimize(both, SPACE, 4, objectives=GOALS, strategy="sobol", seed=0, workers=workers, progress=False)
        for workers in (1, 2)
    )
    assert {trial.number: trial.value for trial in two.trials} == {trial.number: trial.value for trial in one.trials}


def test_gradients_come_by_objective_in_both_forms_of_jac() -> None:
    def gradient(trial: sonde.Trial) -> dict[str, Any]:
        return {"loss": {"x": 2 * trial["x"]}, "speed": {"x": -1.0}}

    options: dict[str, Any] = {"objectives": GOALS, "strategy": "sobol", "seed": 0, "progress": False}
    pair = sonde.minimize(lambda trial: (both(trial), gradient(trial)), SPACE, 3, jac=True, **options)
    function = sonde.minimize(both, SPACE, 3, jac=gradient, **options)
    for trial in [*pair.trials, *function.trials]:
        assert trial.gradient == gradient(trial)


def test_a_number_of_one_objective_ends_the_run_with_the_reason() -> None:
    with pytest.raises(sonde.errors.AllFailed, match=r"this study has 2 objectives; tell a dict by name \(loss, speed"):
        sonde.minimize(lambda trial: trial["x"], SPACE, 20, objectives=GOALS, strategy="sobol", progress=False)


def test_the_progress_shows_the_size_of_the_front(capsys: pytest.CaptureFixture[str]) -> None:
    study = told(name="mine")
    study.optimize(lambda trial: (0.5, 7.0) if trial.number == 9 else (9.0, 0.0), 2)
    assert capsys.readouterr().err.startswith("mine: 2/2 trials, front 1, ")
    failing = sonde.Study(SPACE, objectives=GOALS, strategy="sobol", name="none")
    failing.optimize(lambda trial: (float("nan"), 1.0), 2)
    assert capsys.readouterr().err.startswith("none: 2/2 trials, front 0, 2 failed, ")


def test_callbacks_see_values_of_all_objectives() -> None:
    seen: list[Any] = []
    study = sonde.Study(SPACE, objectives=GOALS, strategy="sobol", seed=0)
    study.optimize(both, 2, callbacks=[lambda study, trial: seen.append(trial.value)], progress=False)
    assert seen == [trial.value for trial in study.trials]


@pytest.mark.parametrize("strategy", ["auto", "gp", "dngo", "fobo", "igo", "random"])
def test_every_strategy_suggests_and_explains(strategy: str) -> None:
    space = sonde.Space(a=sonde.Bool(), b=sonde.Int(0, 9), c=sonde.Categorical(["u", "v", "w"]))
    study = sonde.Study(space, objectives=GOALS, strategy=strategy, seed=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        study.optimize(lambda trial: (trial["b"] + trial["a"], trial["b"] * (trial["c"] == "v")), 8, progress=False)
    assert len({tuple(trial.values()) for trial in study.trials}) == 8
    assert study.explain()


# reading


def test_the_front_has_what_no_feasible_trial_dominates() -> None:
    study = told()
    assert numbers(study.pareto_front) == [0, 2, 5]  # of the equal trials 0 and 3 the first
    study.tell(study.ask(), (0.5, 3.5))
    assert numbers(study.pareto_front) == [5, 8]
    [trial] = [trial for trial in study.pareto_front if trial.number == 8]
    assert trial == study.trial(8)


def test_a_growing_front_is_that_of_all() -> None:
    rng = np.random.default_rng(0)
    study, growing = sonde.Study(SPACE, objectives=["min", "max", "min"], seed=0), Front()
    for _ in range(8):
        values = rng.integers(0, 5, (6, 3)).tolist()
        study.add_trials(
            {"params": {"x": x, "n": 1}, "value": value, "constraints": {"c": x - 0.8}}
            for x, value in zip(rng.random(6).tolist(), values, strict=True)
        )
        np.testing.assert_array_equal(growing.numbers(study.history), front(study.history))
    assert numbers(study.pareto_front) == growing.numbers(study.history).tolist()


@pytest.mark.parametrize("reference", [{"speed": 0.0, "loss": 5.0}, (5.0, 0.0), np.array([5, 0])])
def test_the_hypervolume_of_a_reference_point(reference: Any) -> None:
    assert told().hypervolume(reference) == pytest.approx(4 * 1 + 3 * (3 - 1) + 1 * (6 - 3))
    assert told().hypervolume({"loss": 1.0, "speed": 1.0}) == 0.0


def test_without_a_reference_point_it_is_a_little_worse_than_the_front() -> None:
    # ranges of the front are 3 and 5, so the point is (4.3, 0.5)
    assert told().hypervolume() == pytest.approx(told().hypervolume((4.3, 0.5)))
    assert sonde.Study(SPACE, objectives=GOALS).hypervolume() == 0.0


def test_thresholds_are_the_reference_point() -> None:
    assert told(thresholds={"loss": 3, "speed": 0.5}).hypervolume() == pytest.approx(told().hypervolume((3, 0.5)))
    partly = told(thresholds={"loss": 3})
    assert partly.hypervolume() == pytest.approx(told().hypervolume((3, 0.5)))
    assert numbers(partly.pareto_front) == [0, 2, 5]  # beyond a threshold it is still of the front


@pytest.mark.parametrize(
    ("reference", "said"),
    [
        ({}, "a number for each of loss, speed, got {}"),
        ({"loss": 1.0}, "a number for each of loss, speed"),
        ({"loss": 1.0, "speed": 1.0, "size": 1.0}, "a number for each of loss, speed"),
        ((1.0,), "a finite number for each of loss, speed"),
        ((1.0, "a"), "a finite number for each"),
        ((1.0, float("inf")), "a finite number for each"),
        (1.0, "a finite number for each of loss, speed, got 1.0"),
        ("ab", "a finite number for each"),
    ],
)
def test_a_wrong_reference_point_is_refused(reference: Any, said: str) -> None:
    with pytest.raises(OptionError, match="reference needs " + said):
        told().hypervolume(reference)


@pytest.mark.parametrize(
    ("weights", "number"),
    [
        ({"loss": 1}, 0),
        ({"speed": 1}, 5),
        ({"loss": 1, "speed": 0}, 0),
        ({"loss": 1, "speed": 1}, 2),
        ({"loss": 1000, "speed": 1000}, 2),  # only their ratio counts
        ({"loss": np.float32(5), "speed": 1}, 0),
        ({"loss": 1, "speed": 5}, 5),
    ],
)
def test_weights_choose_a_trial_of_the_front(weights: Mapping[str, float], number: int) -> None:
    study = told()
    assert study.best(weights=weights) == study.trial(number)


def test_weights_are_measured_in_ranges_of_the_front() -> None:
    study, scaled = told(), sonde.Study(SPACE, objectives=GOALS)
    for trial in study.trials:
        if trial.feasible:
            value = {"loss": 1e6 * trial.value["loss"] - 3, "speed": 1e-6 * trial.value["speed"]}
            scaled.add_trials([{"params": trial.params, "value": value}])
    for weights in ({"loss": 1, "speed": 1}, {"loss": 3, "speed": 1}, {"loss": 1, "speed": 3}):
        found = scaled.best(weights=weights)
        assert found.params == study.best(weights=weights).params


def test_weights_prefer_what_is_within_the_thresholds() -> None:
    assert told(thresholds={"loss": 3}).best(weights={"speed": 1}).number == 2
    assert told(thresholds={"speed": 5.5}).best(weights={"loss": 1}).number == 5
    assert told(thresholds={"loss": 0.5}).best(weights={"loss": 1}).number == 0  # there is none within


@pytest.mark.parametrize(
    ("weights", "said"),
    [
        ({}, r"a dict of numbers by objective \(loss, speed\), got {}"),
        ([1, 2], r"a dict of numbers by objective \(loss, speed\), got \[1, 2\]"),
        ({"los": 1}, "there is no objective 'los'; the objectives are loss, speed"),
        ({"loss": -1}, "the weight of 'loss' must be a number, zero or more, got -1"),
        ({"loss": "1"}, "the weight of 'loss' must be a number"),
        ({"loss": float("inf")}, "the weight of 'loss' must be a number"),
        ({"loss": 0}, "weights must have a positive number at least, got {'loss': 0}"),
    ],
)
def test_wrong_weights_are_refused(weights: Any, said: str) -> None:
    with pytest.raises(OptionError, match=said):
        told().best(weights=weights)


def test_there_is_no_best_trial_and_the_message_says_what_there_is() -> None:
    study = told(name="mine")
    for look in (lambda: study.best_trial, lambda: study.best_params, lambda: study.best_value, study.best):
        with pytest.raises(OptionError, match="'mine' has several objectives and so no best trial") as caught:
            look()
        assert "study.pareto_front" in str(caught.value)
        assert "study.best(weights={'loss': 1, 'speed': 1})" in str(caught.value)
    result = sonde.minimize(both, SPACE, 3, objectives=GOALS, strategy="sobol", seed=0, progress=False)
    for name in ("best_trial", "best_params", "best_value", "x", "fun"):
        with pytest.raises(OptionError, match=r"study\.pareto_front"):
            getattr(result, name)


def test_one_objective_has_no_front_and_the_message_says_what_there_is() -> None:
    study = sonde.Study(SPACE, strategy="sobol", name="one")
    with pytest.raises(OptionError, match=r"'one' has one; study\.best_trial has the best trial"):
        _ = study.pareto_front
    with pytest.raises(OptionError, match=r"'one' has one; study\.best_value has the best value"):
        study.hypervolume()
    with pytest.raises(OptionError, match=r"weights= is for several objectives"):
        study.best(weights={"loss": 1})


def test_a_front_without_completed_trials_says_why() -> None:
    study = sonde.Study(SPACE, objectives=GOALS, strategy="sobol", name="mine")
    with pytest.raises(NoResult, match="'mine' has no Pareto front yet: no trial has completed"):
        _ = study.pareto_front
    with pytest.raises(NoResult, match="no trial that meets its constraints has completed"):
        study.best(weights={"loss": 1})
    study.tell(study.ask(), (float("nan"), 1.0))
    with pytest.raises(NoResult, match="the last one failed: the value of 'loss' is nan"):
        _ = study.pareto_front
    with pytest.raises(NoResult) as caught:
        sonde.minimize(lambda trial: {"loss": 1.0}, SPACE, 2, objectives=GOALS, strategy="sobol", progress=False)
    assert caught.value.study is not None
    assert len(caught.value.study.trials) == 2


def test_predictions_and_diagnoses_are_by_objective() -> None:
    study = sonde.Study(SPACE, objectives=GOALS, strategy="gp", seed=0)
    study.optimize(both, 8, progress=False)
    found = study.predict({"x": 0.5, "n": 2})
    assert found.keys() == GOALS.keys()
    assert found["loss"].mean == pytest.approx(2.25, abs=0.5)
    assert found["speed"].mean == pytest.approx(1.5, abs=0.5)  # in the user's own direction
    assert study.predict([{"x": 0.5, "n": 2}] * 3)["loss"].mean.shape == (3,)
    assert study.diagnose().keys() == GOALS.keys()


# stored


def test_a_study_is_resumed_with_its_objectives(sqlite_url: str) -> None:
    limits = {"loss": 5}
    with told(storage=sqlite_url, name="s", thresholds=limits) as study:
        trials, volume = study.trials, study.hypervolume()
    with sonde.Study(SPACE, storage=sqlite_url, name="s", objectives=GOALS, thresholds={"loss": 5.0}) as again:
        assert again.trials == trials
    with sonde.load(sqlite_url, "s") as loaded:
        assert loaded.directions == GOALS
        assert loaded.hypervolume() == volume
        assert loaded.trials == trials
        loaded.tell(loaded.ask(), (0.0, 9.0))
        assert numbers(loaded.pareto_front) == [8]


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"direction": "minimize"},
        {"objectives": {"speed": "maximize", "loss": "minimize"}},  # values in order would be told wrongly
        {"objectives": {"loss": "minimize", "speed": "minimize"}},
        {"objectives": {"loss": "minimize", "size": "maximize"}},
        {"objectives": GOALS | {"size": "minimize"}},
        {"objectives": GOALS, "thresholds": {"loss": 5}},
    ],
)
def test_other_objectives_under_the_same_name_are_refused(given: dict[str, Any], sqlite_url: str) -> None:
    sonde.Study(SPACE, storage=sqlite_url, name="s", objectives=GOALS).close()
    with pytest.raises(StudyMismatch) as caught:
        sonde.Study(SPACE, storage=sqlite_url, name="s", **given)
    said = 'study \'s\' exists with objectives={"loss": "minimize", "speed": "maximize"}, not '
    assert str(caught.value).startswith(said)
    assert "use the same settings to resume it, another name (name=, --name), or delete it" in str(caught.value)


def test_several_objectives_for_a_study_of_one_are_refused(sqlite_url: str) -> None:
    sonde.Study(SPACE, storage=sqlite_url, name="s").close()
    with pytest.raises(StudyMismatch, match=r"study 's' exists with objectives=minimize, not .*; use the same sett"):
        sonde.minimize(both, SPACE, 1, storage=sqlite_url, name="s", objectives=GOALS)


def test_two_processes_share_one_front(sqlite_url: str) -> None:
    with told(storage=sqlite_url, name="s") as one, sonde.load(sqlite_url, "s") as other:
        assert numbers(one.pareto_front) == [0, 2, 5]
        other.tell(other.ask(), (1.5, 4.0))
        assert numbers(one.pareto_front) == [0, 5, 8]


# other sources, and exports


def test_add_trials_takes_values_by_name_and_in_order() -> None:
    study = sonde.Study(SPACE, objectives=GOALS, strategy="sobol")
    params = {"x": 0.5, "n": 1}
    entries: list[dict[str, Any]] = [
        {"params": params, "value": {"speed": 2, "loss": 1}, "gradient": {"loss": {"x": 1}}, "noise": {"speed": 0.5}},
        {"params": params, "value": [1, 2]},
        {"params": params, "failed": "no"},
    ]
    assert study.add_trials(entries) == [0, 1, 2]
    assert [trial.value for trial in study.trials] == [{"loss": 1.0, "speed": 2.0}] * 2 + [None]
    with pytest.raises(EvaluationError, match=r"trials\[1\]: this study has 2 objectives"):
        study.add_trials([entries[0], {"params": params, "value": 1.0}])
    assert len(study.trials) == 3  # all or none
    with pytest.raises(EvaluationError, match=r"trials\[0\]: .*several objectives are declared"):
        sonde.Study(SPACE).add_trials(study.trials)


def filled() -> sonde.Study:
    study = told()
    extras: dict[str, Any] = {
        "gradient": {"speed": {"x": 0.5, "n": 1.0}}, "hessian": {"loss": {"x": {"x": 2.0}}}, "noise": {"loss": 0.25}
    }  # fmt: skip
    study.tell(study.ask(), (-3.0, 0.0), **extras, attributes={"epochs": 3})
    return study


def from_file(study: sonde.Study, name: str, folder: Path) -> Any:
    study.export(folder / name)
    with (folder / name).open(newline="", encoding="utf-8") as file:
        return json.load(file) if name.endswith("json") else list(csv.DictReader(file))


def test_tables_have_a_column_for_each_objective(tmp_path: Path) -> None:
    rows = from_file(filled(), "trials.csv", tmp_path)
    assert list(rows[0])[:6] == ["number", "state", "value_loss", "value_speed", "params_x", "params_n"]
    assert "value" not in rows[0]
    assert (rows[8]["value_loss"], rows[8]["value_speed"]) == ("-3.0", "0.0")
    assert (rows[4]["value_loss"], rows[4]["error"]) == ("", "no")
    assert (rows[8]["noise_loss"], json.loads(rows[8]["gradient_speed"])) == ("0.25", {"x": 0.5, "n": 1.0})
    [*_, last] = from_file(filled(), "trials.json", tmp_path)
    assert last["value"] == {"loss": -3.0, "speed": 0.0}


def test_a_dataframe_has_a_column_for_each_objective() -> None:
    pytest.importorskip("pandas")
    frame = filled().dataframe()
    assert list(frame["value_loss"])[:3] == [1.0, 2.0, 2.0]
    assert frame["value_speed"].isna().tolist() == [False] * 4 + [True] + [False] * 4


@pytest.mark.parametrize("way", ["trials", "trials.json", "trials.csv", "dataframe"])
def test_exports_can_be_imported(way: str, tmp_path: Path) -> None:
    study, again = filled(), sonde.Study(SPACE, objectives=GOALS)
    if way == "dataframe":
        pytest.importorskip("pandas")
        again.add_trials(study.dataframe())
    else:
        again.add_trials(study.trials if way == "trials" else from_file(study, way, tmp_path))
    kept = ("params", "state", "value", "gradient", "hessian", "noise", "constraints", "error", "attributes")
    for old, new in zip(study.trials, again.trials, strict=True):
        assert {name: getattr(new, name) for name in kept} == {name: getattr(old, name) for name in kept}
    assert numbers(again.pareto_front) == numbers(study.pareto_front)


# odd results


def test_huge_and_constant_values_are_no_error() -> None:
    study = sonde.Study(SPACE, objectives=GOALS, strategy="sobol")
    params = {"x": 0.5, "n": 1}
    pairs = [(1e308, -1e308), (-1e308, -1e308), (0.0, -1e308), (1.7e308, 1.7e308)]
    study.add_trials({"params": params, "value": value} for value in pairs)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert numbers(study.pareto_front) == [1, 3]
        assert study.hypervolume() > 0
        assert study.best(weights={"loss": 1, "speed": 1}).number in (1, 3)
    same = sonde.Study(SPACE, objectives=GOALS, strategy="sobol")
    same.add_trials({"params": params, "value": (1.0, 2.0)} for _ in range(3))
    assert numbers(same.pareto_front) == [0]
    assert same.best(weights={"speed": 1}).number == 0
    assert same.hypervolume() == pytest.approx(0.1 * 0.2)  # tenths of the values, where there is no range


def test_values_that_may_be_failures_give_a_warning_with_the_name_of_the_objective() -> None:
    study = sonde.Study(SPACE, objectives=GOALS, strategy="gp", seed=0)
    rng = np.random.default_rng(0)
    study.add_trials(
        {"params": {"x": float(x), "n": 1}, "value": (x, 1e308 * (i % 2))} for i, x in enumerate(rng.random(12))
    )
    with pytest.warns(UserWarning, match="'speed'"):
        study.ask()
