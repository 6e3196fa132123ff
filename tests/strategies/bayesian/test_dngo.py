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
from sonde.strategies import auto as auto_module
from sonde.strategies.bayesian import basis_model
from sonde.surrogates.basis import adaptive

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


def test_the_method_of_the_paper_works_also_in_a_study_that_is_opened_again(sqlite_url: str) -> None:
    with sonde.Study(PLANE, seed=0, strategy=sonde.DNGO.paper(), storage=sqlite_url, name="s") as study:
        for _ in range(16):
            trial = study.ask()
            study.tell(trial, quadratic(trial))
        assert study.best_value < 0.1
        assert "1 network " in study.explain()
    with sonde.load(sqlite_url, "s") as again:
        assert "1 network " in again.explain()


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
