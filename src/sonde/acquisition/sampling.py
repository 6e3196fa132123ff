"""Samples of a Gaussian belief by reparameterization, y = mu + L z with z fixed once (eq. 2), and the way back."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from sonde.sampling import sobol
from sonde.surrogates.linear_algebra import JITTERS

Array = NDArray[np.float64]


@lru_cache(maxsize=8)
def base_samples(count: int, size: int, seed: int) -> Array:
    """Return z (count, size): scrambled Sobol points through the normal quantile. Kept, and not to be written to."""
    samples = np.asarray(ndtri(sobol(0, count, size, seed=seed)))
    samples.flags.writeable = False
    return samples


def cholesky(covariances: Array) -> Array:
    """Return L (B, q, q), with as little jitter as makes all of them exist: near-identical points are singular."""
    size = np.max(np.diagonal(covariances, axis1=-2, axis2=-1), axis=-1)[..., None, None]
    size = np.maximum(size, 1e-12)  # the belief may be certain of a whole pool
    identity = np.eye(covariances.shape[-1])
    for jitter in JITTERS[1:]:  # of the largest variance
        try:
            return np.asarray(np.linalg.cholesky(covariances + jitter * size * identity))
        except np.linalg.LinAlgError:
            continue
    diagonal = np.diagonal(covariances, axis1=-2, axis2=-1)
    return np.sqrt(np.maximum(diagonal, 0.0) + size[..., 0])[..., None] * identity


def cholesky_vjp(factor: Array, slope: Array) -> Array:
    """Return the slope in the covariance from the slope in its factor (Murray 2016), symmetric, (B, q, q)."""
    inner = np.tril(factor.swapaxes(-1, -2) @ np.tril(slope))
    inner -= 0.5 * np.eye(factor.shape[-1]) * inner
    inverse = np.linalg.inv(factor)
    pulled = inverse.swapaxes(-1, -2) @ inner @ inverse
    return 0.5 * (pulled + pulled.swapaxes(-1, -2))
