"""The interface of a posterior over function values, whatever model it comes from.

Marginal and joint predictions have a ``vjp`` (vector-Jacobian product) that turns gradients in their moments into
gradients in their points: the last factor of eq. (3) of Wilson et al. (2017). Higher values are better.

Symbols: x features (m, p) of m points, B batches of q points, s sets of values at the same points (fantasies; 1 where
there are none).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, Protocol

import numpy as np

from sonde.arrays import Array, Index


class Marginals(NamedTuple):
    """Posterior means (m, s) and variances (m,) at m points; ``vjp(d mean, d variance)`` gives gradients (m, p)."""

    mean: Array
    variance: Array
    vjp: Callable[[Array, Array], Array]


class Joint(NamedTuple):
    """Posterior means (B, q) and covariances (B, q, q) of B batches; ``vjp(d mean, d covariance)`` gives (B, q, p)."""

    mean: Array
    covariance: Array
    vjp: Callable[[Array, Array], Array]


class Pool(NamedTuple):
    """Posterior means (m,) and variances (m,) at a pool of m candidates that stays the same.

    ``covariance(rows, columns)`` returns posterior covariances by the candidates' indices, computed on demand.
    ``draw(rng, count)`` returns samples of the function at all candidates, (m, count). ``extended(x)`` returns the pool
    with further candidates at the end.
    """

    mean: Array
    variance: Array
    covariance: Callable[[Index | slice, Index], Array]
    draw: Callable[[np.random.Generator, int], Array]
    extended: Callable[[Array], Pool]


class Posterior(Protocol):
    """A posterior over function values."""

    @property
    def noise(self) -> float:
        """The noise variance: that of an observed value around the function."""
        ...

    def marginals(self, x: Array) -> Marginals:
        """Return the posterior at each of x (m, p) by itself."""
        ...

    def means(self, x: Array) -> Array:
        """Return the posterior means (m, s) at x (m, p): much quicker than with the variances."""
        ...

    def joint(self, batches: Array) -> Joint:
        """Return the joint posterior of each of B batches (B, q, p) of points."""
        ...

    def pool(self, x: Array) -> Pool:
        """Return the posterior at candidates x (m, p), without gradients."""
        ...

    def condition(self, x: Array, y: Array, noise: Array | float = 0.0) -> Posterior:
        """Return the posterior after further values y (m, s) at x (m, p), with ``noise`` added to its own."""
        ...
