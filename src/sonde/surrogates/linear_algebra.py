"""Cholesky factors of covariance matrices that rounding has made indefinite: one ladder of jitter for all of them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack

Array = NDArray[np.float64]

LADDER = (0.0, 1e-10, 1e-8, 1e-6, 1e-4, 1e-2)  # jitter, relative to the mean of the diagonal


def factorise(matrix: Array) -> Array:
    """Return the lower Cholesky factor, with as little jitter as makes it exist."""
    size = np.mean(np.diagonal(matrix))
    for jitter in LADDER:
        tried = matrix if jitter == 0 else matrix + jitter * size * np.eye(len(matrix))
        factor, failed = lapack.dpotrf(tried.T, lower=1, clean=1)  # symmetric: the transpose is the order LAPACK wants
        if not failed:
            return np.asarray(factor)
    return np.sqrt(size) * np.eye(len(matrix))  # only for input that is not finite, which callers exclude
