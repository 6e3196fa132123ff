from __future__ import annotations

import numpy as np
import pytest
from tests.surrogates.models import (
    IDS,
    MIXED,
    MODELS,
    NUMBERS,
    covariance_of,
    numeric_gradient,
    plain_covariance,
    units_of,
)

from sonde.surrogates.features import Features


@pytest.mark.parametrize(("features", "quadratic"), MODELS, ids=IDS)
def test_values_are_those_of_the_formula(features: Features, quadratic: bool) -> None:
    covariance = covariance_of(features, quadratic)
    x, y = features(units_of(features, 6)), features(units_of(features, 5, seed=1))
    np.testing.assert_allclose(covariance.cross(x, y).values, plain_covariance(covariance, x, y), rtol=1e-12)


@pytest.mark.jax
@pytest.mark.parametrize("quadratic", [False, True])
def test_values_are_those_of_sonde_kernels(quadratic: bool) -> None:
    from sonde.kernels import ARD, Constant, Gram, Matern52, Polynomial

    covariance = covariance_of(MIXED, quadratic)
    x, y = MIXED(units_of(MIXED, 6)), MIXED(units_of(MIXED, 5, seed=1))
    x[0] = y[0]
    width = x.shape[1]
    kernel = covariance.scale * ARD(Matern52(), 1 / covariance.roots) + Constant(1.0)
    if quadratic:
        kernel = kernel + covariance.trend_variance * ARD(Polynomial(2), np.full(width, np.sqrt(0.25 * width)))
    np.testing.assert_allclose(covariance.cross(x, y).values, Gram(kernel, x, y).as_matrix(), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(("features", "quadratic"), MODELS, ids=IDS)
def test_vjp_is_the_derivative(features: Features, quadratic: bool) -> None:
    covariance = covariance_of(features, quadratic)
    x, y = features(units_of(features, (2, 4))), features(units_of(features, (2, 5), seed=1))
    x[0, 0] = y[0, 2]  # at distance zero r has no derivative, but the kernel has
    weights = np.random.default_rng(0).normal(size=(2, 4, 5))
    expected = numeric_gradient(lambda at: float(np.sum(weights * covariance.cross(at, y).values)), x)
    np.testing.assert_allclose(covariance.cross(x, y).vjp(weights), expected, atol=2e-8)


@pytest.mark.parametrize(("features", "quadratic"), MODELS, ids=IDS)
def test_the_diagonal_and_its_gradient(features: Features, quadratic: bool) -> None:
    covariance = covariance_of(features, quadratic)
    x = features(units_of(features, 6))
    values, gradient = covariance.diagonal(x)
    np.testing.assert_allclose(values, np.diagonal(covariance.cross(x, x).values), rtol=1e-14)
    expected = numeric_gradient(lambda at: float(np.sum(covariance.diagonal(at)[0])), x)
    np.testing.assert_allclose(np.zeros_like(x) if gradient is None else gradient, expected, atol=1e-8)


def test_batched_matrices_equal_single_ones() -> None:
    covariance = covariance_of(NUMBERS, True)
    x, y = NUMBERS(units_of(NUMBERS, (3, 4))), NUMBERS(units_of(NUMBERS, (3, 2), seed=1))
    whole = covariance.cross(x, y)
    for b in range(3):
        alone = covariance.cross(x[b], y[b])
        np.testing.assert_allclose(whole.values[b], alone.values, rtol=1e-14)
        np.testing.assert_allclose(whole.vjp(whole.values)[b], alone.vjp(alone.values), rtol=1e-12, atol=1e-14)


def test_the_shortest_length_scales_leave_the_diagonal_accurate() -> None:
    """Squared distances are then differences of large numbers: |x|^2 / l^2 is 10^4 and more."""
    covariance = covariance_of(Features((0,) * 20))
    covariance.theta[:20] = np.log(5e-3)
    x = units_of(Features((0,) * 20), 10) - 0.5
    np.testing.assert_allclose(np.diagonal(covariance.cross(x, x).values), covariance.diagonal(x)[0], rtol=1e-10)
    np.linalg.cholesky(covariance.cross(x, x).values)
