from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import ndtr
from tests.space.spaces import examples
from tests.surrogates.models import MIXED, NUMBERS, numeric_gradient, posterior_of, units_of

from sonde.surrogates.exact.feasibility import Feasibility, PassProbability, combine, learn_constraint, learn_success
from sonde.surrogates.features import Features

UNITS = units_of(NUMBERS, 30)
NEW = units_of(NUMBERS, 8, seed=1)


def half_space() -> PassProbability:
    return learn_success(NUMBERS, UNITS, UNITS[:, 0] < 0.5)


def measured() -> PassProbability:
    return learn_constraint(NUMBERS, UNITS, 3 * (UNITS[:, 1] - 0.6) * np.exp(2 * UNITS[:, 0]))


@pytest.mark.parametrize("learned", [half_space, measured])
def test_probabilities_and_their_gradients(learned) -> None:  # type: ignore[no-untyped-def]
    passing = learned()
    logs, gradients = passing(NEW)
    assert np.all(np.isfinite(logs))
    assert np.all(logs <= 0)
    expected = numeric_gradient(lambda at: float(passing(at)[0].sum()), NEW)
    np.testing.assert_allclose(gradients, expected, rtol=1e-4, atol=1e-5)


def test_gradients_in_mixed_spaces() -> None:
    units = units_of(MIXED, 25)
    passing = learn_success(MIXED, units, (units[:, 0] < 0.6) | (units[:, 1] > 0.5))
    new = units_of(MIXED, 5, seed=1)
    expected = numeric_gradient(lambda at: float(passing(at)[0].sum()), new)
    np.testing.assert_allclose(passing(new)[1], expected, rtol=1e-5, atol=1e-6)


def test_an_easy_half_space_is_separated() -> None:
    passing = half_space()
    clear = NEW[np.abs(NEW[:, 0] - 0.5) > 0.1]
    right = (passing(clear)[0] > np.log(0.5)) == (clear[:, 0] < 0.5)
    assert right.all()
    inside, outside = np.exp(passing(np.array([[0.1, 0.5], [0.9, 0.5]]))[0])
    assert 0.9 < inside < 1
    assert 0 < outside < 0.1


def test_noiseless_failures_are_certain_at_known_points() -> None:
    """With labels that no other point contradicts; gradients are those of the probability."""
    works = (UNITS[:, 0] < 0.5) | (UNITS[:, 1] > 0.8)
    noisy, noiseless = (learn_success(NUMBERS, UNITS, works, failures) for failures in ("noisy", "noiseless"))
    doubts = [np.abs(np.exp(each(UNITS)[0]) - works).mean() for each in (noisy, noiseless)]
    assert doubts[1] < 0.5 * doubts[0]
    assert doubts[1] < 0.05
    expected = numeric_gradient(lambda at: float(noiseless(at)[0].sum()), NEW)
    np.testing.assert_allclose(noiseless(NEW)[1], expected, rtol=1e-4, atol=1e-5)


def test_probabilities_are_calibrated_where_failures_are_random() -> None:
    rng = np.random.default_rng(0)
    units = rng.random((80, 2))
    passing = learn_success(NUMBERS, units, rng.random(80) < 0.7)
    assert np.exp(passing(rng.random((200, 2)))[0]).mean() == pytest.approx(0.7, abs=0.15)


@pytest.mark.parametrize("works", [np.ones(12, bool), np.zeros(12, bool), np.arange(12) != 5],
                         ids=["all", "none", "all but one"])  # fmt: skip
def test_labels_of_one_class_do_not_make_it_certain(works: np.ndarray) -> None:
    passing = learn_success(NUMBERS, UNITS[:12], works)
    logs, gradients = passing(NEW)
    assert np.all((np.exp(logs) > 0) & (np.exp(logs) < 1))
    assert np.all(np.isfinite(gradients))
    assert (np.exp(logs).mean() > 0.5) == (works.mean() > 0.5)


def test_a_single_failure_is_avoided() -> None:
    """The study has one result and one failure."""
    units = np.array([[0.2, 0.5], [0.8, 0.5]])
    good, bad = learn_success(NUMBERS, units, np.array([True, False]))(units)[0]
    assert good > bad


def test_a_measured_constraint_is_predicted_where_it_was_measured() -> None:
    levels = UNITS[:, 1] - 0.6
    passing = learn_constraint(NUMBERS, UNITS, levels)
    np.testing.assert_array_equal(passing(UNITS)[0] > np.log(0.5), levels < 0)
    clear = NEW[np.abs(NEW[:, 1] - 0.6) > 0.05]
    np.testing.assert_array_equal(passing(clear)[0] > np.log(0.5), clear[:, 1] < 0.6)


def test_a_measured_constraint_is_the_probability_of_the_posterior() -> None:
    passing = measured()
    predicted = passing.posterior.marginals(NUMBERS(NEW))
    level = passing.offset - predicted.mean[:, 0]  # minus the predicted level, in standard deviations of the levels
    expected = ndtr(level / np.sqrt(predicted.variance))
    np.testing.assert_allclose(np.exp(passing(NEW)[0]), expected, rtol=1e-6, atol=1e-12)


@pytest.mark.parametrize("factor", [1e-300, 1e-6, 1e6, 1e300])
def test_the_unit_of_a_constraint_does_not_matter(factor: float) -> None:
    levels = UNITS[:, 1] - 0.6
    np.testing.assert_allclose(
        learn_constraint(NUMBERS, UNITS, factor * levels)(NEW)[0], learn_constraint(NUMBERS, UNITS, levels)(NEW)[0],
        rtol=1e-3, atol=1e-6,
    )  # fmt: skip


@pytest.mark.parametrize("level", [-1e300, -1.0, -1e-300, 0.0, 1e-300, 0.1, 1e300])
@pytest.mark.parametrize("count", [1, 10])
def test_a_constant_constraint_stays_finite(level: float, count: int) -> None:
    logs, gradients = learn_constraint(NUMBERS, UNITS[:count], np.full(count, level))(NEW)
    assert np.all(np.isfinite(logs))
    assert np.all(np.isfinite(gradients))
    assert np.all((logs > np.log(0.5)) == (level < 0)) or level == 0


def test_the_largest_levels_stay_finite() -> None:
    logs, gradients = learn_constraint(NUMBERS, UNITS[:4], np.array([1.7e308, -1.7e308, 1.0, 0.0]))(NEW)
    assert np.all(np.isfinite(logs))
    assert np.all(np.isfinite(gradients))


@examples(25)
@given(levels=st.lists(st.floats(-1e300, 1e300), min_size=1, max_size=8))
def test_any_levels_give_finite_probabilities(levels: list[float]) -> None:
    logs, gradients = learn_constraint(NUMBERS, UNITS[: len(levels)], np.array(levels))(NEW)
    assert np.all(np.isfinite(logs))
    assert np.all(logs <= 0)
    assert np.all(np.isfinite(gradients))


@examples(50)
@given(offset=st.floats(-1e8, 1e8), extra=st.sampled_from([1.0, 1e-12]))
def test_infeasible_points_have_finite_gradients(offset: float, extra: float) -> None:
    logs, gradients = PassProbability(posterior_of(NUMBERS), NUMBERS, -1.0, offset, extra)(NEW)
    assert np.all(np.isfinite(logs))
    assert np.all(np.isfinite(gradients))


@pytest.mark.parametrize("offset", [-1e2, -1e4, -1e6, -1e7])
def test_infeasible_points_have_accurate_gradients(offset: float) -> None:
    """For z far below 0, log P is about -z^2 / 2 and its derivative -z."""
    posterior = posterior_of(NUMBERS)
    passing = PassProbability(posterior, NUMBERS, 1.0, offset, 1.0)
    predicted = posterior.marginals(NUMBERS(NEW))
    width = np.sqrt(1 + predicted.variance)
    z = (predicted.mean[:, 0] + offset) / width
    expected = NUMBERS.vjp(predicted.vjp(-(z / width)[:, None], 0.5 * z * z / width**2), NEW)
    np.testing.assert_allclose(
        passing(NEW)[1], expected, rtol=max(2 / offset**2, 1e-4), atol=1e-4 * abs(expected).max()
    )


def test_conditions_are_multiplied_as_independent() -> None:
    one, two = half_space(), measured()
    both = combine([one, two])
    assert isinstance(both, Feasibility)
    np.testing.assert_allclose(both(NEW)[0], one(NEW)[0] + two(NEW)[0])
    np.testing.assert_allclose(both(NEW)[1], one(NEW)[1] + two(NEW)[1])
    assert combine([]) is None


def test_a_category_that_always_fails_is_found() -> None:
    features = Features((0, 3))
    units = units_of(features, 30)
    passing = learn_success(features, units, features(units)[:, 2] == 0)
    probabilities = np.exp(passing(np.array([[0.5, 1 / 6], [0.5, 0.5], [0.5, 5 / 6]]))[0])
    assert probabilities[1] < 0.2
    assert probabilities[[0, 2]].min() > 0.8


def test_a_few_failures_among_many_results_are_found() -> None:
    """Hyperparameters are fitted to a subset of the results that includes the rarer class."""
    units = units_of(NUMBERS, 600)
    works = units[:, 0] < 0.98
    assert 5 < np.sum(~works) < 30
    edge, middle = np.array([[0.995, 0.5, 0.5], [0.3, 0.5, 0.5]])[:, : units.shape[1]]
    probabilities = np.exp(learn_success(NUMBERS, units, works)(np.array([edge, middle]))[0])
    assert probabilities[0] < 0.5 < 0.95 < probabilities[1]
