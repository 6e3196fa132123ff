from __future__ import annotations

import math
import os
import subprocess
import sys
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import sonde
from sonde.activity import watching
from sonde.errors import OddHistory, OptionError
from sonde.sampling import Key
from sonde.strategies import auto as auto_module
from sonde.strategies.bayesian import basis_model
from sonde.strategies.bayesian.domain import Domain
from sonde.strategies.bayesian.exact_model import ExactModel
from sonde.strategies.bayesian.paper_model import PaperModel
from sonde.strategies.bayesian.schedule import WholeSpaceSchedule
from sonde.strategies.bayesian.target import Target
from sonde.surrogates.basis import adaptive
from sonde.surrogates.basis.posterior import LinearPosterior
from sonde.surrogates.exact.feasibility import PassProbability

PLANE = sonde.Space(x=sonde.Float(0, 1), y=sonde.Float(0, 1))
MIXED = sonde.Space(
    rate=sonde.Float(1e-5, 1, log=True),
    n=sonde.Int(1, 100),
    kind=sonde.Categorical(["a", "b", "c", "d"]),
    order=sonde.Int(1, 5, when={"kind": "b"}),
    on=sonde.Bool(),
)
# small networks for all tests
SMALL: dict[str, Any] = {"networks": 2, "width": 12}
SHORT = {"soap": (260, 30)}  # steps from random and from trained weights; 300 and 100 for other optimizers


@pytest.fixture(autouse=True)
def short_training(monkeypatch: pytest.MonkeyPatch) -> None:
    """Train briefly: these tests do not depend on the quality of the networks."""
    for name in adaptive.SCHEDULES:
        monkeypatch.setitem(adaptive.SCHEDULES, name, adaptive.Schedule(*SHORT.get(name, (300, 100))))


def quadratic(params: Any) -> float:
    return float(sum((value - 0.3) ** 2 for value in params.values()))


def spread(space: sonde.Space, count: int, seed: int = 0) -> list[dict[str, Any]]:
    units = np.random.default_rng(seed).random((count, len(space)))
    return [dict(space.codec.configuration(row)) for row in space.codec.decode(units)]


def study_of(
    space: sonde.Space, results: list[tuple[dict[str, Any], Any]], strategy: Any = "dngo", **options: Any
) -> sonde.Study:
    study = sonde.Study(space, seed=0, strategy=strategy, **options)
    study.add_trials(
        [{"params": params} | ({"failed": "broke"} if value is None else {"value": value}) for params, value in results]
    )
    return study


def step(study: sonde.Study, count: int = 1) -> list[dict[str, Any]]:
    return [dict(trial.params) for trial in study.ask(count)]


# it finds minima


@pytest.mark.parametrize("basis", ["networks", "radial"])
def test_it_finds_the_minimum_of_a_quadratic(basis: str) -> None:
    study = sonde.Study(PLANE, seed=0, strategy=sonde.DNGO(basis, **SMALL))
    for _ in range(40):
        trial = study.ask()
        study.tell(trial, quadratic(trial))
    assert study.best_value < (1e-6 if basis == "radial" else 2e-3)


def test_it_continues_from_many_results(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(basis_model, "EXACT_UP_TO", 32)
    study = study_of(PLANE, [(params, quadratic(params)) for params in spread(PLANE, 300)], sonde.DNGO(**SMALL))
    before = study.best_value
    for _ in range(8):
        trial = study.ask()
        study.tell(trial, quadratic(trial))
    assert study.best_value < before / 5


def test_a_mixed_conditional_space_is_searched(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(basis_model, "EXACT_UP_TO", 64)

    def loss(params: Any) -> float:
        value = (math.log10(params["rate"]) + 2) ** 2 + abs(params["n"] - 42) / 20 + params["on"]
        return value + (0.3 * abs(params["order"] - 3) if params["kind"] == "b" else 1.0)

    study = study_of(MIXED, [(params, loss(params)) for params in spread(MIXED, 200)], sonde.DNGO(**SMALL))
    before = study.best_value
    for _ in range(12):
        trial = study.ask()
        study.tell(trial, loss(trial))
    assert study.best_value < before
    assert study.best_params["kind"] == "b"


def test_few_results_are_modelled_by_the_exact_gaussian_process() -> None:
    results = [(params, quadratic(params)) for params in spread(PLANE, 20)]
    exact = sonde.GP(hyperparameters="draw")  # without the model of the trust region
    assert step(study_of(PLANE, results), 3) == step(study_of(PLANE, results, exact), 3)


def test_networks_are_used_from_the_first_results_on() -> None:
    """For values and for failures, at any number of results."""
    for count in (6, 12, 40):
        results = [(params, None if params["x"] < 0.3 else quadratic(params)) for params in spread(PLANE, count)]
        model = basis_model.BasisModel("networks", adaptive.Recipe(members=2, width=12), "noisy")
        surrogate = model.fit(PLANE, study_of(PLANE, results).history, Key(0, count), None)
        assert all(isinstance(each, LinearPosterior) for each in surrogate.posteriors)
        assert surrogate.feasibility is not None
        (condition,) = surrogate.feasibility.conditions
        assert isinstance(condition, PassProbability)
        assert isinstance(condition.posterior, LinearPosterior)


# reproducibility


@pytest.mark.parametrize("basis", ["networks", "radial"])
def test_the_same_seed_and_tells_give_the_same_suggestions(basis: str) -> None:
    results = [(params, quadratic(params)) for params in spread(PLANE, 70)]
    first, second = (study_of(PLANE, results, sonde.DNGO(basis, **SMALL)) for _ in range(2))
    assert step(first, 3) == step(second, 3)


def test_a_reopened_study_suggests_the_same_points(tmp_path: Any) -> None:
    def opened(name: str) -> sonde.Study:
        strategy = sonde.DNGO("networks", **SMALL)
        return sonde.Study(PLANE, storage=f"sqlite:///{tmp_path}/{name}.db", name="s", seed=1, strategy=strategy)

    def go(study: sonde.Study, count: int) -> None:
        for _ in range(count):
            trials = study.ask(3)
            for trial in reversed(trials):  # results arrive in another order than the trials were suggested
                study.tell(trial, quadratic(trial) if trial["x"] < 0.9 else None, **({} if trial["x"] < 0.9 else BROKE))

    whole, parts = opened("whole"), opened("parts")
    go(whole, 9)
    for count in (4, 3, 2):
        go(parts, count)
        parts = opened("parts")
    assert [trial.params for trial in whole.trials] == [trial.params for trial in parts.trials]
    assert step(whole) == step(parts)


BROKE = {"failed": "broke"}


def test_a_late_result_does_not_change_what_networks_were_trained_on() -> None:
    study = sonde.Study(PLANE, seed=0, strategy=sonde.DNGO("networks", **SMALL))
    late, *others = study.ask(18)
    for trial in others[:16]:
        study.tell(trial, quadratic(trial))
    messages: list[str] = []
    with watching(messages.append):
        study.ask()
        assert "training networks on 16 results" in messages
        messages.clear()
        study.tell(late, quadratic(late))  # the first trial by number, the last by arrival
        study.ask()
    assert messages
    assert not any("training" in message for message in messages)


# failures and constraints


@pytest.mark.parametrize("basis", ["auto", "networks", "radial"])
@pytest.mark.parametrize("count", [24, 90])
def test_noiseless_failures_are_surer_at_every_size(basis: str, count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(basis_model, "EXACT_UP_TO", 48)
    results = [(params, None if params["x"] < 0.4 else quadratic(params)) for params in spread(PLANE, count)]
    known = np.array([[params["x"], params["y"]] for params, _ in results])
    doubts = []
    for failures in ("noisy", "noiseless"):
        model = basis_model.BasisModel(basis, adaptive.Recipe(members=2, width=12), failures)
        surrogate = model.fit(PLANE, study_of(PLANE, results).history, Key(0, count), None)
        assert surrogate.feasibility is not None
        success = np.exp(surrogate.feasibility(known)[0])
        doubts.append(np.mean(np.abs(success - (known[:, 0] >= 0.4))))
    assert doubts[1] < 0.8 * doubts[0]


@pytest.mark.parametrize("failures", ["noisy", "noiseless"])
def test_it_avoids_regions_of_failure(failures: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(basis_model, "EXACT_UP_TO", 16)

    def outcome(params: Any) -> float | None:  # the minimum of the quadratic lies where trials fail
        wavy = quadratic(params) + 0.05 * math.sin(20 * params["x"]) * math.sin(17 * params["y"])
        return None if params["x"] < 0.4 else wavy

    study = study_of(
        PLANE, [(params, outcome(params)) for params in spread(PLANE, 160)], sonde.DNGO(failures=failures, **SMALL)
    )
    before = study.best_value
    asked = study.ask(16)
    for trial in asked:
        value = outcome(trial)
        study.tell(trial, failed="broke") if value is None else study.tell(trial, value)
    assert np.mean([trial["x"] < 0.38 for trial in asked]) < 0.3  # the best feasible point lies on the boundary
    assert study.best_value < before


def test_measured_constraints_are_met() -> None:
    study = sonde.Study(PLANE, seed=0, strategy=sonde.DNGO("networks", **SMALL))
    for _ in range(40):
        trial = study.ask()
        study.tell(trial, quadratic(trial), constraints={"x": 0.5 - trial["x"]})
    best = study.best_params
    assert best["x"] >= 0.5
    assert study.best_value < 0.08


# batches


@pytest.mark.parametrize("batch", ["greedy", "joint", "thompson"])
def test_batches_are_distinct_and_in_the_space(batch: str) -> None:
    results = [(params, quadratic(params)) for params in spread(PLANE, 40)]
    study = study_of(PLANE, results, sonde.DNGO("networks", batch=batch, **SMALL))
    asked = step(study, 6)
    assert len({tuple(params.values()) for params in asked}) == 6
    assert all(0 <= value <= 1 for params in asked for value in params.values())


@pytest.mark.parametrize("batch", ["greedy", "thompson"])
def test_hundreds_of_points_are_selected_next_to_hundreds_of_pending_points(batch: str) -> None:
    results = [(params, quadratic(params)) for params in spread(PLANE, 70)]
    study = study_of(PLANE, results, sonde.DNGO("networks", batch=batch, **SMALL))
    first, second = step(study, 100), step(study, 100)
    points = np.array([list(params.values()) for params in first + second])
    assert len(np.unique(points, axis=0)) == 200
    assert min(quadratic(params) for params in first) < min(value for _, value in results)


# bad input


def outcomes(count: int) -> dict[str, list[Any]]:
    ramp: list[Any] = [float(i % 7) for i in range(count)]
    few = [value if i % 50 == 0 else None for i, value in enumerate(ramp)]
    return {
        "constant": [1.0] * count,
        "huge and tiny": [1e300 if i % 3 == 0 else 1e-300 for i in range(count)],
        "one huge late": [*ramp[:-1], 1e308],
        "one best by far, late": [*ramp[:-1], -1e9],
        "nearly all failed": few,
        "all but two failed": [1.0, 2.0] + [None] * (count - 2),
    }


@pytest.mark.parametrize("basis", ["auto", "networks"])
@pytest.mark.parametrize("name", list(outcomes(2)))
def test_degenerate_histories_leave_suggestions_finite_and_in_the_space(
    name: str, basis: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(basis_model, "EXACT_UP_TO", 32)
    results = list(zip(spread(PLANE, 90), outcomes(90)[name], strict=True))
    study = study_of(PLANE, results, sonde.DNGO(basis, **SMALL))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", OddHistory)
        asked = step(study, 3)
    assert len({tuple(params.values()) for params in asked}) == 3
    assert all(0 <= value <= 1 for params in asked for value in params.values())


def test_success_and_failure_at_the_same_point(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(basis_model, "EXACT_UP_TO", 16)
    here = {"x": 0.5, "y": 0.5}
    results = [(here, 1.0 if i % 2 else None) for i in range(40)] + [(p, quadratic(p)) for p in spread(PLANE, 20)]
    assert len(step(study_of(PLANE, results, sonde.DNGO(**SMALL)), 2)) == 2


def test_all_trials_failed() -> None:
    study = study_of(PLANE, [(params, None) for params in spread(PLANE, 40)], sonde.DNGO(**SMALL))
    with pytest.warns(OddHistory, match="failed"):
        assert len(step(study, 4)) == 4


@pytest.mark.parametrize("size", [1, 60])
def test_narrow_and_wide_spaces(size: int) -> None:
    space = sonde.Space({f"x{i}": sonde.Float(0, 1) for i in range(size)})
    results = [(params, quadratic(params)) for params in spread(space, 40)]
    assert len(step(study_of(space, results, sonde.DNGO("networks", **SMALL)), 2)) == 2


def test_a_finite_space_is_exhausted_without_repetition() -> None:
    space = sonde.Space({f"c{i}": sonde.Categorical(["a", "b", "c"]) for i in range(3)})
    study = sonde.Study(space, seed=0, strategy=sonde.DNGO("networks", **SMALL))
    for _ in range(27):
        trial = study.ask()
        study.tell(trial, float(sum(value == "b" for value in trial.values())))
    assert len({tuple(trial.values()) for trial in study.trials}) == 27


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"basis": "fourier"}, "basis must be one of auto, networks, radial"),
        ({"networks": 0}, "networks must be a whole number from 1 to 64, got 0"),
        ({"networks": 2.5}, "networks must be a whole number"),
        ({"networks": True}, "networks must be a whole number"),
        ({"width": 5000}, "width must be a whole number from 1 to 1024, got 5000"),
        ({"activation": "gelu"}, "activation must be one of tanh, relu, relu"),
        ({"training": "mse"}, "training must be one of evidence, squares"),
        ({"optimizer": "newton"}, "optimizer must be one of auto, soap, adam, sgd"),
        ({"device": "tpu"}, "device must be one of cpu, gpu, got 'tpu'"),
        ({"device": "gpu", "optimizer": "soap"}, "trains on the CPU only"),
        ({"failures": "maybe"}, "failures must be one of noisy, noiseless"),
        ({"batch": "random"}, "batch must be one of greedy, joint, thompson"),
        ({"acquisition": "best"}, "acquisition must be one of"),
    ],
)
def test_wrong_options_raise_errors_that_name_the_right_ones(options: dict[str, Any], named: str) -> None:
    with pytest.raises(OptionError, match=named):
        sonde.DNGO(**options)


# predictions and explanations


@pytest.mark.parametrize("basis", ["networks", "radial"])
def test_predictions_are_in_the_values_own_units(basis: str) -> None:
    results = [(params, 100 + 10 * quadratic(params)) for params in spread(PLANE, 60)]
    study = study_of(PLANE, results, sonde.DNGO(basis, **SMALL))
    point = {"x": 0.5, "y": 0.6}
    predicted = study.predict(point)
    assert predicted.std > 0
    assert abs(predicted.mean - (100 + 10 * quadratic(point))) < 0.6
    diagnosis = study.diagnose()
    assert len(diagnosis.numbers) == 60


def test_explain_names_the_basis(monkeypatch: pytest.MonkeyPatch) -> None:
    empty = sonde.Study(PLANE, strategy="dngo")
    assert "too few results" in empty.explain()
    results = [(params, quadratic(params)) for params in spread(PLANE, 40)]
    assert "radial basis functions" in study_of(PLANE, results).explain()
    assert "2 networks" in study_of(PLANE, results, sonde.DNGO("networks", **SMALL)).explain()


# the method of the paper


def test_the_method_of_the_paper_works_also_in_a_study_that_is_opened_again(sqlite_url: str) -> None:
    with sonde.Study(PLANE, seed=0, strategy=sonde.DNGO.paper(), storage=sqlite_url, name="s") as study:
        for _ in range(16):
            trial = study.ask()
            study.tell(trial, quadratic(trial))
        assert study.best_value < 0.01
        assert "1 network" in study.explain()
        expected = step(study, 2)
    with sonde.load(sqlite_url, "s") as again:
        assert "1 network" in again.explain()
        assert expected == [dict(trial.params) for trial in again.trials[-2:]]


def test_the_paper_searches_the_whole_space_for_every_trial() -> None:
    """There is no trust region, and even and odd trials are alike."""
    results = [(params, quadratic(params)) for params in spread(PLANE, 30)]
    (first,), (second,) = (
        WholeSpaceSchedule(PaperModel("noisy")).targets(Domain(PLANE, study_of(PLANE, results).history), 1, key)
        for key in (Key(0, 30), Key(0, 31))
    )
    for target in (first, second):
        assert isinstance(target, Target)
        assert target.box.excluded is None
        assert np.array_equal([target.box.low, target.box.high], [[0, 0], [1, 1]])


def test_the_paper_standardizes_values_without_a_logarithm() -> None:
    results = [(params, math.exp(30 * quadratic(params))) for params in spread(PLANE, 40)]
    surrogates = [
        model.fit(PLANE, study_of(PLANE, results).history, Key(0, 40), None)
        for model in (PaperModel("noisy"), ExactModel())
    ]
    assert surrogates[1].scale.floor is not None
    assert surrogates[0].scale.floor is None
    assert surrogates[0].values.std() == pytest.approx(1)


def test_to_the_paper_a_violated_constraint_is_a_failure() -> None:
    history = study_of(PLANE, [(params, quadratic(params)) for params in spread(PLANE, 20)]).history
    assert PaperModel("noisy").fit(PLANE, history, Key(0, 20)).feasibility is None
    study = sonde.Study(PLANE, seed=0)
    study.add_trials(
        [
            {"params": params, "value": quadratic(params), "constraints": {"c": 0.4 - params["x"]}}
            for params in spread(PLANE, 20)
        ]
    )
    surrogate = PaperModel("noisy").fit(PLANE, study.history, Key(0, 20))
    valid = [params for params in spread(PLANE, 20) if params["x"] >= 0.4]
    assert len(surrogate.values) == len(valid)
    assert surrogate.feasibility is not None
    inside, outside = np.exp(surrogate.feasibility(np.array([[0.8, 0.5], [0.1, 0.5]]))[0])
    assert outside < 0.3 < 0.7 < inside


@pytest.mark.parametrize("failures", ["noisy", "noiseless"])
def test_the_paper_suggests_batches_next_to_failures_and_pending_points(failures: str) -> None:
    results = [(params, None if params["x"] < 0.4 else params["x"] ** 2) for params in spread(MIXED_PLANE, 30)]
    study = study_of(MIXED_PLANE, results, sonde.DNGO.paper(failures=failures))
    points = {tuple(params.values()) for params in step(study, 3) + step(study, 3)}
    assert len(points) == 6
    assert study.predict({"x": 0.8, "kind": "a"}).std > 0
    assert len(study.diagnose().numbers) == sum(value is not None for _, value in results)


MIXED_PLANE = sonde.Space(x=sonde.Float(0, 1), kind=sonde.Categorical(["a", "b", "c"]))


def test_the_paper_exhausts_a_finite_space_also_when_all_trials_failed() -> None:
    space = sonde.Space(n=sonde.Int(0, 5), on=sonde.Bool())
    study = sonde.Study(space, seed=0, strategy=sonde.DNGO.paper())
    for _ in range(6):
        for trial in study.ask(2):
            study.tell(trial, failed="broke") if trial["n"] < 3 else study.tell(trial, float(trial["n"]))
    assert len({tuple(trial.values()) for trial in study.trials}) == 12


def test_the_paper_is_for_one_objective() -> None:
    study = sonde.Study(PLANE, objectives={"a": "minimize", "b": "minimize"}, seed=0, strategy=sonde.DNGO.paper())
    with pytest.raises(OptionError, match="for one objective"):
        study.ask()
    with pytest.raises(OptionError, match="failures must be one of noisy, noiseless"):
        sonde.DNGO.paper(failures="maybe")


def test_auto_takes_it_when_there_are_many_results(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(auto_module, "EXACT_GP_LIMIT", 30)
    few = study_of(PLANE, [(params, quadratic(params)) for params in spread(PLANE, 30)], "auto")
    many = study_of(
        PLANE, [(params, quadratic(params) if i else None) for i, params in enumerate(spread(PLANE, 31))], "auto"
    )
    assert "gp, because" in few.explain()
    assert "dngo, because" in many.explain()


# time, progress messages and interruption


def many(count: int, *, failing: bool = False) -> list[tuple[dict[str, Any], Any]]:
    results: list[tuple[dict[str, Any], Any]] = [(params, quadratic(params)) for params in spread(PLANE, count)]
    return [(params, None if failing and params["x"] < 0.3 else value) for params, value in results]


def test_a_thousand_results_need_no_jax_and_seconds_of_one_core(tmp_path: Any) -> None:
    """Imports included; the limit is generous, because the machine may be shared."""
    path = tmp_path / "study.db"
    study = sonde.Study(MIXED, storage=path, name="s", seed=0, strategy="auto")
    rng = np.random.default_rng(0)
    params = spread(MIXED, 1030)
    study.add_trials([
        {"params": each} | ({"failed": "x"} if rng.random() < 0.3 else {"value": math.log10(each["rate"]) ** 2})
        for each in params
    ])  # fmt: skip
    study.close()
    code = f"""
import sys, time
import sonde
study = sonde.load({str(path)!r}, "s")
study.ask()
print(study.explain(), [name for name in ("jax", "optax", "equinox") if name in sys.modules])
print(time.process_time())
"""
    environment = os.environ | {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    run = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True, env=environment)
    words, seconds = run.stdout.splitlines()
    assert "dngo, because" in words
    assert words.endswith("[]")
    assert float(seconds) < 12


@pytest.mark.parametrize("failing", [False, True])
def test_a_cache_changes_no_suggestion_and_saves_the_training(failing: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(basis_model, "EXACT_UP_TO", 32)
    results = many(80, failing=failing)
    plain = study_of(PLANE, results, sonde.DNGO("networks", **SMALL))
    expected = step(plain, 2)
    entries: dict[str, bytes] = {}

    class Cache:
        get = staticmethod(entries.get)
        put = staticmethod(entries.__setitem__)

    def cached() -> list[dict[str, Any]]:
        study = study_of(PLANE, results, sonde.DNGO("networks", **SMALL))
        study.history.cache = Cache()
        return step(study, 2)

    assert cached() == expected
    assert entries
    monkeypatch.setattr(adaptive, "train", None)
    assert cached() == expected


def test_progress_messages_name_what_takes_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(basis_model, "EXACT_UP_TO", 32)
    messages: list[str] = []
    with watching(messages.append):
        step(study_of(PLANE, many(80), sonde.DNGO("networks", **SMALL)))
        step(study_of(PLANE, many(20), "gp"))
    assert messages == [
        "fitting the model to 80 results", "training networks on 64 results", "fitting the model to 80 results",
        "training networks on 80 results", "fitting the model to 80 results", "", "searching for the next point", "",
        "fitting the model to 20 results", "", "searching for the next point", "",
    ]  # fmt: skip


def test_an_interruption_does_not_change_later_suggestions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(basis_model, "EXACT_UP_TO", 32)
    results = many(80, failing=True)
    expected = step(study_of(PLANE, results, sonde.DNGO(**SMALL)))
    for message in range(4):
        study = study_of(PLANE, results, sonde.DNGO(**SMALL))
        left = iter(range(message, -1, -1))

        def interrupt(what: str, left: Iterator[int] = left) -> None:
            if what and next(left, None) == 0:
                raise KeyboardInterrupt

        with watching(interrupt), pytest.raises(KeyboardInterrupt):
            study.ask()
        assert step(study) == expected
