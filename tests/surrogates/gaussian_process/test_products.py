from __future__ import annotations

import numpy as np
import pytest
from tests.surrogates.gradient_models import ALL, TRENDS, full_layout, gradient_covariance, points_of


@pytest.mark.parametrize("trend", TRENDS)
@pytest.mark.parametrize("profile", ALL)
def test_a_product_is_that_with_the_dense_matrix(profile: str, trend: str | None) -> None:
    covariance, x, y = gradient_covariance(profile, trend), points_of(4), points_of(6, seed=1)
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=6), rng.normal(size=y.shape)
    whole = covariance.between(full_layout(x), full_layout(y)) @ np.concatenate([a, b.ravel()])
    values, gradients = covariance.products(x, y)(a, b)
    np.testing.assert_allclose(values, whole[:4], rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(gradients.ravel(), whole[4:], rtol=1e-10, atol=1e-12)


def test_repeated_products_are_equal() -> None:
    products = gradient_covariance("matern52", "bowl").products(points_of(4), points_of(6, seed=1))
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=6), rng.normal(size=(6, 3))
    first = products(a, b)
    products(2 * a, -b)
    np.testing.assert_array_equal(first[0], products(a, b)[0])
    np.testing.assert_array_equal(first[1], products(a, b)[1])
