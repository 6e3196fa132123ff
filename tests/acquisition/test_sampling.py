from __future__ import annotations

import numpy as np
import pytest
from scipy import stats
from tests.surrogates.models import numeric_gradient

from sonde.acquisition.sampling import base_samples, cholesky, cholesky_vjp


def covariances(count: int, size: int) -> np.ndarray:
    half = np.random.default_rng(0).normal(size=(count, size, size + 2))
    return half @ half.swapaxes(1, 2)


def test_base_samples_are_normal_seeded_and_finite() -> None:
    base = base_samples(1024, 5, seed=3)
    np.testing.assert_array_equal(base, base_samples(1024, 5, seed=3))
    assert not np.any(base == base_samples(1024, 5, seed=4))
    assert np.all(np.isfinite(base))
    np.testing.assert_allclose(base.mean(axis=0), 0, atol=0.01)
    np.testing.assert_allclose(np.cov(base.T), np.eye(5), atol=0.05)
    assert stats.kstest(base[:, 2], stats.norm.cdf).pvalue > 0.5  # closer to normal than random samples


def test_regular_covariances_are_factorised() -> None:
    matrices = covariances(4, 3)
    factor = cholesky(matrices)
    np.testing.assert_array_equal(factor, np.tril(factor))
    np.testing.assert_allclose(factor @ factor.swapaxes(1, 2), matrices, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize(
    "matrix",
    [np.ones((3, 3)), np.zeros((3, 3)), -1e-14 * np.eye(3), np.diag([1.0, -1e-9, 1.0]), np.diag([1.0, -1.0, 1.0])],
    ids=["ones", "zero", "below zero", "rounding", "negative"],
)
def test_singular_covariances_are_factorised_approximately(matrix: np.ndarray) -> None:
    factor = cholesky(matrix[None])[0]
    np.testing.assert_array_equal(factor, np.tril(factor))
    assert np.all(np.isfinite(factor))
    assert np.all(np.diagonal(factor) > 0)
    if matrix.min() > -0.5:
        np.testing.assert_allclose(factor @ factor.T, matrix, atol=1e-6)


def test_a_singular_batch_does_not_change_other_batches() -> None:
    matrices = covariances(2, 3)
    alone = cholesky(matrices[:1])[0]
    with_singular = cholesky(np.stack([matrices[0], np.diag([1.0, -1e-9, 1.0])]))[0]
    np.testing.assert_allclose(with_singular, alone, rtol=1e-6, atol=1e-6)


def test_gradient_through_the_cholesky_factor() -> None:
    matrices = covariances(2, 4)
    gradient = np.random.default_rng(1).normal(size=(2, 4, 4))

    def function(at: np.ndarray) -> float:
        symmetric = (at + at.swapaxes(1, 2)) / 2
        return float(np.sum(np.tril(gradient) * np.linalg.cholesky(symmetric)))

    result = cholesky_vjp(np.linalg.cholesky(matrices), gradient)
    np.testing.assert_allclose(result, numeric_gradient(function, matrices), rtol=1e-5, atol=1e-7)
    np.testing.assert_allclose(result, result.swapaxes(1, 2), atol=1e-14)
