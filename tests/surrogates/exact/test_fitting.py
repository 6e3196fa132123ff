from __future__ import annotations

import numpy as np
import pytest
from tests.surrogates.models import IDS, MODELS, NUMBERS, data_of, numeric_gradient, plain_covariance, units_of

from sonde.surrogates.exact.covariance import Covariance
from sonde.surrogates.exact.fitting import first_guess, fit, log_posterior, sample
from sonde.surrogates.exact.marginal_likelihood import log_likelihood
from sonde.surrogates.features import Features
from sonde.surrogates.priors import default_prior

Array = np.ndarray


def drawn(features: Features, theta: list[float], count: int, *, seed: int = 0) -> tuple[Array, Array]:
    """Features (n, p) and values (n,) of a function drawn from the model."""
    covariance = Covariance(features.groups, np.log(theta))
    x = features(units_of(features, count, seed))
    matrix = plain_covariance(covariance, x, x) + covariance.noise * np.eye(count)
    return x, np.linalg.cholesky(matrix) @ np.random.default_rng([seed, 5]).normal(size=count)


def smooth(features: Features, count: int) -> tuple[Array, Array]:
    x = features(units_of(features, count))
    y = np.sin(4 * x[:, 0]) + 0.3 * x[:, 1]
    return x, (y - y.mean()) / y.std()


@pytest.mark.parametrize("quadratic", [False, True])
def test_the_prior(quadratic: bool) -> None:
    prior = default_prior(3, quadratic=quadratic)
    theta = prior.location + np.linspace(-1, 1, len(prior.location))
    expected = numeric_gradient(lambda at: prior.log_density(at)[0], theta)
    np.testing.assert_allclose(prior.log_density(theta)[1], expected, rtol=1e-8)
    assert prior.log_density(prior.location)[0] > prior.log_density(theta)[0]
    assert np.all(prior.low < prior.high)
    assert np.all((prior.location > prior.low) & (prior.location < prior.high))
    assert len(theta) == len(first_guess(np.arange(3), quadratic=quadratic))
    np.testing.assert_array_equal(prior.clip(np.full(len(theta), 1e9)), prior.high)
    np.testing.assert_array_equal(prior.clip(theta), theta)


def test_lengthscales_are_expected_to_grow_with_the_root_of_the_dimension() -> None:
    few, many = default_prior(2), default_prior(200)
    np.testing.assert_allclose(many.location[:200] - few.location[0], np.log(10))
    np.testing.assert_array_equal(many.location[200:], few.location[2:])


@pytest.mark.parametrize(("features", "quadratic"), MODELS, ids=IDS)
def test_the_fit_is_a_maximum(features: Features, quadratic: bool) -> None:
    (x, y), noise = smooth(features, 20), np.zeros(20)
    prior = default_prior(len(features.choices), quadratic=quadratic)
    begin = first_guess(features.groups, quadratic=quadratic)
    covariance, score = fit(features.groups, x, y, noise, quadratic=quadratic)
    value, gradient = log_posterior(covariance, prior, x, y, noise)
    assert score == pytest.approx(value, rel=1e-12)
    assert value > log_posterior(Covariance(features.groups, begin, quadratic), prior, x, y, noise)[0]
    assert np.all((covariance.theta >= prior.low) & (covariance.theta <= prior.high))
    outward = ((covariance.theta <= prior.low) & (gradient < 0)) | ((covariance.theta >= prior.high) & (gradient > 0))
    # nowhere does a step of a tenth, in the logarithm, promise a gain that matters
    assert np.max(np.abs(np.where(outward, 0.0, gradient))) < 0.1


def test_it_starts_where_it_is_told_and_keeps_what_it_cannot_improve() -> None:
    (x, y), noise = smooth(NUMBERS, 20), np.zeros(20)
    covariance, score = fit(NUMBERS.groups, x, y, noise)
    again, same = fit(NUMBERS.groups, x, y, noise, start=covariance.theta)
    assert same >= score
    np.testing.assert_allclose(again.theta, covariance.theta, atol=0.1)
    away, _ = fit(NUMBERS.groups, x, y, noise, start=np.array([-99.0, 99.0, 99.0, 99.0]), iterations=1)  # into the box
    assert np.all(np.isfinite(away.theta))


def test_it_finds_the_lengthscales_a_function_was_drawn_with() -> None:
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


def test_noise_that_was_told_is_not_found_again() -> None:
    x, y = drawn(NUMBERS, [0.3, 0.6, 1.0, 0.03], 80)
    told = fit(NUMBERS.groups, x, y, np.full(80, 0.03))[0].noise
    assert told < 0.01


def test_a_number_without_effect_gets_a_long_lengthscale() -> None:
    features = Features((0, 0, 0))
    x = features(units_of(features, 40))
    y = np.sin(6 * x[:, 1])
    lengthscales = np.exp(fit(features.groups, x, (y - y.mean()) / y.std(), np.zeros(40))[0].theta[:3])
    assert lengthscales[[0, 2]].min() > 4 * lengthscales[1]


@pytest.mark.parametrize(
    "y", [np.zeros(12), np.eye(12)[0] * 1e3, np.where(np.arange(12) % 2, 1.0, -1.0)], ids=["flat", "spike", "signs"]
)
def test_odd_values_have_a_fit(y: Array) -> None:
    x, _, _ = data_of(NUMBERS, 12)
    x[6:] = x[:6]  # every point twice, with another value
    covariance, score = fit(NUMBERS.groups, x, y, np.zeros(12))
    assert np.isfinite(score)
    assert np.all(np.isfinite(covariance.theta))


@pytest.mark.parametrize("quadratic", [False, True])
def test_draws_of_hyperparameters_lie_in_the_box_and_around_the_fit(quadratic: bool) -> None:
    (x, y), noise = smooth(NUMBERS, 15), np.zeros(15)
    covariance, score = fit(NUMBERS.groups, x, y, noise, quadratic=quadratic)
    prior = default_prior(2, quadratic=quadratic)
    thetas = sample(covariance, x, y, noise, count=60, rng=np.random.default_rng(0))
    again = sample(covariance, x, y, noise, count=60, rng=np.random.default_rng(0))
    np.testing.assert_array_equal(thetas, again)
    assert thetas.shape == (60, 4 + quadratic)
    assert len(np.unique(thetas[:, 0])) > 50
    assert np.all((thetas >= prior.low) & (thetas <= prior.high))
    scores = [
        log_likelihood(Covariance(covariance.groups, theta, quadratic), x, y, noise) + prior.log_density(theta)[0]
        for theta in thetas
    ]
    # a D-dimensional normal lies D / 2 below its peak on average
    assert 0.5 < score - np.mean(scores) < 6


def test_draws_without_data_are_draws_of_the_prior() -> None:
    """Of one value, all lengthscales say the same."""
    groups = np.arange(1)
    covariance = Covariance(groups, first_guess(groups))
    thetas = sample(covariance, np.zeros((1, 1)), np.zeros(1), np.zeros(1), count=400, rng=np.random.default_rng(0))
    prior = default_prior(1)
    assert thetas[:, 0].mean() == pytest.approx(prior.location[0], abs=0.4)
    assert thetas[:, 0].std() == pytest.approx(prior.spread[0], rel=0.2)
