"""Priors of hyperparameters."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import check_grad

from sonde.surrogates.priors import Prior, default_prior, region_prior

PRIORS = {"independent": default_prior(3, trend=True), "tied": region_prior(3, 0.2)}


@pytest.mark.parametrize("name", PRIORS)
def test_gradients(name: str) -> None:
    prior = PRIORS[name]
    theta = prior.location + np.random.default_rng(0).standard_normal(len(prior.location))
    error = check_grad(lambda t: prior.log_density(t)[0], lambda t: prior.log_density(t)[1], theta)
    assert error < 1e-5


def density(prior: Prior, *departures: float) -> float:
    theta = prior.location.copy()
    theta[: len(departures)] += departures
    return prior.log_density(theta)[0]


def test_one_large_departure_is_likelier_than_many_of_the_same_size_together() -> None:
    """Tied length scales: the same changes cost less together than apart, and less for one than for several."""
    tied = region_prior(4, 0.5)
    assert density(tied, 0.5, 0.5, 0.5, 0.5) > density(tied, 0.5, -0.5, 0.5, -0.5)
    one = density(tied, 1.5, -0.5, -0.5, -0.5)
    assert one > density(tied, 1.5, 0.5, -0.5, -1.5)


def test_heavy_tails() -> None:
    """Doubling a large departure costs a constant; under a normal density it would cost in proportion to its square."""
    tied = region_prior(2, 1.0)
    costs = [density(tied, each, -each) - density(tied, 2 * each, -2 * each) for each in (2.0, 4.0)]
    assert costs[1] < 1.2 * costs[0]


def test_a_narrow_region_has_longer_scales_in_its_units_and_shorter_ones_in_those_of_the_cube() -> None:
    wide, narrow = region_prior(5, 0.8), region_prior(5, 0.1)
    longer = narrow.location[:5] - wide.location[:5]
    np.testing.assert_allclose(longer, np.log(8) / 2)
    np.testing.assert_allclose(longer + np.log(0.1 / 0.8), -np.log(8) / 2)
