from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.stats import multivariate_normal, norm
from tests.space.spaces import examples

from sonde.surrogates.basis.regression import (
    ALPHA,
    BETA,
    CENTRE,
    CURVATURE,
    OFFSET,
    Hyperparameters,
    Regression,
    regress,
)

Array = NDArray[np.float64]

ROWS, SIZE = 12, 5
NO_ETA = np.empty(0)


class Problem:
    """Rows of basis functions (the last a constant), inputs, values and weights, and their regression."""

    def __init__(self, quadratic: bool = False, rows: int = ROWS, size: int = SIZE, seed: int = 0) -> None:
        rng = np.random.default_rng([seed, 7])
        self.basis = np.concatenate([rng.normal(size=(rows, size - 1)), np.ones((rows, 1))], axis=1)
        self.x = rng.random((rows, 2)) - 0.5
        self.extra = np.concatenate([self.x, self.x**2], axis=1) if quadratic else np.empty((rows, 0))
        self.y, self.weights = rng.normal(size=rows), rng.uniform(0.1, 1.0, rows)

    def regression(self, chosen: slice = slice(None), *, weighted: bool = False) -> Regression:
        weights = self.weights if weighted else np.ones(len(self.y))
        return regress(self.basis[chosen], self.extra[chosen], self.y[chosen], weights[chosen])

    def eta(self, given: Hyperparameters) -> Array:
        if not len(given.eta):
            return np.zeros(len(self.y))
        return np.concatenate([np.ones((len(self.y), 1)), self.extra], axis=1) @ given.eta


def given_of(quadratic: bool, alpha: float = 0.7, beta: float = 20.0) -> Hyperparameters:
    return Hyperparameters(alpha, beta, np.array([0.4, -0.3, 0.8, -1.1, -0.2]) if quadratic else NO_ETA)


# closed forms


@pytest.mark.parametrize("quadratic", [False, True], ids=["no eta", "eta"])
@pytest.mark.parametrize("weighted", [False, True], ids=["no reported noise", "reported noise"])
def test_the_weights_are_those_of_bayesian_linear_regression(quadratic: bool, weighted: bool) -> None:
    problem, given = Problem(quadratic), given_of(quadratic)
    row_weights = np.diag(problem.weights if weighted else np.ones(ROWS))
    precision = given.beta * problem.basis.T @ row_weights @ problem.basis + given.alpha * np.eye(SIZE)
    target = problem.basis.T @ row_weights @ (problem.y - problem.eta(given))
    mean, root = problem.regression(weighted=weighted).weights(given)
    np.testing.assert_allclose(mean, given.beta * np.linalg.solve(precision, target), rtol=1e-10)
    np.testing.assert_allclose(root @ root.T, np.linalg.inv(precision), rtol=1e-9, atol=1e-12)


@examples(40)
@given(
    log_alpha=st.floats(-6, 6), log_beta=st.floats(-6, 8), quadratic=st.booleans(), weighted=st.booleans(),
    rows=st.sampled_from([1, 3, 12]), seed=st.integers(0, 99),
)  # fmt: skip
def test_the_evidence_is_a_multivariate_normal_density(
    log_alpha: float, log_beta: float, quadratic: bool, weighted: bool, rows: int, seed: int
) -> None:
    problem = Problem(quadratic, rows, seed=seed)
    given = given_of(quadratic, np.exp(log_alpha), np.exp(log_beta))
    weights = problem.weights if weighted else np.ones(rows)
    covariance = problem.basis @ problem.basis.T / given.alpha + np.diag(1 / (given.beta * weights))
    expected = multivariate_normal(problem.eta(given), covariance).logpdf(problem.y)
    got = problem.regression(weighted=weighted).log_evidence(given)
    assert got + 0.5 * np.sum(np.log(weights)) == pytest.approx(expected, rel=1e-6, abs=1e-6)  # weights: a constant


def test_eta_is_a_concave_quadratic() -> None:
    regression, x = Problem(True).regression(), np.random.default_rng(3).normal(size=(20, 2))
    offset, centre, curvature = 0.7, np.array([0.2, -0.4]), np.array([1.5, 0.01])
    given = regression._unpack(np.array([0.1, 2.0, offset, *centre, *np.log(curvature)]))
    expected = offset - np.sum(curvature * (x - centre) ** 2, axis=1)
    np.testing.assert_allclose(np.concatenate([np.ones((20, 1)), x, x**2], axis=1) @ given.eta, expected, rtol=1e-12)
    assert np.log([given.alpha, given.beta]) == pytest.approx([0.1, 2.0])


@pytest.mark.parametrize("quadratic", [False, True], ids=["no eta", "eta"])
def test_statistics_add(quadratic: bool) -> None:
    problem, given = Problem(quadratic), given_of(quadratic)
    whole, first, last = (
        problem.regression(rows, weighted=True) for rows in (slice(None), slice(5), slice(5, None))
    )  # fmt: skip
    total = first + last
    assert total.count == whole.count
    assert total.log_evidence(given) == pytest.approx(whole.log_evidence(given), rel=1e-9)
    for got, expected in zip(total.weights(given), whole.weights(given), strict=True):
        got, expected = (each @ each.T if each.ndim == 2 else each for each in (got, expected))
        np.testing.assert_allclose(got, expected, rtol=1e-8, atol=1e-10)


def test_data_are_not_modified() -> None:
    problem, same = Problem(True), Problem(True)
    regression = problem.regression(weighted=True)
    before = regression.gram.copy()
    regression.draws(3, np.random.default_rng(0))
    np.testing.assert_array_equal(regression.gram, before)
    for name in ("basis", "extra", "y", "weights"):
        np.testing.assert_array_equal(getattr(problem, name), getattr(same, name))


# hyperparameters


def linear_data(rows: int, noise: float, seed: int = 0) -> Regression:
    """Values with weights of variance 1 and noise of this standard deviation."""
    problem, rng = Problem(rows=rows, seed=seed), np.random.default_rng([seed, 8])
    problem.y = problem.basis @ rng.normal(size=SIZE) + noise * rng.normal(size=rows)
    return problem.regression()


def test_draws_are_from_the_posterior() -> None:
    """Against an integral over a grid of (log alpha, log beta)."""
    regression = linear_data(15, 0.3)
    a, b = np.meshgrid(np.linspace(-6, 6, 60), np.linspace(-4, 8, 60), indexing="ij")
    logs = np.array(
        [
            regression.log_evidence(Hyperparameters(np.exp(i), np.exp(j), NO_ETA))
            for i, j in zip(a.flat, b.flat, strict=True)
        ]
    )
    logs += norm(*ALPHA).logpdf(a.ravel()) + norm(*BETA).logpdf(b.ravel())
    shares = np.exp(logs - logs.max())
    shares /= shares.sum()
    drawn = regression.draws(800, np.random.default_rng(0))
    for axis, chain in ((a, [each.alpha for each in drawn]), (b, [each.beta for each in drawn])):
        mean = shares @ axis.ravel()
        deviation = np.sqrt(shares @ (axis.ravel() - mean) ** 2)
        assert np.log(chain).mean() == pytest.approx(mean, abs=0.2 * deviation)
        assert np.log(chain).std() == pytest.approx(deviation, rel=0.2)


def test_without_data_draws_are_from_the_prior() -> None:
    """Successive draws are correlated: the means of 400 have a standard error of about a tenth of a deviation."""
    drawn = Problem(True).regression(slice(0)).draws(400, np.random.default_rng(0))
    curvature = np.array([-each.eta[3:] for each in drawn])
    centre = np.array([each.eta[1:3] for each in drawn]) / (2 * curvature)
    offset = np.array([each.eta[0] for each in drawn]) + np.sum(curvature * centre**2, axis=1)
    at = np.linspace(-12, 12, 2001)
    horseshoe = np.log1p((CURVATURE / np.exp(at)) ** 2) * np.exp(at)
    horseshoe /= horseshoe.sum()
    middle = float(horseshoe @ at)
    spread = float(np.sqrt(horseshoe @ (at - middle) ** 2))
    expected: list[tuple[Array, float, float]] = [
        (np.log([each.alpha for each in drawn]), *ALPHA),
        (np.log([each.beta for each in drawn]), *BETA),
        (offset, 0.0, OFFSET),
        *((column, 0.0, CENTRE) for column in centre.T),
        *((column, middle, spread) for column in np.log(curvature).T),
    ]
    for chain, mean, deviation in expected:
        assert np.mean(chain) == pytest.approx(mean, abs=0.4 * deviation)
        assert np.std(chain) == pytest.approx(deviation, rel=0.3)


def test_draws_of_eta_recover_the_curvature() -> None:
    """The basis cannot represent it: it does not depend on x."""
    problem = Problem(True, rows=60)
    problem.y = 0.5 - 4 * (problem.x[:, 0] - 0.2) ** 2 + 0.01 * np.random.default_rng(0).normal(size=60)
    drawn = problem.regression().draws(150, np.random.default_rng(0))[50:]
    curvature = -np.array([each.eta[3:] for each in drawn])
    assert np.all(curvature > 0)
    assert np.median(curvature[:, 0]) == pytest.approx(4, abs=0.3)
    assert np.median(curvature[:, 1]) < 0.3
    assert np.median([each.eta[1] for each in drawn] / (2 * curvature[:, 0])) == pytest.approx(0.2, abs=0.05)


@pytest.mark.parametrize("noise", [0.03, 0.3])
def test_the_most_probable_nearly_maximise_the_marginal_likelihood(noise: float) -> None:
    regression = linear_data(200, noise)

    def loss(logs: Array) -> float:
        return -regression.log_evidence(Hyperparameters(float(np.exp(logs[0])), float(np.exp(logs[1])), NO_ETA))

    found = regression.most_probable()
    top = minimize(loss, np.array([0.0, 4.0]), method="Nelder-Mead").x
    assert np.log([found.alpha, found.beta]) == pytest.approx(top, abs=0.1)
    assert found.beta**-0.5 == pytest.approx(noise, rel=0.15)
    assert not len(found.eta)


def test_draws_are_seeded() -> None:
    one, same, other = ([each.alpha for each in linear_data(15, 0.3).draws(4, np.random.default_rng(seed))]
                        for seed in (1, 1, 2))  # fmt: skip
    assert one == same
    assert not set(one) & set(other)


# degenerate data


@pytest.mark.parametrize("quadratic", [False, True], ids=["no eta", "eta"])
@pytest.mark.parametrize("rows", [0, 1, 3, 30])
@pytest.mark.parametrize("kind", ["zero", "constant", "huge", "one basis function"])
def test_degenerate_data_leave_everything_finite(kind: str, rows: int, quadratic: bool) -> None:
    problem = Problem(quadratic, rows=30, size=9)
    problem.y = {"zero": 0.0, "constant": 5.0, "huge": 30.0}.get(kind, 1.0) * np.sign(problem.y) ** (kind == "huge")
    problem.y = np.broadcast_to(problem.y, 30).copy()
    if kind == "one basis function":
        problem.basis[:, :-1] = problem.basis[:, :1]
    regression = problem.regression(slice(rows))
    for found in (regression.most_probable(), *regression.draws(5, np.random.default_rng(0))):
        assert 0 < found.alpha < np.inf
        assert 0 < found.beta < np.inf
        assert np.all(np.isfinite(found.eta))
        assert np.isfinite(regression.log_evidence(found))
        assert all(np.all(np.isfinite(each)) for each in regression.weights(found))


def test_values_in_the_span_of_the_basis_have_little_noise() -> None:
    problem = Problem(rows=60)
    problem.y = problem.basis @ np.arange(1.0, SIZE + 1)
    given = problem.regression().most_probable()
    assert given.beta > 1e4
    np.testing.assert_allclose(problem.regression().weights(given)[0], np.arange(1.0, SIZE + 1), rtol=1e-3)
