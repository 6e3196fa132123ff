"""Each piece of advice: a study that calls for it, and one that does not."""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
import pytest

import sonde
from sonde.report.about_results import failures, noise, plateau, too_few, warned
from sonde.report.about_space import at_bounds, not_logarithmic, unimportant
from sonde.report.evidence import Evidence
from sonde.report.failures import reasons_of, region_of

RNG = np.random.default_rng


def filled(
    space: sonde.Space, rows: Sequence[dict[str, Any]], value: Callable[..., Any], **options: Any
) -> sonde.Study:
    """A study with the values of a function at these configurations; where it returns a text, a failure."""
    study = sonde.Study(space, seed=0, **options)
    results = [(row, value(**row)) for row in rows]
    kind = {True: "failed", False: "value"}
    study.add_trials([{"params": row, kind[isinstance(result, str)]: result} for row, result in results])
    return study


def spread(space: sonde.Space, count: int) -> list[dict[str, Any]]:
    """Configurations all over a space."""
    return [dict(trial) for trial in sonde.Study(space, strategy="sobol", seed=1).ask(count)]


def sentences(study: sonde.Study, function: Callable[[Evidence], Iterable[str]]) -> list[str]:
    """What one piece of advice says."""
    return list(function(Evidence(study)))


LOG = sonde.Space(gamma=sonde.Float(1e-4, 1, log=True), x=sonde.Float(0, 1))


def test_a_bound_that_holds_the_best_back_is_named() -> None:
    rows = [{"gamma": 10**-u, "x": x} for u, x in zip(4 * RNG(0).random(40) ** 3, RNG(1).random(40), strict=True)]
    study = filled(LOG, rows, lambda gamma, x: -math.log(gamma) + (x - 0.4) ** 2)
    (said,) = sentences(study, at_bounds)
    assert re.search(
        r"of the 5 best trials have gamma at its upper bound 1, or within 2% of its logarithmic scale", said
    )
    assert "larger values" in said


def test_a_best_value_inside_has_no_bound() -> None:
    rows = [{"gamma": 10**-u, "x": x} for u, x in zip(4 * RNG(0).random(40), RNG(1).random(40), strict=True)]
    assert not sentences(filled(LOG, rows, lambda gamma, x: (math.log10(gamma) + 2) ** 2 + (x - 0.4) ** 2), at_bounds)


def test_one_trial_at_a_bound_is_no_evidence() -> None:
    rows = [{"gamma": 1.0, "x": 0.4}, *({"gamma": 10**-u, "x": 0.5} for u in np.linspace(1, 3, 30).tolist())]
    assert not sentences(filled(LOG, rows, lambda gamma, x: 0.0 if gamma == 1 else 1 + gamma), at_bounds)


def test_the_ends_of_a_lattice_are_bounds_and_categories_have_none() -> None:
    space = sonde.Space(layers=sonde.Int(1, 9), act=sonde.Categorical(["a", "b", "c"]))
    rows = [{"layers": 1 + i % 9, "act": "abc"[i % 3]} for i in range(60)]
    (said,) = sentences(filled(space, rows, lambda layers, act: -layers - 0.01 * (act == "c")), at_bounds)
    assert "layers at its upper bound 9:" in said


def test_a_trial_on_a_front_may_lie_at_a_bound() -> None:
    rows = [{"gamma": 1.0 if i % 2 else 0.01, "x": i / 59} for i in range(60)]
    study = filled(
        LOG, rows, lambda gamma, x: {"loss": x - gamma, "time": 1 - x - gamma},
        objectives={"loss": "minimize", "time": "minimize"},
    )  # fmt: skip
    (said,) = sentences(study, at_bounds)
    assert "of the 30 trials of the front have gamma at its upper bound 1" in said


THREE = sonde.Space(a=sonde.Float(0, 1), b=sonde.Float(0, 1), idle=sonde.Float(0, 1))


def test_a_parameter_that_does_not_matter_is_named() -> None:
    study = filled(THREE, spread(THREE, 40), lambda a, b, idle: math.sin(5 * a) + 2 * b)
    (said,) = sentences(study, unimportant)
    assert "hardly depends on idle: it has at most" in said
    assert float(re.findall(r"([\d.]+)%", said)[0]) <= 2


def test_parameters_that_matter_are_not() -> None:
    study = filled(THREE, spread(THREE, 40), lambda a, b, idle: math.sin(5 * a) + 2 * b + math.cos(4 * idle))
    assert not sentences(study, unimportant)


def test_a_parameter_that_matters_at_the_best_is_not() -> None:
    study = filled(THREE, spread(THREE, 60), lambda a, b, idle: 30 * (b - 0.5) ** 2 + (a - 0.5) ** 2)
    (said,) = sentences(study, unimportant)
    assert "hardly depends on idle: it has" in said  # and not on a, which has little of the variance, too


def test_a_parameter_that_matters_to_one_of_several_objectives_is_not() -> None:
    both = {"objectives": {"loss": "minimize", "time": "minimize"}}
    rows = spread(THREE, 40)
    study = filled(THREE, rows, lambda a, b, idle: {"loss": math.sin(5 * a) + b, "time": a + 2 * idle}, **both)
    assert not sentences(study, unimportant)
    study = filled(THREE, rows, lambda a, b, idle: {"loss": math.sin(5 * a) + b, "time": a + 2 * b}, **both)
    (said,) = sentences(study, unimportant)
    assert "No value depends much on idle" in said


def test_too_few_results_say_nothing_about_parameters() -> None:
    assert not sentences(filled(THREE, spread(THREE, 3), lambda a, b, idle: a), unimportant)


ONE = sonde.Space(x=sonde.Float(0, 1))


def test_noise_above_the_gain_left_is_named() -> None:
    study = sonde.Study(ONE, seed=0)
    errors = RNG(0).normal(size=60)
    study.add_trials([
        {"params": {"x": x}, "value": (x - 0.5) ** 2 + 0.3 * e, "noise": 0.3}
        for x, e in zip(np.linspace(0.3, 0.7, 60).tolist(), errors.tolist(), strict=True)
    ])  # fmt: skip
    (said,) = sentences(study, noise)
    assert "standard deviation 0.3" in said
    assert "times the improvement that the model still expects" in said


def test_small_noise_is_not() -> None:
    study = sonde.Study(ONE, seed=0)
    study.add_trials([{"params": {"x": x}, "value": math.sin(20 * x), "noise": 1e-6} for x in (0.1, 0.35, 0.6, 0.9)])
    assert not sentences(study, noise)


SIZED = sonde.Space(width=sonde.Int(1, 1000), x=sonde.Float(0, 1), act=sonde.Categorical(["relu", "tanh"]))


def test_failures_with_one_reason_have_a_place() -> None:
    study = filled(SIZED, spread(SIZED, 60), lambda width, x, act: f"out of memory at {width}" if width > 700 else x)
    (said,) = sentences(study, failures)
    assert "out of memory at" in said
    assert re.search(r"With width above (69\d|70\d|71\d)(\.\d)? it is (\d+) of \3", said)


def test_a_choice_may_be_the_place_of_failures() -> None:
    study = filled(SIZED, spread(SIZED, 60), lambda width, x, act: "overflow" if act == "tanh" else x)
    (said,) = sentences(study, failures)
    assert "With act = 'tanh'" in said


def test_failures_all_over_the_space_have_no_place() -> None:
    rows = spread(SIZED, 60)
    unlucky = {row["x"] for row, u in zip(rows, RNG(3).random(60), strict=True) if u < 0.3}
    study = filled(SIZED, rows, lambda width, x, act: "killed" if x in unlucky else x)
    (said,) = sentences(study, failures)
    assert "With" not in said


def test_a_few_failures_are_not_worth_a_sentence() -> None:
    study = filled(SIZED, spread(SIZED, 60), lambda width, x, act: "out of memory" if width > 960 else x)
    assert not sentences(study, failures)


def test_reasons_that_differ_in_numbers_are_one() -> None:
    study = filled(ONE, spread(ONE, 6), lambda x: f"loss is {x}" if x < 0.9 else "other")
    reasons = reasons_of(study.trials)
    assert sum(len(reason.trials) for reason in reasons) == 6
    assert len(reasons) <= 2
    assert region_of(ONE, study.history.rows, np.ones(6, dtype=bool)) is None


STEEP = sonde.Space(rate=sonde.Float(1e-4, 1), x=sonde.Float(0, 1))


def test_a_parameter_that_should_be_logarithmic_is_named() -> None:
    study = filled(STEEP, spread(STEEP, 80), lambda rate, x: (math.log10(rate) + 1.5) ** 2 + 0.1 * x)
    (said,) = sentences(study, not_logarithmic)
    assert "Float(0.0001, 1, log=True)" in said
    assert "lowest 10% of rate's range" in said


def test_a_linear_parameter_is_not() -> None:
    assert not sentences(filled(STEEP, spread(STEEP, 80), lambda rate, x: (rate - 0.5) ** 2 + x), not_logarithmic)


def test_a_study_of_few_results_is_told_how_many_are_needed() -> None:
    (said,) = sentences(filled(THREE, spread(THREE, 2), lambda a, b, idle: a), too_few)
    assert "a model of 3 parameters begins with 4 results, and there are 2" in said
    assert not sentences(filled(THREE, spread(THREE, 4), lambda a, b, idle: a), too_few)


def test_a_plateau_may_be_left() -> None:
    rows = [{"x": x} for x in [0.5, *np.linspace(0, 1, 60).tolist()]]
    (said,) = sentences(filled(ONE, rows, lambda x: (x - 0.5) ** 2), plateau)
    assert "The last 60 results brought no improvement" in said


def test_recent_progress_is_no_plateau() -> None:
    rows = [{"x": x} for x in np.linspace(0, 0.5, 60).tolist()]
    assert not sentences(filled(ONE, rows, lambda x: (x - 0.5) ** 2), plateau)


def test_much_left_to_expect_is_no_plateau() -> None:
    rows = [{"x": 0.0}, *({"x": x} for x in np.linspace(0.001, 0.3, 40).tolist())]
    assert not sentences(filled(ONE, rows, lambda x: math.sin(14 * x) if x else -1.001), plateau)


def test_warnings_of_the_strategy_are_repeated() -> None:
    (said,) = sentences(filled(ONE, spread(ONE, 6), lambda x: 3.0), warned)
    assert said == "All values so far are 3; does the objective use its parameters?"
    (said,) = sentences(filled(ONE, spread(ONE, 6), lambda x: "no GPU"), warned)
    assert said == "All trials so far failed; look at a trial's error, or narrow the space."
    assert not sentences(filled(ONE, spread(ONE, 6), lambda x: x), warned)


@pytest.mark.parametrize("count", [0, 1])
def test_without_evidence_there_is_no_advice(count: int) -> None:
    study = filled(ONE, spread(ONE, max(count, 1))[:count], lambda x: x)
    assert len(study.advice()) == count  # that one result is too few


def test_all_advice_comes_together_and_objectives_are_named() -> None:
    study = filled(
        STEEP, spread(STEEP, 80), lambda rate, x: {"loss": x + rate, "<i>": (math.log10(rate) + 1.5) ** 2 + 0.1 * x},
        objectives={"loss": "minimize", "<i>": "minimize"},
    )  # fmt: skip
    (said,) = (each for each in study.advice() if "log=True" in each)
    assert "the values of '<i>' change most there" in said


def test_advice_says_numbers_and_never_warns() -> None:
    names = {"x": sonde.Float(0, 1), "n" * 200 + "<script>": sonde.Float(0, 1), "שלום": sonde.Bool()}
    study = sonde.Study(sonde.Space(names), seed=0)
    study.add_trials([
        {"params": dict(zip(names, values, strict=True)), "value": value}
        for values, value in [((0.1, 0.5, True), 1e100), ((0.2, 0.5, False), -1e100), ((0.3, 0.5, True), 0.0)] * 4
    ])  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        said = study.advice()
    assert all(len(sentence) < 600 for sentence in said)
