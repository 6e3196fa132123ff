from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
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
    hermite_covariance,
    kernel_entries,
    kernel_matrix,
    kernel_of,
    partial_layout,
    points_of,
)
from tests.surrogates.models import numeric_gradient

from sonde.surrogates.gaussian_process.observations import ObservationLayout
from sonde.surrogates.gaussian_process.profiles import PROFILES

# Profile, trend, and whether there are curvatures: what compiles within seconds.
# Tests of the vector-Jacobian products cover the rest.
CASES = [
    ("matern52", None, False), ("matern52", "quadratic", False), ("matern52", "bowl", False),
    ("matern72", "quadratic", True), ("rbf", "bowl", True), ("rational_quadratic", None, True),
]  # fmt: skip
MODELS = [(name, trend) for name in ALL for trend in TRENDS]


@pytest.mark.jax
@pytest.mark.parametrize(("profile", "trend", "curvatures"), CASES)
def test_the_matrix_is_that_of_the_kernels(profile: str, trend: str | None, curvatures: bool) -> None:
    """All of it, and between any observations of some points and any of others; several of the points are close."""
    covariance, reference = gradient_covariance(profile, trend), kernel_matrix(profile, trend, curvatures)
    x, size = close_points(), np.abs(reference).max()
    whole = full_layout(x, curvatures=curvatures)
    pairs = [(whole, whole)]
    some = [partial_layout(x, curvatures=curvatures, seed=seed) for seed in range(8)]
    pairs += zip(some[:4], some[4:], strict=True)
    for a, b in pairs:
        entries = np.ix_(kernel_entries(a, curvatures=curvatures), kernel_entries(b, curvatures=curvatures))
        np.testing.assert_allclose(covariance.between(a, b), reference[entries], rtol=1e-11, atol=1e-13 * size)


@pytest.mark.jax
@pytest.mark.parametrize(("profile", "trend", "curvatures"), CASES)
def test_values_are_those_of_the_kernels(profile: str, trend: str | None, curvatures: bool) -> None:
    covariance, reference = gradient_covariance(profile, trend), kernel_matrix(profile, trend, curvatures)
    x = close_points()
    values = kernel_entries(ObservationLayout(x), curvatures=curvatures)
    np.testing.assert_allclose(covariance.cross(x, x).values, reference[np.ix_(values, values)], rtol=1e-12)
    for seed in range(4):
        layout = partial_layout(x, curvatures=curvatures, seed=seed)
        entries = np.ix_(values, kernel_entries(layout, curvatures=curvatures))
        found = covariance.toward(x, layout).values
        np.testing.assert_allclose(found, reference[entries], rtol=1e-11, atol=1e-13 * np.abs(reference).max())


@pytest.mark.parametrize("distance", [0.0, 1e-12, 1e-9, 1e-6, 1e-3, 0.1])
def test_the_covariance_of_an_rbf_is_made_of_hermite_polynomials(distance: float) -> None:
    covariance = gradient_covariance("rbf")
    x = points_of(1) + distance * points_of(4, seed=1)
    a, b = full_layout(x, curvatures=True), partial_layout(x, curvatures=True)
    expected = hermite_covariance(covariance, a, b)
    np.testing.assert_allclose(covariance.between(a, b), expected, rtol=1e-12, atol=1e-13 * np.abs(expected).max())


@pytest.mark.parametrize("profile", ALL)
def test_a_shared_lengthscale_is_the_same_one_for_several_columns(profile: str) -> None:
    shared, own = (
        gradient_covariance(profile, "quadratic", SHARED),
        gradient_covariance(profile, "quadratic", np.arange(4)),
    )
    own.theta[:] = np.concatenate([shared.theta[SHARED], shared.theta[2:]])
    curvatures = profile in TWICE
    layout, new = partial_layout(points_of(4, 4), curvatures=curvatures), points_of(2, 4, seed=1)
    np.testing.assert_array_equal(shared.between(layout, layout), own.between(layout, layout))
    np.testing.assert_array_equal(shared.toward(new, layout).values, own.toward(new, layout).values)


@pytest.mark.jax
@pytest.mark.parametrize("lengthscale", [5e-3, 1e3], ids=["shortest", "longest"])
def test_extreme_lengthscales_are_right_up_to_rounding(lengthscale: float) -> None:
    """Squared distances are differences of large numbers where lengthscales are short: |x|^2 / l^2 is 10^4 and more."""
    from sonde.kernels import ValueGradientGram

    covariance, x = gradient_covariance("matern52", None, np.arange(10)), close_points(10)
    covariance.theta[:10] = np.log(lengthscale)
    layout = full_layout(x)
    entries, found = kernel_entries(layout), covariance.between(layout, layout)
    expected = np.asarray(ValueGradientGram(kernel_of(covariance), x).as_matrix())[np.ix_(entries, entries)]
    units = np.sqrt(np.outer(np.diagonal(expected), np.diagonal(expected)))
    np.testing.assert_allclose(found / units, expected / units, rtol=0, atol=1e-9)
    assert np.linalg.eigvalsh(found / units)[0] > -1e-9


@pytest.mark.parametrize("profile", ALL)
def test_values_computed_in_place_are_those_of_the_derivatives(profile: str) -> None:
    covariance, x, y = gradient_covariance(profile), points_of(5), points_of(4, seed=1)
    x[0] = y[0]
    values, first = covariance.stationary(x, y)
    np.testing.assert_allclose(values, covariance.isotropic(x, y, 1)[0], rtol=1e-13)
    np.testing.assert_allclose(first * PROFILES[profile].slope, covariance.isotropic(x, y, 1)[1], rtol=1e-13)


@pytest.mark.parametrize(("profile", "trend"), MODELS)
def test_with_values_only_it_is_the_covariance_of_values(profile: str, trend: str | None) -> None:
    covariance, x, layout = gradient_covariance(profile, trend), points_of(5), ObservationLayout(points_of(4, seed=1))
    values, toward, weights = covariance.cross(x, layout.x), covariance.toward(x, layout), np.ones((5, 4))
    np.testing.assert_allclose(values.values, toward.values, rtol=1e-13)
    np.testing.assert_allclose(values.values, covariance.between(ObservationLayout(x), layout), rtol=1e-13)
    np.testing.assert_allclose(values.vjp(weights), toward.vjp(weights), rtol=1e-11, atol=1e-13)


def test_theta_is_read_in_its_order() -> None:
    theta = np.log([0.5, 2.0, 3.0, 0.01, 0.2, 0.04])
    covariance = gradient_covariance("rbf", "quadratic", SHARED)
    covariance.theta[:] = theta
    np.testing.assert_allclose(covariance.roots, [2.0, 0.5, 0.5, 0.5])
    found = [covariance.scale, covariance.noise, covariance.trend_variance, covariance.gradient_noise]
    np.testing.assert_allclose(found, [3.0, 0.01, 0.2, 0.04])


@pytest.mark.parametrize(("profile", "trend"), MODELS)
def test_the_diagonal_and_its_gradient(profile: str, trend: str | None) -> None:
    covariance, x = gradient_covariance(profile, trend), points_of(6)
    values, gradient = covariance.diagonal(x)
    np.testing.assert_allclose(values, np.diagonal(covariance.cross(x, x).values), rtol=1e-13)
    expected = numeric_gradient(lambda at: float(np.sum(covariance.diagonal(at)[0])), x)
    np.testing.assert_allclose(np.zeros_like(x) if gradient is None else gradient, expected, atol=1e-8)


@pytest.mark.parametrize("profile", ALL)
def test_the_prior_variances_of_gradients_and_curvatures(profile: str) -> None:
    covariance, x = gradient_covariance(profile, None, SHARED), points_of(1, 4)
    layout = full_layout(x)
    values, first, _ = covariance.isotropic(x, x, 2)
    assert values[0, 0] == pytest.approx(covariance.scale)
    gradients = np.diagonal(covariance.between(layout, layout))[layout.gradient_entries]
    np.testing.assert_allclose(gradients, -2 * first[0, 0] * covariance.roots**2, rtol=1e-12)
    if profile in TWICE:
        bent = full_layout(x, curvatures=True)
        variances = np.diagonal(covariance.between(bent, bent))[bent.curvature_entries]
        np.testing.assert_allclose(covariance.curvature_variances(bent), variances, rtol=1e-12)


@pytest.mark.parametrize(("profile", "trend"), MODELS)
def test_the_vjp_of_values_is_their_derivative(profile: str, trend: str | None) -> None:
    covariance = gradient_covariance(profile, trend)
    x, y = points_of(8).reshape(2, 4, 3), points_of(10, seed=1).reshape(2, 5, 3)
    x[0, 0] = y[0, 2]  # the distance is zero: its square root has no derivative, the covariance has
    weights = np.random.default_rng(0).normal(size=(2, 4, 5))
    expected = numeric_gradient(lambda at: float(np.sum(weights * covariance.cross(at, y).values)), x)
    np.testing.assert_allclose(covariance.cross(x, y).vjp(weights), expected, rtol=1e-6, atol=3e-8)


@pytest.mark.parametrize(("profile", "trend"), MODELS)
@pytest.mark.parametrize("curvatures", [False, True])
@pytest.mark.parametrize("gradients", [False, True])
def test_the_vjp_of_covariances_with_observations_is_their_derivative(
    profile: str, trend: str | None, curvatures: bool, gradients: bool
) -> None:
    covariance = gradient_covariance(profile, trend)
    layout, x = partial_layout(points_of(6), curvatures=curvatures), points_of(4, seed=1)
    layout = layout if gradients else ObservationLayout(layout.x, curvatures=layout.curvatures)
    weights = np.random.default_rng(0).normal(size=(4, len(layout)))
    computed = covariance.toward(x, layout).vjp(weights)
    expected = numeric_gradient(lambda at: float(np.sum(weights * covariance.toward(at, layout).values)), x)
    np.testing.assert_allclose(computed, expected, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize(("profile", "trend"), MODELS)
def test_the_vjp_is_made_of_covariances_of_gradients(profile: str, trend: str | None) -> None:
    """The derivative of a covariance of values in a point is the covariance of the gradient there, close points too."""
    curvatures = profile in TWICE
    covariance, x = gradient_covariance(profile, trend), close_points()
    layout, everywhere = partial_layout(x, curvatures=curvatures), full_layout(x)
    weights = np.random.default_rng(0).normal(size=(len(x), len(layout)))
    gradients = covariance.between(everywhere, layout)[everywhere.gradient_entries].reshape(*x.shape, -1)
    expected = np.einsum("mpN,mN->mp", gradients, weights)
    np.testing.assert_allclose(
        covariance.toward(x, layout).vjp(weights), expected, rtol=1e-9, atol=1e-11 * np.abs(gradients).max()
    )


def test_batches_are_pairs_of_matrices() -> None:
    covariance = gradient_covariance("matern72", "bowl")
    x, y = points_of(12).reshape(3, 4, 3), points_of(6, seed=1).reshape(3, 2, 3)
    whole = covariance.cross(x, y)
    for b in range(3):
        alone = covariance.cross(x[b], y[b])
        np.testing.assert_allclose(whole.values[b], alone.values, rtol=1e-13)
        np.testing.assert_allclose(whole.vjp(whole.values)[b], alone.vjp(alone.values), rtol=1e-11, atol=1e-13)


@pytest.mark.parametrize("profile", TWICE)
def test_a_curvature_is_symmetric_in_its_columns(profile: str) -> None:
    covariance, x = gradient_covariance(profile, "bowl"), points_of(3)
    one = ObservationLayout(x, curvatures=np.array([[0, 1, 2], [0, 2, 1], [1, 0, 1]]))
    other = ObservationLayout(x, curvatures=one.curvatures[[0, 2, 1]])
    layout = full_layout(x, curvatures=True)
    np.testing.assert_allclose(
        covariance.between(one, layout), covariance.between(other, layout), rtol=1e-12, atol=1e-14
    )
    np.testing.assert_allclose(covariance.toward(x, one).values, covariance.toward(x, other).values, rtol=1e-12)


@st.composite
def layouts(draw: st.DrawFn) -> tuple[str, str | None, ObservationLayout]:
    """A profile, a trend, and any observations that it allows, at points that may coincide or nearly so."""
    profile, trend = draw(st.sampled_from(ALL)), draw(st.sampled_from(TRENDS))
    n, p, seed = draw(st.integers(1, 5)), draw(st.integers(1, 4)), draw(st.integers(0, 99))
    x = points_of(n, p, seed)
    for i in range(1, n):
        apart = draw(st.sampled_from([None, 0.0, 1e-12, 1e-6, 1e-3]))
        if apart is not None:
            x[i] = x[i - 1] + apart * x[i]

    def shown(size: int) -> NDArray[np.bool_]:
        return np.array(draw(st.lists(st.booleans(), min_size=size, max_size=size)), dtype=bool)

    whole = full_layout(x, curvatures=profile in TWICE)
    gradients, curvatures = (each[:, shown(each.shape[1])] for each in (whole.gradients, whole.curvatures))
    return profile, trend, ObservationLayout(x, gradients, curvatures)


@examples(60)
@given(case=layouts())
def test_any_matrix_is_a_covariance_and_a_part_of_the_whole_one(
    case: tuple[str, str | None, ObservationLayout],
) -> None:
    profile, trend, layout = case
    covariance = gradient_covariance(profile, trend, np.arange(layout.x.shape[1]))
    matrix = covariance.between(layout, layout)
    assert matrix.shape == (len(layout), len(layout))
    size = np.abs(matrix).max()
    np.testing.assert_allclose(matrix, matrix.T, rtol=0, atol=1e-13 * size)
    assert np.linalg.eigvalsh(matrix)[0] > -1e-12 * size
    curvatures = profile in TWICE
    whole = full_layout(layout.x, curvatures=curvatures)
    entries = np.argsort(kernel_entries(whole, curvatures=curvatures))[kernel_entries(layout, curvatures=curvatures)]
    np.testing.assert_allclose(
        matrix, covariance.between(whole, whole)[np.ix_(entries, entries)], rtol=0, atol=1e-13 * size
    )
    np.testing.assert_allclose(covariance.toward(layout.x, layout).values, matrix[: len(layout.x)], atol=1e-13 * size)


@examples(20)
@given(profile=st.sampled_from(ALL), unit=st.floats(0.1, 10.0), seed=st.integers(0, 99))
def test_gradients_and_curvatures_have_the_units_of_their_columns(profile: str, unit: float, seed: int) -> None:
    """Columns in another unit, lengthscales in it too: a derivative is divided by it, a curvature by its square."""
    curvatures = profile in TWICE
    covariance, x = gradient_covariance(profile, None, OWN, seed=seed), points_of(4, seed=seed)
    layout = partial_layout(x, curvatures=curvatures, seed=seed)
    units = np.array([unit, 1.0, 1.0])
    before = covariance.between(layout, layout)
    covariance = replace(covariance, theta=covariance.theta + np.log(unit) * (np.arange(len(covariance.theta)) == 0))
    _, c, e = layout.curvatures
    factors = np.concatenate([np.ones(4), 1 / units[layout.gradients[1]], 1 / (units[c] * units[e])])
    after = covariance.between(
        ObservationLayout(x * units, layout.gradients, layout.curvatures),
        ObservationLayout(x * units, layout.gradients, layout.curvatures),
    )
    np.testing.assert_allclose(after / np.outer(factors, factors), before, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("trend", TRENDS)
def test_inputs_are_not_changed(trend: str | None) -> None:
    covariance = gradient_covariance("rbf", trend)
    layout = partial_layout(points_of(4), curvatures=True)
    x, weights = points_of(3, seed=1), np.random.default_rng(0).normal(size=(3, len(layout)))
    arrays = [layout.x, layout.gradients, layout.curvatures, x, weights, covariance.theta]
    before = [each.copy() for each in arrays]
    covariance.between(layout, layout)
    covariance.toward(x, layout).vjp(weights)
    covariance.cross(x, layout.x).vjp(weights[:, :4])
    for one, other in zip(before, arrays, strict=True):
        np.testing.assert_array_equal(one, other)
