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
from tests.surrogates.gradient_models import (
    ALL,
    OWN,
    SHARED,
    TRENDS,
    TWICE,
    close_points,
    full_layout,
    gradient_covariance,
    kernel_entries,
    kernel_matrix,
    partial_layout,
    points_of,
)
from tests.surrogates.models import numeric_gradient

from sonde.surrogates.gaussian_process import covariance as module
from sonde.surrogates.gaussian_process.covariance import Covariance
from sonde.surrogates.gaussian_process.derivatives import GradientMatrix
from sonde.surrogates.gaussian_process.marginal_likelihood import ROUNDING, Evidence
from sonde.surrogates.gaussian_process.observations import ObservationLayout

Array = NDArray[np.float64]
MODELS = [(name, trend) for name in ALL for trend in TRENDS]
LAYOUTS: dict[str, Callable[[Array], ObservationLayout]] = {
    "all gradients": full_layout,
    "some gradients": partial_layout,
    "no gradients": ObservationLayout,
}


def data_of(layout: ObservationLayout, seed: int = 0) -> tuple[Array, Array, Array]:
    """Observations (N,), told noise variances of values (n,), and mean squares of gradients (p,)."""
    rng = np.random.default_rng([seed, 3])
    n, p = layout.x.shape
    return rng.normal(size=len(layout)), rng.uniform(0.0, 0.1, n), rng.uniform(0.5, 4.0, p)


def density(covariance: Covariance, layout: ObservationLayout, y: Array, told: Array, mean_squares: Array) -> float:
    noise = Evidence(layout, y, told, mean_squares).noise(covariance)
    matrix = covariance.between(layout, layout) + np.diag(noise)
    return float(multivariate_normal(np.zeros(len(y)), 0.5 * (matrix + matrix.T)).logpdf(y))


@pytest.mark.parametrize(("profile", "trend"), MODELS)
@pytest.mark.parametrize("shown", LAYOUTS)
def test_it_is_the_density_of_a_normal(profile: str, trend: str | None, shown: str) -> None:
    covariance, layout = gradient_covariance(profile, trend), LAYOUTS[shown](points_of(6))
    data = data_of(layout)
    assert Evidence(layout, *data)(covariance)[0] == pytest.approx(density(covariance, layout, *data), rel=1e-10)


@pytest.mark.jax
@pytest.mark.parametrize("trend", TRENDS)
def test_it_is_the_density_with_the_matrix_of_the_kernels(trend: str | None) -> None:
    covariance, layout = gradient_covariance("matern52", trend), partial_layout(close_points())
    y, told, mean_squares = data_of(layout)
    entries = kernel_entries(layout)
    gradient_noise = covariance.gradient_noise * mean_squares[layout.gradients[1]]
    noise = np.diag(np.concatenate([covariance.noise + told, gradient_noise]))
    matrix = kernel_matrix("matern52", trend, False)[np.ix_(entries, entries)] + noise
    expected = multivariate_normal(np.zeros(len(y)), matrix).logpdf(y)
    assert Evidence(layout, y, told, mean_squares)(covariance)[0] == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize(("profile", "trend"), MODELS)
@pytest.mark.parametrize("shown", LAYOUTS)
@pytest.mark.parametrize("groups", [OWN, SHARED], ids=["own", "shared"])
def test_its_gradient(profile: str, trend: str | None, shown: str, groups: NDArray[np.intp]) -> None:
    covariance, layout = gradient_covariance(profile, trend, groups), LAYOUTS[shown](points_of(5, len(groups)))
    data = data_of(layout)
    _, gradient = Evidence(layout, *data)(covariance)
    expected = numeric_gradient(
        lambda theta: density(replace(covariance, theta=theta), layout, *data), covariance.theta, step=1e-5
    )
    assert len(gradient) == len(covariance.theta)
    np.testing.assert_allclose(gradient, expected, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize(("profile", "trend"), MODELS)
@pytest.mark.parametrize("told", [0.0, 0.3], ids=["no noise told", "noise told"])
def test_its_gradient_where_points_are_close(profile: str, trend: str | None, told: float) -> None:
    covariance, layout = gradient_covariance(profile, trend, gradient_noise=0.3), partial_layout(close_points())
    y, _, mean_squares = data_of(layout)
    data = y, told * np.arange(len(layout.x)), mean_squares
    _, gradient = Evidence(layout, *data)(covariance)
    expected = numeric_gradient(
        lambda theta: density(replace(covariance, theta=theta), layout, *data), covariance.theta, step=1e-4
    )
    np.testing.assert_allclose(gradient, expected, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize(("profile", "trend"), MODELS)
def test_without_gradients_it_is_that_of_values(
    profile: str, trend: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The matrix of values has a shorter way to its gradient than that of values and gradients."""
    covariance, layout = gradient_covariance(profile, trend, SHARED), ObservationLayout(points_of(7, 4))
    y, told, mean_squares = data_of(layout)
    plain = replace(covariance, theta=covariance.theta[:-1])
    expected, gradients = Evidence.of_values(layout.x, y, told)(plain)
    longer = GradientMatrix(layout, covariance.roots, covariance.isotropic(layout.x, layout.x, 3))
    monkeypatch.setattr(module, "stationary_matrix", lambda covariance, layout: longer)
    value, gradient = Evidence(layout, y, told, mean_squares)(covariance)
    assert value == pytest.approx(expected, rel=1e-12)
    np.testing.assert_allclose(gradient[:-1], gradients, rtol=1e-9, atol=1e-11)
    assert gradient[-1] == 0.0


def test_one_value_and_one_derivative_by_hand() -> None:
    """One value and one derivative of an RBF are independent normals."""
    length, scale, noise, share, mean_squares = 0.6, 1.4, 0.02, 0.1, 3.0
    covariance = Covariance(np.array([0]), np.log([length, scale, noise, share]), None, "rbf")
    layout, y = ObservationLayout(np.array([[0.3]]), np.array([[0], [0]])), np.array([0.7, -1.9])
    variances = np.array([scale + 1.0 + noise + 0.05, scale / length**2 + share * mean_squares])
    value, gradient = Evidence(layout, y, np.array([0.05]), np.array([mean_squares]))(covariance)
    assert value == pytest.approx(-0.5 * np.sum(y**2 / variances + np.log(2 * np.pi * variances)), rel=1e-12)
    gradients = 0.5 * (y**2 / variances**2 - 1 / variances)  # in the variances
    steep = scale / length**2
    expected = [-2 * steep * gradients[1], scale * gradients[0] + steep * gradients[1], noise * gradients[0]]
    np.testing.assert_allclose(gradient, [*expected, share * mean_squares * gradients[1]], rtol=1e-11)


def test_noise_is_that_of_values_gradients_and_curvatures() -> None:
    covariance = gradient_covariance("rbf", "bowl", noise=0.02, gradient_noise=0.1)
    layout = ObservationLayout(points_of(2), np.array([[0, 1, 1], [2, 0, 2]]), np.array([[0, 0], [1, 0], [1, 2]]))
    found = Evidence(layout, np.zeros(7), np.array([0.0, 0.5]), np.array([1.0, 2.0, 4.0])).noise(covariance)
    weights = covariance.scale * covariance.roots**2
    bent = [3 * weights[1] * covariance.roots[1] ** 2, weights[0] * covariance.roots[2] ** 2]
    expected = [0.02, 0.52, 0.4, 0.1, 0.4, 0.1 * bent[0], 0.1 * bent[1]]
    np.testing.assert_allclose(found, expected, rtol=1e-12)


@pytest.mark.parametrize("profile", TWICE)
def test_noise_of_curvatures_is_a_share_of_their_prior_variance(profile: str) -> None:
    covariance, layout = gradient_covariance(profile, gradient_noise=0.1), full_layout(points_of(2), curvatures=True)
    found = Evidence(layout, np.zeros(len(layout)), np.zeros(2), np.ones(3)).noise(covariance)[layout.curvature_entries]
    variances = np.diagonal(covariance.between(layout, layout))[layout.curvature_entries]
    np.testing.assert_allclose(found, 0.1 * variances, rtol=1e-12)


# misfits: the noise of a local model


def misfits_of(layout: ObservationLayout) -> Array:
    """A number for every observation, the same for all derivatives of a point."""
    rng, n = np.random.default_rng(8), len(layout.x)
    return np.concatenate([rng.uniform(0.5, 2.0, n), rng.uniform(0.5, 2.0, n)[layout.gradients[0]]])


@pytest.mark.parametrize("profile", TWICE)
@pytest.mark.parametrize("trend", TRENDS)
def test_prior_variances_are_the_diagonal_of_the_matrix(profile: str, trend: str | None) -> None:
    for layout in (full_layout(points_of(4), curvatures=True), partial_layout(points_of(5), curvatures=True)):
        covariance = gradient_covariance(profile, trend)
        expected = np.diagonal(covariance.between(layout, layout))
        np.testing.assert_allclose(covariance.variances(layout), expected, rtol=1e-12)


def test_noise_of_a_local_model_is_a_share_of_misfits() -> None:
    covariance = gradient_covariance("matern72", "quadratic", noise=0.3, gradient_noise=0.1)
    layout = full_layout(points_of(2), curvatures=True)
    misfits, told = np.arange(float(len(layout))), np.array([0.0, 0.5])
    found = Evidence(layout, misfits, told, misfits=misfits).noise(covariance)
    rounding = ROUNDING * np.diagonal(covariance.between(layout, layout))
    expected = 0.1 * misfits + rounding + np.append(0.3 + told, np.zeros(len(layout) - 2))
    np.testing.assert_allclose(found, expected, rtol=1e-12)


@pytest.mark.parametrize(("profile", "trend"), MODELS)
@pytest.mark.parametrize("shown", LAYOUTS)
def test_its_gradient_with_misfits(profile: str, trend: str | None, shown: str) -> None:
    covariance, layout = (
        gradient_covariance(profile, trend, noise=1e-26, gradient_noise=0.1),
        LAYOUTS[shown](points_of(5)),
    )
    y, told, _ = data_of(layout)
    evidence = Evidence(layout, y, told, misfits=misfits_of(layout))

    def density_at(theta: Array) -> float:
        there = replace(covariance, theta=theta)
        matrix = there.between(layout, layout) + np.diag(evidence.noise(there))
        return float(multivariate_normal(np.zeros(len(y)), 0.5 * (matrix + matrix.T)).logpdf(y))

    value, gradient = evidence(covariance)
    assert value == pytest.approx(density_at(covariance.theta), rel=1e-10)
    expected = numeric_gradient(density_at, covariance.theta, step=1e-5)
    np.testing.assert_allclose(gradient, expected, rtol=1e-6, atol=1e-6)
    assert abs(gradient[-1]) > 0.01


@examples(40)
@given(
    model=st.sampled_from(MODELS), n=st.integers(1, 6), p=st.integers(1, 4), split=st.integers(0, 3),
    seed=st.integers(0, 999),
)  # fmt: skip
def test_any_missing_gradients(model: tuple[str, str | None], n: int, p: int, split: int, seed: int) -> None:
    """A density with its gradient in a random direction, whatever is missing and however columns are grouped."""
    groups = np.maximum(np.arange(p) - split, 0)  # the first columns share one lengthscale
    covariance, layout = (
        gradient_covariance(*model, groups, seed=seed),
        partial_layout(points_of(n, p, seed), seed=seed),
    )
    data = data_of(layout, seed)
    value, gradient = Evidence(layout, *data)(covariance)
    assert value == pytest.approx(density(covariance, layout, *data), rel=1e-9, abs=1e-9)
    direction = np.random.default_rng(seed).normal(size=len(covariance.theta))
    low, high = (
        density(replace(covariance, theta=covariance.theta + step * direction), layout, *data) for step in (-1e-5, 1e-5)
    )
    assert gradient @ direction == pytest.approx((high - low) / 2e-5, rel=1e-5, abs=1e-5)


@pytest.mark.parametrize(("profile", "trend"), MODELS)
def test_repeated_points_without_noise_have_finite_marginal_likelihood(profile: str, trend: str | None) -> None:
    covariance = gradient_covariance(profile, trend, noise=1e-8, gradient_noise=1e-8)
    layout = full_layout(np.repeat(points_of(3), 3, axis=0))
    y, _, mean_squares = data_of(layout)
    value, gradient = Evidence(layout, y, np.zeros(9), mean_squares)(covariance)
    assert np.isfinite(value)
    assert np.all(np.isfinite(gradient))


@pytest.mark.parametrize("lengthscale", [5e-3, 1e3], ids=["shortest", "longest"])
@pytest.mark.parametrize("profile", ALL)
def test_extreme_length_scales_have_finite_marginal_likelihood(profile: str, lengthscale: float) -> None:
    covariance, layout = (
        gradient_covariance(profile, "bowl", noise=1e-8, gradient_noise=1e-8),
        full_layout(close_points()),
    )
    covariance.theta[:3] = np.log(lengthscale)
    y, _, mean_squares = data_of(layout)
    value, gradient = Evidence(layout, y, np.zeros(8), mean_squares)(covariance)
    assert np.isfinite(value)
    assert np.all(np.isfinite(gradient))


def test_inputs_are_not_changed() -> None:
    covariance, layout = gradient_covariance("matern52", "bowl"), partial_layout(points_of(5))
    data = data_of(layout)
    arrays = [*data, layout.x, layout.gradients, covariance.theta]
    before = [each.copy() for each in arrays]
    Evidence(layout, *data)(covariance)
    for one, other in zip(before, arrays, strict=True):
        np.testing.assert_array_equal(one, other)
