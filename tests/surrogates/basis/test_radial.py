from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.surrogates.models import IDS, MIXED, MODELS, NUMBERS, covariance_of, data_of, units_of

from sonde.surrogates.basis.data import BLOCK, Table
from sonde.surrogates.basis.radial import CENTRES, RadialBasis, score
from sonde.surrogates.features import Features
from sonde.surrogates.gaussian_process.covariance import Covariance
from sonde.surrogates.gaussian_process.posterior import ExactPosterior

Array = NDArray[np.float64]


def table_of(features: Features, count: int, *, reported: bool = False, seed: int = 0) -> Table:
    """Observations of a smooth function with a little noise."""
    x, y, noise = data_of(features, count, seed)
    return Table(x, np.sin(4 * x[:, 0]) + x[:, 1] + 0.1 * y, noise * reported)


def assert_same(one: ExactPosterior, other: ExactPosterior, features: Features, tolerance: float = 1e-8) -> None:
    batches = features(units_of(features, (2, 5), seed=50))
    for got, expected in zip(one.joint(batches)[:2], other.joint(batches)[:2], strict=True):
        np.testing.assert_allclose(got, expected, rtol=tolerance, atol=tolerance)


def with_a_repeated_row(data: Table) -> Table:
    """A row more than places: with a centre on each place there are fewer centres than rows."""
    return data.rows(np.array([*range(len(data.y)), 0]))


# as many centres as rows


@pytest.mark.parametrize(("features", "quadratic"), MODELS, ids=IDS)
def test_few_rows_give_the_exact_gaussian_process(features: Features, quadratic: bool) -> None:
    covariance, data = covariance_of(features, quadratic), table_of(features, 12, reported=True)
    exact = ExactPosterior.of(covariance, data.x, data.y, data.noise)
    assert_same(RadialBasis().learn(covariance, data, 8), exact, features, tolerance=0.0)
    means, variances = RadialBasis().leave_one_out(covariance, data, 8)
    np.testing.assert_array_equal(means, exact.leave_one_out(data.y)[0])
    np.testing.assert_array_equal(variances, exact.leave_one_out(data.y)[1])


@pytest.mark.parametrize(("features", "quadratic"), MODELS, ids=IDS)
def test_centres_on_all_rows_give_the_exact_gaussian_process(features: Features, quadratic: bool) -> None:
    covariance, data = covariance_of(features, quadratic), table_of(features, 12)
    data = with_a_repeated_row(data)
    posterior = RadialBasis(centres=12).learn(covariance, data, 12)
    assert len(posterior.x) == 12
    assert_same(posterior, ExactPosterior.of(covariance, data.x, data.y, data.noise), features, tolerance=1e-5)


@pytest.mark.parametrize("noise", [1e-3, 1e-2, 0.3])
def test_reported_noise_enters_as_in_the_exact_gaussian_process(noise: float) -> None:
    covariance, data = covariance_of(NUMBERS, noise=noise), table_of(NUMBERS, 12, reported=True)
    data = with_a_repeated_row(data)
    posterior = RadialBasis(centres=12).learn(covariance, data, 12)
    assert len(posterior.x) == 12
    assert_same(posterior, ExactPosterior.of(covariance, data.x, data.y, data.noise), NUMBERS, tolerance=1e-5)


# fewer centres


@pytest.mark.parametrize(("features", "quadratic"), MODELS, ids=IDS)
def test_it_is_the_deterministic_training_conditional(features: Features, quadratic: bool) -> None:
    """The prior variance that the basis cannot represent is added to the predictions."""
    covariance, data, new = covariance_of(features, quadratic), table_of(features, 60), units_of(features, 9, seed=1)
    posterior = RadialBasis(centres=16).learn(covariance, data, 60)
    assert len(posterior.x) == 16
    z, x = posterior.x, features(new)
    k_zz, k_zx, k_z_new = (covariance.cross(z, each).values for each in (z, data.x, x))
    precision = k_zz + k_zx @ k_zx.T / covariance.noise
    mean = k_z_new.T @ np.linalg.solve(precision, k_zx @ data.y) / covariance.noise
    residual = covariance.cross(x, x).values - k_z_new.T @ np.linalg.solve(k_zz, k_z_new)
    joint = posterior.joint(x[None])
    np.testing.assert_allclose(joint.mean[0], mean, atol=1e-3)  # up to the jitter
    np.testing.assert_allclose(
        joint.covariance[0], residual + k_z_new.T @ np.linalg.solve(precision, k_z_new), atol=1e-3
    )


def test_centres_are_the_best_and_evenly_spaced_others() -> None:
    data = table_of(NUMBERS, 100)
    chosen = RadialBasis(centres=20).learn(covariance_of(NUMBERS), data, 100).x
    rows = [int(np.flatnonzero((data.x == z).all(axis=1))[0]) for z in chosen]
    assert len(set(rows)) == 20
    assert set(np.argsort(-data.y)[:10]) <= set(rows)
    assert np.max(np.diff([0, *rows, 99])) < 30


def test_centres_are_rows_of_the_checkpoint_and_later_rows_are_fitted() -> None:
    covariance, data = covariance_of(NUMBERS), table_of(NUMBERS, 60)
    posterior, before = (RadialBasis(centres=20).learn(covariance, data.rows(slice(n)), 40) for n in (60, 40))
    np.testing.assert_array_equal(posterior.x, before.x)
    assert all((data.x[:40] == z).all(axis=1).any() for z in posterior.x)
    assert np.all(posterior.marginals(data.x).variance <= before.marginals(data.x).variance + 1e-9)
    assert np.abs(posterior.marginals(data.x).mean - before.marginals(data.x).mean).max() > 1e-3


def test_far_from_the_centres_the_variance_is_that_of_the_prior() -> None:
    covariance = covariance_of(NUMBERS)
    posterior = RadialBasis(centres=20).learn(covariance, table_of(NUMBERS, 60), 60)
    assert posterior.marginals(np.array([[1e3, 1e3]])).variance[0] > covariance.scale


@pytest.mark.parametrize(("features", "quadratic"), MODELS, ids=IDS)
def test_conditioning_is_gaussian_conditioning_of_the_joint_posterior(features: Features, quadratic: bool) -> None:
    posterior = RadialBasis(centres=16).learn(covariance_of(features, quadratic), table_of(features, 60), 60)
    pool, values = features(units_of(features, 6, seed=1)), np.array([[0.5], [-0.4]])
    before = posterior.joint(pool[None])
    mean, covariance = before.mean[0], before.covariance[0]
    gain = covariance[:, :2] @ np.linalg.inv(covariance[:2, :2] + (posterior.noise + 0.01) * np.eye(2))
    after = posterior.condition(pool[:2], values, 0.01).joint(pool[None])
    np.testing.assert_allclose(after.mean[0], mean + gain @ (values[:, 0] - mean[:2]), rtol=1e-8, atol=1e-9)
    np.testing.assert_allclose(after.covariance[0], covariance - gain @ covariance[:2], rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(posterior.marginals(pool).variance, np.diagonal(covariance), rtol=1e-8)
    assert np.linalg.eigvalsh(covariance).min() > 0


def test_repeated_rows_and_constant_values_leave_it_finite() -> None:
    data = table_of(NUMBERS, 60)
    degenerate = Table(np.repeat(data.x[:6], 10, axis=0), np.zeros(60), data.noise)
    for noise in (1e-8, 1e-2):
        at = RadialBasis(centres=16).learn(covariance_of(NUMBERS, noise=noise), degenerate, 60).marginals(data.x)
        assert np.all(np.isfinite(at.mean))
        assert np.all(at.variance > 0)


# cached statistics


def test_rows_in_other_blocks_have_the_same_sums() -> None:
    covariance, data = covariance_of(MIXED), table_of(MIXED, 2 * BLOCK + 50, reported=True)
    order = np.concatenate([np.arange(40), np.arange(len(data.y) - 1, 39, -1)])
    one, other = (RadialBasis(centres=20).learn(covariance, each, 40) for each in (data, data.rows(order)))
    assert_same(one, other, MIXED)


def test_the_posterior_does_not_depend_on_earlier_fits() -> None:
    covariance, other, data = covariance_of(NUMBERS), covariance_of(NUMBERS, seed=1), table_of(NUMBERS, 2 * BLOCK + 50)
    used, fresh = RadialBasis(centres=20), RadialBasis(centres=20)
    for count in (40, BLOCK + 7, 2 * BLOCK):
        used.learn(covariance, data.rows(slice(count)), 40)
        used.learn(other, data.rows(slice(count)), 40)
    assert_same(used.learn(covariance, data, 40), fresh.learn(covariance, data, 40), NUMBERS, tolerance=0.0)


# leave-one-out


@pytest.mark.parametrize("reported", [False, True], ids=["no reported noise", "reported noise"])
@pytest.mark.parametrize("lengthscale", [2.0, 0.1], ids=["smooth", "rough"])
def test_leave_one_out_matches_refitting(lengthscale: float, reported: bool) -> None:
    """The rough process has much variance that the basis cannot represent."""
    data = table_of(NUMBERS, 40, reported=reported)
    data.x[16:32] = data.x[:16]  # the first rows are the centres, whatever is left out of the others; these are at them
    covariance = Covariance(NUMBERS.groups, np.log([lengthscale, lengthscale, 1.3, 0.01]))
    means, variances = RadialBasis(centres=16).leave_one_out(covariance, data, 16)
    for i in range(16, 40, 3):
        others = data.rows(np.flatnonzero(np.arange(40) != i))
        at = RadialBasis(centres=16).learn(covariance, others, 16).marginals(data.x[i : i + 1])
        assert means[i] == pytest.approx(at.mean[0, 0], rel=1e-4, abs=1e-4)
        assert variances[i] == pytest.approx(at.variance[0] + covariance.noise + data.noise[i], rel=1e-3)


def test_the_score_prefers_the_covariance_that_predicts() -> None:
    data, right = table_of(NUMBERS, CENTRES * 3 // 2), Covariance(NUMBERS.groups, np.log([0.5, 0.8, 1.0, 0.01]))
    for wrong in ([0.01, 0.01, 1.0, 0.01], [0.5, 0.8, 1.0, 10.0]):
        assert score(right, data) > score(replace(right, theta=np.log(wrong)), data) + 0.3
