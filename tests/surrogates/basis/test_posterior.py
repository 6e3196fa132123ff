from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.surrogates.models import numeric_gradient

from sonde.surrogates.basis.networks import Network
from sonde.surrogates.basis.posterior import LinearPosterior, mixture
from sonde.surrogates.basis.regression import Hyperparameters, regress

Array = NDArray[np.float64]

X = np.random.default_rng(1).random((40, 2)) - 0.5
NEW = np.random.default_rng(2).random((6, 2)) - 0.5
GIVEN = Hyperparameters(0.5, 30.0, np.empty(0))
NOISE = 1 / GIVEN.beta


def network_of(count: int = 1, *, quadratic: bool = False) -> Network:
    return Network.untrained(2, count, np.random.default_rng(count), width=6, quadratic=quadratic)


def posterior_of(count: int = 3, *, quadratic: bool = False, columns: int = 1) -> LinearPosterior:
    """A posterior with random weights."""
    network, rng = network_of(count, quadratic=quadratic), np.random.default_rng(3)
    size = 7 * count + 4 * quadratic
    return LinearPosterior(network, rng.normal(size=(size, columns)), rng.normal(size=(size, 9)), 0.01)


def fitted(rows: slice | list[int], y: Array, reported: Array | float = 0.0) -> LinearPosterior:
    """The posterior given values (n, s) at some of X, computed by the regression."""
    network = network_of()
    basis, values = network.basis(X[rows]).values, y[rows]
    weights = np.broadcast_to(NOISE / (NOISE + reported), len(X))[rows]
    each = [regress(basis, np.empty((len(basis), 0)), column, weights).weights(GIVEN) for column in values.T]
    return LinearPosterior(network, np.stack([mean for mean, _ in each], axis=1), each[0][1], NOISE)


def assert_same(one: LinearPosterior, other: LinearPosterior, tolerance: float = 1e-8) -> None:
    np.testing.assert_allclose(one.mean, other.mean, rtol=tolerance, atol=tolerance)
    np.testing.assert_allclose(one.root @ one.root.T, other.root @ other.root.T, rtol=tolerance, atol=tolerance)
    for got, expected in zip(one.marginals(NEW)[:2], other.marginals(NEW)[:2], strict=True):
        np.testing.assert_allclose(got, expected, rtol=tolerance, atol=tolerance)


# gradients


@pytest.mark.parametrize("quadratic", [False, True])
@pytest.mark.parametrize("columns", [1, 3])
def test_the_vjp_of_marginals_matches_finite_differences(quadratic: bool, columns: int) -> None:
    posterior, rng = posterior_of(quadratic=quadratic, columns=columns), np.random.default_rng(0)
    mean_gradient, variance_gradient = rng.normal(size=(6, columns)), rng.normal(size=6)

    def function(at: Array) -> float:
        marginals = posterior.marginals(at)
        return float(np.sum(mean_gradient * marginals.mean) + np.sum(variance_gradient * marginals.variance))

    gradients = posterior.marginals(NEW).vjp(mean_gradient, variance_gradient)
    np.testing.assert_allclose(gradients, numeric_gradient(function, NEW), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("quadratic", [False, True])
def test_the_vjp_of_joint_posteriors_matches_finite_differences(quadratic: bool) -> None:
    posterior, rng, batches = posterior_of(quadratic=quadratic), np.random.default_rng(0), NEW.reshape(2, 3, 2)
    mean_gradient, covariance_gradient = rng.normal(size=(2, 3)), rng.normal(size=(2, 3, 3))  # symmetric or not

    def function(at: Array) -> float:
        joint = posterior.joint(at)
        return float(np.sum(mean_gradient * joint.mean) + np.sum(covariance_gradient * joint.covariance))

    gradients = posterior.joint(batches).vjp(mean_gradient, covariance_gradient)
    np.testing.assert_allclose(gradients, numeric_gradient(function, batches), rtol=1e-6, atol=1e-6)


# marginal, joint and pool agree


def test_joint_posteriors_have_the_marginals_on_their_diagonal() -> None:
    posterior, batches = posterior_of(columns=2), NEW.reshape(2, 3, 2)
    joint = posterior.joint(batches)
    for b in range(2):
        alone = posterior.marginals(batches[b])
        np.testing.assert_allclose(joint.mean[b], alone.mean[:, 0], rtol=1e-11)
        np.testing.assert_allclose(np.diagonal(joint.covariance[b]), alone.variance, rtol=1e-9)
        np.testing.assert_allclose(joint.covariance[b], joint.covariance[b].T, rtol=1e-12)


def test_a_pool_is_a_joint_posterior_without_gradients() -> None:
    posterior = posterior_of(quadratic=True)
    pool, joint = posterior.pool(NEW), posterior.joint(NEW[None])
    np.testing.assert_allclose(pool.mean, joint.mean[0], rtol=1e-11)
    np.testing.assert_allclose(pool.variance, np.diagonal(joint.covariance[0]), rtol=1e-9)
    rows, columns = np.array([0, 3, 5]), np.array([1, 3])
    expected = joint.covariance[0][np.ix_(rows, columns)]
    np.testing.assert_allclose(pool.covariance(rows, columns), expected, rtol=1e-9, atol=1e-10)


def test_moments_are_those_of_sampled_weights() -> None:
    posterior, rng = posterior_of(), np.random.default_rng(4)
    weights = posterior.mean + posterior.root @ rng.normal(size=(9, 20_000))
    values = posterior.network.basis(NEW).values @ weights
    joint = posterior.joint(NEW[None])
    scale = np.sqrt(np.max(np.diagonal(joint.covariance[0])))
    np.testing.assert_allclose(values.mean(axis=1), joint.mean[0], atol=0.03 * scale)
    np.testing.assert_allclose(np.cov(values), joint.covariance[0], atol=0.06 * scale**2)
    drawn = posterior.pool(NEW).draw(rng, 20_000)
    np.testing.assert_allclose(drawn.mean(axis=1), joint.mean[0], atol=0.03 * scale)
    np.testing.assert_allclose(np.cov(drawn), joint.covariance[0], atol=0.06 * scale**2)


def test_no_points_have_an_empty_posterior() -> None:
    posterior = posterior_of(quadratic=True, columns=2)
    marginals = posterior.marginals(np.empty((0, 2)))
    assert (marginals.mean.shape, marginals.variance.shape) == ((0, 2), (0,))
    assert marginals.vjp(np.empty((0, 2)), np.empty(0)).shape == (0, 2)
    assert posterior.condition(np.empty((0, 2)), np.empty((0, 2))).mean is posterior.mean


# conditioning


@pytest.mark.parametrize("columns", [1, 4])
@pytest.mark.parametrize("noise", [False, True], ids=["no reported noise", "reported noise"])
def test_conditioning_equals_regression_on_all_rows(columns: int, noise: bool) -> None:
    rng = np.random.default_rng(5)
    y, reported = rng.normal(size=(40, columns)), 0.2 * rng.random(40) * noise
    grown = fitted(slice(25), y, reported).condition(X[25:], y[25:], reported[25:])
    assert_same(grown, fitted(slice(None), y, reported))


def test_fantasies_share_the_covariance() -> None:
    """One column of values becomes several: only the means differ."""
    y = np.random.default_rng(5).normal(size=(40, 4))
    y[:25] = y[:25, :1]
    assert_same(fitted(slice(25), y[:, :1]).condition(X[25:], y[25:]), fitted(slice(None), y))


def test_the_order_of_conditioning_does_not_matter() -> None:
    posterior, y = posterior_of(columns=2), np.random.default_rng(6).normal(size=(40, 2))
    reported, order = np.random.default_rng(7).random(40), np.random.default_rng(8).permutation(40)
    together = posterior.condition(X, y, reported)
    assert_same(posterior.condition(X[order], y[order], reported[order]), together)
    assert_same(posterior.condition(X[:11], y[:11], reported[:11]).condition(X[11:], y[11:], reported[11:]), together)


def test_conditioning_is_gaussian_conditioning_of_the_joint_posterior() -> None:
    posterior, values = posterior_of(), np.array([[0.3], [-1.0]])
    before = posterior.joint(NEW[None])
    mean, covariance = before.mean[0], before.covariance[0]
    gain = covariance[:, :2] @ np.linalg.inv(covariance[:2, :2] + (posterior.noise + 0.1) * np.eye(2))
    after = posterior.condition(NEW[:2], values, 0.1).joint(NEW[None])
    np.testing.assert_allclose(after.mean[0], mean + gain @ (values[:, 0] - mean[:2]), rtol=1e-9)
    np.testing.assert_allclose(after.covariance[0], covariance - gain @ covariance[:2], rtol=1e-8, atol=1e-10)


def test_variances_stay_positive_after_many_noiseless_values() -> None:
    posterior, rng = posterior_of(columns=2), np.random.default_rng(9)
    points = np.concatenate([rng.random((250, 2)) - 0.5, NEW, NEW])  # some of them twice
    after = posterior.condition(points, rng.normal(size=(len(points), 2)), -posterior.noise)
    at = after.marginals(np.concatenate([points, X]))
    assert np.all(at.variance > 0)
    assert np.all(at.variance < 1e-6)
    assert np.all(np.isfinite(at.mean))
    assert np.all(np.isfinite(at.vjp(np.ones(at.mean.shape), np.ones(len(at.variance)))))
    assert np.linalg.eigvalsh(after.joint(NEW[None]).covariance[0]).min() > 0


def test_noiseless_values_are_interpolated() -> None:
    posterior = posterior_of()
    after = posterior.condition(NEW[:3], np.array([[1.0], [2.0], [-3.0]]), -posterior.noise)
    np.testing.assert_allclose(after.marginals(NEW[:3]).mean[:, 0], [1.0, 2.0, -3.0], atol=1e-5)
    assert after.noise == posterior.noise


def test_conditioning_does_not_modify_the_posterior() -> None:
    posterior, same = posterior_of(), posterior_of()
    posterior.condition(X, np.ones((40, 1)))
    assert_same(posterior, same, tolerance=0.0)


# several networks


def weights_of(count: int) -> tuple[list[tuple[Array, Array]], Array]:
    rng = np.random.default_rng(10)
    return [(rng.normal(size=7), rng.normal(size=(7, 7))) for _ in range(count)], rng.normal(size=(count, 5))


@pytest.mark.parametrize("count", [1, 4])
@pytest.mark.parametrize("quadratic", [False, True])
@pytest.mark.parametrize("inflation", [1.0, 2.5])
def test_a_mixture_has_the_moments_of_the_networks(count: int, quadratic: bool, inflation: float) -> None:
    network, (parts, eta) = network_of(count, quadratic=quadratic), weights_of(count)
    eta = eta if quadratic else eta[:, :0]
    means, covariances = [], []
    for k, (mean, root) in enumerate(parts):
        basis = network.members(slice(k, k + 1)).basis(NEW).values[:, :7]
        polynomial = np.concatenate([np.ones((6, 1)), NEW, NEW**2], axis=1)[:, : eta.shape[1]]
        means.append(basis @ mean + polynomial @ eta[k])
        covariances.append(basis @ root @ root.T @ basis.T)
    posterior = mixture(network, parts, eta=eta, inflation=inflation, noise=0.3)
    joint = posterior.joint(NEW[None])
    np.testing.assert_allclose(joint.mean[0], np.mean(means, axis=0), rtol=1e-10)
    spread = np.mean(covariances, axis=0) + np.cov(np.array(means).T, bias=True)
    np.testing.assert_allclose(joint.covariance[0], inflation * spread, rtol=1e-9, atol=1e-9)
    assert posterior.noise == 0.3


def test_equal_networks_are_one_network() -> None:
    alone, (parts, eta) = network_of(), weights_of(1)
    layers = tuple(type(layer)(*(np.repeat(each, 3, axis=0) for each in layer)) for layer in alone.layers)
    three = mixture(Network(layers), parts * 3, eta=np.repeat(eta[:, :0], 3, axis=0)).marginals(NEW)
    one = mixture(alone, parts, eta=eta[:, :0]).marginals(NEW)
    np.testing.assert_allclose(three.mean, one.mean, rtol=1e-10)
    np.testing.assert_allclose(three.variance, one.variance, rtol=1e-10)
