from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from scipy.special import log_expit, logsumexp
from tests.acquisition.posteriors import BEST, NONE, PLANE, check_gradients, small_posterior
from tests.surrogates.models import units_of

from sonde.acquisition.averages import LEAST, Average, FeasibilityWeighted, ProbabilityOfFeasibility, average
from sonde.acquisition.montecarlo import MonteCarlo
from sonde.acquisition.pointwise import Pointwise
from sonde.acquisition.port import Acquisition
from sonde.acquisition.utilities import UTILITIES

BATCHES = units_of(PLANE, (5, 2), seed=1)


def parts(name: str) -> tuple[Acquisition, ...]:
    return tuple(
        MonteCarlo(UTILITIES[name], small_posterior(noise=noise), PLANE, BEST, NONE, 2, samples=64, seed=seed)
        for seed, noise in enumerate([1e-3, 1e-2, 1e-1])
    )


@dataclass(frozen=True)
class Left:
    """Points on the left are likely to be feasible."""

    steepness: float = 5.0

    def __call__(self, units: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        score = self.steepness * (0.4 - units[:, 0])
        gradients = np.zeros_like(units)
        gradients[:, 0] = -self.steepness * np.exp(log_expit(-score))
        return log_expit(score), gradients


@pytest.mark.parametrize("axis", [0, -1])
def test_averages_of_numbers_and_of_logarithms(axis: int) -> None:
    values = np.random.default_rng(0).normal(size=(4, 3))
    mean, weights = average(values, log=False, axis=axis)
    np.testing.assert_allclose(mean, values.mean(axis=axis))
    np.testing.assert_allclose(weights.sum(axis=axis), 1)
    mean, weights = average(values, log=True, axis=axis)
    np.testing.assert_allclose(mean, logsumexp(values, axis=axis) - np.log(values.shape[axis]), rtol=1e-12)
    np.testing.assert_allclose(weights.sum(axis=axis), 1)
    expected = np.exp(values - logsumexp(values, axis=axis, keepdims=True))
    np.testing.assert_allclose(weights, expected, rtol=1e-12)


def test_logarithms_of_zero_and_of_tiny_numbers() -> None:
    mean, weights = average(np.array([[-np.inf, -np.inf], [-np.inf, 1.0], [-1e9, -2e9], [-1e300, 0.0]]), log=True)
    np.testing.assert_allclose(mean, [LEAST, 1 - np.log(2), -1e9 - np.log(2), -np.log(2)])
    np.testing.assert_allclose(weights, [[0.5, 0.5], [0, 1], [1, 0], [0, 1]])


@pytest.mark.parametrize("name", ["ei", "ucb", "log_ei"])
def test_average_over_models(name: str) -> None:
    whole, values = Average(parts(name)), np.stack([part.values(BATCHES) for part in parts(name)])
    expected = logsumexp(values, axis=0) - np.log(3) if name == "log_ei" else values.mean(axis=0)
    np.testing.assert_allclose(whole.values(BATCHES), expected, rtol=1e-12)
    assert whole.log == (name == "log_ei")
    check_gradients(whole, BATCHES, tolerance=1e-4)


def test_average_of_one_model_three_times_is_the_model() -> None:
    for name in UTILITIES:
        one = parts(name)[0]
        got, expected = Average((one, one, one)).gradients(BATCHES), one.gradients(BATCHES)
        np.testing.assert_allclose(got[0], expected[0], rtol=1e-12)
        np.testing.assert_allclose(got[1], expected[1], rtol=1e-12)


def test_the_average_of_logarithms_is_the_logarithm_of_the_average() -> None:
    points = BATCHES[:, :1]
    posteriors = [small_posterior(noise=noise) for noise in (1e-3, 1e-1)]
    log, plain = (
        Average(tuple(Pointwise(name, posterior, PLANE, np.array([BEST])) for posterior in posteriors)).values(points)
        for name in ("log_ei", "ei")
    )
    np.testing.assert_allclose(log, np.log(plain), rtol=1e-9)


def test_fresh_samples_reach_all_parts() -> None:
    whole = FeasibilityWeighted(Average(parts("sr")), Left(), signed=True)
    fresh = whole.fresh(3)
    assert not np.any(fresh.values(BATCHES) == whole.values(BATCHES))
    expected = np.mean([part.fresh(3).values(BATCHES) for part in parts("sr")], axis=0) + ProbabilityOfFeasibility(
        Left()
    ).values(BATCHES)
    np.testing.assert_allclose(fresh.values(BATCHES), expected)
    assert fresh.signed


@pytest.mark.parametrize("name", UTILITIES)
def test_points_that_may_be_infeasible_have_a_lower_value(name: str) -> None:
    part, utility = parts(name)[0], UTILITIES[name]
    whole = FeasibilityWeighted(part, Left(), signed=utility.signed)
    log_p = np.sum([Left()(BATCHES[:, i])[0] for i in range(2)], axis=0)  # all points of the batch must be feasible
    added = utility.log or utility.signed
    expected = part.values(BATCHES) + log_p if added else part.values(BATCHES) * np.exp(log_p)
    np.testing.assert_allclose(whole.values(BATCHES), expected, rtol=1e-12)
    assert np.all(whole.values(BATCHES) <= part.values(BATCHES))
    assert whole.log == utility.log
    check_gradients(whole, BATCHES, tolerance=1e-4)


def test_weighting_the_logarithm_equals_weighting_the_number() -> None:
    log, plain = (
        FeasibilityWeighted(Pointwise(name, small_posterior(), PLANE, np.array([BEST])), Left()).values(BATCHES[:, :1])
        for name in ("log_ei", "ei")
    )
    np.testing.assert_allclose(log, np.log(plain), rtol=1e-9)


def test_certain_feasibility_changes_nothing() -> None:
    def certain(units: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return np.zeros(len(units)), np.zeros_like(units)

    for name in UTILITIES:
        part = parts(name)[0]
        got, expected = FeasibilityWeighted(part, certain).gradients(BATCHES), part.gradients(BATCHES)
        np.testing.assert_array_equal(got[0], expected[0])
        np.testing.assert_array_equal(got[1], expected[1])


def test_probability_of_feasibility() -> None:
    acquisition = ProbabilityOfFeasibility(Left())
    assert acquisition.log
    check_gradients(acquisition, BATCHES)
    np.testing.assert_allclose(acquisition.values(BATCHES), Left()(BATCHES[:, 0])[0] + Left()(BATCHES[:, 1])[0])
    assert acquisition.fresh(1) is acquisition
