from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pytest
from tests.acquisition.beliefs import BEST, MIXED, NONE, PLANE, belief_of, check_slopes
from tests.surrogates.models import units_of

from sonde.acquisition.closed import BETA, FORMULAS
from sonde.acquisition.montecarlo import MonteCarlo
from sonde.acquisition.sampling import base_samples, cholesky
from sonde.acquisition.utilities import UTILITIES
from sonde.surrogates.features import Features


def estimate(name: str, size: int = 1, features: Features = PLANE, **options: Any) -> MonteCarlo:
    options = {"posterior": belief_of(features), "fixed": NONE, "best": BEST, **options}
    return MonteCarlo(UTILITIES[name], features=features, size=size, **options)


@pytest.mark.parametrize(
    ("name", "formula", "tolerance"),
    [("ei", "ei", 2e-3), ("pi", "pi", 5e-3), ("ucb", "ucb", 2e-3), ("sr", "sr", 2e-3), ("log_ei", "log_ei", 0.05)],
)
def test_of_one_point_it_meets_the_closed_form(name: str, formula: str, tolerance: float) -> None:
    pools = units_of(PLANE, (12, 1), seed=1)
    acquisition = estimate(name, samples=2**13)
    belief = acquisition.posterior.marginals(PLANE(pools[:, 0]))
    expected, _, _ = FORMULAS[formula](belief.mean[:, 0], np.sqrt(belief.variance), np.array(BEST))
    got = acquisition.values(pools)
    if name == "log_ei":  # smoothed at a temperature: right where there is something to gain
        promising = expected > -4
        assert promising.sum() > 5
        got, expected = got[promising], expected[promising]
    np.testing.assert_allclose(got, expected, atol=tolerance)


def test_one_points_upper_confidence_bound_is_exact_in_the_mean() -> None:
    """sqrt(beta pi / 2) E|z| = sqrt(beta), so all that is left is the error of the sample's mean of |z|."""
    pools = units_of(PLANE, (5, 1), seed=1)
    acquisition = estimate("ucb")
    belief = acquisition.posterior.marginals(PLANE(pools[:, 0]))
    stretch = np.sqrt(BETA * np.pi / 2) * np.abs(base_samples(acquisition.samples, 1, 0)).mean()
    expected = belief.mean[:, 0] + stretch * np.sqrt(belief.variance)
    np.testing.assert_allclose(acquisition.values(pools), expected, rtol=1e-8)
    assert stretch == pytest.approx(np.sqrt(BETA), rel=1e-2)


def test_upper_confidence_bounds_marginalise_to_those_of_subsets() -> None:
    """Of samples for the whole pool, those of a part are samples for the part."""
    pool = units_of(PLANE, 4, seed=1)
    whole = estimate("ucb", 4, samples=2**13)
    joint = whole.posterior.joint(PLANE(pool)[None])
    spread = base_samples(2**13, 4, seed=3) @ cholesky(joint.covariance)[0].T
    for size in (1, 2, 3, 4):
        for part in map(list, combinations(range(4), size)):
            marginal, _, _ = whole.utility.function(joint.mean[None, :, part], spread[None, :, part], BEST)
            alone = estimate("ucb", size, samples=2**13).values(pool[None, part])[0]
            assert marginal.mean() == pytest.approx(alone, abs=5e-3)
            if size == 1:
                closed = joint.mean[0, part[0]] + np.sqrt(BETA * joint.covariance[0, part[0], part[0]])
                assert alone == pytest.approx(closed, abs=2e-3)


@pytest.mark.parametrize("features", [PLANE, MIXED], ids=["numbers", "mixed"])
@pytest.mark.parametrize("pending", [0, 2])
@pytest.mark.parametrize("size", [1, 3])
@pytest.mark.parametrize("name", UTILITIES)
def test_gradients(name: str, size: int, pending: int, features: Features) -> None:
    fixed = units_of(features, pending, seed=2)
    acquisition = estimate(name, size, features, fixed=fixed, samples=64)
    # a step of q-PI is 0.01 wide; the others' kinks are passed by few samples
    check_slopes(acquisition, units_of(features, (3, size), seed=1), step=1e-6, tolerance=1e-4)


def test_gradients_of_a_quadratic_mean() -> None:
    acquisition = estimate("log_ei", 2, posterior=belief_of(quadratic=True), samples=64)
    check_slopes(acquisition, units_of(PLANE, (3, 2), seed=1))


@pytest.mark.parametrize("name", UTILITIES)
def test_pending_points_are_rows_of_the_pool(name: str) -> None:
    pools = units_of(PLANE, (3, 4), seed=1)
    pools[:, :2] = pools[0, :2]
    apart, together = estimate(name, 2, fixed=pools[0, :2]), estimate(name, 4)
    np.testing.assert_allclose(apart.values(pools[:, 2:]), together.values(pools), rtol=1e-12)
    np.testing.assert_allclose(apart.gradients(pools[:, 2:])[1], together.gradients(pools)[1][:, 2:], rtol=1e-10)


@pytest.mark.parametrize("name", UTILITIES)
def test_more_points_are_worth_more(name: str) -> None:
    """Every utility is of the best of the pool. Base samples are other ones: up to their error."""
    pools = units_of(PLANE, (10, 3), seed=1)
    fewer, more = (estimate(name, size, samples=1024).values(pools[:, :size]) for size in (2, 3))
    assert np.all(more > fewer - 0.02)
    assert np.any(more > fewer + 0.02)


@pytest.mark.parametrize("name", UTILITIES)
@pytest.mark.parametrize("noise", [1e-8, 1e-2])
def test_duplicates_stay_finite(name: str, noise: float) -> None:
    posterior = belief_of(noise=noise)
    seen = posterior.x[:1] + 0.5
    pools = np.stack(
        [
            np.repeat(seen, 3, axis=0),  # a point that was tried, three times
            np.repeat([[0.31, 0.77]], 3, axis=0),
            [[0.31, 0.77], [0.31, 0.77 + 1e-9], [0.9, 0.1]],
            [*seen, [0.2, 0.2], [0.2 + 1e-7, 0.2]],
        ]
    )
    for fixed in (NONE, seen, pools[2, :2]):
        values, gradients = estimate(name, 3, posterior=posterior, fixed=fixed).gradients(pools)
        assert np.all(np.isfinite(values))
        assert np.all(np.isfinite(gradients))


@pytest.mark.parametrize("name", UTILITIES)
def test_a_pool_with_duplicates_does_not_change_its_neighbours(name: str) -> None:
    acquisition = estimate(name, 3, posterior=belief_of(noise=1e-8))
    pools = units_of(PLANE, (2, 3), seed=1)
    pools[1] = acquisition.posterior.x[0] + 0.5
    np.testing.assert_allclose(acquisition.values(pools)[0], acquisition.values(pools[:1])[0], rtol=1e-5, atol=1e-6)


def test_the_order_of_a_pool_does_not_matter() -> None:
    pools = units_of(PLANE, (4, 3), seed=1)
    acquisition = estimate("ei", 3, samples=2**12)
    np.testing.assert_allclose(acquisition.values(pools), acquisition.values(pools[:, ::-1]), atol=5e-3)


def test_fresh_samples_are_other_samples_of_the_same() -> None:
    pools = units_of(PLANE, (3, 2), seed=1)
    acquisition = estimate("sr", 2)
    steps = np.array([acquisition.fresh(step).values(pools) for step in range(20)])
    assert len(np.unique(steps[:, 0])) == 20
    assert not np.any(steps == acquisition.values(pools))
    np.testing.assert_array_equal(steps[3], acquisition.fresh(3).values(pools))
    np.testing.assert_allclose(steps.mean(axis=0), estimate("sr", 2, samples=2**13).values(pools), atol=5e-3)


def test_what_a_utility_says_of_itself() -> None:
    assert [name for name in UTILITIES if estimate(name).log] == ["log_ei"]
    assert {name for name, utility in UTILITIES.items() if utility.signed} == {"ucb", "sr"}
