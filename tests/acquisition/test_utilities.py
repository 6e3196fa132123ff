from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.space.spaces import examples
from tests.surrogates.models import numeric_gradient

from sonde.acquisition.closed import BETA
from sonde.acquisition.utilities import SMOOTH, UTILITIES

THREE = st.lists(st.floats(-1e8, 1e8), min_size=3, max_size=3)


def sampled(batches: int = 2, samples: int = 6, size: int = 3) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    return rng.normal(size=(batches, 1, size)), rng.normal(size=(batches, samples, size))


def test_each_utility_is_its_row_of_the_table() -> None:
    mean, spread = np.array([[[0.2, -0.4]]]), np.array([[[0.5, 1.6], [-0.9, -0.1]]])  # maxima 1.2 and -0.5
    values = {name: utility.function(mean, spread, 0.3)[0][0] for name, utility in UTILITIES.items()}
    np.testing.assert_allclose(values["ei"], [0.9, 0.0])
    np.testing.assert_allclose(values["sr"], [1.2, -0.5])
    np.testing.assert_allclose(values["pi"], [1.0, 0.0], atol=1e-10)
    stretched = np.sqrt(BETA * np.pi / 2) * np.abs(spread[0])
    np.testing.assert_allclose(values["ucb"], (mean[0] + stretched).max(axis=-1))
    assert values["log_ei"][0] == pytest.approx(np.log(0.9), abs=1e-9)
    assert values["log_ei"][1] == pytest.approx(np.log(SMOOTH) + (-0.5 - 0.3) / SMOOTH, abs=1e-3)  # a linear tail


@pytest.mark.parametrize("name", UTILITIES)
def test_gradients_match_finite_differences(name: str) -> None:
    mean, spread = sampled()
    function = UTILITIES[name].function
    value, mean_gradient, spread_gradient = function(mean, spread, 0.7)
    assert value.shape == (2, 6)
    assert mean_gradient.shape == spread_gradient.shape == (2, 6, 3)
    means = np.broadcast_to(mean, spread.shape)
    in_mean = numeric_gradient(lambda at: float(function(at, spread, 0.7)[0].sum()), means)
    in_spread = numeric_gradient(lambda at: float(function(means, at, 0.7)[0].sum()), spread)
    np.testing.assert_allclose(mean_gradient, in_mean, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(spread_gradient, in_spread, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", UTILITIES)
@examples(25)
@given(mean=THREE, spread=THREE)
def test_any_outcomes_have_finite_values_and_gradients(name: str, mean: list[float], spread: list[float]) -> None:
    for part in UTILITIES[name].function(np.array([[mean]]), np.array([[spread]]), 0.0):
        assert np.all(np.isfinite(part))


def test_log_ei_is_close_to_the_logarithm_and_its_gradient_never_vanishes() -> None:
    gains = np.linspace(-3, 3, 601)
    value, gradient, _ = UTILITIES["log_ei"].function(gains[None, :, None], np.zeros((1, 601, 1)), 0.0)
    assert np.all(gradient > 0.3)
    assert np.all(np.diff(value) > 0)
    clear = gains > 10 * SMOOTH
    np.testing.assert_allclose(value[0, clear], np.log(gains[clear]), atol=1e-4)


@pytest.mark.jax
def test_a_utility_written_in_jax_equals_the_one_written_by_hand() -> None:
    import jax.numpy as jnp

    from sonde.acquisition.by_jax import differentiated

    made = differentiated(lambda mean, spread, best: jnp.maximum(jnp.max(mean + spread) - best, 0.0))
    mean, spread = sampled()
    for got, expected in zip(made(mean, spread, 0.7), UTILITIES["ei"].function(mean, spread, 0.7), strict=True):
        assert got.dtype == np.float64
        np.testing.assert_allclose(got, expected, rtol=1e-15)
