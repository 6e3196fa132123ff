from __future__ import annotations

import numpy as np
import pytest
from tests.surrogates.models import IDS, MODELS, NUMBERS, data_of, numeric_gradient, plain_covariance, units_of

from sonde.surrogates.features import Features
from sonde.surrogates.gaussian_process import estimates
from sonde.surrogates.gaussian_process.covariance import Covariance
from sonde.surrogates.gaussian_process.estimates import first_guess, log_posterior, prior_of, sample, with_trend
from sonde.surrogates.gaussian_process.marginal_likelihood import Evidence
from sonde.surrogates.priors import default_prior

Array = np.ndarray


def drawn(features: Features, theta: list[float], count: int, *, seed: int = 0) -> tuple[Array, Array]:
    """Features (n, p) and values (n,) of a function drawn from the prior."""
    covariance = Covariance(features.groups, np.log(theta))
    x = features(units_of(features, count, seed))
    matrix = plain_covariance(covariance, x, x) + covariance.noise * np.eye(count)
    return x, np.linalg.cholesky(matrix) @ np.random.default_rng([seed, 5]).normal(size=count)


def fit(
    groups: Array, x: Array, y: Array, noise: Array, *, trend: str | None = None, start: Array | None = None,
    iterations: int = 50,
) -> tuple[Covariance, float]:  # fmt: skip
    guess = first_guess(groups, trend)
    guess = guess if start is None else Covariance(groups, start, trend)
    return estimates.fit(guess, prior_of(guess), Evidence.of_values(x, y, noise), iterations=iterations)


def smooth(features: Features, count: int) -> tuple[Array, Array]:
    x = features(units_of(features, count))
    y = np.sin(4 * x[:, 0]) + 0.3 * x[:, 1]
    return x, (y - y.mean()) / y.std()


@pytest.mark.parametrize("trend", [None, "quadratic"])
@pytest.mark.parametrize("gradients", [False, True])
def test_prior_density_gradient_and_bounds(trend: str | None, gradients: bool) -> None:
    prior = prior_of(first_guess(np.arange(3), trend, gradients=gradients))
    theta = prior.location + np.linspace(-1, 1, len(prior.location))
    expected = numeric_gradient(lambda at: prior.log_density(at)[0], theta)
    np.testing.assert_allclose(prior.log_density(theta)[1], expected, rtol=1e-8)
    assert prior.log_density(prior.location)[0] > prior.log_density(theta)[0]
    assert np.all(prior.low < prior.high)
    assert np.all((prior.location > prior.low) & (prior.location < prior.high))
    assert len(theta) == 5 + (trend is not None) + gradients
    np.testing.assert_array_equal(prior.clip(np.full(len(theta), 1e9)), prior.high)
    np.testing.assert_array_equal(prior.clip(theta), theta)


def test_prior_length_scales_grow_with_the_root_of_the_dimension() -> None:
    few, many = default_prior(2), default_prior(200)
    np.testing.assert_allclose(many.location[:200] - few.location[0], np.log(10))
    np.testing.assert_array_equal(many.location[200:], few.location[2:])


@pytest.mark.parametrize(("features", "quadratic"), MODELS, ids=IDS)
def test_the_fit_is_a_local_maximum(features: Features, quadratic: bool) -> None:
    (x, y), noise = smooth(features, 20), np.zeros(20)
    begin, evidence = first_guess(features.groups, "quadratic" if quadratic else None), Evidence.of_values(x, y, noise)
    prior = prior_of(begin)
    covariance, score = estimates.fit(begin, prior, evidence, iterations=50)
    value, gradient = log_posterior(covariance, prior, evidence)
    assert score == pytest.approx(value, rel=1e-12)
    assert value > log_posterior(begin, prior, evidence)[0]
    assert np.all((covariance.theta >= prior.low) & (covariance.theta <= prior.high))
    outward = ((covariance.theta <= prior.low) & (gradient < 0)) | ((covariance.theta >= prior.high) & (gradient > 0))
    # a step of 0.1 in any coordinate of theta would gain less than 0.01
    assert np.max(np.abs(np.where(outward, 0.0, gradient))) < 0.1


def test_a_fit_from_its_own_result_stays_there() -> None:
    (x, y), noise = smooth(NUMBERS, 20), np.zeros(20)
    covariance, score = fit(NUMBERS.groups, x, y, noise)
    again, same = fit(NUMBERS.groups, x, y, noise, start=covariance.theta)
    assert same >= score
    np.testing.assert_allclose(again.theta, covariance.theta, atol=0.1)
    # a start outside the box is clipped
    away, _ = fit(NUMBERS.groups, x, y, noise, start=np.array([-99.0, 99.0, 99.0, 99.0]), iterations=1)
    assert np.all(np.isfinite(away.theta))


def test_it_finds_the_length_scales_a_function_was_drawn_with() -> None:
    found = []
    for seed in range(3):
        x, y = drawn(NUMBERS, [0.15, 0.6, 1.0, 1e-4], 60, seed=seed)
        found.append(fit(NUMBERS.groups, x, y, np.zeros(60))[0].theta)
    np.testing.assert_allclose(np.mean(found, axis=0)[:2], np.log([0.15, 0.6]), atol=0.35)
    np.testing.assert_allclose(np.mean(found, axis=0)[2], 0.0, atol=0.8)


@pytest.mark.parametrize("noise", [1e-7, 0.03])
def test_it_finds_the_noise(noise: float) -> None:
    x, y = drawn(NUMBERS, [0.3, 0.6, 1.0, noise], 80)
    found = fit(NUMBERS.groups, x, y, np.zeros(80))[0].noise
    if noise < 1e-4:
        assert found < 1e-4
    else:
        assert found == pytest.approx(noise, rel=0.5)


def test_given_noise_is_not_inferred_again() -> None:
    x, y = drawn(NUMBERS, [0.3, 0.6, 1.0, 0.03], 80)
    inferred = fit(NUMBERS.groups, x, y, np.full(80, 0.03))[0].noise
    assert inferred < 0.01


def test_an_irrelevant_parameter_gets_a_long_length_scale() -> None:
    features = Features((0, 0, 0))
    x = features(units_of(features, 40))
    y = np.sin(6 * x[:, 1])
    lengthscales = np.exp(fit(features.groups, x, (y - y.mean()) / y.std(), np.zeros(40))[0].theta[:3])
    assert lengthscales[[0, 2]].min() > 4 * lengthscales[1]


@pytest.mark.parametrize(
    "y", [np.zeros(12), np.eye(12)[0] * 1e3, np.where(np.arange(12) % 2, 1.0, -1.0)], ids=["flat", "spike", "signs"]
)
def test_degenerate_values_have_a_fit(y: Array) -> None:
    x, _, _ = data_of(NUMBERS, 12)
    x[6:] = x[:6]  # every point twice, with another value
    covariance, score = fit(NUMBERS.groups, x, y, np.zeros(12))
    assert np.isfinite(score)
    assert np.all(np.isfinite(covariance.theta))


@pytest.mark.parametrize("trend", [None, "quadratic"])
def test_draws_of_hyperparameters_lie_in_the_box_and_around_the_fit(trend: str | None) -> None:
    (x, y), noise = smooth(NUMBERS, 15), np.zeros(15)
    covariance, score = fit(NUMBERS.groups, x, y, noise, trend=trend)
    prior, evidence = prior_of(covariance), Evidence.of_values(x, y, noise)
    thetas = sample(covariance, prior, evidence, count=60, rng=np.random.default_rng(0))
    again = sample(covariance, prior, evidence, count=60, rng=np.random.default_rng(0))
    np.testing.assert_array_equal(thetas, again)
    assert thetas.shape == (60, 4 + (trend is not None))
    assert len(np.unique(thetas[:, 0])) > 50
    assert np.all((thetas >= prior.low) & (thetas <= prior.high))
    scores = [
        evidence.value(Covariance(covariance.groups, theta, trend)) + prior.log_density(theta)[0] for theta in thetas
    ]
    # the log density of a D-dimensional normal is D / 2 below its maximum on average
    assert 0.5 < score - np.mean(scores) < 6


def test_draws_with_one_observation_are_draws_from_the_prior() -> None:
    """The likelihood of one value does not depend on the length scales."""
    groups = np.arange(1)
    covariance, evidence = first_guess(groups), Evidence.of_values(np.zeros((1, 1)), np.zeros(1), np.zeros(1))
    prior = prior_of(covariance)
    thetas = sample(covariance, prior, evidence, count=400, rng=np.random.default_rng(0))
    assert thetas[:, 0].mean() == pytest.approx(prior.location[0], abs=0.4)
    assert thetas[:, 0].std() == pytest.approx(prior.spread[0], rel=0.2)


@pytest.mark.parametrize("gradients", [False, True])
def test_another_trend_changes_the_variance_of_the_trend_alone(gradients: bool) -> None:
    plain = first_guess(np.arange(2), gradients=gradients)
    plain.theta[:] = np.arange(len(plain.theta))
    bowl = with_trend(plain, "bowl")
    bowl.theta[4] = 7.0
    assert (bowl.trend, bowl.theta.tolist()) == ("bowl", [0.0, 1.0, 2.0, 3.0, 7.0, *[4.0] * gradients])
    assert (with_trend(bowl, "quadratic").trend, with_trend(bowl, "quadratic").trend_variance) == (
        "quadratic",
        np.exp(7),
    )
    np.testing.assert_array_equal(with_trend(bowl, None).theta, plain.theta)
    assert with_trend(plain, None) == plain


def test_a_density_that_is_no_number_is_left() -> None:
    def log_density(theta: Array) -> tuple[float, Array]:
        return -float(np.sum((theta - 0.2) ** 2)) if theta[0] < 0.5 else np.nan, -2 * (theta - 0.2)

    best, _ = estimates.maximise(log_density, np.array([-3.0]), np.array([-4.0]), np.array([1.0]), maxiter=50)
    assert best[0] == pytest.approx(0.2, abs=1e-2)
