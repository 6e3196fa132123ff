from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.space.spaces import examples
from tests.surrogates.gradient_models import (
    ALL,
    TRENDS,
    TWICE,
    full_layout,
    gradient_covariance,
    gradients_of,
    hermite_covariance,
    kernel_entries,
    kernel_of,
    partial_layout,
    points_of,
)
from tests.surrogates.models import numeric_gradient

from sonde.surrogates.gaussian_process.covariance import Covariance
from sonde.surrogates.gaussian_process.observations import ObservationLayout
from sonde.surrogates.gaussian_process.posterior import ExactPosterior

Array = np.ndarray
MODELS = [(name, trend) for name in ALL for trend in TRENDS]
FEW = [("matern52", "quadratic"), ("matern72", "bowl"), ("rbf", None)]


def posterior_of(profile: str, trend: str | None, *, count: int = 5, seed: int = 0) -> ExactPosterior:
    """The posterior given noisy values, some gradients and, where the profile has them, some curvatures."""
    rng, layout = (
        np.random.default_rng([seed, 7]),
        partial_layout(points_of(count), curvatures=profile in TWICE, seed=seed),
    )
    return ExactPosterior.after(
        gradient_covariance(profile, trend), layout, rng.normal(size=len(layout)), rng.uniform(0.01, 0.1, len(layout))
    )


def one_dimensional(profile: str, lengthscale: float, scale: float) -> Covariance:
    return Covariance(np.array([0]), np.log([lengthscale, scale, 1e-3, 1e-3]), None, profile)


# Reductions


@pytest.mark.parametrize("trend", [None, "quadratic"])
def test_without_gradients_it_is_the_exact_process(trend: str | None) -> None:
    covariance, x, rng = gradient_covariance("matern52", trend), points_of(7), np.random.default_rng(0)
    y, told, new = rng.normal(size=7), 0.1 * rng.random(7), points_of(6, seed=1)
    plain = ExactPosterior.of(Covariance(covariance.groups, covariance.theta[:-1], covariance.trend), x, y, told)
    ours = ExactPosterior.after(covariance, ObservationLayout(x), y, covariance.noise + told)
    gradients = rng.normal(size=(6, 1)), rng.normal(size=6), rng.normal(size=(2, 3)), rng.normal(size=(2, 3, 3))
    for one, other in ((ours, plain), (ours.condition(new[:2], y[:2, None]), plain.condition(new[:2], y[:2, None]))):
        assert one.noise == other.noise
        mine, theirs = one.marginals(new), other.marginals(new)
        np.testing.assert_allclose(mine.mean, theirs.mean, rtol=1e-9)
        np.testing.assert_allclose(mine.variance, theirs.variance, rtol=1e-9)
        np.testing.assert_allclose(mine.vjp(*gradients[:2]), theirs.vjp(*gradients[:2]), rtol=1e-8, atol=1e-10)
        joint, expected = one.joint(new.reshape(2, 3, 3)), other.joint(new.reshape(2, 3, 3))
        np.testing.assert_allclose(joint.mean, expected.mean, rtol=1e-9)
        np.testing.assert_allclose(joint.covariance, expected.covariance, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(joint.vjp(*gradients[2:]), expected.vjp(*gradients[2:]), rtol=1e-8, atol=1e-10)
        np.testing.assert_allclose(one.pool(new).mean, other.pool(new).mean, rtol=1e-9)
        np.testing.assert_allclose(one.leave_one_out(one.weights[:, 0]), other.leave_one_out(other.weights[:, 0]))


@pytest.mark.parametrize(("profile", "trend"), FEW)
def test_gradients_that_are_all_noise_are_no_gradients(profile: str, trend: str | None) -> None:
    covariance, layout, rng = gradient_covariance(profile, trend), full_layout(points_of(4)), np.random.default_rng(0)
    y, new = rng.normal(size=len(layout)), points_of(5, seed=1)
    noise = np.where(np.arange(len(layout)) < 4, 0.01, 1e12)
    ours = ExactPosterior.after(covariance, layout, y, noise).marginals(new)
    without = ExactPosterior.after(covariance, ObservationLayout(layout.x), y[:4], noise[:4]).marginals(new)
    np.testing.assert_allclose(ours.mean, without.mean, atol=1e-9)
    np.testing.assert_allclose(ours.variance, without.variance, rtol=1e-9)


@pytest.mark.parametrize(("profile", "trend"), FEW)
def test_gradients_are_differences_of_values_at_close_points(profile: str, trend: str | None) -> None:
    covariance, x, new = gradient_covariance(profile, trend), points_of(2), points_of(4, seed=1)
    gradients = np.array([[0, 1, 1], [1, 0, 2]])
    step, y, told = 1e-4, np.array([0.3, -0.5]), np.array([1.0, -2.0, 0.5])
    moved = x[gradients[0]] + step * np.eye(3)[gradients[1]]
    ours = ExactPosterior.after(
        covariance, ObservationLayout(x, gradients), np.concatenate([y, told]), np.full(5, 1e-12)
    )
    pairs = ObservationLayout(np.concatenate([x, moved]))
    values = np.concatenate([y, y[gradients[0]] + step * told])
    other = ExactPosterior.after(covariance, pairs, values, np.full(5, 1e-14))
    np.testing.assert_allclose(ours.marginals(new).mean, other.marginals(new).mean, atol=2e-3)
    np.testing.assert_allclose(ours.marginals(new).variance, other.marginals(new).variance, atol=2e-3)


# By hand


def test_one_value_and_one_derivative_of_an_rbf() -> None:
    """They are independent: the mean is the sum of two regressions."""
    length, scale, y, slope = 0.7, 1.3, 0.4, -1.1
    noise = np.array([0.01, 0.2])
    layout = ObservationLayout(np.array([[0.25]]), np.array([[0], [0]]))
    posterior = ExactPosterior.after(one_dimensional("rbf", length, scale), layout, np.array([y, slope]), noise)
    x = np.linspace(-1.0, 1.5, 6)
    r = x - 0.25
    decay = scale * np.exp(-0.5 * r**2 / length**2)
    toward_value, toward_slope = decay + 1.0, decay * r / length**2
    value, steep = scale + 1.0 + noise[0], scale / length**2 + noise[1]
    prediction = posterior.marginals(x[:, None])
    np.testing.assert_allclose(
        prediction.mean[:, 0], toward_value * y / value + toward_slope * slope / steep, rtol=1e-12
    )
    np.testing.assert_allclose(
        prediction.variance, scale + 1.0 - toward_value**2 / value - toward_slope**2 / steep, rtol=1e-11
    )


def test_two_values_and_one_derivative_of_a_matern() -> None:
    """Matern-5/2 of r = |x - y| / l with the derivative at the first of two points."""
    length, scale = 0.8, 1.7
    root = np.sqrt(5)

    def value(x: Array | float, y: float) -> Array:
        r = root * np.abs(np.asarray(x) - y) / length
        return scale * (1 + r + r**2 / 3) * np.exp(-r) + 1.0

    def slope(x: Array | float, y: float) -> Array:  # d / dy
        d = np.asarray(x) - y
        r = root * np.abs(d) / length
        return scale * 5 / (3 * length**2) * d * (1 + r) * np.exp(-r)

    a, b = -0.2, 0.5
    steep = 5 * scale / (3 * length**2)
    matrix = np.array([
        [scale + 1.0, value(a, b), 0.0],
        [value(b, a), scale + 1.0, slope(b, a)],
        [0.0, slope(b, a), steep],
    ])  # fmt: skip
    noise, y = np.array([1e-3, 2e-3, 3e-2]), np.array([0.5, -0.3, 2.0])
    x = np.array([-0.6, -0.2, 0.1, 0.9])
    toward = np.stack([value(x, a), value(x, b), slope(x, a)], axis=1)
    solved = np.linalg.inv(matrix + np.diag(noise))
    layout = ObservationLayout(np.array([[a], [b]]), np.array([[0], [0]]))
    prediction = ExactPosterior.after(one_dimensional("matern52", length, scale), layout, y, noise).marginals(
        x[:, None]
    )
    np.testing.assert_allclose(prediction.mean[:, 0], toward @ solved @ y, rtol=1e-11)
    np.testing.assert_allclose(prediction.variance, scale + 1.0 - np.sum(toward @ solved * toward, axis=1), rtol=1e-9)


def test_value_derivative_and_curvature_of_an_rbf() -> None:
    length, scale = 0.9, 1.2
    noise, y = np.array([1e-3, 2e-3, 3e-2]), np.array([0.5, -0.3, 2.0])
    matrix = scale * np.array([
        [1 + 1 / scale, 0.0, -1 / length**2],
        [0.0, 1 / length**2, 0.0],
        [-1 / length**2, 0.0, 3 / length**4],
    ])  # fmt: skip
    x = np.array([-0.6, 0.1, 0.9])
    u = x / length
    decay = scale * np.exp(-0.5 * u**2)
    toward = np.stack([decay + 1.0, decay * u / length, decay * (u**2 - 1) / length**2], axis=1)
    solved = np.linalg.inv(matrix + np.diag(noise))
    layout = ObservationLayout(np.zeros((1, 1)), np.array([[0], [0]]), np.array([[0], [0], [0]]))
    prediction = ExactPosterior.after(one_dimensional("rbf", length, scale), layout, y, noise).marginals(x[:, None])
    np.testing.assert_allclose(prediction.mean[:, 0], toward @ solved @ y, rtol=1e-11)
    np.testing.assert_allclose(prediction.variance, scale + 1.0 - np.sum(toward @ solved * toward, axis=1), rtol=1e-9)


@pytest.mark.parametrize("curvatures", [False, True])
def test_conditioning_on_a_matrix_of_blocks(curvatures: bool) -> None:
    """Values, gradients and curvatures in three dimensions, each block written out (appendix D)."""
    covariance, rng = gradient_covariance("rbf"), np.random.default_rng(0)
    layout, new = partial_layout(points_of(4), curvatures=curvatures), points_of(5, seed=1)
    y, noise = rng.normal(size=len(layout)), rng.uniform(0.01, 0.1, len(layout))
    gradients = full_layout(new)
    matrix = hermite_covariance(covariance, layout, layout) + np.diag(noise)
    toward = hermite_covariance(covariance, gradients, layout)
    mean = toward @ np.linalg.solve(matrix, y)
    spread = hermite_covariance(covariance, gradients, gradients) - toward @ np.linalg.solve(matrix, toward.T)
    posterior = ExactPosterior.after(covariance, layout, y, noise)
    joint, (gradients, covariances) = posterior.joint(new[None]), gradients_of(posterior, new)
    np.testing.assert_allclose(joint.mean[0], mean[:5], rtol=1e-9)
    np.testing.assert_allclose(joint.covariance[0], spread[:5, :5], rtol=1e-8, atol=1e-11)
    np.testing.assert_allclose(gradients, mean[5:].reshape(5, 3), rtol=1e-9)
    own = spread[5:, 5:].reshape(5, 3, 5, 3)[np.arange(5), :, np.arange(5), :]
    np.testing.assert_allclose(covariances, own, rtol=1e-8, atol=1e-11)


def test_leaving_out_one_observation_is_leaving_it_out_of_the_matrix() -> None:
    covariance, layout, rng = gradient_covariance("rbf"), partial_layout(points_of(4)), np.random.default_rng(0)
    y, noise = rng.normal(size=len(layout)), rng.uniform(0.01, 0.1, len(layout))
    matrix = hermite_covariance(covariance, layout, layout) + np.diag(noise)
    means, variances = ExactPosterior.after(covariance, layout, y, noise).leave_one_out(y)
    for i in range(len(layout)):
        rest = np.arange(len(layout)) != i
        gain = np.linalg.solve(matrix[np.ix_(rest, rest)], matrix[rest, i])
        assert means[i] == pytest.approx(gain @ y[rest], rel=1e-8)
        assert variances[i] == pytest.approx(matrix[i, i] - gain @ matrix[rest, i], rel=1e-8)


# Without noise


@pytest.mark.parametrize(("profile", "trend"), MODELS)
def test_without_noise_it_interpolates_values_and_gradients(profile: str, trend: str | None) -> None:
    covariance, layout, rng = (
        gradient_covariance(profile, trend),
        partial_layout(points_of(4)),
        np.random.default_rng(0),
    )
    y = rng.normal(size=len(layout))
    posterior = ExactPosterior.after(covariance, layout, y, np.full(len(layout), 1e-10))
    prediction, (gradients, covariances) = posterior.marginals(layout.x), gradients_of(posterior, layout.x)
    np.testing.assert_allclose(prediction.mean[:, 0], y[layout.values], atol=1e-6)
    assert np.all(prediction.variance < 1e-8)
    told = tuple(layout.gradients)
    np.testing.assert_allclose(gradients[told], y[layout.gradient_entries], atol=1e-6)
    variances = np.diagonal(covariances, axis1=1, axis2=2)
    assert np.all(np.abs(variances[told]) < 1e-8)
    missing = np.ones((4, 3), dtype=bool)
    missing[told] = False
    assert np.all(variances[missing] > 1e-2)


@pytest.mark.parametrize("profile", TWICE)
def test_without_noise_it_interpolates_curvatures(profile: str) -> None:
    covariance, layout = gradient_covariance(profile, "bowl"), full_layout(points_of(2), curvatures=True)
    y = np.random.default_rng(0).normal(size=len(layout))
    posterior = ExactPosterior.after(covariance, layout, y, np.full(len(layout), 1e-10))
    step = 1e-5
    for k, (point, c, e) in enumerate(layout.curvatures.T):
        ends = layout.x[point] + step * np.array([-1, 1])[:, None] * np.eye(3)[c]
        low, high = gradients_of(posterior, ends)[0][:, e]
        assert (high - low) / (2 * step) == pytest.approx(y[layout.curvature_entries][k], abs=1e-4)


@pytest.mark.parametrize(("profile", "trend"), MODELS)
def test_gradients_are_derivatives_of_the_mean_and_their_covariances_those_of_differences(
    profile: str, trend: str | None
) -> None:
    posterior = posterior_of(profile, trend).condition(points_of(1, seed=5), np.array([[0.7]]))
    x, step = points_of(3, seed=1), 1e-3
    means, covariances = gradients_of(posterior, x)
    expected = numeric_gradient(lambda at: float(posterior.marginals(at).mean.sum()), x)
    np.testing.assert_allclose(means, expected, rtol=1e-6, atol=1e-7)
    ends = x[:, None] + step * np.concatenate([np.eye(3), -np.eye(3)])
    joint = posterior.joint(ends).covariance
    difference = np.concatenate([np.eye(3), -np.eye(3)], axis=1) / (2 * step)
    np.testing.assert_allclose(covariances, difference @ joint @ difference.T, rtol=1e-2, atol=1e-2)


# Answers that agree


@pytest.mark.parametrize(("profile", "trend"), MODELS)
def test_marginals_joints_and_pools_agree(profile: str, trend: str | None) -> None:
    posterior, x = posterior_of(profile, trend), points_of(6, seed=1)
    marginals, joint, pool = posterior.marginals(x), posterior.joint(x[None]), posterior.pool(x)
    single = posterior.joint(x[:, None])
    np.testing.assert_allclose(joint.mean[0], marginals.mean[:, 0], rtol=1e-9)
    np.testing.assert_allclose(np.diagonal(joint.covariance[0]), marginals.variance, rtol=1e-8)
    np.testing.assert_allclose(single.mean[:, 0], marginals.mean[:, 0], rtol=1e-9)
    np.testing.assert_allclose(single.covariance[:, 0, 0], marginals.variance, rtol=1e-8)
    np.testing.assert_allclose(pool.mean, marginals.mean[:, 0], rtol=1e-9)
    np.testing.assert_allclose(pool.variance, marginals.variance, rtol=1e-9)
    rows, columns = np.array([0, 3]), np.array([1, 3, 5])
    np.testing.assert_allclose(
        pool.covariance(rows, columns), joint.covariance[0][np.ix_(rows, columns)], rtol=1e-8, atol=1e-11
    )


@pytest.mark.parametrize(("profile", "trend"), FEW)
def test_samples_have_the_joint_posterior(profile: str, trend: str | None) -> None:
    posterior, x, count = posterior_of(profile, trend), points_of(4, seed=1), 40_000
    joint = posterior.joint(x[None])
    drawn = posterior.pool(x).draw(np.random.default_rng(0), count)
    deviations = np.sqrt(np.diagonal(joint.covariance[0]))
    assert drawn.shape == (4, count)
    assert np.all(np.abs(drawn.mean(axis=1) - joint.mean[0]) < 4 * deviations / np.sqrt(count))
    units = np.outer(deviations, deviations)
    np.testing.assert_allclose(np.cov(drawn) / units, joint.covariance[0] / units, atol=4 * np.sqrt(2 / count))


@pytest.mark.parametrize(("profile", "trend"), MODELS)
def test_the_vjp_of_marginals(profile: str, trend: str | None) -> None:
    posterior = posterior_of(profile, trend).condition(points_of(2, seed=5), np.array([[0.7], [-0.2]]))
    x, rng = points_of(4, seed=1), np.random.default_rng(0)
    mean_gradient, variance_gradient = rng.normal(size=(4, 1)), rng.normal(size=4)

    def function(at: Array) -> float:
        prediction = posterior.marginals(at)
        return float(np.sum(mean_gradient * prediction.mean) + np.sum(variance_gradient * prediction.variance))

    computed = posterior.marginals(x).vjp(mean_gradient, variance_gradient)
    np.testing.assert_allclose(computed, numeric_gradient(function, x), rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize(("profile", "trend"), MODELS)
def test_the_vjp_of_joint_posteriors(profile: str, trend: str | None) -> None:
    posterior = posterior_of(profile, trend).condition(points_of(2, seed=5), np.array([[0.7], [-0.2]]))
    pools, rng = points_of(6, seed=1).reshape(2, 3, 3), np.random.default_rng(0)
    mean_gradient, covariance_gradient = rng.normal(size=(2, 3)), rng.normal(size=(2, 3, 3))  # symmetric or not

    def function(at: Array) -> float:
        prediction = posterior.joint(at)
        return float(np.sum(mean_gradient * prediction.mean) + np.sum(covariance_gradient * prediction.covariance))

    computed = posterior.joint(pools).vjp(mean_gradient, covariance_gradient)
    np.testing.assert_allclose(computed, numeric_gradient(function, pools), rtol=1e-6, atol=1e-7)


# Conditioning


@examples(25)
@given(model=st.sampled_from(MODELS), count=st.integers(1, 5), more=st.integers(1, 4), seed=st.integers(0, 99))
def test_conditioning_is_starting_anew(model: tuple[str, str | None], count: int, more: int, seed: int) -> None:
    profile, trend = model
    covariance, rng = gradient_covariance(profile, trend), np.random.default_rng(seed)
    layout, x = (
        partial_layout(points_of(count, seed=seed), curvatures=profile in TWICE, seed=seed),
        points_of(more, seed=200),
    )
    y, noise = rng.normal(size=len(layout)), rng.uniform(0.01, 0.1, len(layout))
    further, told = rng.normal(size=more), rng.uniform(0.0, 0.1, more)
    posterior = ExactPosterior.after(covariance, layout, y, noise)
    together = posterior.condition(x, further[:, None], told)
    grown = posterior
    for i in range(more):
        grown = grown.condition(x[[i]], further[[i], None], told[[i]])
    grown_layout = ObservationLayout(np.concatenate([layout.x, x]), layout.gradients, layout.curvatures)
    whole = ExactPosterior.after(
        covariance, grown_layout, np.insert(y, count, further), np.insert(noise, count, covariance.noise + told)
    )
    new = points_of(4, seed=300)
    for one in (together, grown):
        np.testing.assert_allclose(one.marginals(new).mean, whole.marginals(new).mean, rtol=1e-7, atol=1e-8)
        np.testing.assert_allclose(one.marginals(new).variance, whole.marginals(new).variance, rtol=1e-7, atol=1e-8)
        for got, expected in zip(gradients_of(one, new), gradients_of(whole, new), strict=True):
            np.testing.assert_allclose(got, expected, rtol=1e-6, atol=1e-7)


def test_fantasies_are_posteriors_of_their_own() -> None:
    posterior = posterior_of("matern52", "bowl")
    point, outcomes, new = points_of(2, seed=1), np.random.default_rng(1).normal(size=(2, 4)), points_of(3, seed=2)
    together = posterior.condition(point, outcomes).marginals(new)
    assert together.mean.shape == (3, 4)
    for s in range(4):
        alone = posterior.condition(point, outcomes[:, [s]]).marginals(new)
        np.testing.assert_allclose(together.mean[:, s], alone.mean[:, 0], rtol=1e-10)
        np.testing.assert_allclose(together.variance, alone.variance, rtol=1e-10)


@pytest.mark.parametrize(("profile", "trend"), MODELS)
def test_repeated_points_without_noise_have_a_finite_posterior(profile: str, trend: str | None) -> None:
    covariance, x = gradient_covariance(profile, trend), np.repeat(points_of(3), 3, axis=0)
    layout = full_layout(x)
    posterior = ExactPosterior.after(covariance, layout, np.ones(len(layout)), np.full(len(layout), 1e-14))
    prediction = posterior.marginals(np.concatenate([x, points_of(3, seed=1)]))
    assert np.all(np.isfinite(prediction.mean))
    assert np.all(prediction.variance > 0)
    np.testing.assert_allclose(prediction.mean[:9], 1.0, atol=1e-3)


@examples(20)
@given(model=st.sampled_from(MODELS), seed=st.integers(0, 99))
def test_more_gradients_reduce_the_variance(model: tuple[str, str | None], seed: int) -> None:
    profile, trend = model
    covariance, whole = gradient_covariance(profile, trend), full_layout(points_of(4, seed=seed))
    new, variances = points_of(5, seed=300), []
    for shown in (0, 5, 12):
        layout = ObservationLayout(whole.x, whole.gradients[:, :shown])
        noise = np.full(len(layout), 0.01)
        variances.append(ExactPosterior.after(covariance, layout, np.zeros(len(layout)), noise).marginals(new).variance)
    assert np.all(np.diff(variances, axis=0) <= 1e-10)
    assert np.all(variances[-1] < variances[0])


# Dense is structured


@pytest.mark.jax
@pytest.mark.parametrize(
    ("count", "width", "method"), [(20, 4, "cholesky"), (100, 30, "conjugate gradients")], ids=["dense", "iterative"]
)
def test_it_is_the_structured_solve(count: int, width: int, method: str) -> None:
    from sonde.kernels import ValueGradientGram

    covariance, x = gradient_covariance("matern52", None, np.arange(width)), points_of(count, width)
    covariance.theta[:width] += 0.5 * np.log(width)
    layout, new = full_layout(x), points_of(5, width, seed=1)
    y = np.concatenate([np.sum(np.sin(3 * x), axis=1), 3 * np.cos(3 * x).ravel()])
    entries, told = kernel_entries(layout), np.empty(len(layout))
    told[entries] = y
    solution = ValueGradientGram(kernel_of(covariance), x).solve(told, noise=1.0, tolerance=1e-9)
    assert solution.method == method
    assert solution.converged
    weights = np.asarray(solution.value)[entries]
    posterior = ExactPosterior.after(covariance, layout, y, np.ones(len(layout)))
    np.testing.assert_allclose(posterior.weights[:, 0], weights, rtol=0, atol=1e-7 * np.abs(weights).max())
    mean = covariance.toward(new, layout).values @ weights
    np.testing.assert_allclose(posterior.marginals(new).mean[:, 0], mean, rtol=1e-6, atol=1e-7)
