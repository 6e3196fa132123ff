"""Exports, and reading them back."""

from __future__ import annotations

import csv
import json
import math
import pickle
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sonde import Bool, Categorical, Evaluation, Float, Int, Space, Study
from sonde.errors import ConfigurationError, OptionError
from sonde.trials import Trial


def relu(x: float) -> float:
    return max(x, 0.0)


class Shape:
    def __init__(self, sides: int) -> None:
        self.sides = sides

    def __repr__(self) -> str:
        return f"=Shape({self.sides})"


SPACE = Space(
    x=Float(-2, 2),
    n=Int(-5, 5),
    on=Bool(),
    pick=Categorical([None, "None ", "=cmd|' /C calc'!A0", "'=x", "-1", (1, 2), [3], {"a": (1,)}, relu, Shape(3), 1.5,
                      math.inf]),
    depth=Int(1, 3, when={"on": True}),
    style=Categorical([None, "round"], when={"on": True}),
)  # fmt: skip
PICKS = SPACE["pick"].choices


def _filled() -> Study:
    study = Study(SPACE, seed=0)
    trials = []
    for number, pick in enumerate(PICKS):
        on = number % 2 == 0
        extra = {"depth": 2, "style": None if number % 4 else "round"} if on else {}
        params = {"x": -0.1 * number, "n": -number % 5, "on": on, "pick": pick, **extra}
        attributes = {"note": "+1 for it", "array": np.arange(2), "pair": (1, "a"), "number": "12", "flag": True}
        trials.append({"params": params, "value": -number / 3, "attributes": attributes if number % 3 else {}})
    trials[1] |= {"gradient": {"x": 0.5, "n": -1.0}, "noise": 0.25, "constraints": {"memory": -1.0, "-time": 2.0}}
    trials[2] |= {"gradient": {"x": 0.1}, "hessian": {"x": {"x": 2.0, "n": 1.0}}}
    trials[3] = {"params": trials[3]["params"], "failed": "=1+1\nTraceback (most recent call last):\nValueError: no"}
    study.add_trials(trials)
    return study


def _told(trial: Trial) -> tuple[Any, ...]:
    params = {name: (type(value), value) for name, value in trial.params.items()}
    return params, trial.state, trial.value, trial.gradient, trial.hessian, trial.noise, trial.constraints, trial.error


def _from_csv(study: Study, folder: Path, **options: bool) -> Any:
    study.export(folder / "trials.csv", **options)
    with (folder / "trials.csv").open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def _from_json(study: Study, folder: Path) -> Any:
    study.export(folder / "trials.json")
    return json.loads((folder / "trials.json").read_text())


WAYS: dict[str, Callable[[Study, Path], Any]] = {
    "trials": lambda study, folder: study.trials,
    "json": _from_json,
    "csv": _from_csv,
    "raw csv": lambda study, folder: _from_csv(study, folder, raw=True),
    "records": lambda study, folder: study.dataframe().to_dict("records"),
    "dataframe": lambda study, folder: study.dataframe(),
}


@pytest.mark.parametrize("way", WAYS)
def test_exports_can_be_imported(way: str, tmp_path: Path) -> None:
    study, again = _filled(), Study(SPACE, seed=1)
    if "dataframe" in way or "records" in way:
        pytest.importorskip("pandas")
    assert again.add_trials(WAYS[way](study, tmp_path)) == list(range(len(PICKS)))
    for old, new in zip(study.trials, again.trials, strict=True):
        if way == "raw csv" and old.params["pick"] == "'=x":
            continue  # without the quoting it cannot be told from a quoted =x
        assert _told(new) == _told(old)
        assert new.attributes == old.attributes
    assert again.best_trial.number == study.best_trial.number


@pytest.mark.parametrize("way", WAYS)
def test_trials_without_a_result_are_left_out_with_one_warning(way: str, tmp_path: Path) -> None:
    study = _filled()
    study.ask(2)
    study.enqueue(study.trials[0].params)
    again = Study(SPACE, seed=1)
    with pytest.warns(UserWarning, match=f"3 of {len(PICKS) + 3} trials have no result") as caught:
        again.add_trials(WAYS[way](study, tmp_path))
    assert len(caught) == 1
    assert len(again.trials) == len(PICKS)


def test_a_chosen_none_and_an_inactive_parameter_look_different(tmp_path: Path) -> None:
    rows = _from_csv(_filled(), tmp_path)
    assert [row["params_style"] for row in rows[:5]] == ["round", "", "None", "", "round"]
    assert rows[0]["params_pick"] == "None"
    frame = _filled().dataframe()
    assert [style is None for style in frame["params_style"][:5]] == [False, False, True, False, False]


def test_only_text_is_quoted(tmp_path: Path) -> None:
    rows = _from_csv(_filled(), tmp_path)
    assert rows[1]["params_x"] == "-0.1"
    assert rows[1]["gradient_n"] == "-1.0"
    assert rows[2]["value"] == repr(-2 / 3)
    picks = [row["params_pick"] for row in rows]
    assert picks[2:5] == ["'=cmd|' /C calc'!A0", "''=x", "'-1"]
    assert picks[9] == "'=Shape(3)"
    assert rows[3]["error"].startswith("'=1+1")
    assert rows[1]["attributes_note"] == "'+1 for it"
    raw = _from_csv(_filled(), tmp_path, raw=True)
    assert [row["params_pick"] for row in raw][2:5] == ["=cmd|' /C calc'!A0", "'=x", "-1"]


def test_a_cell_that_fits_two_choices_is_refused() -> None:
    study = Study(Space(c=Categorical([1, "1", 2])))
    with pytest.raises(OptionError, match=r"trials\[0\]: parameter 'c': '1' may be any of \[1, '1'\]"):
        study.add_trials([{"params_c": "1", "state": "completed", "value": "0.5"}])
    study.add_trials([{"params": {"c": "1"}, "value": 0.5}])
    assert study.best_params == {"c": "1"}


@pytest.mark.parametrize(
    ("entry", "error", "said"),
    [
        ({"params_x": "1.0", "params_y": "2", "value": "1"}, OptionError, "there is no parameter 'y'"),
        ({"params_x": "wide", "value": "1"}, ConfigurationError, "'wide', expected a number"),
        ({"params_x": "1", "state": "done"}, OptionError, "state must be one of"),
        ({"params_x": "1", "state": "completed"}, OptionError, "needs a value"),
        ({"params": {"x": 1.0}, "state": "running", "colour": 1}, OptionError, "must be a dict with params"),
    ],
)
def test_errors_name_the_unreadable_entry(entry: dict[str, Any], error: type[Exception], said: str) -> None:
    with pytest.raises(error, match=said) as caught:
        Study(Space(x=Float(0, 1))).add_trials([entry])
    assert str(caught.value).startswith("trials[0]: ")


def test_arrays_scalars_tuples_and_sets_are_kept_in_attributes() -> None:
    study = Study(Space(x=Float(0, 1)), seed=0)
    given = {
        "array": np.eye(2), "scalar": np.float32(0.5), "whole": np.int64(3), "yes": np.True_, "pair": (1, (2,)),
        "set": {"b", "a"}, "deep": {"losses": [np.float64(1.0)], np.int64(1): "one"},
    }  # fmt: skip
    kept = {
        "array": [[1.0, 0.0], [0.0, 1.0]], "scalar": 0.5, "whole": 3, "yes": True, "pair": [1, [2]], "set": ["a", "b"],
        "deep": {"losses": [1.0], "1": "one"},
    }  # fmt: skip

    def objective(trial: Trial) -> float:
        trial.attributes.update(given)
        return 1.0

    study.tell(study.ask(), 1.0, attributes=given)
    study.add_trials([{"params": {"x": 0.5}, "value": 1.0, "attributes": given}])
    study.enqueue({"x": 0.25}, attributes=given)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        study.optimize(objective, 1, progress=False)
    assert [trial.attributes for trial in study.trials] == [kept] * 3
    for trial in study.trials:
        json.dumps(trial.attributes)
        pickle.dumps(trial.attributes)


def test_an_attribute_nested_too_deep_is_refused_and_the_result_is_kept() -> None:
    deep: Any = 1
    for _ in range(3000):
        deep = [deep]
    study = Study(Space(x=Float(0, 1)), seed=0)
    for call in (
        lambda: study.tell(study.ask(), 1.0, attributes={"deep": deep}),
        lambda: study.enqueue({"x": 0.5}, attributes={"deep": deep}),
        lambda: study.add_trials([{"params": {"x": 0.5}, "value": 1.0, "attributes": {"deep": deep}}]),
    ):
        with pytest.raises(OptionError, match=r"attribute 'deep' must be JSON-able, got .*nested more than 100 deep"):
            call()

    def objective(trial: Trial) -> Evaluation:
        trial.attributes.update(deep=deep, kept=1, odd=object())
        return Evaluation(0.5)

    other = Study(Space(x=Float(0, 1)), seed=0)
    with pytest.warns(UserWarning, match="was dropped") as caught:
        other.optimize(objective, 1, progress=False)
    assert len(caught) == 2
    assert other.trials[0].value == 0.5
    assert other.trials[0].attributes == {"kept": 1}
