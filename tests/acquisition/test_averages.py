from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from scipy.special import log_expit, logsumexp
from tests.acquisition.beliefs import BEST, NONE, PLANE, belief_of, check_slopes
from tests.surrogates.models import units_of

from sonde.acquisition.averages import LEAST, Average, Chance, Weighted, average
from sonde.acquisition.montecarlo import MonteCarlo
from sonde.acquisition.pointwise import Pointwise
from sonde.acquisition.port import Acquisition
from sonde.acquisition.utilities import UTILITIES

POOLS = units_of(PLANE, (5, 2), seed=1)


def parts(name: str) -> tuple[Acquisition, ...]:
    return tuple(
        MonteCarlo(UTILITIES[name], belief_of(noise=noise), PLANE, BEST, NONE, 2, samples=64, seed=seed)
        for seed, noise in enumerate([1e-3, 1e-2, 1e-1])
    )


@dataclass(frozen=True)
class Left:
    """It is likely to work on the left."""

    steepness: float = 5.0

    def __call__(self, units: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        score = self.steepness * (0.4 - units[:, 0])
        gradients = np.zeros_like(units)
        gradients[:, 0] = -self.steepness * np.exp(log_expit(-score))
        return log_expit(score), gradients


@pytest.mark.parametrize("axis", [0, -1])
def test_means_of_numbers_and_of_logarithms(axis: int) -> None:
    values = np.random.default_rng(0).normal(size=(4, 3))
    mean, shares = average(values, log=False, axis=axis)
    np.testing.assert_allclose(mean, values.mean(axis=axis))
    np.testing.assert_allclose(shares.sum(axis=axis), 1)
    mean, shares = average(values, log=True, axis=axis)
    np.testing.assert_allclose(mean, logsumexp(values, axis=axis) - np.log(values.shape[axis]), rtol=1e-12)
    np.testing.assert_allclose(shares.sum(axis=axis), 1)
    expected = np.exp(values - logsumexp(values, axis=axis, keepdims=True))
    np.testing.assert_allclose(shares, expected, rtol=1e-12)


def test_logarithms_of_zero_and_of_next_to_nothing() -> None:
    mean, shares = average(np.array([[-np.inf, -np.inf], [-np.inf, 1.0], [-1e9, -2e9], [-1e300, 0.0]]), log=True)
    np.testing.assert_allclose(mean, [LEAST, 1 - np.log(2), -1e9 - np.log(2), -np.log(2)])
    np.testing.assert_allclose(shares, [[0.5, 0.5], [0, 1], [1, 0], [0, 1]])


@pytest.mark.parametrize("name", ["ei", "ucb", "log_ei"])
def test_the_mean_over_models(name: str) -> None:
    whole, values = Average(parts(name)), np.stack([part.values(POOLS) for part in parts(name)])
    expected = logsumexp(values, axis=0) - np.log(3) if name == "log_ei" else values.mean(axis=0)
    np.testing.assert_allclose(whole.values(POOLS), expected, rtol=1e-12)
    assert whole.log == (name == "log_ei")
    check_slopes(whole, POOLS, tolerance=1e-4)


def test_the_mean_of_one_model_thrice_is_the_model() -> None:
    for name in UTILITIES:
        one = parts(name)[0]
        got, expected = Average((one, one, one)).gradients(POOLS), one.gradients(POOLS)
        np.testing.assert_allclose(got[0], expected[0], rtol=1e-12)
        np.testing.assert_allclose(got[1], expected[1], rtol=1e-12)


def test_the_average_of_logarithms_is_the_logarithm_of_the_average() -> None:
    points = POOLS[:, :1]
    posteriors = [belief_of(noise=noise) for noise in (1e-3, 1e-1)]
    log, plain = (
        Average(tuple(Pointwise(name, posterior, PLANE, np.array([BEST])) for posterior in posteriors)).values(points)
        for name in ("log_ei", "ei")
    )
    np.testing.assert_allclose(log, np.log(plain), rtol=1e-9)


def test_fresh_samples_reach_all_parts() -> None:
    whole = Weighted(Average(parts("sr")), Left(), signed=True)
    fresh = whole.fresh(3)
    assert not np.any(fresh.values(POOLS) == whole.values(POOLS))
    expected = np.mean([part.fresh(3).values(POOLS) for part in parts("sr")], axis=0) + Chance(Left()).values(POOLS)
    np.testing.assert_allclose(fresh.values(POOLS), expected)
    assert fresh.signed


@pytest.mark.parametrize("name", UTILITIES)
def test_what_may_fail_is_worth_less(name: str) -> None:
    part, utility = parts(name)[0], UTILITIES[name]
    whole = Weighted(part, Left(), signed=utility.signed)
    chance = np.sum([Left()(POOLS[:, i])[0] for i in range(2)], axis=0)  # all of the pool must work
    added = utility.log or utility.signed
    expected = part.values(POOLS) + chance if added else part.values(POOLS) * np.exp(chance)
    np.testing.assert_allclose(whole.values(POOLS), expected, rtol=1e-12)
    assert np.all(whole.values(POOLS) <= part.values(POOLS))
    assert whole.log == utility.log
    check_slopes(whole, POOLS, tolerance=1e-4)


def test_weighting_a_logarithm_is_weighting_the_number() -> None:
    log, plain = (
        Weighted(Pointwise(name, belief_of(), PLANE, np.array([BEST])), Left()).values(POOLS[:, :1])
        for name in ("log_ei", "ei")
    )
    np.testing.assert_allclose(log, np.log(plain), rtol=1e-9)


def test_what_surely_works_is_worth_what_it_is() -> None:
    def sure(units: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return np.zeros(len(units)), np.zeros_like(units)

    for name in UTILITIES:
        part = parts(name)[0]
        got, expected = Weighted(part, sure).gradients(POOLS), part.gradients(POOLS)
        np.testing.assert_array_equal(got[0], expected[0])
        np.testing.assert_array_equal(got[1], expected[1])


def test_chance_alone() -> None:
    chance = Chance(Left())
    assert chance.log
    check_slopes(chance, POOLS)
    np.testing.assert_allclose(chance.values(POOLS), Left()(POOLS[:, 0])[0] + Left()(POOLS[:, 1])[0])
    assert chance.fresh(1) is chance
