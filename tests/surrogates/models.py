"""Small models, and slow reference implementations to compare with."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from sonde.surrogates.features import Features
from sonde.surrogates.gaussian_process.covariance import Covariance
from sonde.surrogates.gaussian_process.posterior import ExactPosterior

Array = NDArray[np.float64]

NUMBERS = Features((0, 0))
MIXED = Features((0, 3, 0, 2))
MODELS = [(NUMBERS, False), (NUMBERS, True), (MIXED, False), (MIXED, True)]
IDS = ["numbers", "numbers, quadratic", "mixed", "mixed, quadratic"]


def units_of(features: Features, shape: int | tuple[int, ...], seed: int = 0) -> Array:
    """Random points of the unit cube; categories are in the middle of their intervals."""
    shape = (shape,) if isinstance(shape, int) else shape
    units = np.random.default_rng([seed, 1]).random((*shape, len(features.choices)))
    for k, count in enumerate(features.choices):
        if count:
            units[..., k] = (np.floor(units[..., k] * count) + 0.5) / count
    return units


def covariance_of(features: Features, quadratic: bool = False, *, seed: int = 0, noise: float = 1e-2) -> Covariance:
    d = len(features.choices)
    lengthscales = np.random.default_rng([seed, 2]).normal(-0.6, 0.3, d)
    return Covariance(
        features.groups,
        np.array([*lengthscales, 0.3, np.log(noise), *[-1.0] * quadratic]),
        "quadratic" if quadratic else None,
    )


def data_of(features: Features, count: int, seed: int = 0) -> tuple[Array, Array, Array]:
    """Features (n, p), values (n,) and a noise variance of each value (n,)."""
    rng = np.random.default_rng([seed, 3])
    return features(units_of(features, count, seed)), rng.normal(size=count), 0.1 * rng.random(count)


def posterior_of(
    features: Features, quadratic: bool = False, *, count: int = 7, columns: int = 1, noise: float = 1e-2, seed: int = 0
) -> ExactPosterior:
    x, _, _ = data_of(features, count, seed)
    y = np.random.default_rng([seed, 4]).normal(size=(count, columns))
    return ExactPosterior.of(covariance_of(features, quadratic, seed=seed, noise=noise), x, y)


def plain_covariance(covariance: Covariance, x: Array, y: Array) -> Array:
    """The kernel of all pairs, one pair at a time, as the formula is written."""

    def of_pair(a: Array, b: Array) -> float:
        r = np.sqrt(np.sum((a - b) ** 2 / np.exp(covariance.theta[covariance.groups]) ** 2))
        matern = covariance.scale * (1 + np.sqrt(5) * r + 5 / 3 * r**2) * np.exp(-np.sqrt(5) * r)
        return float(matern + 1.0 + covariance.trend_variance * (a @ b / (0.25 * len(a)) + 1) ** 2)

    return np.array([[of_pair(a, b) for b in y] for a in x])


def numeric_gradient(function: Callable[[Array], float], at: Array, step: float = 1e-6) -> Array:
    """Central differences."""
    gradient = np.empty(at.size)
    for i in range(at.size):
        ends = []
        for sign in (1, -1):
            moved = at.copy()
            moved.flat[i] += sign * step
            ends.append(function(moved))
        gradient[i] = (ends[0] - ends[1]) / (2 * step)
    return gradient.reshape(at.shape)
