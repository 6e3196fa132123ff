"""Reparameterized samples of a Gaussian posterior, y = mu + L z with fixed z, and the gradient through L.

This is eq. (2) of Wilson et al. (2017). Symbols: B batches of q points, z base samples, L L^T the covariance.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from scipy.special import ndtri

from sonde.arrays import Array
from sonde.sampling import sobol
from sonde.surrogates.linear_algebra import JITTERS


@lru_cache(maxsize=8)
def base_samples(count: int, size: int, seed: int) -> Array:
    """Return z (count, size): scrambled Sobol points through the normal quantile function. Cached, so read-only."""
    samples = np.asarray(ndtri(sobol(0, count, size, seed=seed)))
    samples.flags.writeable = False
    return samples


def cholesky(covariances: Array) -> Array:
    """Return L (B, q, q), with the smallest jitter for which all exist: near-identical points are singular."""
    size = np.max(np.diagonal(covariances, axis1=-2, axis2=-1), axis=-1)[..., None, None]
    size = np.maximum(size, 1e-12)  # the variances of a whole batch may be zero
    identity = np.eye(covariances.shape[-1])
    for jitter in JITTERS[1:]:  # relative to the largest variance
        try:
            return np.asarray(np.linalg.cholesky(covariances + jitter * size * identity))
        except np.linalg.LinAlgError:
            continue
    diagonal = np.diagonal(covariances, axis1=-2, axis2=-1)
    return np.sqrt(np.maximum(diagonal, 0.0) + size[..., 0])[..., None] * identity


def cholesky_vjp(factor: Array, gradient: Array) -> Array:
    """Return the gradient in the covariance, symmetric (B, q, q), from that in its factor (Murray 2016)."""
    inner = np.tril(factor.swapaxes(-1, -2) @ np.tril(gradient))
    inner -= 0.5 * np.eye(factor.shape[-1]) * inner
    inverse = np.linalg.inv(factor)
    result = inverse.swapaxes(-1, -2) @ inner @ inverse
    return 0.5 * (result + result.swapaxes(-1, -2))
