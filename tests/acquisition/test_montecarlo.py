from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pytest
from tests.acquisition.posteriors import BEST, MIXED, NONE, PLANE, check_gradients, small_posterior
from tests.surrogates.models import units_of

from sonde.acquisition.closed import BETA, FORMULAS
from sonde.acquisition.montecarlo import MonteCarlo
from sonde.acquisition.sampling import base_samples, cholesky
from sonde.acquisition.utilities import UTILITIES
from sonde.surrogates.features import Features


def estimate(name: str, size: int = 1, features: Features = PLANE, **options: Any) -> MonteCarlo:
    options = {"posterior": small_posterior(features), "pending": NONE, "best": BEST, **options}
    return MonteCarlo(UTILITIES[name], features=features, size=size, **options)


@pytest.mark.parametrize(
    ("name", "formula", "tolerance"),
    [("ei", "ei", 2e-3), ("pi", "pi", 5e-3), ("ucb", "ucb", 2e-3), ("sr", "sr", 2e-3), ("log_ei", "log_ei", 0.05)],
)
def test_one_point_matches_the_closed_form(name: str, formula: str, tolerance: float) -> None:
    batches = units_of(PLANE, (12, 1), seed=1)
    acquisition = estimate(name, samples=2**13)
    predicted = acquisition.posterior.marginals(PLANE(batches[:, 0]))
    expected, _, _ = FORMULAS[formula](predicted.mean[:, 0], np.sqrt(predicted.variance), np.array(BEST))
    got = acquisition.values(batches)
    if name == "log_ei":  # smoothed at a temperature: accurate where an improvement is likely
        promising = expected > -4
        assert promising.sum() > 5
        got, expected = got[promising], expected[promising]
    np.testing.assert_allclose(got, expected, atol=tolerance)


def test_upper_confidence_bound_of_one_point_is_exact_up_to_the_mean_of_base_samples() -> None:
    """sqrt(beta pi / 2) E|z| = sqrt(beta), so the only error is that of the mean of |z| over the samples."""
    batches = units_of(PLANE, (5, 1), seed=1)
    acquisition = estimate("ucb")
    predicted = acquisition.posterior.marginals(PLANE(batches[:, 0]))
    stretch = np.sqrt(BETA * np.pi / 2) * np.abs(base_samples(acquisition.samples, 1, 0)).mean()
    expected = predicted.mean[:, 0] + stretch * np.sqrt(predicted.variance)
    np.testing.assert_allclose(acquisition.values(batches), expected, rtol=1e-8)
    assert stretch == pytest.approx(np.sqrt(BETA), rel=1e-2)


def test_upper_confidence_bound_of_a_subset_is_a_marginal() -> None:
    """The samples of a batch, restricted to some of its points, are samples of these points."""
    batch = units_of(PLANE, 4, seed=1)
    whole = estimate("ucb", 4, samples=2**13)
    joint = whole.posterior.joint(PLANE(batch)[None])
    spread = base_samples(2**13, 4, seed=3) @ cholesky(joint.covariance)[0].T
    for size in (1, 2, 3, 4):
        for part in map(list, combinations(range(4), size)):
            marginal, _, _ = whole.utility.function(joint.mean[None, :, part], spread[None, :, part], BEST)
            alone = estimate("ucb", size, samples=2**13).values(batch[None, part])[0]
            assert marginal.mean() == pytest.approx(alone, abs=5e-3)
            if size == 1:
                closed = joint.mean[0, part[0]] + np.sqrt(BETA * joint.covariance[0, part[0], part[0]])
                assert alone == pytest.approx(closed, abs=2e-3)


@pytest.mark.parametrize("features", [PLANE, MIXED], ids=["numbers", "mixed"])
@pytest.mark.parametrize("pending", [0, 2])
@pytest.mark.parametrize("size", [1, 3])
@pytest.mark.parametrize("name", UTILITIES)
def test_gradients(name: str, size: int, pending: int, features: Features) -> None:
    points = units_of(features, pending, seed=2)
    acquisition = estimate(name, size, features, pending=points, samples=64)
    # q-PI changes within 0.01; few samples cross the kinks of the others
    check_gradients(acquisition, units_of(features, (3, size), seed=1), step=1e-6, tolerance=1e-4)


def test_gradients_of_a_quadratic_mean() -> None:
    acquisition = estimate("log_ei", 2, posterior=small_posterior(quadratic=True), samples=64)
    check_gradients(acquisition, units_of(PLANE, (3, 2), seed=1))


@pytest.mark.parametrize("name", UTILITIES)
def test_pending_points_are_rows_of_the_batch(name: str) -> None:
    batches = units_of(PLANE, (3, 4), seed=1)
    batches[:, :2] = batches[0, :2]
    apart, together = estimate(name, 2, pending=batches[0, :2]), estimate(name, 4)
    np.testing.assert_allclose(apart.values(batches[:, 2:]), together.values(batches), rtol=1e-12)
    np.testing.assert_allclose(apart.gradients(batches[:, 2:])[1], together.gradients(batches)[1][:, 2:], rtol=1e-10)


@pytest.mark.parametrize("name", UTILITIES)
def test_more_points_have_a_higher_value(name: str) -> None:
    """Every utility is that of the best point of the batch. Base samples differ, so up to their error."""
    batches = units_of(PLANE, (10, 3), seed=1)
    fewer, more = (estimate(name, size, samples=1024).values(batches[:, :size]) for size in (2, 3))
    assert np.all(more > fewer - 0.02)
    assert np.any(more > fewer + 0.02)


@pytest.mark.parametrize("name", UTILITIES)
@pytest.mark.parametrize("noise", [1e-8, 1e-2])
def test_duplicates_stay_finite(name: str, noise: float) -> None:
    posterior = small_posterior(noise=noise)
    observed = posterior.x[:1] + 0.5
    batches = np.stack(
        [
            np.repeat(observed, 3, axis=0),
            np.repeat([[0.31, 0.77]], 3, axis=0),
            [[0.31, 0.77], [0.31, 0.77 + 1e-9], [0.9, 0.1]],
            [*observed, [0.2, 0.2], [0.2 + 1e-7, 0.2]],
        ]
    )
    for pending in (NONE, observed, batches[2, :2]):
        values, gradients = estimate(name, 3, posterior=posterior, pending=pending).gradients(batches)
        assert np.all(np.isfinite(values))
        assert np.all(np.isfinite(gradients))


@pytest.mark.parametrize("name", UTILITIES)
def test_a_batch_with_duplicates_does_not_change_other_batches(name: str) -> None:
    acquisition = estimate(name, 3, posterior=small_posterior(noise=1e-8))
    batches = units_of(PLANE, (2, 3), seed=1)
    batches[1] = acquisition.posterior.x[0] + 0.5
    np.testing.assert_allclose(acquisition.values(batches)[0], acquisition.values(batches[:1])[0], rtol=1e-5, atol=1e-6)


def test_the_order_of_a_batch_does_not_matter() -> None:
    batches = units_of(PLANE, (4, 3), seed=1)
    acquisition = estimate("ei", 3, samples=2**12)
    np.testing.assert_allclose(acquisition.values(batches), acquisition.values(batches[:, ::-1]), atol=5e-3)


def test_fresh_base_samples_estimate_the_same_value() -> None:
    batches = units_of(PLANE, (3, 2), seed=1)
    acquisition = estimate("sr", 2)
    steps = np.array([acquisition.fresh(step).values(batches) for step in range(20)])
    assert len(np.unique(steps[:, 0])) == 20
    assert not np.any(steps == acquisition.values(batches))
    np.testing.assert_array_equal(steps[3], acquisition.fresh(3).values(batches))
    np.testing.assert_allclose(steps.mean(axis=0), estimate("sr", 2, samples=2**13).values(batches), atol=5e-3)


def test_which_utilities_are_logarithms_and_which_are_signed() -> None:
    assert [name for name in UTILITIES if estimate(name).log] == ["log_ei"]
    assert {name for name, utility in UTILITIES.items() if utility.signed} == {"ucb", "sr"}
