from __future__ import annotations

import numpy as np
import pytest
from tests.acquisition.posteriors import BEST, MIXED, NONE, PLANE, check_gradients, small_posterior
from tests.surrogates.models import units_of

from sonde.acquisition.closed import FORMULAS
from sonde.acquisition.montecarlo import MonteCarlo
from sonde.acquisition.pointwise import Pointwise
from sonde.acquisition.sampling import base_samples
from sonde.acquisition.utilities import UTILITIES
from sonde.surrogates.features import Features
from sonde.surrogates.gaussian_process.posterior import ExactPosterior

PENDING = np.array([[0.35, 0.8], [0.6, 0.25]])


def with_fantasies(features: Features, pending: np.ndarray, count: int) -> tuple[ExactPosterior, np.ndarray]:
    """The posterior after s samples of the function at pending points, and the incumbent's value of each."""
    posterior = small_posterior(features)
    joint = posterior.joint(features(pending)[None])
    spread = base_samples(count, len(pending), seed=9) @ np.linalg.cholesky(joint.covariance[0]).T
    outcomes = joint.mean[0] + spread  # (s, f)
    noise = -posterior.covariance.noise  # fantasies are of the function, without noise
    conditioned = posterior.condition(features(pending), outcomes.T, noise)
    return conditioned, np.maximum(BEST, outcomes.max(axis=1))


@pytest.mark.parametrize("formula", FORMULAS)
def test_without_fantasies_it_is_the_closed_form(formula: str) -> None:
    posterior, batches = small_posterior(), units_of(PLANE, (6, 1), seed=1)
    acquisition = Pointwise(formula, posterior, PLANE, np.array([BEST]))
    predicted = posterior.marginals(PLANE(batches[:, 0]))
    expected, _, _ = FORMULAS[formula](predicted.mean[:, 0], np.sqrt(predicted.variance), np.array(BEST))
    np.testing.assert_allclose(acquisition.values(batches), expected, rtol=1e-12)
    assert acquisition.log == formula.startswith("log_")
    assert acquisition.fresh(3) is acquisition


@pytest.mark.parametrize("features", [PLANE, MIXED], ids=["numbers", "mixed"])
@pytest.mark.parametrize("count", [1, 16])
@pytest.mark.parametrize("formula", FORMULAS)
def test_gradients(formula: str, count: int, features: Features) -> None:
    posterior, best = with_fantasies(features, units_of(features, 2, seed=2), count)
    check_gradients(Pointwise(formula, posterior, features, best), units_of(features, (5, 1), seed=1))


def test_gradients_of_a_quadratic_mean() -> None:
    acquisition = Pointwise("log_ei", small_posterior(quadratic=True), PLANE, np.array([BEST]))
    check_gradients(acquisition, units_of(PLANE, (5, 1), seed=1))


def test_with_fantasies_it_is_the_increase_of_q_ei_by_a_new_point() -> None:
    posterior, best = with_fantasies(PLANE, PENDING, 1024)
    batches = units_of(PLANE, (10, 1), seed=1)
    added = Pointwise("ei", posterior, PLANE, best).values(batches)

    def joint(pending: np.ndarray, points: np.ndarray) -> np.ndarray:
        size = points.shape[1]
        return MonteCarlo(UTILITIES["ei"], small_posterior(), PLANE, BEST, pending, size, samples=2**14).values(points)

    expected = joint(PENDING, batches) - joint(NONE, PENDING[None])
    assert expected.max() > 0.05
    np.testing.assert_allclose(added, expected, atol=2e-3)


def test_log_ei_is_the_logarithm_of_the_average() -> None:
    posterior, best = with_fantasies(PLANE, PENDING, 64)
    batches = units_of(PLANE, (10, 1), seed=1)
    log, plain = (Pointwise(formula, posterior, PLANE, best).values(batches) for formula in ("log_ei", "ei"))
    np.testing.assert_allclose(log, np.log(plain), rtol=1e-9)


def test_the_value_is_low_next_to_a_pending_point() -> None:
    posterior, best = with_fantasies(PLANE, PENDING, 256)
    beside = PENDING[:, None] + 0.01
    before = Pointwise("ei", small_posterior(), PLANE, np.array([BEST])).values(beside)
    after = Pointwise("ei", posterior, PLANE, best).values(beside)
    assert np.all(after < 0.2 * before)


def test_values_and_gradients_at_an_observed_point_are_finite() -> None:
    posterior = small_posterior(noise=1e-8)
    for formula in FORMULAS:
        acquisition = Pointwise(formula, posterior, PLANE, np.array([BEST + 5.0]))
        for part in acquisition.gradients((posterior.x + 0.5)[:, None]):
            assert np.all(np.isfinite(part))
