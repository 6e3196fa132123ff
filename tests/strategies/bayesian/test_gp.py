"""The Gaussian process strategy, as a whole."""

from __future__ import annotations

import math
import subprocess
import sys
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.space.spaces import examples

import sonde
from sonde.errors import NoResult, OddHistory, OptionError
from sonde.strategies.auto import Auto
from sonde.strategies.bayesian.acquisitions import NAMES
from sonde.strategies.bayesian.joint_search import SEARCHES
from sonde.strategies.initial_design import first_count
from sonde.trials import Trial

PLANE = sonde.Space(x=sonde.Float(0, 1), y=sonde.Float(0, 1))
MIXED = sonde.Space(
    rate=sonde.Float(1e-5, 1, log=True),
    n=sonde.Int(1, 100),
    kind=sonde.Categorical(["a", "b", "c", "d"]),
    order=sonde.Int(1, 5, when={"kind": "b"}),
    on=sonde.Bool(),
)


def bowl(trial: Trial) -> float:
    return sum((value - 0.3) ** 2 for value in trial.values())


def mixed_loss(trial: Trial) -> float:
    loss = (math.log10(trial["rate"]) + 2) ** 2 + abs(trial["n"] - 42) / 20 + trial["on"]
    return loss + (0.3 * abs(trial["order"] - 3) if trial["kind"] == "b" else 1.0)


def run(
    space: sonde.Space, objective: Callable[[Trial], Any], count: int, *, batch: int = 1, **options: Any
) -> sonde.Study:
    study = sonde.Study(space, seed=0, **({"strategy": "gp"} | options))
    for _ in range(count):
        for trial in study.ask(batch):
            result = objective(trial)
            study.tell(trial, failed="broke") if result is None else study.tell(trial, result)
    return study


# it finds minima


def test_it_finds_the_minimum_of_a_bowl_to_many_digits() -> None:
    assert run(PLANE, bowl, 25).best_value < 1e-6


def test_it_finds_the_minimum_of_a_mixed_conditional_space() -> None:
    best = run(MIXED, mixed_loss, 45).best_params
    assert (best["kind"], best["on"], best["order"]) == ("b", False, 3)
    assert abs(best["n"] - 42) <= 1
    assert abs(math.log10(best["rate"]) + 2) < 0.1


def test_the_first_trial_is_in_the_centre() -> None:
    assert run(PLANE, bowl, 1).trials[0].params == {"x": 0.5, "y": 0.5}


def test_a_rotated_ellipsoid_in_ten_dimensions_is_solved() -> None:
    rotation = np.linalg.qr(np.random.default_rng(3).standard_normal((10, 10)))[0]
    space = sonde.Space({f"x{i}": sonde.Float(0, 1) for i in range(10)})

    def ellipsoid(trial: Trial) -> float:
        z = rotation @ (np.array(list(trial.values())) - 0.35)
        return float(np.sum(10.0 ** (np.arange(10) / 4.5) * z**2))

    study = run(space, ellipsoid, 90)
    assert study.best_value < 1e-5 * study.trials[0].value


def test_maximising_is_minimising_the_negative() -> None:
    down = run(PLANE, bowl, 12)
    up = run(PLANE, lambda trial: -bowl(trial), 12, direction="maximize")
    assert [trial.params for trial in down.trials] == [trial.params for trial in up.trials]


def test_it_beats_random_search_and_auto_takes_it() -> None:
    space = sonde.Space({f"x{i}": sonde.Float(-5, 5) for i in range(4)})

    def rosenbrock(trial: Trial) -> float:
        x = np.array(list(trial.values()))
        return float(np.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2))

    clever = run(space, rosenbrock, 50, strategy="auto").best_value
    blind = run(space, rosenbrock, 50, strategy="random").best_value
    assert clever < blind / 10


@pytest.mark.parametrize("acquisition", NAMES)
def test_every_acquisition_works_one_by_one_and_in_batches(acquisition: str) -> None:
    study = run(PLANE, bowl, 4, batch=4, strategy=sonde.GP(acquisition=acquisition))
    spread = run(PLANE, bowl, 16, strategy="sobol").best_value
    assert study.best_value <= spread
    assert len({tuple(trial.values()) for trial in study.trials}) == 16


@pytest.mark.parametrize("search", SEARCHES)
def test_every_search_works_for_one_point_and_for_joint_pools(search: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sonde.strategies.bayesian.joint_search.RANDOM_POOLS", 2**9)
    monkeypatch.setattr("sonde.strategies.bayesian.joint_search.DIRECT_EVALUATIONS", 200)
    monkeypatch.setattr("sonde.strategies.bayesian.joint_search.ADAM_STEPS", 40)
    strategy = sonde.GP(batch="joint", search=search)
    space = sonde.Space(x=sonde.Float(0, 1), n=sonde.Int(0, 9)).where("x + n / 10 <= 1.2")
    study = run(space, lambda trial: (trial["x"] - 0.5) ** 2 + abs(trial["n"] - 4), 4, batch=3, strategy=strategy)
    assert all(trial["x"] + trial["n"] / 10 <= 1.2 for trial in study.trials)
    assert len({tuple(trial.values()) for trial in study.trials}) == 12


@pytest.mark.jax
def test_a_utility_of_ones_own_is_a_function_of_a_pools_outcomes() -> None:
    import jax.numpy as jnp

    strategy = sonde.GP(acquisition=lambda mean, spread, best: jnp.maximum(jnp.max(mean + spread) - best, 0.0))
    assert run(PLANE, bowl, 8, strategy=strategy).best_value < 0.05


def test_marginalised_hyperparameters() -> None:
    assert run(PLANE, bowl, 12, strategy=sonde.GP(hyperparameters="slice")).best_value < 0.01


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"acquisition": "lei"}, "acquisition must be one of log_ei, ei, pi, ucb, sr, es"),
        ({"batch": "both"}, "batch must be one of greedy, joint"),
        ({"search": "newton"}, "search must be one of bfgs, adam, random, direct"),
        ({"hyperparameters": 3}, "hyperparameters must be one of auto, map, draw, slice"),
    ],
)
def test_options_are_checked(options: dict[str, Any], said: str) -> None:
    with pytest.raises(OptionError, match=said):
        sonde.GP(**options)


# pending points


def test_pending_points_are_avoided() -> None:
    study = run(PLANE, lambda trial: math.sin(9 * trial["x"]) * math.cos(7 * trial["y"]), 12)
    asked = [study.ask() for _ in range(6)]
    points = np.array([list(trial.values()) for trial in asked])
    gaps = np.abs(points[:, None] - points[None]).max(axis=2)[np.triu_indices(6, 1)]
    assert gaps.min() > 1e-3
    assert gaps.max() > 0.1


def test_a_large_batch_is_distinct() -> None:
    study = run(PLANE, bowl, 10)
    batch = study.ask(40)
    assert len({tuple(trial.values()) for trial in batch}) == 40


# what works and what does not


def test_failures_are_avoided() -> None:
    study = run(PLANE, lambda trial: None if trial["x"] > 0.4 else bowl(trial), 30)
    assert sum(trial["x"] > 0.4 for trial in study.trials[10:]) <= 8  # of 20, where an even spread makes 12
    assert study.best_value < 1e-4


def test_the_edge_of_what_works_is_found() -> None:
    study = run(PLANE, lambda trial: None if trial["x"] < 0.45 else bowl(trial), 30)
    assert study.best_value == pytest.approx(0.0225, abs=0.004)


def test_measured_constraints_are_learned() -> None:
    def objective(trial: Trial) -> sonde.Evaluation:
        return sonde.Evaluation(bowl(trial), constraints={"sum": 1 - trial["x"] - trial["y"]})

    best = run(PLANE, objective, 30).best_trial
    assert best.value == pytest.approx(0.08, abs=0.002)  # at (0.5, 0.5)


def test_a_feasible_corner_is_found_from_infeasible_results_alone() -> None:
    def objective(trial: Trial) -> sonde.Evaluation:
        return sonde.Evaluation(trial["x"], constraints={"corner": 1.85 - trial["x"] - trial["y"]})

    assert run(PLANE, objective, 25).best_trial.params["x"] > 0.85


def test_noise_is_found_out() -> None:
    rng = np.random.default_rng(0)
    study = run(PLANE, lambda trial: bowl(trial) + 0.05 * rng.standard_normal(), 40)
    prediction = study.predict({"x": 0.3, "y": 0.3})
    assert abs(prediction.mean) < 0.05
    assert 0.02 < prediction.std < 0.1


def test_told_noise_is_believed() -> None:
    space = sonde.Space(x=sonde.Float(0, 1))
    study = sonde.Study(space, strategy="gp", seed=0)
    study.add_trials([{"params": {"x": i / 11}, "value": i / 11, "noise": 1e-9} for i in range(12)])
    study.add_trials([{"params": {"x": 0.5}, "value": 100.0, "noise": 1e3}])
    assert study.predict({"x": 0.5}).mean == pytest.approx(0.5, abs=0.1)


# odd input


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (lambda i: 1.0, "all values so far are 1; does the objective use its parameters"),
        (lambda i: [1e300, 1e-300, -1e300, 0.0][i % 4], "values reach 1e[+]300"),
        (lambda i: [1.7e308, -1.7e308, 0.0][i % 3], "values reach 1.7e[+]308"),
        (lambda i: None, "all trials so far failed"),
    ],
)
def test_odd_values_leave_suggestions_in_the_space_and_are_named(value: Callable[[int], Any], said: str) -> None:
    numbers = iter(range(99))
    with pytest.warns(OddHistory, match=said):
        study = run(PLANE, lambda trial: value(next(numbers)), 14)
    assert all(0 <= number <= 1 for trial in study.trials for number in trial.values())
    assert len({tuple(trial.values()) for trial in study.trials}) == 14


@pytest.mark.parametrize("scale", [1e-300, 5e-324, 1e-10, 1e150])
@pytest.mark.filterwarnings("ignore::sonde.errors.OddHistory")
def test_the_size_of_the_values_does_not_matter(scale: float) -> None:
    study = run(PLANE, lambda trial: scale * round(8 * bowl(trial)), 14)
    assert len({tuple(trial.values()) for trial in study.trials}) == 14


def test_one_point_repeated_is_named() -> None:
    study = sonde.Study(PLANE, strategy="gp", seed=0)
    study.add_trials([{"params": {"x": 0.5, "y": 0.5}, "value": float(i)} for i in range(10)])
    with pytest.warns(OddHistory, match="of one configuration"):
        assert study.ask().params != {"x": 0.5, "y": 0.5}


@pytest.mark.parametrize(
    "space",
    [
        sonde.Space(x=sonde.Float(0, 1)),
        sonde.Space({f"x{i}": sonde.Float(0, 1) for i in range(200)}),
        sonde.Space({f"c{i}": sonde.Categorical(["a", "b", "c"]) for i in range(8)}),
        sonde.Space({f"b{i}": sonde.Bool() for i in range(12)}),
        sonde.Space(n=sonde.Int(0, 10**9), m=sonde.Int(1, 10**6, log=True)),
        sonde.Space(x=sonde.Float(0, 1), one=sonde.Int(1, 1)),
        sonde.Space(x=sonde.Float(0, 1), y=sonde.Float(0, 1)).where("x + y <= 0.05"),
    ],
    ids=["1-D", "200-D", "categories", "bits", "large lattices", "a single value", "a small corner"],
)
def test_spaces_of_all_kinds(space: sonde.Space) -> None:
    def objective(trial: Trial) -> float:
        return float(sum(value == "a" if isinstance(value, str) else float(value) for value in trial.values()))

    study = run(space, objective, 14)
    assert len({tuple(trial.values()) for trial in study.trials}) == 14
    assert all(trial.params in space for trial in study.trials)


@examples(15)
@given(st.lists(st.one_of(st.floats(), st.none(), st.sampled_from([0.0, 1.0, 1e300, -1e300])), min_size=4, max_size=14))
def test_any_mix_of_results_leaves_suggestions_finite_and_distinct(results: list[float | None]) -> None:
    study = sonde.Study(MIXED, strategy="gp", seed=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", OddHistory)
        for result in results:
            trial = study.ask()
            study.tell(trial, failed="broke") if result is None else study.tell(trial, result)
        batch = study.ask(3)
    assert all(trial.params in MIXED for trial in batch)
    assert len({tuple(trial.items()) for trial in study.trials}) == len(study.trials)


# the same anywhere


def test_a_study_that_is_opened_again_suggests_the_same(tmp_path: Any) -> None:
    whole = sonde.Study(PLANE, strategy="gp", seed=3)
    expected = []
    for _ in range(20):
        trial = whole.ask()
        expected.append(dict(trial))
        whole.tell(trial, bowl(trial))
    for start in (0, 9, 14):
        found = []
        with sonde.Study(PLANE, strategy="gp", seed=3, storage=tmp_path / "runs.db", name="study") as study:
            for _ in range({0: 9, 9: 5, 14: 6}[start]):
                trial = study.ask()
                found.append(dict(trial))
                study.tell(trial, bowl(trial))
        assert found == expected[start : start + len(found)]


def test_one_thread_or_many_give_the_same_suggestions() -> None:
    code = (
        "import sonde\n"
        "study = sonde.Study(sonde.Space({f'x{i}': sonde.Float(0, 1) for i in range(5)}), strategy='gp', seed=0)\n"
        "for _ in range(24):\n"
        "    trial = study.ask(); study.tell(trial, sum((v - 0.3) ** 2 for v in trial.values()))\n"
        "print([trial.params for trial in study.trials])"
    )
    said = [
        subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120,
            env={"OPENBLAS_NUM_THREADS": threads, "PATH": ""},
        ).stdout
        for threads in ("1", "2")
    ]  # fmt: skip
    assert said[0] == said[1]


# what it says


def test_predictions_and_their_diagnosis() -> None:
    study = run(PLANE, bowl, 20)
    one = study.predict({"x": 0.3, "y": 0.3})
    assert one.mean == pytest.approx(0.0, abs=0.01)
    assert 0 <= one.std < 0.05
    several = study.predict([{"x": 0.3, "y": 0.3}, {"x": 1.0, "y": 1.0}])
    assert several.mean.shape == several.std.shape == (2,)
    assert several.mean[1] == pytest.approx(0.98, rel=0.2)
    diagnosis = study.diagnose()
    assert diagnosis.correlation > 0.9
    assert 0.5 <= diagnosis.coverage <= 1
    assert "rank correlation" in str(diagnosis)


def test_predictions_of_a_study_without_a_model_of_its_own_are_by_a_gaussian_process() -> None:
    study = run(PLANE, lambda trial: -bowl(trial), 20, strategy="sobol", direction="maximize")
    assert study.predict({"x": 0.3, "y": 0.3}).mean == pytest.approx(0.0, abs=0.02)


@pytest.mark.parametrize("params", ["x", 3, [3], None])
def test_only_configurations_can_be_predicted(params: Any) -> None:
    with pytest.raises(OptionError, match="predict takes the parameters"):
        run(PLANE, bowl, 4).predict(params)


def test_predictions_need_results() -> None:
    study = sonde.Study(PLANE)
    with pytest.raises(NoResult, match="tell a result first"):
        study.predict({"x": 0.3, "y": 0.3})
    with pytest.raises(NoResult, match="needs 3 completed trials"):
        study.diagnose()


def test_it_explains_itself() -> None:
    study = sonde.Study(PLANE, strategy="gp", seed=0)
    assert f"first {first_count(PLANE)} configurations evenly" in study.explain()
    for _ in range(12):
        trial = study.ask()
        study.tell(trial, np.sin(9 * trial["y"]) + 0.01 * trial["x"])
    assert "12 values" in study.explain()
    assert "most on y" in study.explain()


def test_auto_goes_from_the_initial_design_to_this_model_to_a_linear_one(monkeypatch: pytest.MonkeyPatch) -> None:
    study = sonde.Study(PLANE, seed=0)
    assert study.explain().startswith("auto: sobol, because there are too few results")
    assert study.ask().params == {"x": 0.5, "y": 0.5}
    run_twelve = [{"params": {"x": i / 12, "y": 0.5}, "value": i / 12} for i in range(12)]
    study.add_trials(run_twelve)
    assert study.explain().startswith("auto: gp, because")
    monkeypatch.setattr("sonde.strategies.auto.EXACT_GP_LIMIT", 11)
    assert Auto().explain(PLANE, study.history).startswith("dngo, because there are more than")
