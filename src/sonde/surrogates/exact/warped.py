"""The MAP estimate of hyperparameters together with an input warp, for the Gaussian process on values.

Symbols: units (n, d), y standardized values (n,), theta the logarithms of the hyperparameters (``covariance``).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from sonde.arrays import Array
from sonde.surrogates.features import Features
from sonde.surrogates.gaussian_process.covariance import Covariance
from sonde.surrogates.gaussian_process.estimates import maximise, prior_of
from sonde.surrogates.gaussian_process.marginal_likelihood import Evidence
from sonde.surrogates.priors import WARP


def fit_warped(
    features: Features, start: Covariance, units: Array, y: Array, noise: Array, *, iterations: int
) -> tuple[Covariance, Features, float]:
    """Return the MAP estimate of covariance and warp, and its log posterior density.

    The search starts from the theta of ``start`` and the warp of ``features``.
    """
    prior, size, dimension = prior_of(start), len(start.theta), len(features.choices)

    def at(both: Array) -> tuple[Covariance, Features]:
        return replace(start, theta=both[:size]), replace(features, warp=tuple(both[size:].tolist()))

    def log_posterior(both: Array) -> tuple[float, Array]:
        (covariance, warped), warp = at(both), both[size:]
        value, gradient, x_gradient = Evidence.of_values(warped(units), y, noise).with_inputs(covariance)
        density, density_gradient = prior.log_density(covariance.theta)
        value += density - 0.5 * float(warp @ warp) / WARP**2
        warp_gradient = warped.warp_vjp(x_gradient, units) - warp / WARP**2
        return value, np.concatenate([gradient + density_gradient, warp_gradient])

    edge = np.full(2 * dimension, 5 * WARP)
    best, score = maximise(
        log_posterior, np.append(start.theta, features.warp or np.zeros(2 * dimension)),
        np.append(prior.low, -edge), np.append(prior.high, edge), maxiter=iterations,
    )  # fmt: skip
    return *at(best), score
