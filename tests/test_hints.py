"""The words of other libraries get one line with ours."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import sonde
from sonde import hints
from sonde.errors import NotDeclared, OptionError, OtherWord, StudyNotFound

SPACE = {"lr": (1e-3, 1.0, "log"), "n": range(1, 5), "opt": ["sgd", "adam"], "bias": bool}


@pytest.mark.parametrize(
    ("owner", "word", "ours"),
    [
        (sonde, "create_study", "sonde.Study(space"),
        (sonde, "gp_minimize", "sonde.minimize(objective"),
        (sonde.Study(SPACE), "trials_dataframe", "study.dataframe()"),
        (sonde.Study(SPACE), "enqueue_trial", "study.enqueue("),
        (sonde.Study(SPACE).ask(), "set_user_attr", "trial.attributes["),
        (sonde.Study(SPACE).ask(), "should_prune", "trial.should_stop()"),
    ],
)
def test_attributes(owner: Any, word: str, ours: str) -> None:
    with pytest.raises(AttributeError, match=r"has no attribute .*; write ") as caught:
        getattr(owner, word)
    assert ours in str(caught.value)
    with pytest.raises(AttributeError, match=r"has no attribute 'neither'$"):
        _ = owner.neither


@pytest.mark.parametrize(
    ("word", "ours"),
    [("n_jobs", "workers="), ("n_calls", "n_trials="), ("random_state", "seed="), ("sampler", "strategy="),
     ("pruner", "should_stop"), ("study_name", "name="), ("load_if_exists", "resumes"), ("x0", "enqueue")],
)  # fmt: skip
def test_keywords(word: str, ours: str) -> None:
    with pytest.raises(TypeError, match=rf"^minimize takes no {word}=; ") as caught:
        sonde.minimize(lambda trial: 0.0, SPACE, 3, **{word: 1})
    assert ours in str(caught.value)
    with pytest.raises(TypeError, match=rf"^Study takes no {word}=; "):
        sonde.Study(SPACE, **{word: 1})


def test_arguments_of_another_function_are_said_to_be_its() -> None:
    study = sonde.Study(SPACE)
    for call, says in (
        (lambda: sonde.Study(SPACE, n_jobs=2), "takes no n_jobs=; workers= is an argument of study.optimize"),
        (lambda: sonde.Study(SPACE, n_trials=2), "takes no n_trials=; it is an argument of study.optimize"),
        (lambda: study.optimize(len, 2, random_state=0), "takes no random_state=; seed= is an argument of sonde.Study"),
        (lambda: sonde.minimize(len, SPACE, mode="max"), "takes no mode=; direction= is an argument of sonde.Study"),
    ):
        with pytest.raises(TypeError) as caught:
            call()
        assert says in str(caught.value)


def test_python_adds_the_nearest_attribute() -> None:
    for owner, word in ((sonde, "minimise"), (sonde.Study(SPACE), "trails"), (sonde.Study(SPACE).ask(), "numbr")):
        with pytest.raises(AttributeError) as caught:
            getattr(owner, word)
        assert (caught.value.name, caught.value.obj) == (word, owner)  # from which it says: did you mean


def test_integrations_are_there() -> None:
    assert sonde.integrations.sklearn.SondeSearchCV.__name__ == "SondeSearchCV"
    with pytest.raises(AttributeError, match=r"'optnua'; there are keras, .*xgboost"):
        _ = sonde.integrations.optnua


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize(
    ("objective", "says"),
    [
        (lambda trial: trial.set_user_attr("a", 1), r"write trial.attributes\[name\] = value"),
        (lambda trial: trial.lr, r"write trial\['lr'\]"),
    ],
)
def test_a_word_of_another_library_ends_the_run_at_once(objective: Any, says: str, workers: int) -> None:
    study = sonde.Study(SPACE, strategy="random")
    with pytest.raises(OtherWord, match=says):
        study.optimize(objective, 20, workers=workers, progress=False)
    assert study.history.count(sonde.State.FAILED) == 0
    assert not hasattr(study.ask(), "set_user_attr")


def test_other_keywords_get_the_list() -> None:
    with pytest.raises(TypeError, match=r"optimize takes no colour=; it takes callbacks, catch, .*workers$"):
        sonde.Study(SPACE).optimize(lambda trial: 0.0, 3, colour="red")  # type: ignore[call-arg]


def test_no_hint_is_about_a_name_that_is_there() -> None:
    study = sonde.Study(SPACE)
    assert [word for word in hints.FUNCTIONS if word in dir(sonde)] == []
    assert [word for word in hints.STUDY_ATTRIBUTES if word in dir(study)] == []
    assert [word for word in hints.TRIAL_ATTRIBUTES if word in dir(study.ask())] == []


def test_trials_and_studies_are_copied_and_pickled_as_before(tmp_path: Path) -> None:
    study = sonde.Study(SPACE, storage=tmp_path / "s.db")
    trial = study.ask()
    assert copy.copy(trial) == copy.deepcopy(trial) == pickle.loads(pickle.dumps(trial)) == trial
    assert pickle.loads(pickle.dumps(study)).name == study.name
    assert not hasattr(trial, "_repr_mimebundle_")


@pytest.mark.parametrize("workers", [1, 2])
def test_an_objective_for_optuna_gets_the_declared_values(workers: int) -> None:
    def for_optuna(trial: sonde.Trial) -> float:
        bonus = trial.suggest_categorical("bias", [True, False]) + (
            trial.suggest_categorical("opt", ["sgd", "adam"]) == "sgd"
        )
        return trial.suggest_float("lr", 1e-3, 1, log=True) * trial.suggest_int("n", 1, 4) + bonus

    study = sonde.Study(SPACE, strategy="random", seed=0)
    study.optimize(for_optuna, 3, workers=workers, progress=False)
    expected = [t["lr"] * t["n"] + t["bias"] + (t["opt"] == "sgd") for t in study.trials]
    assert [trial.value for trial in study.trials] == expected


@pytest.mark.parametrize(
    ("objective", "says"),
    [
        (
            lambda trial: trial.suggest_float("lr", 0, 1),
            ["lr=Float(0, 1)", "declares lr=Float(0.001, 1.0, log=True)", "trial['lr']"],
        ),
        (lambda trial: trial.suggest_int("n", 1, 4, step=3), ["n=Int(1, 4, step=3)", "n=Int(1, 4)"]),
        (lambda trial: trial.suggest_float("n", 1, 4), ["n=Float(1, 4)", "n=Int(1, 4)"]),
        (lambda trial: trial.suggest_categorical("opt", ["a", "b"]), ["opt=Categorical(['a', 'b'])"]),
        (
            lambda trial: trial.suggest_int("units", 8, 64, log=True),
            ["no parameter 'units'", "units=Int(8, 64, log=True)"],
        ),
    ],
)
def test_what_is_not_declared_ends_the_run_at_once(objective: Any, says: list[str]) -> None:
    study = sonde.Study(SPACE, strategy="random")
    with pytest.raises(NotDeclared) as caught:
        study.optimize(objective, 20, progress=False)
    assert isinstance(caught.value, OptionError)
    assert [part for part in says if part not in str(caught.value)] == []
    assert study.history.count(sonde.State.FAILED) == 0


def test_it_ends_the_run_of_workers_too() -> None:
    study = sonde.Study(SPACE, strategy="random")
    with pytest.raises(NotDeclared, match="declares lr"):
        study.optimize(lambda trial: trial.suggest_float("lr", 0, 1), 20, workers=2, progress=False)
    assert study.history.count(sonde.State.FAILED) == 0


def test_strategies_as_classes_and_short_directions() -> None:
    study = sonde.Study(SPACE, strategy=sonde.GP, direction="max")
    assert study.explain().startswith("gp: ")
    assert study.direction == "maximize"


def test_studies_and_the_only_one_without_its_name(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/s.db"
    study = sonde.Study(SPACE, storage=url, name="first")
    sonde.delete(url, "first")
    with pytest.raises(StudyNotFound, match="no studies yet"):
        sonde.load(url)
    study = sonde.Study(SPACE, storage=url, name="first")
    study.tell(study.ask(), 0.5)
    assert sonde.load(url).name == "first"
    sonde.Study(SPACE, storage=url, name="second")
    found = sonde.studies(url)
    assert list(found) == ["first", "second"]
    assert found["first"].best == 0.5
    with pytest.raises(OptionError, match=r"2 studies \(first, second\); choose one"):
        sonde.load(url)


def test_a_part_of_a_configuration_is_enqueued_with_the_rest_as_in_the_best_trial() -> None:
    space = sonde.Space(lr=(1e-4, 1.0, "log"), n=range(1, 10), opt=["sgd", "adam"],
                        momentum=sonde.Float(0, 1, when={"opt": "sgd"}))  # fmt: skip
    study = sonde.Study(space)
    assert dict(study.trial(study.enqueue({}))) == pytest.approx({"lr": 1e-2, "n": 5, "opt": "sgd", "momentum": 0.5})
    best = {"lr": 0.3, "n": 2, "opt": "sgd", "momentum": 0.9}
    study.add_trials([{"params": best, "value": 1.0}, {"params": {**best, "n": 3}, "value": 2.0}])
    assert dict(study.trial(study.enqueue({"n": 7}))) == {**best, "n": 7}
    assert dict(study.trial(study.enqueue({"opt": "adam"}))) == {"lr": 0.3, "n": 2, "opt": "adam"}
    for wrong, says in [({"n": 99}, "'n'"), ({"depth": 3}, "no parameter 'depth'"), ({"opt": "x"}, "'opt'")]:
        with pytest.raises(sonde.errors.ConfigurationError, match=says):  # type: ignore[attr-defined]
            study.enqueue(wrong)


def test_trials_are_added_from_a_dataframe_an_export_and_another_study(tmp_path: Path) -> None:
    one = sonde.Study(SPACE, strategy="random", seed=0)
    one.optimize(lambda trial: trial["lr"], 4, progress=False)
    one.export(tmp_path / "s.csv")
    one.export(tmp_path / "s.json")
    for source in (one.dataframe(), one.trials, one, tmp_path / "s.csv", str(tmp_path / "s.json")):
        other = sonde.Study(SPACE)
        other.add_trials(source)
        assert [(dict(each), each.value) for each in other.trials] == [(dict(each), each.value) for each in one.trials]


def test_trials_are_added_from_a_table_of_ones_own(tmp_path: Path) -> None:
    (tmp_path / "mine.csv").write_text("lr,n,opt,bias,value,who\n0.1,2,adam,True,0.5,me\n0.01,4,sgd,False,0.25,you\n")
    for source in (pd.read_csv(tmp_path / "mine.csv"), tmp_path / "mine.csv"):
        study = sonde.Study(SPACE)
        study.add_trials(source)
        assert [dict(trial) for trial in study.trials] == [
            {"lr": 0.1, "n": 2, "opt": "adam", "bias": True}, {"lr": 0.01, "n": 4, "opt": "sgd", "bias": False},
        ]  # fmt: skip
        assert [trial.value for trial in study.trials] == [0.5, 0.25]
    with pytest.raises(OptionError, match=r"trials\[0\]: tell needs a value"):
        study.add_trials([{"lr": 0.1, "n": 2, "opt": "adam", "bias": True, "loss": 0.5}])
