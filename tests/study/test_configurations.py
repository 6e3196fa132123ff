"""Distinct configurations, and the noise estimated from their results."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.space.spaces import examples
from tests.trials.histories import history_of

from sonde.space import Categorical, Float, Space
from sonde.study.best import with_residual
from sonde.study.configurations import Configurations, configurations_of, least_share
from sonde.trials import Evaluation, failure, to_outcome

SPACE = Space(kind=Categorical(["a", "b"]), x=Float(0, 1, when={"kind": "b"}))
A, B, C = {"kind": "a"}, {"kind": "b", "x": 0.25}, {"kind": "b", "x": 0.5}


def configurations(*results: tuple[dict[str, object], float | Evaluation]) -> Configurations:
    return configurations_of(history_of(SPACE, [(params, to_outcome(value, SPACE)) for params, value in results]))


def test_each_configuration_appears_once_with_its_first_trial() -> None:
    found = configurations((C, 1.0), (A, 4.0), (C, 3.0), (B, 5.0), (A, 4.0))
    np.testing.assert_array_equal(found.first, [0, 1, 3])
    np.testing.assert_array_equal(found.means, [2.0, 4.0, 5.0])


def test_failed_and_infeasible_trials_are_left_out() -> None:
    broken = to_outcome(Evaluation(-9.0, constraints={"c": 0.1}), SPACE)
    history = history_of(
        SPACE, [(A, broken), (B, failure("why")), (C, to_outcome(2.0, SPACE)), (A, to_outcome(1.0, SPACE))]
    )
    found = configurations_of(history)
    np.testing.assert_array_equal(found.first, [2, 3])
    np.testing.assert_array_equal(found.means, [2.0, 1.0])


def test_noise_is_unknown_without_repetitions() -> None:
    found = configurations((A, 1.0), (B, 2.0))
    np.testing.assert_array_equal(found.variances, [0.0, 0.0])
    np.testing.assert_array_equal(found.noise, [0.0, 0.0])


def test_declared_noise_is_used_and_weighs_results() -> None:
    found = configurations((A, Evaluation(1.0, noise=1.0)), (A, Evaluation(4.0, noise=2.0)), (B, 2.0))
    assert found.means[0] == pytest.approx((1.0 + 4.0 / 4) / 1.25)
    assert found.variances[0] == pytest.approx(1 / 1.25)
    assert found.declared.tolist() == [True, False]
    assert found.noise[0] == pytest.approx(2.5)


def test_without_repetitions_undeclared_noise_is_the_mean_declared_noise() -> None:
    found = configurations((A, Evaluation(1.0, noise=3.0)), (B, 2.0))
    np.testing.assert_allclose(found.variances, [9.0, 9.0])


def test_the_noise_bound_of_repetitions_tightens_with_their_number() -> None:
    rng = np.random.default_rng(0)
    few = configurations(*((A, value) for value in (0.0, 1.0)), (B, 0.0))
    assert few.noise[1] == pytest.approx(0.5 * 1000)  # next to nothing is known
    many = configurations(*((A, value) for value in rng.standard_normal(200)), (B, 0.0))
    assert 1.0 < many.noise[1] < 1.5
    assert many.variances[0] == pytest.approx(many.noise[0] / 200)


@pytest.mark.parametrize(("freedom", "quantile"), [(2, 0.1026), (5, 1.1455), (10, 3.9403), (100, 77.929)])
def test_the_chi_squared_quantile_is_that_of_tables(freedom: int, quantile: float) -> None:
    assert least_share(freedom) * freedom == pytest.approx(quantile, rel=0.25 if freedom < 5 else 0.02)


def test_the_best_configurations_stay_in_their_order() -> None:
    found = configurations((A, 3.0), (B, 1.0), (C, 2.0)).best(2)
    np.testing.assert_array_equal(found.first, [1, 2])
    assert len(found) == 2


# what the model leaves over


def rest(unexplained: float, *results: tuple[dict[str, object], float | Evaluation]) -> tuple[float, float]:
    """Mean and variance of the first configuration, for which the model predicts mean 10 and variance 1."""
    found = configurations(*results)
    each = np.ones(len(found))
    means, variances = with_residual(10 * each, each, unexplained * each, found)
    return float(means[0]), float(variances[0])


def test_unexplained_variance_is_noise_if_the_noise_is_unknown() -> None:
    assert rest(4.0, (A, 2.0), (B, 3.0)) == (10.0, 1.0)


def test_unexplained_variance_beyond_declared_noise_belongs_to_the_objective() -> None:
    assert rest(4.0, (A, Evaluation(2.0, noise=2.0))) == pytest.approx((6.0, 0.25 + 2.0))
    assert rest(0.0, (A, Evaluation(2.0, noise=2.0))) == (10.0, 1.0)
    assert rest(4.0, (A, Evaluation(2.0, noise=0.0)), (B, 0.0)) == pytest.approx((2.0, 0.0), abs=1e-6)


def test_unexplained_variance_up_to_that_of_repetitions_is_noise() -> None:
    values = [(A, value) for value in 2 + np.random.default_rng(0).standard_normal(100)]
    assert rest(1.0, *values) == (10.0, 1.0)
    mean, variance = rest(1e4, *values)
    assert mean == pytest.approx(2.0, abs=0.3)
    assert variance == pytest.approx(0.01, rel=0.5)


NUMBERS = st.sampled_from([0.0, 1.0, -1.0, 1e-300, 1.7e308, -1.7e308])


@examples(80)
@given(
    st.lists(
        st.tuples(st.sampled_from([A, B, C]), NUMBERS, st.sampled_from([None, 0.0, 1e-300, 1.0, 1.7e308])), min_size=1
    )
)
def test_values_of_any_magnitude_give_finite_results(
    results: list[tuple[dict[str, object], float, float | None]],
) -> None:
    found = configurations(*((params, Evaluation(value, noise=noise)) for params, value, noise in results))
    assert np.isfinite([found.means, found.variances, found.noise]).all()
    assert len(found) == len({repr(params) for params, _, _ in results})
    values = [value for _, value, _ in results]
    assert min(values) <= found.means.min() or math.isclose(min(values), found.means.min(), abs_tol=1e-15)
