"""Hyperparameters of a Gaussian process: their maximum a posteriori (MAP) estimate, or draws from their posterior.

Symbols: theta the hyperparameters (``covariance``).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple, TypeVar

import numpy as np
from scipy.optimize import minimize

from sonde.arrays import Array, Index
from sonde.surrogates.gaussian_process.covariance import Covariance
from sonde.surrogates.gaussian_process.marginal_likelihood import Evidence
from sonde.surrogates.gaussian_process.port import CovarianceFunction
from sonde.surrogates.priors import Prior, default_prior
from sonde.surrogates.slice_sampling import slice_sample

Of = TypeVar("Of", bound=CovarianceFunction)

LOG_NOISE, LOG_TREND = np.log(1e-4), -2.0  # log variances of noise and of a trend where a fit starts
IMPOSSIBLE = -1e10  # the log density where rounding leaves no number


class ModelForm(NamedTuple):
    """The discrete choices of a model, by marginal likelihood."""

    kappa: float | None  # of the output scale, see ``outputs``
    trend: str | None  # name of the prior of the mean function, see ``trends``


def log_posterior(covariance: CovarianceFunction, prior: Prior, evidence: Evidence) -> tuple[float, Array]:
    """Return log p(y | theta) + log p(theta) and its gradient."""
    value, gradient = evidence(covariance)
    density, density_gradient = prior.log_density(covariance.theta)
    return value + density, gradient + density_gradient


def fit(covariance: Of, prior: Prior, evidence: Evidence, *, iterations: int) -> tuple[Of, float]:
    """Return the MAP estimate, searched from the theta of ``covariance``, and its log posterior density."""
    theta, score = maximise(
        lambda theta: log_posterior(replace(covariance, theta=theta), prior, evidence),
        covariance.theta, prior.low, prior.high, maxiter=iterations,
    )  # fmt: skip
    return replace(covariance, theta=theta), score


def best_start(starts: Sequence[Of], prior: Prior, evidence: Evidence) -> tuple[Of, float]:
    """Return the covariance of the highest log posterior density, of several where a fit may start, and that."""
    densities = [evidence.value(each) + prior.log_density(each.theta)[0] for each in starts]
    best = int(np.nanargmax(densities))
    return starts[best], densities[best]


def sample(
    covariance: CovarianceFunction, prior: Prior, evidence: Evidence, *, count: int, rng: np.random.Generator,
    share: float = 1.0,
) -> Array:  # fmt: skip
    """Return ``count`` draws of theta (count, D) from its posterior, by slice sampling from that of ``covariance``.

    Each draw differs from the one before in a random ``share`` of the coordinates.
    """

    def log_density(theta: Array) -> float:
        if np.any(theta < prior.low) or np.any(theta > prior.high):
            return -np.inf
        value = evidence.value(replace(covariance, theta=theta)) + prior.log_density(theta)[0]
        return value if np.isfinite(value) else -np.inf

    return slice_sample(log_density, prior.clip(covariance.theta), count=count, rng=rng, share=share)


def maximise(
    log_density: Callable[[Array], tuple[float, Array]], start: Array, low: Array, high: Array, **budget: int
) -> tuple[Array, float]:
    """Return the maximum that L-BFGS-B finds in a box from the nearest point to ``start``, and its log density.

    ``log_density`` returns a gradient too. ``budget`` is maxiter or maxfun of ``scipy.optimize.minimize``.
    """

    def loss(theta: Array) -> tuple[float, Array]:
        value, gradient = log_density(theta)
        if not (np.isfinite(value) and np.all(np.isfinite(gradient))):
            return -IMPOSSIBLE, np.zeros_like(theta)
        return -value, -gradient

    found = minimize(
        loss, np.clip(start, low, high), jac=True, method="L-BFGS-B", bounds=list(zip(low, high, strict=True)),
        options={"ftol": 1e-6, "gtol": 1e-3, **budget},
    )  # fmt: skip
    return np.asarray(found.x), -float(found.fun)


def first_guess(
    groups: Index, trend: str | None = None, profile: str = "matern52", *, gradients: bool = False
) -> Covariance:
    """Return the covariance where a fit starts that has no earlier fit to start from."""
    dimension = int(groups[-1]) + 1
    lengthscale = np.log(0.5) + 0.5 * np.log(dimension)
    theta = [*[lengthscale] * dimension, 0.0, LOG_NOISE, *[LOG_TREND] * bool(trend), *[LOG_NOISE] * gradients]
    return Covariance(groups, np.array(theta), trend, profile)


def with_trend(covariance: Covariance, trend: str | None) -> Covariance:
    """Return a covariance with another trend, or without one; a new one has the variance of the first guess."""
    theta, entry = covariance.theta, covariance.noise_entry + 1
    if trend and not covariance.trend:
        theta = np.insert(theta, entry, LOG_TREND)
    elif covariance.trend and not trend:
        theta = np.delete(theta, entry)
    return replace(covariance, theta=theta, trend=trend)


def prior_of(covariance: Covariance) -> Prior:
    """Return the default prior of the hyperparameters of a covariance."""
    with_gradients = len(covariance.theta) > covariance.noise_entry + 1 + bool(covariance.trend)
    return default_prior(covariance.size, trend=bool(covariance.trend), gradients=with_gradients)
