"""A small posterior for tests of acquisition functions, and a check of their gradients."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from tests.surrogates.models import numeric_gradient, units_of

from sonde.acquisition.port import Acquisition
from sonde.surrogates.features import Features
from sonde.surrogates.gaussian_process.covariance import Covariance
from sonde.surrogates.gaussian_process.posterior import ExactPosterior

Array = NDArray[np.float64]

PLANE = Features((0, 0))
MIXED = Features((0, 3))
NONE = np.empty((0, 2))
BEST = 0.5


def small_posterior(
    features: Features = PLANE, *, noise: float = 1e-3, count: int = 6, quadratic: bool = False
) -> ExactPosterior:
    """A posterior after a few values, uncertain enough for every utility to vary."""
    theta = np.log([0.2, 0.35, 1.2, noise, *[0.2] * quadratic])
    y = np.random.default_rng(5).normal(size=count)
    covariance = Covariance(features.groups, theta, "quadratic" if quadratic else None)
    return ExactPosterior.of(covariance, features(units_of(features, count)), y)


def check_gradients(acquisition: Acquisition, batches: Array, *, step: float = 1e-6, tolerance: float = 1e-5) -> None:
    """Check values against ``values``, and gradients against finite differences."""
    values, gradients = acquisition.gradients(batches)
    np.testing.assert_allclose(values, acquisition.values(batches), rtol=1e-10, atol=1e-12)
    assert gradients.shape == batches.shape
    expected = numeric_gradient(lambda at: float(acquisition.values(at).sum()), batches, step)
    np.testing.assert_allclose(gradients, expected, rtol=tolerance, atol=tolerance * np.max(np.abs(expected)))
