from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import multivariate_normal
from tests.space.spaces import examples
from tests.surrogates.models import (
    IDS,
    MODELS,
    NUMBERS,
    covariance_of,
    data_of,
    numeric_gradient,
    plain_covariance,
    units_of,
)

from sonde.surrogates.features import Features
from sonde.surrogates.gaussian_process.marginal_likelihood import Evidence
from sonde.surrogates.linear_algebra import factorise


@pytest.mark.parametrize(("features", "quadratic"), MODELS, ids=IDS)
def test_value_is_the_log_density_of_a_normal(features: Features, quadratic: bool) -> None:
    covariance, (x, y, noise) = covariance_of(features, quadratic), data_of(features, 9)
    matrix = plain_covariance(covariance, x, x) + np.diag(covariance.noise + noise)
    expected = multivariate_normal(np.zeros(9), matrix).logpdf(y)
    evidence = Evidence.of_values(x, y, noise)
    assert evidence(covariance)[0] == pytest.approx(expected, rel=1e-10)
    assert evidence.value(covariance) == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize(("features", "quadratic"), MODELS, ids=IDS)
@pytest.mark.parametrize("given_noise", [False, True], ids=["no noise given", "noise given"])
def test_gradient_in_theta(features: Features, quadratic: bool, given_noise: bool) -> None:
    covariance, (x, y, noise) = covariance_of(features, quadratic), data_of(features, 9)
    noise = noise * given_noise
    evidence = Evidence.of_values(x, y, noise)
    _, gradient = evidence(covariance)
    expected = numeric_gradient(
        lambda theta: evidence.value(replace(covariance, theta=theta)), covariance.theta, step=1e-5
    )
    np.testing.assert_allclose(gradient, expected, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize(("features", "quadratic"), MODELS, ids=IDS)
def test_gradient_in_the_warp(features: Features, quadratic: bool) -> None:
    covariance, (_, y, noise), units = covariance_of(features, quadratic), data_of(features, 9), units_of(features, 9)
    at = np.random.default_rng(5).normal(0, 0.4, 2 * len(features.choices))
    warped = replace(features, warp=tuple(at))
    evidence = Evidence.of_values(warped(units), y, noise)
    value, gradient, gradients = evidence.with_inputs(covariance)
    plain = evidence(covariance)
    assert (value, gradient.tolist()) == (plain[0], plain[1].tolist())
    expected = numeric_gradient(
        lambda warp: Evidence.of_values(replace(features, warp=tuple(warp))(units), y, noise).value(covariance),
        at,
        step=1e-5,
    )
    np.testing.assert_allclose(warped.warp_vjp(gradients, units), expected, rtol=1e-6, atol=1e-7)


def test_data_are_left_as_they_were() -> None:
    covariance, data = covariance_of(NUMBERS, True), data_of(NUMBERS, 6)
    before = [each.copy() for each in data]
    evidence = Evidence.of_values(*data)
    for compute in (evidence, evidence.value, evidence.with_inputs, evidence.posterior):
        compute(covariance)
    for one, other in zip(before, data, strict=True):
        np.testing.assert_array_equal(one, other)


def test_repeated_points_without_noise_have_finite_evidence() -> None:
    covariance, (x, y, _) = covariance_of(NUMBERS, noise=1e-8), data_of(NUMBERS, 6)
    x, y = np.repeat(x, 3, axis=0), np.repeat(y, 3)
    value, gradient = Evidence.of_values(x, y, np.zeros(18))(covariance)
    assert np.isfinite(value)
    assert np.all(np.isfinite(gradient))


@examples(25)
@given(
    size=st.integers(1, 8), rank=st.integers(1, 8), exponent=st.floats(-8, 8), dent=st.floats(-12, -9),
    seed=st.integers(0, 99),
)  # fmt: skip
def test_singular_matrices_get_jitter(size: int, rank: int, exponent: float, dent: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    half = rng.normal(size=(size, min(rank, size)))
    matrix = 10.0**exponent * (half @ half.T)
    mean = np.mean(np.diagonal(matrix))
    matrix -= 10.0**dent * mean * np.eye(size)  # as rounding does, make it slightly indefinite
    before = matrix.copy()
    factor = factorise(matrix)
    np.testing.assert_array_equal(matrix, before)
    np.testing.assert_array_equal(factor, np.tril(factor))
    np.testing.assert_allclose(factor @ factor.T, matrix, atol=1.1e-8 * mean)
    assert np.all(np.diagonal(factor) > 0)


def test_regular_matrices_are_factorised_exactly() -> None:
    half = np.random.default_rng(0).normal(size=(6, 20))
    np.testing.assert_allclose(factorise(half @ half.T), np.linalg.cholesky(half @ half.T), rtol=1e-13)


@pytest.mark.parametrize(
    "matrix", [np.ones((5, 5)), np.diag([1.0, 1.0, -1.0]), np.array([[1.0, 2.0], [2.0, 1.0]]), np.zeros((2, 2))],
    ids=["ones", "negative", "indefinite", "zero"],
)  # fmt: skip
def test_no_finite_matrix_raises(matrix: np.ndarray) -> None:
    factor = factorise(matrix)
    np.testing.assert_array_equal(factor, np.tril(factor))
    assert np.all(np.isfinite(factor))
