"""First-order Bayesian optimization, as a whole."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import sonde
from sonde.errors import OddHistory, OptionError
from sonde.sampling import Key
from sonde.strategies.bayesian.domain import Domain
from sonde.strategies.bayesian.surrogate import fit_feasibility
from sonde.strategies.first_order import gradient_model, schedule, search_starts
from sonde.strategies.first_order.active_searches import FIRST, ActiveSearch, active_searches
from sonde.strategies.first_order.fobo import FOBO
from sonde.strategies.first_order.gradient_model import GradientModel
from sonde.strategies.first_order.local_model import local_observations
from sonde.strategies.first_order.local_search import LocalSearch
from sonde.strategies.initial_design import first_count
from sonde.surrogates.gradient.fitting import GradientFit
from sonde.surrogates.gradient.global_trend import fit_global_trends

Array = NDArray[np.float64]
Function = Callable[[Array], tuple[float, Array]]
Change = Callable[[int, Array], Any]  # what is told in place of trial i's gradient

PLANE = sonde.Space(x=sonde.Float(0, 1), y=sonde.Float(0, 1))
MIXED = sonde.Space(
    rate=sonde.Float(1e-5, 1, log=True),
    x=sonde.Float(-1, 1),
    n=sonde.Int(1, 100),
    kind=sonde.Categorical(["a", "b", "c", "d"]),
    order=sonde.Float(1, 5, when={"kind": "b"}),
    on=sonde.Bool(),
)


def cube(d: int, half: float) -> sonde.Space:
    return sonde.Space({f"x{i}": sonde.Float(-half, half) for i in range(d)})


def smooth(x: Array) -> tuple[float, Array]:
    """A convex function of several curvatures that is no quadratic."""
    weights, z = np.arange(1, len(x) + 1), x - 0.7
    return float(np.sum(weights * z**2 + 0.1 * z**4)), 2 * weights * z + 0.4 * z**3


def ackley(x: Array) -> tuple[float, Array]:
    u = x - 1.0
    radius = math.sqrt(np.mean(u * u)) or 1.0
    near, wave = 20 * math.exp(-0.2 * radius), math.exp(np.mean(np.cos(2 * np.pi * u)))
    gradients = 0.2 * near * u / radius + 2 * np.pi * wave * np.sin(2 * np.pi * u)
    return 20 + math.e - near - wave, gradients / len(u)


def unit_quadratic(x: Array) -> tuple[float, Array]:
    return float(np.sum((x - 0.3) ** 2)), 2 * (x - 0.3)


def told(_: int, gradient: Array) -> Any:
    return gradient


def none(_: int, gradient: Array) -> Any:
    return None


def negated(_: int, gradient: Array) -> Any:
    return -gradient


def run(
    space: sonde.Space, function: Function, count: int, change: Change = told, *, batch: int = 1, **options: Any
) -> sonde.Study:
    """Ask and tell a number of times; ``change`` replaces the gradients."""
    study = sonde.Study(space, **({"strategy": "fobo", "seed": 0} | options))
    for _ in range(count):
        for trial in study.ask(batch):
            value, gradient = function(np.array(list(trial.values()), dtype=float))
            study.tell(trial, value, gradient=change(trial.number, gradient))
    return study


def spread(space: sonde.Space, count: int, seed: int = 5) -> list[dict[str, Any]]:
    return [dict(trial) for trial in sonde.Study(space, strategy="sobol", seed=seed).ask(count)]


def given_results(
    space: sonde.Space, entries: list[dict[str, Any]], strategy: Any = "fobo", **options: Any
) -> sonde.Study:
    study = sonde.Study(space, **({"strategy": strategy, "seed": 0} | options))
    study.add_trials(entries)
    return study


def entries_of(space: sonde.Space, function: Function, count: int, change: Change = told) -> list[dict[str, Any]]:
    """Entries at evenly spread points."""
    entries = []
    for i, params in enumerate(spread(space, count)):
        value, gradient = function(np.array(list(params.values()), dtype=float))
        gradient = change(i, gradient)
        entries.append({"params": params, "value": value, **({} if gradient is None else {"gradient": gradient})})
    return entries


def ask(study: sonde.Study, count: int) -> list[dict[str, Any]]:
    return [dict(trial) for trial in study.ask(count)]


def assert_sound(study: sonde.Study) -> None:
    """All trials are in the space, and no two are the same."""
    assert all(trial.params in study.space for trial in study.trials)
    assert len({tuple(trial.items()) for trial in study.trials}) == len(study.trials)


# it finds minima


@cache
def smooth_run(seed: int, direction: str = "minimize") -> sonde.Study:
    sign = 1.0 if direction == "minimize" else -1.0

    def signed(x: Array) -> tuple[float, Array]:
        value, gradient = smooth(x)
        return sign * value, sign * gradient

    return run(cube(4, 2.0), signed, 30 if direction == "minimize" else 12, seed=seed, direction=direction)


def test_it_reaches_the_minimum_of_a_smooth_function_to_the_last_digits() -> None:
    assert smooth_run(0).best_value < 1e-8


def test_without_gradients_it_is_far_behind() -> None:
    alone = run(cube(4, 2.0), smooth, 30, none, seed=0, strategy="gp")
    assert smooth_run(0).best_value < 1e-3 * alone.best_value


def test_maximising_is_minimising_the_negative() -> None:
    down, up = smooth_run(0), smooth_run(0, "maximize")
    assert [trial.params for trial in down.trials[:12]] == [trial.params for trial in up.trials]


def test_the_same_seed_gives_the_same_suggestions_and_another_one_others() -> None:
    entries = entries_of(PLANE, unit_quadratic, 9)
    one, same = (ask(given_results(PLANE, entries), 4) for _ in range(2))
    assert one == same
    first, other = (ask(given_results(PLANE, [], seed=seed), 4) for seed in (0, 1))
    assert first[0] == other[0]  # the centre
    assert first[1:] != other[1:]


def test_a_gradient_on_a_log_scale_is_in_the_parameters_own_units() -> None:
    """The same problem on the logarithm's axis has the same suggestions."""
    logged = sonde.Space(rate=sonde.Float(1e-4, 1, log=True), x=sonde.Float(0, 1))
    plain = sonde.Space(exponent=sonde.Float(math.log(1e-4), 0), x=sonde.Float(0, 1))

    def on_plain(x: Array) -> tuple[float, Array]:
        return float((x[0] + 6) ** 2 + (x[1] - 0.3) ** 2), np.array([2 * (x[0] + 6), 2 * (x[1] - 0.3)])

    def on_logged(x: Array) -> tuple[float, Array]:
        value, gradient = on_plain(np.array([math.log(x[0]), x[1]]))
        return value, gradient / np.array([x[0], 1.0])

    one, other = run(logged, on_logged, 9), run(plain, on_plain, 9)
    there = [[math.log(trial["rate"]), trial["x"]] for trial in one.trials]
    here = [list(trial.values()) for trial in other.trials]
    np.testing.assert_allclose(there[:5], here[:5], atol=1e-4)  # rounding decides what follows, near the minimum
    assert max(one.best_value, other.best_value) < 1e-3


def test_every_kernel_and_trend_finds_the_minimum() -> None:
    for strategy in (
        FOBO(kernel="rbf"),
        FOBO(kernel="rational_quadratic", trend="none"),
        FOBO(trend="bowl"),
        FOBO(trend="quadratic"),
    ):
        assert run(PLANE, unit_quadratic, 9, strategy=strategy).best_value < 1e-3


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"kernel": "x"}, "kernel must be one of matern52, rbf, rational_quadratic, got 'x'"),
        ({"kernel": "matern72"}, "kernel must be one of"),
        ({"trend": "x"}, "trend must be one of auto, none, quadratic, bowl, got 'x'"),
        ({"trend": None}, "trend must be one of"),
    ],
)
def test_options_are_checked(options: dict[str, Any], said: str) -> None:
    with pytest.raises(OptionError, match=said):
        sonde.FOBO(**options)


# gradients that are not there


@pytest.mark.parametrize("count", [1, 3])
def test_without_gradients_it_is_the_gaussian_process(count: int) -> None:
    entries = entries_of(PLANE, unit_quadratic, 12, none)
    ours, others = (given_results(PLANE, entries, strategy) for strategy in ("fobo", "gp"))
    for _ in range(2):
        points = ask(ours, count)
        assert points == ask(others, count)
        for study in (ours, others):
            for trial in [trial for trial in study.trials if trial.value is None]:
                study.tell(trial, unit_quadratic(np.array(list(trial.values())))[0])
    assert "has no gradient that it can use, and so works as gp" in ours.explain()
    assert max(FIRST, first_count(PLANE)) <= 12


@pytest.mark.parametrize("nothing", [np.nan, np.inf, -np.inf])
def test_gradients_that_are_no_numbers_are_none(nothing: float) -> None:
    missing = entries_of(PLANE, unit_quadratic, 9, none)
    empty = entries_of(PLANE, unit_quadratic, 9, lambda _, gradient: np.full(2, nothing))
    assert ask(given_results(PLANE, empty), 1) == ask(given_results(PLANE, missing, "gp"), 1)


def test_gradients_of_some_trials_and_of_some_parameters_help() -> None:
    def some(i: int, gradient: Array) -> Any:
        return [gradient, None, {"x": gradient[0]}, [np.nan, gradient[1]], [gradient[0], np.inf]][i % 5]

    study = run(PLANE, unit_quadratic, 14, some)
    assert study.best_value < 1e-5
    assert "models 14 values and 14 partial derivatives of 11 trials by a Gaussian process" in study.explain()
    assert_sound(study)


def test_one_gradient_is_enough_to_differ_from_the_gaussian_process() -> None:
    one = entries_of(PLANE, unit_quadratic, 12, lambda i, gradient: gradient if i == 3 else None)
    assert ask(given_results(PLANE, one), 2) != ask(given_results(PLANE, one, "gp"), 2)


# wrong gradients


WRONG: dict[str, Change] = {
    "wrong sign": negated,
    "other units": lambda _, gradient: 100 * gradient,
}


def test_gradients_that_follow_no_rule_do_not_stop_it() -> None:
    """They are noise to the model, as long as no neighbours are near enough to check them."""

    def garbage(i: int, gradient: Array) -> Array:
        return np.linalg.norm(gradient) * np.random.default_rng(i).normal(size=len(gradient))

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", OddHistory)
        study = run(cube(2, 2.0), smooth, 20, garbage)
    assert study.best_value < 0.1
    assert_sound(study)


@pytest.mark.parametrize("kind", WRONG)
def test_false_gradients_are_named_and_the_search_goes_on_without_them(kind: str) -> None:
    with pytest.warns(OddHistory) as caught:
        study = run(cube(2, 2.0), smooth, 20, WRONG[kind])
    said = {str(each.message) for each in caught}
    assert all("not used" in each for each in said)
    assert "the values change about" in said.pop()
    assert study.best_value < 0.1
    assert_sound(study)


@pytest.mark.parametrize(("factor", "said"), [(-1.0, "about -1 times"), (100.0, "about 0.01 times")])
def test_a_common_factor_is_reported_and_the_suggestions_are_those_of_the_gaussian_process(
    factor: float, said: str
) -> None:
    rng = np.random.default_rng(0)
    points = np.clip(np.repeat(rng.random((5, 2)), 5, axis=0) + 0.02 * rng.normal(size=(25, 2)), 0, 1)
    entries = []
    for place in points:
        value, gradient = smooth(4 * place - 2)
        entries.append({"params": {"x": place[0], "y": place[1]}, "value": value, "gradient": 4 * factor * gradient})
    study = given_results(PLANE, entries)
    with pytest.warns(OddHistory, match=said) as caught:
        points = ask(study, 2)
    assert len({str(each.message) for each in caught}) == 1
    assert points == ask(given_results(PLANE, entries, "gp"), 2)


def test_a_few_gradients_of_wrong_sign_do_not_stop_it() -> None:
    def tenth(i: int, gradient: Array) -> Any:
        return -gradient if i % 10 == 7 else gradient

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", OddHistory)
        assert run(cube(2, 2.0), smooth, 22, tenth).best_value < 1e-5


def test_noisy_gradients_raise_no_warning() -> None:
    def noisy(i: int, gradient: Array) -> Any:
        return gradient * (1 + 0.3 * np.random.default_rng(i).normal(size=len(gradient)))

    assert run(cube(2, 2.0), smooth, 16, noisy).best_value < 1e-2


def test_right_gradients_of_a_multimodal_function_raise_no_warning() -> None:
    """Warnings are errors here."""
    assert "models 24 values and 96 partial derivatives" in run(cube(4, 5.0), ackley, 24).explain()


# odd input


@pytest.mark.parametrize("size", [1e300, 1e-300, 1.7e308])
def test_the_size_of_gradients_beside_ordinary_values(size: float) -> None:
    def odd(i: int, gradient: Array) -> Any:
        return size * np.sign(gradient) if i % 2 else gradient

    study = given_results(PLANE, entries_of(PLANE, unit_quadratic, 9, odd))
    ask(study, 3)
    assert_sound(study)


@pytest.mark.parametrize("scale", [1e-300, 1e-10, 1e150])
@pytest.mark.filterwarnings("ignore::sonde.errors.OddHistory")
def test_units_of_values_and_gradients_do_not_matter(scale: float) -> None:
    def scaled(x: Array) -> tuple[float, Array]:
        value, gradient = unit_quadratic(x)
        return scale * value, scale * gradient

    study = run(PLANE, scaled, 9)
    assert study.best_value < 1e-3 * scale
    assert_sound(study)


@pytest.mark.parametrize("gradient", [0.0, 1.0, 1e300])
def test_constant_values(gradient: float) -> None:
    entries = entries_of(PLANE, lambda x: (1.0, np.full(2, gradient)), 9)
    study = given_results(PLANE, entries)
    with pytest.warns(OddHistory, match="all values so far are 1"):
        ask(study, 4)
    assert_sound(study)


def test_one_point_repeated() -> None:
    entry = {"params": {"x": 0.5, "y": 0.5}, "value": 1.0, "gradient": [1.0, -1.0]}
    study = given_results(PLANE, [entry, *[{**entry, "value": 2.0}] * 6])
    with pytest.warns(OddHistory, match="of one configuration"):
        assert len({tuple(params.values()) for params in ask(study, 4)}) == 4


def test_failures_are_avoided() -> None:
    study = sonde.Study(PLANE, strategy="fobo", seed=0)
    for _ in range(14):
        trial = study.ask()
        value, gradient = unit_quadratic(np.array(list(trial.values())))
        if trial["x"] > 0.4:
            study.tell(trial, failed="broke")
        else:
            study.tell(trial, value, gradient=gradient)
    assert study.best_value < 1e-5
    assert_sound(study)


def test_everything_failed() -> None:
    study = given_results(PLANE, [{"params": params, "failed": "broke"} for params in spread(PLANE, 12)])
    with pytest.warns(OddHistory, match="all trials so far failed"):
        ask(study, 3)
    assert_sound(study)


def test_measured_constraints_are_met() -> None:
    study = sonde.Study(PLANE, strategy="fobo", seed=0)
    for _ in range(14):
        trial = study.ask()
        value, gradient = unit_quadratic(np.array(list(trial.values())))
        study.tell(trial, value, gradient=gradient, constraints={"sum": 1 - trial["x"] - trial["y"]})
    assert study.best_value == pytest.approx(0.08, abs=0.004)  # at (0.5, 0.5)


def test_nothing_is_feasible_so_far() -> None:
    """Results that break a constraint lie near each other, and have no better one to be compared with."""
    study = sonde.Study(PLANE, strategy="fobo", seed=0)
    for _ in range(12):
        trial = study.ask()
        value, gradient = unit_quadratic(np.array(list(trial.values())))
        study.tell(trial, value, gradient=gradient, constraints={"never": 1.0 + trial["x"]})
    assert_sound(study)


def test_known_constraints_are_met() -> None:
    space = PLANE.where("x + y >= 0.9")
    study = run(space, unit_quadratic, 10)
    assert all(trial["x"] + trial["y"] >= 0.9 for trial in study.trials)
    assert study.best_value == pytest.approx(0.045, abs=0.01)  # at (0.45, 0.45)
    batch = study.ask(6)
    assert all(trial["x"] + trial["y"] >= 0.9 for trial in batch)
    assert_sound(study)


@pytest.mark.parametrize("seed", range(6))
def test_any_mix_of_results_leaves_suggestions_finite_and_distinct(seed: int) -> None:
    rng = np.random.default_rng(seed)
    odd = [0.0, 1.0, -2.5, 1e300, -1e300, 1e-300, 1.7e308, math.nan, math.inf]
    entries: list[dict[str, Any]] = []
    for params in spread(PLANE, 9):
        value, *gradient = rng.choice(odd, 3).tolist()
        if math.isfinite(value):
            entries.append({"params": params, "value": value, "gradient": gradient})
        else:
            entries.append({"params": params, "failed": "broke"})
    study = given_results(PLANE, entries)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", OddHistory)
        ask(study, 3)
    assert_sound(study)


# spaces


def mixed_result(params: Mapping[str, Any]) -> tuple[float, dict[str, float]]:
    away = math.log10(params["rate"]) + 2
    value = away**2 + (params["x"] - 0.5) ** 2 + abs(params["n"] - 42) / 20 + params["on"]
    gradient = {"rate": 2 * away / (params["rate"] * math.log(10)), "x": 2 * (params["x"] - 0.5)}
    if params["kind"] == "b":
        gradient["order"] = 0.6 * (params["order"] - 3)
        return value + 0.3 * (params["order"] - 3) ** 2, gradient
    return value + 1.0, gradient


def test_a_mixed_conditional_space() -> None:
    study = sonde.Study(MIXED, strategy="fobo", seed=0)
    for _ in range(18):
        trial = study.ask()
        value, gradient = mixed_result(trial)
        study.tell(trial, value, gradient=gradient)
    best = study.best_params
    assert study.best_value < 1.5
    assert not best["on"]
    assert abs(math.log10(best["rate"]) + 2) < 0.3
    study.ask(8)
    assert_sound(study)


def test_a_lattice_with_gradients_is_used_up() -> None:
    space = sonde.Space(n=sonde.Int(0, 3), m=sonde.Float(0, 1, step=0.25))
    study = run(space, lambda x: (float(np.sum((x - 1) ** 2)), 2 * (x - 1)), 20)
    assert study.best_value == 0.0
    assert len({tuple(trial.values()) for trial in study.trials}) == 20


def test_one_parameter() -> None:
    assert run(sonde.Space(x=sonde.Float(0, 1)), unit_quadratic, 8).best_value < 1e-8


def test_a_parameter_with_a_single_value() -> None:
    space = sonde.Space(x=sonde.Float(0, 1), one=sonde.Int(1, 1))
    study = run(space, lambda x: (float((x[0] - 0.3) ** 2), np.array([2 * (x[0] - 0.3), np.nan])), 8)
    assert study.best_value < 1e-6


def test_a_minimum_in_a_corner() -> None:
    study = run(cube(3, 1.0), lambda x: (float(np.sum(x)), np.ones(3)), 12)
    assert study.best_params == {"x0": -1.0, "x1": -1.0, "x2": -1.0}


def test_a_high_dimensional_space() -> None:
    study = run(cube(60, 2.0), smooth, 12)
    first = min(trial.value for trial in study.trials[:FIRST])
    assert study.best_value < 0.01 * first
    study.ask(3)
    assert_sound(study)


def test_a_high_dimensional_lattice_is_left_to_the_gaussian_process() -> None:
    space = sonde.Space({f"n{i}": sonde.Int(0, 9) for i in range(45)})
    entries = entries_of(space, lambda x: (float(np.sum((x - 4) ** 2)), 2 * (x - 4)), 9)
    study, other = (given_results(space, entries, strategy) for strategy in ("fobo", "gp"))
    assert "so works as gp" in study.explain()
    assert ask(study, 2) == ask(other, 2)


def test_a_high_dimensional_mixed_space() -> None:
    """Gradients of the floats are used although a category and an integer have none; those two are found as well."""
    space = sonde.Space(
        cube(42, 2.0).parameters | {"kind": sonde.Categorical(["a", "b", "c"]), "count": sonde.Int(0, 3)}
    )

    def objective(params: Any) -> sonde.Evaluation:
        value, gradients = smooth(np.array([params[f"x{i}"] for i in range(42)]))
        worse = (params["kind"] != "b") + abs(params["count"] - 2)
        return sonde.Evaluation(value + 10 * worse, gradient={f"x{i}": gradients[i] for i in range(42)})

    study = sonde.Study(space, strategy="fobo", seed=1)
    for _ in range(24):
        trial = study.ask()
        study.tell(trial, objective(trial))
    first = min(trial.value for trial in study.trials[:FIRST])
    assert study.best_value < 0.02 * first
    assert (study.best_params["kind"], study.best_params["count"]) == ("b", 2)
    assert "every other trial changes a parameter that is not continuous" in study.explain()
    study.ask(5)
    assert_sound(study)


# batches and pending points


@pytest.mark.parametrize("count", [8, 100])
def test_a_batch_is_distinct(count: int) -> None:
    study = given_results(PLANE, entries_of(PLANE, unit_quadratic, 9))
    points = np.array([list(params.values()) for params in ask(study, count)])
    assert len(points) == count
    gaps = np.abs(points[:, None] - points[None]).max(axis=2)[np.triu_indices(count, 1)]
    assert gaps.min() > 1e-9
    assert_sound(study)


def test_all_starts_of_a_batch_come_from_one_global_trend(monkeypatch: pytest.MonkeyPatch) -> None:
    space, fits = cube(60, 2.0), []
    study = given_results(space, entries_of(space, smooth, 9))

    def counted(*data: Array) -> Any:
        fits.append(fit_global_trends(*data))
        return fits[-1]

    monkeypatch.setattr(search_starts, "fit_global_trends", counted)
    points = np.array([list(params.values()) for params in ask(study, 16)])
    assert len(fits) == 1
    assert len(np.unique(points, axis=0)) == 16


@pytest.mark.parametrize("d", [2, 50])
def test_the_failure_classifier_is_fitted_once_for_a_batch(d: int, monkeypatch: pytest.MonkeyPatch) -> None:
    space, fits = cube(d, 2.0), []
    failed = [{"params": params, "failed": "broke"} for params in spread(space, 3, seed=8)]
    study = given_results(space, entries_of(space, ackley, 9) + failed)

    def counted(*data: Any) -> Any:
        fits.append(fit_feasibility(*data))
        return fits[-1]

    for module in (gradient_model, schedule):
        monkeypatch.setattr(module, "fit_feasibility", counted)
    asked = study.ask(8)
    assert len(asked) == 8
    assert len(fits) == 1


def test_batches_find_the_minimum() -> None:
    assert run(PLANE, unit_quadratic, 5, batch=4).best_value < 1e-4


def test_pending_points_are_avoided() -> None:
    study = given_results(cube(2, 5.0), entries_of(cube(2, 5.0), ackley, 9))
    points = np.array([list(ask(study, 1)[0].values()) for _ in range(6)])
    gaps = np.abs(points[:, None] - points[None]).max(axis=2)[np.triu_indices(6, 1)]
    assert gaps.min() > 1e-3
    assert_sound(study)


# reproducibility


def test_a_study_that_is_opened_again_for_every_trial_suggests_the_same(tmp_path: Any) -> None:
    whole = run(PLANE, unit_quadratic, 11, seed=3)
    for expected in whole.trials:
        with sonde.Study(PLANE, strategy="fobo", seed=3, storage=tmp_path / "runs.db", name="study") as study:
            trial = study.ask()
            assert dict(trial) == expected.params
            value, gradient = unit_quadratic(np.array(list(trial.values())))
            study.tell(trial, value, gradient=gradient)


def test_suggesting_leaves_the_history_and_the_strategy_as_they_were() -> None:
    study, strategy = given_results(PLANE, entries_of(PLANE, unit_quadratic, 9)), FOBO()
    first = strategy.suggest(PLANE, study.history, 3, Key(0, 9))
    other = given_results(PLANE, entries_of(PLANE, smooth, 11)).history
    strategy.suggest(PLANE, other, 1, Key(0, 11))  # another study in between
    np.testing.assert_array_equal(first, strategy.suggest(PLANE, study.history, 3, Key(0, 9)))
    assert len(study.history) == 9


# more gradients than fit into a matrix


def waves(x: Array) -> tuple[float, Array]:
    return float(np.sum(np.sin(2 * x) + 0.3 * x**2)), 2 * np.cos(2 * x) + 0.6 * x


def test_all_gradients_count_where_their_matrix_would_be_too_large(monkeypatch: pytest.MonkeyPatch) -> None:
    """The mean is that of the whole matrix; a subset of the gradients predicts worse."""
    space = cube(4, 2.0)
    entries, points = entries_of(space, waves, 60), spread(space, 40, seed=9)
    truth = np.array([waves(np.array(list(each.values())))[0] for each in points])
    study = given_results(space, entries)
    whole = study.predict(points)
    monkeypatch.setattr(gradient_model, "ROWS", 80)  # of 300
    many = given_results(space, entries).predict(points)
    monkeypatch.setattr(GradientFit, "posterior_of_many", lambda fit, observations, rows, few: fit.posterior(few))
    few = given_results(space, entries).predict(points)
    errors = [np.sqrt(np.mean((each.mean - truth) ** 2)) for each in (whole, many, few)]
    # Their hyperparameters come from other rows, and differ from processor to processor.
    np.testing.assert_allclose(many.mean, whole.mean, atol=0.03 * truth.std())
    assert errors[1] < 0.5 * errors[2]
    assert (many.std >= 0.999 * whole.std).all()


def test_it_goes_on_beyond_what_fits_into_a_matrix(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gradient_model, "ROWS", 40)
    monkeypatch.setattr(gradient_model, "POINTS", 16)
    study = run(cube(4, 2.0), smooth, 26)
    assert_sound(study)
    assert study.best_value < 0.05
    diagnosis = study.diagnose()
    assert len(diagnosis.numbers) == 20  # half of the rows are values
    assert diagnosis.correlation > 0.5
    assert len(ask(study, 5)) == 5
    again = given_results(study.space, [{"params": t.params, "value": t.value} for t in study.trials[:22]])
    assert_sound(again)


# starts and basins


def test_a_local_model_uses_observations_of_its_own_basin() -> None:
    """Observations nearer to another local minimum are left out."""
    study = given_results(PLANE, entries_of(PLANE, unit_quadratic, 12))
    history, model = study.history, GradientModel("matern52", (None,))
    units = history.completed.units
    centre, other = units[0], np.array([0.9, 0.9])
    alone = ActiveSearch(2.0, 1.0, centre, 0, False, np.empty((0, 2)))
    domain, columns = Domain(PLANE, history), np.arange(2)
    observations, own = local_observations(model, domain, alone, columns)
    assert len(observations.values) == 12
    beside, own_too = local_observations(model, domain, alone._replace(other_minima=other[None]), columns)
    nearer = np.linalg.norm(units - centre, axis=1) <= np.linalg.norm(units - other, axis=1)
    assert 1 < nearer.sum() < 12
    np.testing.assert_array_equal(np.sort(beside.values), np.sort(history.values[:12][nearer]))
    assert observations.values[own] == beside.values[own_too] == history.values[0]


def test_a_start_worse_than_the_median_waits_for_another_once_a_minimum_is_known() -> None:
    values = np.array([0.0, 5.0, 6.0, 1.0, 2.0, 3.0, np.inf])
    minimum, bad, worse, good = (LocalSearch(0, finished=True), LocalSearch(1), LocalSearch(2), LocalSearch(3))
    assert active_searches([bad], values) == [bad]  # nothing is known yet
    assert active_searches([minimum, bad], values) == []
    assert active_searches([minimum, good], values) == [good]
    assert active_searches([minimum, bad, worse], values) == [bad, worse]
    bad.stepped = True
    assert active_searches([minimum, bad], values) == [bad]


def test_of_the_converged_searches_only_that_of_the_incumbent_continues() -> None:
    values = np.array([0.0, 1.0])
    best, other = LocalSearch(0, converged=True), LocalSearch(1, converged=True)
    assert active_searches([best, other], values) == [best]
    assert active_searches([], np.array([np.inf])) == []


# Hessians


def test_hessians_need_a_kernel_that_is_twice_differentiable() -> None:
    def with_hessians(count: int) -> sonde.Study:
        entries = entries_of(PLANE, unit_quadratic, 7)
        for i in range(count):
            entries[i]["hessian"] = {"x": {"x": 2.0, "y": 0.0}, "y": {"y": 2.0}}
        return given_results(PLANE, entries, FOBO(trend="none"))

    profiles = {}
    for count in (0, 3):
        study = with_hessians(count)
        surrogate = GradientModel("matern52", (None,)).fit(PLANE, study.history)
        profiles[count] = surrogate.posteriors[0].covariance.profile
        ask(study, 2)
        assert_sound(study)
    assert profiles == {0: "matern52", 3: "matern72"}


def test_hessians_help_to_find_the_minimum() -> None:
    study = sonde.Study(cube(3, 2.0), strategy="fobo", seed=0)
    for _ in range(10):
        trial = study.ask()
        x = np.array(list(trial.values()))
        value, gradient = smooth(x)
        hessian = np.diag(2 * np.arange(1, 4) + 1.2 * (x - 0.7) ** 2)
        study.tell(trial, value, gradient=gradient, hessian=hessian)
    assert study.best_value < 1e-2


# what it says


def test_predictions_and_their_diagnosis() -> None:
    study = given_results(PLANE, entries_of(PLANE, unit_quadratic, 12))
    one = study.predict({"x": 0.3, "y": 0.3})
    assert one.mean == pytest.approx(0.0, abs=0.01)
    assert 0 <= one.std < 0.05
    several = study.predict([{"x": 0.3, "y": 0.3}, {"x": 1.0, "y": 1.0}])
    assert several.mean[1] == pytest.approx(0.98, rel=0.1)
    diagnosis = study.diagnose()
    assert len(diagnosis.numbers) == 12
    assert diagnosis.correlation > 0.9
    assert 0.5 <= diagnosis.coverage <= 1


def test_gradients_sharpen_predictions() -> None:
    def wavy(x: Array) -> tuple[float, Array]:
        return float(np.sin(6 * x[0]) * np.cos(5 * x[1])), np.array(
            [6 * np.cos(6 * x[0]) * np.cos(5 * x[1]), -5 * np.sin(6 * x[0]) * np.sin(5 * x[1])]
        )

    points = spread(PLANE, 30, seed=9)
    truth = np.array([wavy(np.array(list(each.values())))[0] for each in points])
    errors = [
        np.abs(given_results(PLANE, entries_of(PLANE, wavy, 12, change)).predict(points).mean - truth).mean()
        for change in (told, none)
    ]
    assert errors[0] < 0.5 * errors[1]


def test_predictions_of_what_is_maximised_are_in_its_units() -> None:
    def hill(x: Array) -> tuple[float, Array]:
        value, gradient = unit_quadratic(x)
        return 100 - value, -gradient

    study = given_results(PLANE, entries_of(PLANE, hill, 9), direction="maximize")
    assert study.predict({"x": 0.3, "y": 0.3}).mean == pytest.approx(100, abs=0.02)


def test_it_explains_itself() -> None:
    study = sonde.Study(PLANE, strategy="fobo", seed=0)
    assert f"spreads the first {FIRST} configurations evenly" in study.explain()
    study.add_trials(
        entries_of(PLANE, unit_quadratic, 6, lambda i, gradient: gradient if i % 2 else {"x": gradient[0]})
    )
    assert "models 6 values and 9 partial derivatives of 6 trials by a Gaussian process" in study.explain()
    assert (
        "with a bowl trend" in given_results(PLANE, entries_of(PLANE, unit_quadratic, 6), FOBO(trend="bowl")).explain()
    )
    assert "without a trend" in given_results(PLANE, entries_of(PLANE, unit_quadratic, 6), FOBO(trend="none")).explain()


def test_auto_takes_it_when_gradients_were_told() -> None:
    entries = entries_of(PLANE, unit_quadratic, 9)
    study = given_results(PLANE, entries, "auto")
    assert study.explain().startswith("auto: fobo, because gradients were told: models 9 values")
    assert ask(study, 2) == ask(given_results(PLANE, entries), 2)
    without = given_results(PLANE, entries_of(PLANE, unit_quadratic, 9, none), "auto")
    assert without.explain().startswith("auto: gp, because")
    nothing = given_results(PLANE, entries_of(PLANE, unit_quadratic, 9, lambda i, g: np.full(2, np.nan)), "auto")
    assert nothing.explain().startswith("auto: gp, because")
