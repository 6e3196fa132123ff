"""Cholesky factors of covariance matrices that rounding may have made indefinite: jitter is added until they exist."""

from __future__ import annotations

import numpy as np
from scipy.linalg import lapack

from sonde.arrays import Array

JITTERS = (0.0, 1e-10, 1e-8, 1e-6, 1e-4, 1e-2)  # tried in this order, relative to the mean of the diagonal


def factorise(matrix: Array) -> Array:
    """Return the lower Cholesky factor L of a matrix, with the smallest jitter for which it exists."""
    size = np.mean(np.diagonal(matrix))
    for jitter in JITTERS:
        tried = matrix if jitter == 0 else matrix + jitter * size * np.eye(len(matrix))
        factor, failed = lapack.dpotrf(tried.T, lower=1, clean=1)  # symmetric: the transpose is in LAPACK's order
        if not failed:
            return np.asarray(factor)
    return np.sqrt(size) * np.eye(len(matrix))  # reached only by input that is not finite, which callers exclude


def symmetric_inverse(factor: Array) -> Array:
    """Return the inverse of L L^T from its lower factor L."""
    lower, _ = lapack.dpotri(factor, lower=1)  # above the diagonal it is zero, as the factor is
    whole = lower + lower.T
    np.fill_diagonal(whole, np.diagonal(lower))
    return np.asarray(whole)


def with_diagonal(matrix: Array, numbers: Array | float) -> Array:
    """Return a copy of a matrix with numbers added to its diagonal."""
    changed = matrix.copy()
    changed.ravel()[:: len(matrix) + 1] += numbers
    return changed
