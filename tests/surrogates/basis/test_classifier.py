from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.integrate import quad
from scipy.optimize import minimize
from scipy.special import expit, roots_hermite
from scipy.stats import norm
from tests.surrogates.models import NUMBERS, numeric_gradient, units_of

from sonde.surrogates.basis.adaptive import AdaptiveBasis, Recipe
from sonde.surrogates.basis.classifier import LINKS, Blocks, FailureClassifier, Laplace, Link, laplace_approximation
from sonde.surrogates.basis.networks import Network
from sonde.surrogates.basis.posterior import LinearPosterior
from sonde.surrogates.exact.feasibility import PassProbability

Array = NDArray[np.float64]

RECIPE = Recipe(members=4, width=12, loss="logistic")
UNITS = units_of(NUMBERS, 40)
NEW = units_of(NUMBERS, 12, seed=1)
CORNERS = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0], [0.5, 0.5]])


def problem(size: int = 4, rows: int = 25, seed: int = 0) -> tuple[Array, Array]:
    rng = np.random.default_rng(seed)
    basis = rng.normal(size=(rows, size))
    return basis, np.where(basis[:, 0] + 0.7 * rng.normal(size=rows) > 0, 1.0, -1.0)


def in_blocks(basis: Array, labels: Array, size: int = 10) -> Blocks:
    def each() -> Iterator[tuple[Array, Array]]:
        for start in range(0, len(labels), size):
            yield basis[start : start + size], labels[start : start + size]

    return each


def prior_of(size: int = 4) -> Laplace:
    half = np.random.default_rng(5).normal(size=(size, size))
    return Laplace(np.linspace(-0.5, 0.5, size), half @ half.T + 0.3 * np.eye(size))


def minus_log_density(weights: Array, basis: Array, labels: Array, prior: Laplace) -> float:
    deviation = weights - prior.mean
    return float(0.5 * deviation @ prior.precision @ deviation - np.sum(np.log(expit(labels * (basis @ weights)))))


# the Laplace approximation


@pytest.mark.parametrize("rows", [0, 1, 25])
def test_it_is_the_mode_and_the_hessian(rows: int) -> None:
    (basis, labels), prior = problem(rows=rows), prior_of()
    found, _ = laplace_approximation(in_blocks(basis, labels), prior)
    best = minimize(minus_log_density, prior.mean, (basis, labels, prior), method="BFGS", options={"gtol": 1e-8})
    np.testing.assert_allclose(found.mean, best.x, atol=1e-4)
    hessian = prior.precision.copy()
    for row in basis:
        probability = expit(row @ best.x)
        hessian += probability * (1 - probability) * np.outer(row, row)
    np.testing.assert_allclose(found.precision, hessian, rtol=1e-3, atol=1e-4)


def test_its_evidence_approximates_the_integral() -> None:
    (basis, labels), prior = problem(size=2), prior_of(2)
    _, evidence = laplace_approximation(in_blocks(basis, labels), prior)
    at = np.linspace(-8, 8, 161)
    densities = [[np.exp(-minus_log_density(np.array([a, b]), basis, labels, prior)) for b in at] for a in at]
    normalisation = np.sqrt(np.linalg.det(prior.precision)) / (2 * np.pi)
    assert evidence == pytest.approx(np.log(np.sum(densities) * (at[1] - at[0]) ** 2 * normalisation), abs=0.1)


@pytest.mark.parametrize("scale", [1e-2, 1.0, 1e3])
def test_separable_labels_leave_it_finite(scale: float) -> None:
    basis = scale * np.linspace(-1, 1, 30)[:, None]
    found, evidence = laplace_approximation(
        in_blocks(basis, np.sign(basis[:, 0])), Laplace(np.zeros(1), 0.1 * np.eye(1))
    )
    assert np.isfinite(evidence)
    assert found.mean[0] > 0
    assert 0 < found.precision[0, 0] < np.inf


def test_fitting_in_two_parts_is_close_to_fitting_at_once() -> None:
    (basis, labels), prior = problem(rows=60), Laplace(np.zeros(4), np.eye(4))
    once, _ = laplace_approximation(in_blocks(basis, labels), prior)
    first, _ = laplace_approximation(in_blocks(basis[:40], labels[:40]), prior)
    twice, _ = laplace_approximation(in_blocks(basis[40:], labels[40:]), first)
    np.testing.assert_allclose(expit(basis @ twice.mean), expit(basis @ once.mean), atol=0.05)
    assert np.abs(expit(basis @ first.mean) - expit(basis @ once.mean)).max() > 0.05  # the second part is informative
    np.testing.assert_allclose(np.diagonal(twice.precision), np.diagonal(once.precision), rtol=0.2)


def test_no_labels_give_the_prior() -> None:
    prior = prior_of()
    found, evidence = laplace_approximation(in_blocks(np.empty((0, 4)), np.empty(0)), prior)
    np.testing.assert_array_equal(found.mean, prior.mean)
    np.testing.assert_array_equal(found.precision, prior.precision)
    assert evidence == pytest.approx(0.0, abs=1e-12)


# the probability of success


def latent(size: float, spread: float) -> LinearPosterior:
    network, rng = Network.untrained(2, 1, np.random.default_rng(0), width=6), np.random.default_rng(1)
    return LinearPosterior(network, size * rng.normal(size=(7, 1)), spread * rng.normal(size=(7, 7)), 0.0)


@pytest.mark.parametrize("size", [0.3, 1.5, 6.0])
@pytest.mark.parametrize("spread", [0.05, 0.5, 2.0])
def test_the_noisy_link_is_the_expectation_of_the_logistic_function(size: float, spread: float) -> None:
    posterior = latent(size, spread)
    marginals = posterior.marginals(NUMBERS(NEW))
    nodes, shares = roots_hermite(200)
    at = marginals.mean + np.sqrt(2 * marginals.variance)[:, None] * nodes
    expected = expit(at) @ shares / np.sqrt(np.pi)
    got = np.exp(passing((posterior, LINKS["noisy"]))(NEW)[0])
    np.testing.assert_allclose(got, expected, atol=0.02)
    assert np.ptp(expected) > 0.05


@pytest.mark.parametrize("size", [0.3, 1.5])
@pytest.mark.parametrize("spread", [0.05, 0.5])
def test_the_noiseless_link_is_the_expectation_of_a_step(size: float, spread: float) -> None:
    posterior = latent(size, spread)
    marginals = posterior.marginals(NUMBERS(NEW))
    got = np.exp(passing((posterior, LINKS["noiseless"]))(NEW)[0])
    for probability, mean, variance in zip(got, marginals.mean[:, 0], marginals.variance, strict=True):
        density = norm(mean, np.sqrt(variance)).pdf
        top = max(mean, 0.0) + 10 * np.sqrt(variance)
        assert probability == pytest.approx(quad(density, 0.0, top, points=[np.clip(mean, 0, top)])[0], abs=1e-6)


# networks


def passing(learned: tuple[LinearPosterior, Link]) -> PassProbability:
    posterior, link = learned
    return PassProbability(posterior, NUMBERS, link.slope, link.offset, link.extra)


def classifier_of(link: str = "noisy") -> FailureClassifier:
    return FailureClassifier(LINKS[link], AdaptiveBasis(RECIPE))


@cache
def disc(link: str = "noisy") -> PassProbability:
    """Trials succeed in a disc; networks were trained on the first 32 labels."""
    labels = np.where(np.sum((UNITS - 0.5) ** 2, axis=1) < 0.1, 1.0, -1.0)
    return passing(classifier_of(link).learn(NUMBERS(UNITS), labels, 32))


def test_a_disc_is_found() -> None:
    at = units_of(NUMBERS, 100, seed=2)
    radius = np.sqrt(np.sum((at - 0.5) ** 2, axis=1))
    clear = np.abs(radius - np.sqrt(0.1)) > 0.1
    right = (disc()(at[clear])[0] > np.log(0.5)) == (radius[clear] < np.sqrt(0.1))
    assert right.mean() > 0.9


@pytest.mark.parametrize("link", LINKS)
def test_its_gradients_match_finite_differences(link: str) -> None:
    probability = disc(link)
    expected = numeric_gradient(lambda at: float(probability(at)[0].sum()), NEW)
    np.testing.assert_allclose(probability(NEW)[1], expected, rtol=1e-5, atol=1e-5)


def test_contradictory_labels_give_even_probabilities() -> None:
    units = np.tile([[0.3, 0.6]], (40, 1))
    labels = np.where(np.arange(40) % 2, 1.0, -1.0)
    learned = {link: classifier_of(link).learn(NUMBERS(units), labels, 40) for link in LINKS}
    assert np.exp(passing(learned["noisy"])(units[:1])[0][0]) == pytest.approx(0.5, abs=0.15)
    assert np.all(np.isfinite(passing(learned["noiseless"])(CORNERS)[0]))


@pytest.mark.parametrize("link", LINKS)
@pytest.mark.parametrize("label", [-1.0, 1.0])
def test_equal_labels_are_predicted_nearby_and_finite_everywhere(label: float, link: str) -> None:
    probability = passing(classifier_of(link).learn(NUMBERS(UNITS), np.full(40, label), 40))
    near = np.exp(probability(UNITS)[0])
    assert np.all(near < 0.2) if label < 0 else np.all(near > 0.8)
    for part in probability(CORNERS):
        assert np.all(np.isfinite(part))


def test_labels_after_the_checkpoint_are_fitted_too() -> None:
    labels = np.where(UNITS[:, 0] < 0.5, 1.0, -1.0)
    surprise = np.full((8, 2), [0.2, 0.4]) + 0.05 * units_of(NUMBERS, 8, seed=3)
    basis = classifier_of()
    before = passing(basis.learn(NUMBERS(UNITS), labels, 40))
    after = passing(basis.learn(NUMBERS(np.concatenate([UNITS, surprise])), np.append(labels, -np.ones(8)), 40))
    there, far = np.array([[0.22, 0.42]]), np.array([[0.9, 0.9]])
    assert np.exp(before(there)[0][0]) > 0.8
    assert np.exp(after(there)[0][0]) < 0.6
    assert np.exp(after(far)[0][0]) < 0.5


def test_the_posterior_does_not_depend_on_earlier_fits() -> None:
    labels = np.where(UNITS[:, 0] < 0.5, 1.0, -1.0)
    used, x = classifier_of(), NUMBERS(UNITS)
    for count in (32, 36):
        used.learn(x[:count], labels[:count], 32)
    (fresh, link), (again, same) = classifier_of().learn(x, labels, 32), used.learn(x, labels, 32)
    assert same == link
    np.testing.assert_array_equal(again.mean, fresh.mean)
    np.testing.assert_array_equal(again.root, fresh.root)


def test_failures_are_nearly_certain_where_all_trials_failed_and_not_where_some_did() -> None:
    rng = np.random.default_rng(0)
    units = rng.random((256, 2))
    deep = np.array([[0.1, 0.5], [0.2, 0.2]])
    sharp = np.where(units[:, 0] < 0.4, -1.0, 1.0)
    probability = passing(classifier_of().learn(NUMBERS(units), sharp, 256))
    assert np.all(np.exp(probability(deep)[0]) < 0.02)
    noisy = np.where(rng.random(256) < 0.3, -sharp, sharp)
    probability = passing(classifier_of().learn(NUMBERS(units), noisy, 256))
    assert np.all(np.abs(np.exp(probability(deep)[0]) - 0.3) < 0.2)
