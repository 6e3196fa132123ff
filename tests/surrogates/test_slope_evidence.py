from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.stats import multivariate_normal
from tests.space.spaces import examples
from tests.surrogates.models import numeric_gradient
from tests.surrogates.slope_models import (
    ALL,
    OWN,
    SHARED,
    TRENDS,
    TWICE,
    close_points,
    kernel_entries,
    kernel_matrix,
    points_of,
    slope_covariance,
    some_sites,
    whole_sites,
)

from sonde.surrogates import evidence
from sonde.surrogates.covariance import Covariance
from sonde.surrogates.sites import Sites
from sonde.surrogates.slope_evidence import log_evidence, noise_of
from sonde.surrogates.slopes import SlopeCovariance

Array = NDArray[np.float64]
MODELS = [(name, trend) for name in ALL for trend in TRENDS]
SEEN: dict[str, Callable[[Array], Sites]] = {"all slopes": whole_sites, "some slopes": some_sites, "no slopes": Sites}


def data_of(sites: Sites, seed: int = 0) -> tuple[Array, Array, Array]:
    """Observations (N,), told noise variances of values (n,), and mean squares of slopes (p,)."""
    rng = np.random.default_rng([seed, 3])
    n, p = sites.x.shape
    return rng.normal(size=len(sites)), rng.uniform(0.0, 0.1, n), rng.uniform(0.5, 4.0, p)


def density(covariance: SlopeCovariance, sites: Sites, y: Array, told: Array, power: Array) -> float:
    matrix = covariance.between(sites, sites) + np.diag(noise_of(covariance, sites, told, power))
    return float(multivariate_normal(np.zeros(len(y)), 0.5 * (matrix + matrix.T)).logpdf(y))


@pytest.mark.parametrize(("profile", "trend"), MODELS)
@pytest.mark.parametrize("shown", SEEN)
def test_it_is_the_density_of_a_normal(profile: str, trend: str | None, shown: str) -> None:
    covariance, sites = slope_covariance(profile, trend), SEEN[shown](points_of(6))
    data = data_of(sites)
    assert log_evidence(covariance, sites, *data)[0] == pytest.approx(density(covariance, sites, *data), rel=1e-10)


@pytest.mark.jax
@pytest.mark.parametrize("trend", TRENDS)
def test_it_is_the_density_with_the_matrix_of_the_kernels(trend: str | None) -> None:
    covariance, sites = slope_covariance("matern52", trend), some_sites(close_points())
    y, told, power = data_of(sites)
    entries = kernel_entries(sites)
    slope_noise = covariance.slope_noise * power[sites.slopes[1]]
    noise = np.diag(np.concatenate([covariance.noise + told, slope_noise]))
    matrix = kernel_matrix("matern52", trend, False)[np.ix_(entries, entries)] + noise
    expected = multivariate_normal(np.zeros(len(y)), matrix).logpdf(y)
    assert log_evidence(covariance, sites, y, told, power)[0] == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize(("profile", "trend"), MODELS)
@pytest.mark.parametrize("shown", SEEN)
@pytest.mark.parametrize("groups", [OWN, SHARED], ids=["own", "shared"])
def test_its_gradient(profile: str, trend: str | None, shown: str, groups: NDArray[np.intp]) -> None:
    covariance, sites = slope_covariance(profile, trend, groups), SEEN[shown](points_of(5, len(groups)))
    data = data_of(sites)
    _, gradient = log_evidence(covariance, sites, *data)
    expected = numeric_gradient(
        lambda theta: density(replace(covariance, theta=theta), sites, *data), covariance.theta, step=1e-5
    )
    assert len(gradient) == len(covariance.theta)
    np.testing.assert_allclose(gradient, expected, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize(("profile", "trend"), MODELS)
@pytest.mark.parametrize("told", [0.0, 0.3], ids=["no noise told", "noise told"])
def test_its_gradient_where_points_are_close(profile: str, trend: str | None, told: float) -> None:
    covariance, sites = slope_covariance(profile, trend, slope_noise=0.3), some_sites(close_points())
    y, _, power = data_of(sites)
    data = y, told * np.arange(len(sites.x)), power
    _, gradient = log_evidence(covariance, sites, *data)
    expected = numeric_gradient(
        lambda theta: density(replace(covariance, theta=theta), sites, *data), covariance.theta, step=1e-4
    )
    np.testing.assert_allclose(gradient, expected, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("trend", [None, "quadratic"])
def test_without_slopes_it_is_the_evidence_of_the_exact_process(trend: str | None) -> None:
    covariance, sites = slope_covariance("matern52", trend, SHARED), Sites(points_of(7, 4))
    y, told, power = data_of(sites)
    plain = Covariance(covariance.groups, covariance.theta[:-1], covariance.quadratic)
    value, gradient = log_evidence(covariance, sites, y, told, power)
    expected, slopes = evidence.log_evidence(plain, sites.x, y, told)
    assert value == pytest.approx(expected, rel=1e-12)
    np.testing.assert_allclose(gradient[:-1], slopes, rtol=1e-9, atol=1e-11)
    assert gradient[-1] == 0.0


def test_slopes_of_one_value_by_hand() -> None:
    """One value and one slope of an RBF are independent normals."""
    length, scale, noise, share, power = 0.6, 1.4, 0.02, 0.1, 3.0
    covariance = SlopeCovariance(np.array([0]), np.log([length, scale, noise, share]), False, "rbf")
    sites, y = Sites(np.array([[0.3]]), np.array([[0], [0]])), np.array([0.7, -1.9])
    variances = np.array([scale + 1.0 + noise + 0.05, scale / length**2 + share * power])
    value, gradient = log_evidence(covariance, sites, y, np.array([0.05]), np.array([power]))
    assert value == pytest.approx(-0.5 * np.sum(y**2 / variances + np.log(2 * np.pi * variances)), rel=1e-12)
    slopes = 0.5 * (y**2 / variances**2 - 1 / variances)  # in the variances
    steep = scale / length**2
    expected = [-2 * steep * slopes[1], scale * slopes[0] + steep * slopes[1], noise * slopes[0]]
    np.testing.assert_allclose(gradient, [*expected, share * power * slopes[1]], rtol=1e-11)


def test_noise_is_that_of_values_slopes_and_curvatures() -> None:
    covariance = slope_covariance("rbf", "bowl", noise=0.02, slope_noise=0.1)
    sites = Sites(points_of(2), np.array([[0, 1, 1], [2, 0, 2]]), np.array([[0, 0], [1, 0], [1, 2]]))
    found = noise_of(covariance, sites, np.array([0.0, 0.5]), np.array([1.0, 2.0, 4.0]))
    weights = covariance.scale * covariance.roots**2
    bent = [3 * weights[1] * covariance.roots[1] ** 2, weights[0] * covariance.roots[2] ** 2]
    expected = [0.02, 0.52, 0.4, 0.1, 0.4, 0.1 * bent[0], 0.1 * bent[1]]
    np.testing.assert_allclose(found, expected, rtol=1e-12)


@pytest.mark.parametrize("profile", TWICE)
def test_noise_of_curvatures_is_a_share_of_their_prior_variance(profile: str) -> None:
    covariance, sites = slope_covariance(profile, slope_noise=0.1), whole_sites(points_of(2), curvatures=True)
    found = noise_of(covariance, sites, np.zeros(2), np.ones(3))[sites.bend_entries]
    variances = np.diagonal(covariance.between(sites, sites))[sites.bend_entries]
    np.testing.assert_allclose(found, 0.1 * variances, rtol=1e-12)


@examples(40)
@given(
    model=st.sampled_from(MODELS), n=st.integers(1, 6), p=st.integers(1, 4), split=st.integers(0, 3),
    seed=st.integers(0, 999),
)  # fmt: skip
def test_any_missing_slopes(model: tuple[str, str | None], n: int, p: int, split: int, seed: int) -> None:
    """A density with its gradient in a random direction, whatever is missing and however columns are grouped."""
    groups = np.maximum(np.arange(p) - split, 0)  # the first columns share one lengthscale
    covariance, sites = slope_covariance(*model, groups, seed=seed), some_sites(points_of(n, p, seed), seed=seed)
    data = data_of(sites, seed)
    value, gradient = log_evidence(covariance, sites, *data)
    assert value == pytest.approx(density(covariance, sites, *data), rel=1e-9, abs=1e-9)
    way = np.random.default_rng(seed).normal(size=len(covariance.theta))
    low, high = (
        density(replace(covariance, theta=covariance.theta + step * way), sites, *data) for step in (-1e-5, 1e-5)
    )
    assert gradient @ way == pytest.approx((high - low) / 2e-5, rel=1e-5, abs=1e-5)


@pytest.mark.parametrize(("profile", "trend"), MODELS)
def test_repeated_points_without_noise_have_finite_evidence(profile: str, trend: str | None) -> None:
    covariance = slope_covariance(profile, trend, noise=1e-8, slope_noise=1e-8)
    sites = whole_sites(np.repeat(points_of(3), 3, axis=0))
    y, _, power = data_of(sites)
    value, gradient = log_evidence(covariance, sites, y, np.zeros(9), power)
    assert np.isfinite(value)
    assert np.all(np.isfinite(gradient))


@pytest.mark.parametrize("lengthscale", [5e-3, 1e3], ids=["shortest", "longest"])
@pytest.mark.parametrize("profile", ALL)
def test_extreme_lengthscales_have_finite_evidence(profile: str, lengthscale: float) -> None:
    covariance, sites = slope_covariance(profile, "bowl", noise=1e-8, slope_noise=1e-8), whole_sites(close_points())
    covariance.theta[:3] = np.log(lengthscale)
    y, _, power = data_of(sites)
    value, gradient = log_evidence(covariance, sites, y, np.zeros(8), power)
    assert np.isfinite(value)
    assert np.all(np.isfinite(gradient))


def test_data_are_left_as_they_were() -> None:
    covariance, sites = slope_covariance("matern52", "bowl"), some_sites(points_of(5))
    data = data_of(sites)
    arrays = [*data, sites.x, sites.slopes, covariance.theta]
    before = [each.copy() for each in arrays]
    log_evidence(covariance, sites, *data)
    for one, other in zip(before, arrays, strict=True):
        np.testing.assert_array_equal(one, other)
