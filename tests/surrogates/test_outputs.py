from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.space.spaces import examples
from tests.surrogates.models import numeric_gradient

from sonde.surrogates.outputs import KAPPAS, Scale

TAME = np.array([3.0, 1.0, 4.0, 1.5, 9.0, 2.6, 5.0])
DECADES = np.array([1e-3, 1e4, 1.0, 10.0, 2e2, 3e3, 0.1])
EXTREMES = {
    "huge": np.array([1e300, -1e300, 3e299, 0.0, 7e299]),
    "the largest": np.array([1.7e308, -1.7e308, 1.0, -1.0, 1.6e308]),
    "the largest, in pairs": np.array([1.7e308, 1.7e308, 1.6e308, 1.6e308]),
    "tiny": np.array([1e-300, 3e-300, -2e-300, 0.0]),
    "subnormal": np.array([5e-324, 0.0, 1e-320, -5e-324]),
    "huge and tiny": np.array([1e300, 1e-300, 1.0, -1e-300, 1e150]),
    "constant": np.full(6, 0.1),
    "huge and constant": np.full(4, 1e300),
    "zero": np.zeros(3),
    "one": np.array([2.5]),
    "one outlier": np.array([0.0, 0.0, 0.0, 0.0, 1e300]),
    "one outlier below": np.array([0.0, 0.0, 0.0, 0.0, -1e300]),
    "nearly equal": np.array([1.0, 1.0 + 2e-16, 1.0, 1.0 + 4e-16]),
    "near the best": np.array([0.0, 1e-300, 2e-300, 1.0, 1e300]),
}
WITHIN = {name: values for name, values in EXTREMES.items() if np.max(np.abs(values)) <= 1e300}


@pytest.mark.parametrize("kappa", KAPPAS)
@pytest.mark.parametrize("values", [TAME, DECADES], ids=["tame", "decades"])
def test_values_are_standardized_and_their_order_is_reversed(values: np.ndarray, kappa: float | None) -> None:
    scaled = Scale.of(values, kappa)(values)
    assert scaled.mean() == pytest.approx(0, abs=1e-12)
    assert scaled.std() == pytest.approx(1, rel=1e-12)
    np.testing.assert_array_equal(np.argsort(scaled), np.argsort(-values))


def test_the_linear_scale_and_the_logarithm_are_their_formulas() -> None:
    values = np.array([1.0, 3.0, 11.0, 101.0, 1001.0])
    plain, log = Scale.of(values)(values), Scale.of(values, 0.1)(values)
    np.testing.assert_allclose(plain, -(values - values.mean()) / values.std(), rtol=1e-12)
    logarithms = np.log(values - 1.0 + 0.1 * (11.0 - 1.0))
    np.testing.assert_allclose(log, -(logarithms - logarithms.mean()) / logarithms.std(), rtol=1e-10)


@pytest.mark.parametrize("kappa", KAPPAS)
@pytest.mark.parametrize(
    "values", [TAME, DECADES, 1e300 * TAME, 1e-300 * TAME], ids=["tame", "decades", "huge", "tiny"]
)
def test_restore_is_the_inverse(values: np.ndarray, kappa: float | None) -> None:
    scale = Scale.of(values, kappa)
    means, deviations = scale.restore(scale(values), np.full(len(values), 1e-20))
    np.testing.assert_allclose(means, values, rtol=1e-9, atol=1e-12 * np.ptp(values))
    assert np.all(deviations < 1e-8 * np.ptp(values))
    assert np.all(deviations > 0)


@pytest.mark.parametrize("kappa", KAPPAS)
def test_a_prediction_is_restored_to_its_median_and_half_its_central_interval(kappa: float | None) -> None:
    scale = Scale.of(TAME, kappa)
    mean, deviation = np.array([0.3]), np.sqrt([0.5])
    (worse, median, better), _ = scale.restore(mean + deviation * np.array([-1, 0, 1]), np.zeros(3))
    means, deviations = scale.restore(mean, deviation**2)
    np.testing.assert_allclose(means, median, rtol=1e-12)
    np.testing.assert_allclose(deviations, (worse - better) / 2, rtol=1e-12)


@pytest.mark.parametrize("kappa", KAPPAS)
def test_the_jacobian_and_the_noise_follow_from_the_derivative(kappa: float | None) -> None:
    scale = Scale.of(TAME, kappa)
    gradients = np.array([numeric_gradient(lambda at: float(scale(at)[0]), np.array([value]))[0] for value in TAME])
    # without the range, which all scales of these values share
    expected = np.sum(np.log(-gradients)) + len(TAME) * np.log(scale.range)
    assert scale.log_jacobian(TAME) == pytest.approx(expected, rel=1e-7)
    np.testing.assert_allclose(scale.noise(TAME, np.full(len(TAME), 0.02)), (0.02 * gradients) ** 2, rtol=1e-6)


@pytest.mark.parametrize("kappa", KAPPAS)
@pytest.mark.parametrize("values", [TAME, DECADES], ids=["tame", "decades"])
def test_the_slope_is_the_derivative_of_the_scale(values: np.ndarray, kappa: float | None) -> None:
    """By a complex step, which has no cancellation: the scale has no branches above its floor."""
    scale, step = Scale.of(values, kappa), 1e-30 * np.ptp(values)
    np.testing.assert_allclose(scale.slope(values), scale(values + 1j * step).imag / step, rtol=1e-11)
    assert np.all(scale.slope(values) < 0)


@pytest.mark.parametrize("kappa", KAPPAS)
def test_derivatives_of_a_function_on_the_scale_follow_the_chain_rule(kappa: float | None) -> None:
    """(g f)' = g' f' and (g f)'' = g' f'' + g'' f'^2, against finite differences."""
    scale, x, step = Scale.of(TAME, kappa), np.array([0.3, 0.9, 1.4]), 1e-4

    def function(at: np.ndarray) -> np.ndarray:
        return 4 + np.sin(2 * at) + at**2

    first, second = 2 * np.cos(2 * x) + 2 * x, 2 - 4 * np.sin(2 * x)
    low, here, high = (scale(function(x + move)) for move in (-step, 0.0, step))
    slope = scale.slope(function(x))
    curve = scale.curvature * slope**2
    np.testing.assert_allclose(slope * first, (high - low) / (2 * step), rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(slope * second + curve * first**2, (high - 2 * here + low) / step**2, atol=1e-5)


@pytest.mark.parametrize("kappa", KAPPAS)
@pytest.mark.parametrize("values", EXTREMES.values(), ids=EXTREMES)
def test_derivatives_of_extreme_values_are_finite(values: np.ndarray, kappa: float | None) -> None:
    scale = Scale.of(values, kappa)
    assert np.isfinite(scale.slope(values)).all()
    assert np.all(scale.slope(values) < 0)
    assert np.isfinite(scale.curvature)


def test_the_linear_scale_has_a_constant_slope_and_no_curvature() -> None:
    scale = Scale.of(TAME)
    np.testing.assert_allclose(scale.slope(TAME), -1 / TAME.std(), rtol=1e-12)
    assert scale.curvature == 0.0


def test_all_scales_share_the_range_that_the_jacobian_leaves_out() -> None:
    assert len({Scale.of(DECADES, kappa).range for kappa in KAPPAS}) == 1


@pytest.mark.parametrize("kappa", KAPPAS)
def test_noise_that_is_not_given_is_zero(kappa: float | None) -> None:
    noise = Scale.of(TAME, kappa).noise(TAME, np.array([np.nan, 0.1, np.nan, 0.0, 0.3, np.nan, np.nan]))
    np.testing.assert_array_equal(noise > 0, [False, True, False, False, True, False, False])


@pytest.mark.parametrize("kappa", KAPPAS)
def test_a_value_below_all_others_is_the_best_on_any_scale(kappa: float | None) -> None:
    scaled = Scale.of(DECADES, kappa)(np.array([-1e300, -1e9, DECADES.min()]))
    assert np.all(np.isfinite(scaled))
    assert np.all(np.diff(scaled) <= 0)


@pytest.mark.parametrize("kappa", [None, 0.1])
@pytest.mark.parametrize("name", EXTREMES)
def test_extreme_values_stay_finite(name: str, kappa: float | None) -> None:
    values = EXTREMES[name]
    scale = Scale.of(values, kappa)
    scaled = scale(values)
    assert np.all(np.isfinite(scaled))
    assert np.all(np.abs(scaled) < 10)
    assert np.all(np.diff(scaled[np.argsort(values, kind="stable")]) <= 0)
    assert np.isfinite(scale.log_jacobian(values))


@pytest.mark.parametrize("kappa", [None, 0.1])
@pytest.mark.parametrize("deviation", [1e-300, 1.0, 1e300])
def test_given_noise_of_any_size_stays_finite(kappa: float | None, deviation: float) -> None:
    for name, values in WITHIN.items():
        noise = Scale.of(values, kappa).noise(values, np.full(len(values), deviation))
        assert np.all((noise >= 0) & (noise <= 1e6)), name


@pytest.mark.parametrize("kappa", [None, 0.1])
@pytest.mark.parametrize("name", WITHIN)
def test_extreme_values_are_restored_to_finite_ones(name: str, kappa: float | None) -> None:
    values = WITHIN[name]
    scale = Scale.of(values, kappa)
    for variance in (0.0, 1e-6, 1.0, 100.0):
        means, deviations = scale.restore(scale(values), np.full(len(values), variance))
        assert np.all(np.isfinite(means))
        assert np.all(np.isfinite(deviations))
        assert np.all(deviations >= 0)


@examples(100)
@given(values=st.lists(st.floats(-1e300, 1e300), min_size=1, max_size=8), kappa=st.sampled_from(KAPPAS))
def test_any_values_have_a_scale(values: list[float], kappa: float | None) -> None:
    observed = np.array(values)
    scale = Scale.of(observed, kappa)
    scaled = scale(observed)
    assert np.all(np.isfinite(scaled))
    assert np.all(np.diff(scaled[np.argsort(observed, kind="stable")]) <= 0)
    assert np.isfinite(scale.log_jacobian(observed))
