from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.space.spaces import examples
from tests.surrogates.models import (
    IDS,
    MIXED,
    MODELS,
    NUMBERS,
    covariance_of,
    data_of,
    numeric_gradient,
    posterior_of,
    units_of,
)

from sonde.surrogates.features import Features
from sonde.surrogates.gaussian_process.covariance import Covariance
from sonde.surrogates.gaussian_process.marginal_likelihood import Evidence
from sonde.surrogates.gaussian_process.posterior import ExactPosterior

# Reference numbers by GPyTorch 1.15.2: see ``freeze_gpytorch``.
LENGTHSCALES = (0.4, 0.9)
SCALE, NOISE, TREND = 1.3, 0.01, 0.2
X = np.array([[-0.4, -0.1], [-0.15, 0.35], [0.05, -0.45], [0.2, 0.1], [0.45, 0.4]])
Y = np.array([-1.2, 0.3, 0.9, 1.1, -0.6])
NEW = np.array([[0.0, 0.0], [0.21, 0.1], [-0.5, 0.5]])
FROZEN = {
    False: (
        -7.5602960189270725,
        [0.9886789752023075, 1.0458939605981956, -0.9092179450169771],
        [
            [0.10839693333174694, -0.0006016416438199279, -0.07146022900985893],
            [-0.000601641643820372, 0.01022673130001639, 0.0015056607845453929],
            [-0.07146022900985871, 0.0015056607845453929, 0.6234755581760019],
        ],
    ),
    True: (
        -7.787972426508814,
        [0.9737148981563877, 1.0508013002488603, -0.92271466227725],
        [
            [0.11948512145966905, -0.0005606907420814267, -0.10563995128320736],
            [-0.0005606907420814267, 0.010308721500267737, 0.0018505239489712277],
            [-0.10563995128320758, 0.0018505239489716718, 0.8882810916071024],
        ],
    ),
}


@pytest.mark.parametrize("quadratic", [False, True])
def test_posterior_and_evidence_are_those_of_gpytorch(quadratic: bool) -> None:
    theta = np.log([*LENGTHSCALES, SCALE, NOISE, *[TREND] * quadratic])
    covariance = Covariance(NUMBERS.groups, theta, "quadratic" if quadratic else None)
    evidence, means, covariances = FROZEN[quadratic]
    posterior = ExactPosterior.of(covariance, X, Y)
    marginals, joint = posterior.marginals(NEW), posterior.joint(NEW[None])
    assert Evidence.of_values(X, Y, np.zeros(5)).value(covariance) == pytest.approx(evidence, rel=1e-10)
    np.testing.assert_allclose(marginals.mean[:, 0], means, rtol=1e-10)
    np.testing.assert_allclose(marginals.variance, np.diagonal(covariances), rtol=1e-10)
    np.testing.assert_allclose(joint.mean[0], means, rtol=1e-10)
    np.testing.assert_allclose(joint.covariance[0], covariances, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(("features", "quadratic"), MODELS, ids=IDS)
def test_without_noise_it_interpolates(features: Features, quadratic: bool) -> None:
    x, y, _ = data_of(features, 7)
    predicted = ExactPosterior.of(covariance_of(features, quadratic, noise=1e-10), x, y).marginals(x)
    np.testing.assert_allclose(predicted.mean[:, 0], y, atol=1e-6)
    assert np.all(predicted.variance > 0)
    assert np.all(predicted.variance < 1e-9)


def test_far_from_the_data_it_is_the_prior_with_an_inferred_mean() -> None:
    x, y, _ = data_of(NUMBERS, 30)
    covariance = covariance_of(NUMBERS, noise=1e-4)
    predicted = ExactPosterior.of(covariance, x, y).marginals(np.array([[1e3, 1e3]]))
    assert covariance.scale < predicted.variance[0] < covariance.scale + 1.0  # the mean is not certain


@examples(25)
@given(
    model=st.sampled_from(MODELS), sizes=st.lists(st.integers(1, 4), min_size=2, max_size=4), seed=st.integers(0, 99)
)
def test_step_by_step_equals_all_at_once(model: tuple[Features, bool], sizes: list[int], seed: int) -> None:
    features, quadratic = model
    x, y, noise = data_of(features, sum(sizes), seed)
    covariance = covariance_of(features, quadratic, seed=seed)
    whole = ExactPosterior.of(covariance, x, y, noise)
    ends = np.cumsum(sizes)
    grown = ExactPosterior.of(covariance, x[: ends[0]], y[: ends[0]], noise[: ends[0]])
    for start, stop in pairwise(ends):
        grown = grown.condition(x[start:stop], y[start:stop, None], noise[start:stop])
    assert_same(grown, whole, features)


def assert_same(one: ExactPosterior, other: ExactPosterior, features: Features) -> None:
    np.testing.assert_allclose(one.inverse, other.inverse, rtol=1e-8, atol=1e-9)
    np.testing.assert_allclose(one.white, other.white, rtol=1e-8, atol=1e-9)
    new = features(units_of(features, 5, seed=1000))
    for got, expected in zip(one.marginals(new)[:2], other.marginals(new)[:2], strict=True):
        np.testing.assert_allclose(got, expected, rtol=1e-8, atol=1e-9)


def test_conditioning_on_a_point_twice_stays_finite() -> None:
    posterior = posterior_of(NUMBERS, noise=1e-10)
    value = np.array([[0.3]])
    again = posterior.condition(posterior.x[:1], value).condition(posterior.x[:1], value)
    assert np.all(np.isfinite(again.inverse))
    assert np.all(np.isfinite(again.marginals(NUMBERS(units_of(NUMBERS, 4, seed=1))).mean))


def test_columns_of_values_equal_separate_posteriors() -> None:
    x, _, noise = data_of(MIXED, 6)
    columns = np.random.default_rng(0).normal(size=(6, 3))
    covariance, new = covariance_of(MIXED, True), MIXED(units_of(MIXED, 4, seed=1))
    together = ExactPosterior.of(covariance, x, columns, noise).marginals(new)
    assert together.mean.shape == (4, 3)
    for s in range(3):
        alone = ExactPosterior.of(covariance, x, columns[:, s], noise).marginals(new)
        np.testing.assert_allclose(together.mean[:, s], alone.mean[:, 0], rtol=1e-10)
        np.testing.assert_allclose(together.variance, alone.variance, rtol=1e-10)


@pytest.mark.parametrize("columns", [1, 4], ids=["first fantasies", "more fantasies"])
def test_fantasies_equal_separate_posteriors(columns: int) -> None:
    """One column of values is shared by all fantasies; of several columns, each continues its own."""
    posterior = posterior_of(MIXED, columns=columns)
    point, outcomes = MIXED(units_of(MIXED, 2, seed=1)), np.random.default_rng(1).normal(size=(2, 4))
    new = MIXED(units_of(MIXED, 3, seed=2))
    together = posterior.condition(point, outcomes).marginals(new)
    for s in range(4):
        own = ExactPosterior(posterior.covariance, posterior.x, posterior.inverse, posterior.white[:, [s % columns]])
        alone = own.condition(point, outcomes[:, [s]]).marginals(new)
        np.testing.assert_allclose(together.mean[:, s], alone.mean[:, 0], rtol=1e-10)
        np.testing.assert_allclose(together.variance, alone.variance, rtol=1e-10)


@pytest.mark.parametrize(("features", "quadratic"), MODELS, ids=IDS)
def test_leave_one_out_equals_refitting_without_each_value(features: Features, quadratic: bool) -> None:
    x, y, noise = data_of(features, 7)
    covariance = covariance_of(features, quadratic)
    means, variances = ExactPosterior.of(covariance, x, y, noise).leave_one_out(y)
    for i in range(7):
        others = np.arange(7) != i
        predicted = ExactPosterior.of(covariance, x[others], y[others], noise[others]).marginals(x[i : i + 1])
        assert means[i] == pytest.approx(predicted.mean[0, 0], rel=1e-9)
        assert variances[i] == pytest.approx(predicted.variance[0] + covariance.noise + noise[i], rel=1e-9)


@pytest.mark.parametrize(("features", "quadratic"), MODELS, ids=IDS)
def test_joint_posteriors_have_the_marginals_on_their_diagonal(features: Features, quadratic: bool) -> None:
    posterior = posterior_of(features, quadratic)
    batches = features(units_of(features, (3, 4), seed=1))
    joint = posterior.joint(batches)
    np.testing.assert_allclose(joint.covariance, joint.covariance.swapaxes(1, 2), atol=1e-14)
    for b in range(3):
        alone = posterior.marginals(batches[b])
        np.testing.assert_allclose(joint.mean[b], alone.mean[:, 0], rtol=1e-11)
        np.testing.assert_allclose(np.diagonal(joint.covariance[b]), alone.variance, rtol=1e-9)


@pytest.mark.parametrize(("features", "quadratic"), MODELS, ids=IDS)
def test_joint_covariance_gives_the_variance_after_conditioning(features: Features, quadratic: bool) -> None:
    """After one point of a batch is observed, the variance at another falls by covariance^2 / (variance + noise)."""
    posterior = posterior_of(features, quadratic)
    batch = features(units_of(features, 2, seed=1))
    before = posterior.joint(batch[None]).covariance[0]
    after = posterior.condition(batch[:1], np.zeros((1, 1))).marginals(batch[1:]).variance[0]
    expected = before[1, 1] - before[0, 1] ** 2 / (before[0, 0] + posterior.covariance.noise)
    assert after == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize(("features", "quadratic"), MODELS, ids=IDS)
@pytest.mark.parametrize("columns", [1, 3])
def test_vjp_of_marginals(features: Features, quadratic: bool, columns: int) -> None:
    posterior = posterior_of(features, quadratic, columns=columns)
    x = features(units_of(features, 4, seed=1))
    rng = np.random.default_rng(0)
    mean_gradient, variance_gradient = rng.normal(size=(4, columns)), rng.normal(size=4)

    def function(at: np.ndarray) -> float:
        predicted = posterior.marginals(at)
        return float(np.sum(mean_gradient * predicted.mean) + np.sum(variance_gradient * predicted.variance))

    result = posterior.marginals(x).vjp(mean_gradient, variance_gradient)
    np.testing.assert_allclose(result, numeric_gradient(function, x), rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize(("features", "quadratic"), MODELS, ids=IDS)
def test_vjp_of_joint_posteriors(features: Features, quadratic: bool) -> None:
    posterior = posterior_of(features, quadratic)
    batches = features(units_of(features, (2, 3), seed=1))
    rng = np.random.default_rng(0)
    mean_gradient, covariance_gradient = rng.normal(size=(2, 3)), rng.normal(size=(2, 3, 3))  # symmetric or not

    def function(at: np.ndarray) -> float:
        predicted = posterior.joint(at)
        return float(np.sum(mean_gradient * predicted.mean) + np.sum(covariance_gradient * predicted.covariance))

    result = posterior.joint(batches).vjp(mean_gradient, covariance_gradient)
    np.testing.assert_allclose(result, numeric_gradient(function, batches), rtol=1e-6, atol=1e-7)
