"""Hyperparameters of the exact Gaussian process: their maximum a posteriori (MAP) estimate, or posterior draws.

Symbols: x features (n, p), y standardized values (n,), theta the logarithms of the hyperparameters (``covariance``).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from sonde.surrogates.exact.covariance import Covariance
from sonde.surrogates.exact.marginal_likelihood import log_evidence, log_evidence_with_inputs, log_likelihood
from sonde.surrogates.features import Features
from sonde.surrogates.priors import WARP, Prior, default_prior
from sonde.surrogates.slice_sampling import slice_sample

Array = NDArray[np.float64]


def log_posterior(covariance: Covariance, prior: Prior, x: Array, y: Array, noise: Array) -> tuple[float, Array]:
    """Return log p(y | theta) + log p(theta) and its gradient."""
    value, gradient = log_evidence(covariance, x, y, noise)
    density, density_gradient = prior.log_density(covariance.theta)
    return value + density, gradient + density_gradient


def first_guess(groups: NDArray[np.intp], *, quadratic: bool = False) -> Array:
    """Return the theta where a fit starts that has no earlier fit to start from."""
    dimension = int(groups[-1]) + 1
    lengthscale = np.log(0.5) + 0.5 * np.log(dimension)
    return np.array([lengthscale] * dimension + [0.0, np.log(1e-4)] + [-2.0] * quadratic)


def noisy_guess(groups: NDArray[np.intp], *, quadratic: bool = False) -> Covariance:
    """Return a start where about a third of the variance of the values is noise."""
    theta = first_guess(groups, quadratic=quadratic)
    theta[int(groups[-1]) + 2] = np.log(0.3)
    return Covariance(groups, theta, quadratic)


def fit(
    groups: NDArray[np.intp], x: Array, y: Array, noise: Array, *, start: Array | None = None,
    quadratic: bool = False, iterations: int = 50,
) -> tuple[Covariance, float]:  # fmt: skip
    """Return the MAP estimate of the covariance by L-BFGS-B from ``start``, and its log posterior density."""
    prior = default_prior(int(groups[-1]) + 1, quadratic=quadratic)

    def loss(theta: Array) -> tuple[float, Array]:
        value, gradient = log_posterior(Covariance(groups, theta, quadratic), prior, x, y, noise)
        return -value, -gradient

    begin = prior.clip(first_guess(groups, quadratic=quadratic) if start is None else start)
    found = minimize(
        loss, begin, jac=True, method="L-BFGS-B", bounds=list(zip(prior.low, prior.high, strict=True)),
        options={"maxiter": iterations, "ftol": 1e-6, "gtol": 1e-3},
    )  # fmt: skip
    return Covariance(groups, np.asarray(found.x), quadratic), -float(found.fun)


def fit_warped(
    features: Features, start: Array, quadratic: bool, units: Array, y: Array, noise: Array, *, iterations: int
) -> tuple[Covariance, Features, float]:
    """Return the MAP estimate of covariance and warp, and its log posterior density.

    The search starts from the theta ``start`` and the warp of ``features``.
    """
    groups, size, dimension = features.groups, len(start), len(features.choices)
    prior = default_prior(dimension, quadratic=quadratic)

    def loss(both: Array) -> tuple[float, Array]:
        theta, warp = both[:size], both[size:]
        warped = replace(features, warp=tuple(warp))
        covariance = Covariance(groups, theta, quadratic)
        value, gradient, x_gradient = log_evidence_with_inputs(covariance, warped(units), y, noise)
        density, density_gradient = prior.log_density(theta)
        value += density - 0.5 * float(warp @ warp) / WARP**2
        warp_gradient = warped.warp_vjp(x_gradient, units) - warp / WARP**2
        return -value, -np.concatenate([gradient + density_gradient, warp_gradient])

    bounds = [*zip(prior.low, prior.high, strict=True), *[(-5 * WARP, 5 * WARP)] * (2 * dimension)]
    found = minimize(
        loss, np.concatenate([prior.clip(start), features.warp or np.zeros(2 * dimension)]), jac=True,
        method="L-BFGS-B", bounds=bounds, options={"maxiter": iterations, "ftol": 1e-6, "gtol": 1e-3},
    )  # fmt: skip
    best = np.asarray(found.x)
    covariance = Covariance(groups, best[:size], quadratic)
    return covariance, replace(features, warp=tuple(best[size:].tolist())), -float(found.fun)


def sample(
    covariance: Covariance,
    x: Array,
    y: Array,
    noise: Array,
    *,
    count: int,
    rng: np.random.Generator,
    share: float = 1.0,
) -> Array:
    """Return ``count`` draws of theta (count, D) from its posterior, by slice sampling from that of ``covariance``.

    Each draw differs from the one before in a random ``share`` of the coordinates.
    """
    prior = default_prior(covariance.size, quadratic=covariance.quadratic)

    def log_density(theta: Array) -> float:
        if np.any(theta < prior.low) or np.any(theta > prior.high):
            return -np.inf
        changed = replace(covariance, theta=theta)
        return log_likelihood(changed, x, y, noise) + prior.log_density(theta)[0]

    return slice_sample(log_density, prior.clip(covariance.theta), count=count, rng=rng, share=share)
