from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.surrogates.models import IDS, MIXED, MODELS, NUMBERS, covariance_of, data_of, units_of

from sonde.surrogates.basis import data as tables
from sonde.surrogates.basis import radial
from sonde.surrogates.basis.data import Table
from sonde.surrogates.basis.radial import RadialBasis, score
from sonde.surrogates.exact.covariance import Covariance
from sonde.surrogates.exact.gp import ExactPosterior
from sonde.surrogates.features import Features

Array = NDArray[np.float64]


def table_of(features: Features, count: int, *, told: bool = False, seed: int = 0) -> Table:
    """Values of a smooth function with a little noise."""
    x, y, noise = data_of(features, count, seed)
    return Table(x, np.sin(4 * x[:, 0]) + x[:, 1] + 0.1 * y, noise * told)


def units(monkeypatch: pytest.MonkeyPatch, count: int) -> None:
    monkeypatch.setattr(radial, "UNITS", count)


def assert_same(one: ExactPosterior, other: ExactPosterior, features: Features, tolerance: float = 1e-8) -> None:
    pools = features(units_of(features, (2, 5), seed=50))
    for got, expected in zip(one.joint(pools)[:2], other.joint(pools)[:2], strict=True):
        np.testing.assert_allclose(got, expected, rtol=tolerance, atol=tolerance)


def by_units_on_all(covariance: Covariance, data: Table, monkeypatch: pytest.MonkeyPatch) -> ExactPosterior:
    """The sparse way, with a unit on each row."""
    units(monkeypatch, len(data.y))
    placed = radial._place(covariance, data)
    assert len(placed.z) == len(data.y)
    return radial._posterior(covariance, placed, radial._sums(covariance, placed, data))


# as many units as rows


@pytest.mark.parametrize(("features", "quadratic"), MODELS, ids=IDS)
def test_with_few_rows_it_is_the_exact_process(features: Features, quadratic: bool) -> None:
    covariance, data = covariance_of(features, quadratic), table_of(features, 12, told=True)
    exact = ExactPosterior.of(covariance, data.x, data.y, data.noise)
    assert_same(RadialBasis().learn(covariance, data, 8), exact, features, tolerance=0.0)
    means, variances = RadialBasis().leave_one_out(covariance, data, 8)
    np.testing.assert_array_equal(means, exact.leave_one_out(data.y)[0])
    np.testing.assert_array_equal(variances, exact.leave_one_out(data.y)[1])


@pytest.mark.parametrize(("features", "quadratic"), MODELS, ids=IDS)
def test_units_on_all_rows_are_the_exact_process(
    features: Features, quadratic: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    covariance, data = covariance_of(features, quadratic), table_of(features, 12)
    exact = ExactPosterior.of(covariance, data.x, data.y, data.noise)
    assert_same(by_units_on_all(covariance, data, monkeypatch), exact, features, tolerance=1e-5)


@pytest.mark.parametrize("noise", [1e-3, 1e-2, 0.3])
def test_told_noise_is_that_of_the_exact_process(noise: float, monkeypatch: pytest.MonkeyPatch) -> None:
    covariance, data = covariance_of(NUMBERS, noise=noise), table_of(NUMBERS, 12, told=True)
    exact = ExactPosterior.of(covariance, data.x, data.y, data.noise)
    assert_same(by_units_on_all(covariance, data, monkeypatch), exact, NUMBERS, tolerance=1e-5)


# fewer


@pytest.mark.parametrize(("features", "quadratic"), MODELS, ids=IDS)
def test_it_is_the_regression_on_the_units(
    features: Features, quadratic: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And what they cannot represent stays as uncertain as it was."""
    covariance, data, new = covariance_of(features, quadratic), table_of(features, 60), units_of(features, 9, seed=1)
    units(monkeypatch, 16)
    belief = RadialBasis().learn(covariance, data, 60)
    assert len(belief.x) == 16
    z, x = belief.x, features(new)
    units_alone, told, asked = (covariance.cross(z, each).values for each in (z, data.x, x))
    precision = units_alone + told @ told.T / covariance.noise
    mean = asked.T @ np.linalg.solve(precision, told @ data.y) / covariance.noise
    lost = covariance.cross(x, x).values - asked.T @ np.linalg.solve(units_alone, asked)
    joint = belief.joint(x[None])
    np.testing.assert_allclose(joint.mean[0], mean, atol=1e-3)  # but for the jitter
    np.testing.assert_allclose(joint.covariance[0], lost + asked.T @ np.linalg.solve(precision, asked), atol=1e-3)


def test_units_are_on_the_best_and_evenly_among_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    units(monkeypatch, 20)
    data = table_of(NUMBERS, 100)
    chosen = RadialBasis().learn(covariance_of(NUMBERS), data, 100).x
    rows = [int(np.flatnonzero((data.x == z).all(axis=1))[0]) for z in chosen]
    assert len(set(rows)) == 20
    assert set(np.argsort(-data.y)[:10]) <= set(rows)
    assert np.max(np.diff([0, *rows, 99])) < 30


def test_units_are_on_rows_of_the_checkpoint_and_later_rows_are_learned(monkeypatch: pytest.MonkeyPatch) -> None:
    units(monkeypatch, 20)
    covariance, data = covariance_of(NUMBERS), table_of(NUMBERS, 60)
    belief, before = (RadialBasis().learn(covariance, data.rows(slice(n)), 40) for n in (60, 40))
    np.testing.assert_array_equal(belief.x, before.x)
    assert all((data.x[:40] == z).all(axis=1).any() for z in belief.x)
    assert np.all(belief.marginals(data.x).variance <= before.marginals(data.x).variance + 1e-9)
    assert np.abs(belief.marginals(data.x).mean - before.marginals(data.x).mean).max() > 1e-3


def test_away_from_the_units_it_is_as_uncertain_as_the_covariance(monkeypatch: pytest.MonkeyPatch) -> None:
    units(monkeypatch, 20)
    covariance = covariance_of(NUMBERS)
    belief = RadialBasis().learn(covariance, table_of(NUMBERS, 60), 60)
    assert belief.marginals(np.array([[1e3, 1e3]])).variance[0] > covariance.scale


@pytest.mark.parametrize(("features", "quadratic"), MODELS, ids=IDS)
def test_conditioning_is_that_of_the_joint_belief(
    features: Features, quadratic: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    units(monkeypatch, 16)
    belief = RadialBasis().learn(covariance_of(features, quadratic), table_of(features, 60), 60)
    pool, values = features(units_of(features, 6, seed=1)), np.array([[0.5], [-0.4]])
    before = belief.joint(pool[None])
    mean, covariance = before.mean[0], before.covariance[0]
    gain = covariance[:, :2] @ np.linalg.inv(covariance[:2, :2] + (belief.noise + 0.01) * np.eye(2))
    after = belief.condition(pool[:2], values, 0.01).joint(pool[None])
    np.testing.assert_allclose(after.mean[0], mean + gain @ (values[:, 0] - mean[:2]), rtol=1e-8, atol=1e-9)
    np.testing.assert_allclose(after.covariance[0], covariance - gain @ covariance[:2], rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(belief.marginals(pool).variance, np.diagonal(covariance), rtol=1e-8)
    assert np.linalg.eigvalsh(covariance).min() > 0


def test_repeated_rows_and_constant_values_leave_it_finite(monkeypatch: pytest.MonkeyPatch) -> None:
    units(monkeypatch, 16)
    data = table_of(NUMBERS, 60)
    odd = Table(np.repeat(data.x[:6], 10, axis=0), np.zeros(60), data.noise)
    for noise in (1e-8, 1e-2):
        belief = RadialBasis().learn(covariance_of(NUMBERS, noise=noise), odd, 60).marginals(data.x)
        assert np.all(np.isfinite(belief.mean))
        assert np.all(belief.variance > 0)


# sums


def test_sums_in_blocks_are_sums_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    units(monkeypatch, 20)
    covariance, data = covariance_of(MIXED), table_of(MIXED, 70, told=True)
    once = RadialBasis().learn(covariance, data, 40)
    monkeypatch.setattr(tables, "BLOCK", 16)
    assert_same(RadialBasis().learn(covariance, data, 40), once, MIXED)


def test_the_same_data_give_the_same_belief_whatever_was_learned_before(monkeypatch: pytest.MonkeyPatch) -> None:
    units(monkeypatch, 20)
    monkeypatch.setattr(tables, "BLOCK", 16)
    covariance, other, data = covariance_of(NUMBERS), covariance_of(NUMBERS, seed=1), table_of(NUMBERS, 70)
    used = RadialBasis()
    for count in (40, 47, 60):
        used.learn(covariance, data.rows(slice(count)), 40)
        used.learn(other, data.rows(slice(count)), 40)
    assert_same(used.learn(covariance, data, 40), RadialBasis().learn(covariance, data, 40), NUMBERS, tolerance=0.0)


# leaving out


@pytest.mark.parametrize("told", [False, True], ids=["no noise told", "noise told"])
@pytest.mark.parametrize("lengthscale", [2.0, 0.1], ids=["smooth", "rough"])
def test_leaving_one_out_is_leaving_one_out(lengthscale: float, told: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the units where they are; the rough one has much that units cannot represent."""
    units(monkeypatch, 16)
    data = table_of(NUMBERS, 40, told=told)
    covariance = Covariance(NUMBERS.groups, np.log([lengthscale, lengthscale, 1.3, 0.01]))
    means, variances = RadialBasis().leave_one_out(covariance, data, 40)
    placed = radial._place(covariance, data)
    for i in range(0, 40, 3):
        others = data.rows(np.flatnonzero(np.arange(40) != i))
        belief = radial._posterior(covariance, placed, radial._sums(covariance, placed, others))
        belief = belief.marginals(data.x[i : i + 1])
        assert means[i] == pytest.approx(belief.mean[0, 0], rel=1e-4, abs=1e-4)
        assert variances[i] == pytest.approx(belief.variance[0] + covariance.noise + data.noise[i], rel=1e-3)


def test_the_score_prefers_the_covariance_that_foretells(monkeypatch: pytest.MonkeyPatch) -> None:
    units(monkeypatch, 40)
    data, right = table_of(NUMBERS, 100), Covariance(NUMBERS.groups, np.log([0.5, 0.8, 1.0, 0.01]))
    for wrong in ([0.01, 0.01, 1.0, 0.01], [0.5, 0.8, 1.0, 10.0]):
        assert score(right, data) > score(replace(right, theta=np.log(wrong)), data) + 0.3
