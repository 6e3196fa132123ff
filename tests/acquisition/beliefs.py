"""Small problems for acquisition functions, and checks that all of them pass."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from tests.surrogates.models import numeric_gradient, units_of

from sonde.acquisition.port import Acquisition
from sonde.surrogates.exact.covariance import Covariance
from sonde.surrogates.exact.gp import ExactPosterior
from sonde.surrogates.features import Features

Array = NDArray[np.float64]

PLANE = Features((0, 0))
MIXED = Features((0, 3))
NONE = np.empty((0, 2))
BEST = 0.5


def belief_of(
    features: Features = PLANE, *, noise: float = 1e-3, count: int = 6, quadratic: bool = False
) -> ExactPosterior:
    """A model of a few values whose posterior is uncertain enough for every utility to have something to say."""
    theta = np.log([0.2, 0.35, 1.2, noise, *[0.2] * quadratic])
    y = np.random.default_rng(5).normal(size=count)
    return ExactPosterior.of(Covariance(features.groups, theta, quadratic), features(units_of(features, count)), y)


def check_slopes(acquisition: Acquisition, pools: Array, *, step: float = 1e-6, tolerance: float = 1e-5) -> None:
    """Values agree with ``values``; gradients with finite differences."""
    values, gradients = acquisition.gradients(pools)
    np.testing.assert_allclose(values, acquisition.values(pools), rtol=1e-10, atol=1e-12)
    assert gradients.shape == pools.shape
    expected = numeric_gradient(lambda at: float(acquisition.values(at).sum()), pools, step)
    np.testing.assert_allclose(gradients, expected, rtol=tolerance, atol=tolerance * np.max(np.abs(expected)))
