from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import expit
from tests.surrogates.models import numeric_gradient

from sonde.surrogates.basis import single_network
from sonde.surrogates.basis.classifier import Laplace, laplace_approximation
from sonde.surrogates.basis.networks import Network
from sonde.surrogates.basis.regression import Hyperparameters
from sonde.surrogates.basis.single_network import (
    Stack,
    classifiers,
    draws_of,
    latent,
    leave_one_out,
    one_block,
    posteriors_of,
    regression_on,
    trained,
    with_label,
)

Array = NDArray[np.float64]

X = np.random.default_rng(1).random((40, 2)) - 0.5
NEW = np.random.default_rng(2).random((6, 2)) - 0.5
WAVES = np.sin(5 * X[:, 0]) + np.cos(4 * X[:, 1]) * X[:, 0]
LABELS = np.where(X[:, 0] > 0.1, 1.0, -1.0)


@cache
def network_of(loss: str = "squares") -> Network:
    return trained(X, WAVES if loss == "squares" else LABELS, loss)


# training


def test_it_is_the_network_of_the_paper() -> None:
    network = network_of()
    assert network.count == 1
    assert [layer.weights.shape[2] for layer in network.layers] == [50, 50, 50]
    assert network.activation == "tanh"
    assert network.quadratic
    assert not network_of("logistic").quadratic


def test_training_fits_the_data_and_depends_on_them_alone() -> None:
    regression = regression_on(network_of(), X, WAVES)
    (posterior,) = posteriors_of(network_of(), regression, draws_of(regression, 1, np.random.default_rng(0)))
    new = np.random.default_rng(3).random((200, 2)) - 0.5
    truth = np.sin(5 * new[:, 0]) + np.cos(4 * new[:, 1]) * new[:, 0]
    assert np.sqrt(np.mean((posterior.marginals(new).mean[:, 0] - truth) ** 2)) < 0.2 * truth.std()
    for one, other in zip(trained(X, WAVES, "squares").layers, network_of().layers, strict=True):
        np.testing.assert_array_equal(one.weights, other.weights)
    assert not np.array_equal(trained(X, WAVES + 0.1, "squares").layers[0].weights, network_of().layers[0].weights)


# posteriors


def test_the_posterior_is_that_of_the_equations() -> None:
    """Eq. (4) to (7), with a plain inverse and the mean function of eq. (9)."""
    given = Hyperparameters(0.7, 30.0, np.array([0.4, -0.3, 0.8, -1.1, -0.2]))
    (posterior,) = posteriors_of(network_of(), regression_on(network_of(), X, WAVES), [given])
    at = posterior.marginals(NEW)

    def eta(x: Array) -> Array:
        return np.concatenate([np.ones((len(x), 1)), x, x * x], axis=1) @ given.eta

    phi, new = (network_of().basis(x).values[:, :51] for x in (X, NEW))
    inverse = np.linalg.inv(given.beta * phi.T @ phi + given.alpha * np.eye(51))
    m = given.beta * inverse @ phi.T @ (WAVES - eta(X))
    np.testing.assert_allclose(at.mean[:, 0], new @ m + eta(NEW), rtol=1e-6)
    np.testing.assert_allclose(at.variance, np.sum(new @ inverse * new, axis=1), rtol=1e-6)
    assert posterior.noise == pytest.approx(1 / 30)


def test_draws_differ_and_are_seeded() -> None:
    regression = regression_on(network_of(), X, WAVES)
    one, same, other = (draws_of(regression, 5, np.random.default_rng(seed)) for seed in (0, 0, 1))
    assert [each.beta for each in one] == [each.beta for each in same]
    assert len({each.beta for each in [*one, *other]}) == 10


def test_leave_one_out_matches_refitting_on_the_same_network() -> None:
    network, regression = network_of(), regression_on(network_of(), X, WAVES)
    given = draws_of(regression, 3, np.random.default_rng(0))
    means, variances = leave_one_out(network, X, WAVES, given)
    for i in (0, 17):
        others = np.arange(len(X)) != i
        at = [each.marginals(X[[i]]) for each in posteriors_of(
            network, regression_on(network, X[others], WAVES[others]), given
        )]  # fmt: skip
        parts, noise = np.array([each.mean[0, 0] for each in at]), np.mean([1 / each.beta for each in given])
        assert means[i] == pytest.approx(parts.mean(), rel=1e-5)
        assert variances[i] == pytest.approx(np.mean([each.variance[0] for each in at]) + noise + parts.var(), rel=1e-5)


def test_a_stack_is_its_posteriors_and_has_their_gradients() -> None:
    regression, rng = regression_on(network_of(), X, WAVES), np.random.default_rng(0)
    posteriors = posteriors_of(network_of(), regression, draws_of(regression, 3, rng))
    stack = Stack.of(posteriors)
    mean, variance, vjp = stack.marginals(NEW)
    for k, posterior in enumerate(posteriors):
        at = posterior.marginals(NEW)
        np.testing.assert_allclose(mean[:, k], at.mean, rtol=1e-10)
        np.testing.assert_allclose(variance[:, k], at.variance, rtol=1e-8)
    by_mean, by_variance = rng.normal(size=mean.shape), rng.normal(size=variance.shape)

    def total(x: Array) -> float:
        mean, variance, _ = stack.marginals(x)
        return float(np.sum(by_mean * mean) + np.sum(by_variance * variance))

    np.testing.assert_allclose(vjp(by_mean, by_variance), numeric_gradient(total, NEW), rtol=1e-4, atol=1e-6)


# the classifier


def test_classifiers_separate_the_labels() -> None:
    network = network_of("logistic")
    weights = classifiers(network, X, LABELS, 4, np.random.default_rng(0))
    assert len(weights) == 4
    for own in weights:
        posterior = latent(network, own)
        clear = np.abs(X[:, 0] - 0.1) > 0.1
        assert np.all(posterior.marginals(X[clear]).mean[:, 0] * LABELS[clear] > 0)


def test_a_classifier_is_the_mode_of_its_posterior() -> None:
    network = network_of("logistic")
    (own,) = classifiers(network, X, LABELS, 1, np.random.default_rng(0))
    phi = network.basis(X).values
    chances = expit(phi @ own.mean)
    alpha = float(np.linalg.eigvalsh(own.precision)[0])  # the data leave some directions to the prior
    np.testing.assert_allclose(alpha * own.mean, phi.T @ ((LABELS + 1) / 2 - chances), atol=1e-2)
    expected = phi.T @ (phi * (chances * (1 - chances))[:, None]) + alpha * np.eye(51)
    np.testing.assert_allclose(own.precision, expected, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("label", [1.0, -1.0])
def test_one_more_label_moves_the_latent_function_toward_it(label: float) -> None:
    """The second Laplace approximation is close to one of all labels at once."""
    network, prior = network_of("logistic"), Laplace(np.zeros(51), np.eye(51))
    basis, phi = network.basis(X).values, network.basis(NEW[:1]).values[0]
    labels = LABELS * np.where(np.arange(len(X)) % 4 == 0, -1, 1)  # no label is a surprise
    before, _ = laplace_approximation(one_block(basis, labels), prior)
    after = with_label(before, phi, label)
    one, other = (latent(network, each).marginals(NEW[:1]) for each in (before, after))
    assert label * (other.mean[0, 0] - one.mean[0, 0]) > 0
    assert other.variance[0] < one.variance[0]
    whole, _ = laplace_approximation(one_block(np.array([*basis, phi]), np.array([*labels, label])), prior)
    exact = latent(network, whole).marginals(NEW[:1]).mean[0, 0]
    assert abs(other.mean[0, 0] - exact) < 0.3 * abs(one.mean[0, 0] - exact)


@pytest.mark.parametrize("count", [1, 2])
def test_few_data_and_labels_of_one_kind_are_fitted(count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(single_network, "STEPS", 50)
    x, y, rng = X[:count], np.ones(count), np.random.default_rng(0)
    network = trained(x, y, "squares")
    regression = regression_on(network, x, y)
    at = posteriors_of(network, regression, draws_of(regression, 2, rng))[0].marginals(NEW)
    assert np.all(np.isfinite(at.mean))
    assert np.all(at.variance > 0)
    network = trained(x, -y, "logistic")
    at = latent(network, classifiers(network, x, -y, 2, rng)[0]).marginals(NEW)
    assert np.all(np.isfinite(at.mean))
    assert np.all(at.variance > 0)
