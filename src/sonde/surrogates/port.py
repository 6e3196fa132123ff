"""What a belief about function values answers, whatever model it comes from.

Each answer has a ``vjp`` that carries gradients in the belief back to gradients in the points: the last factor of eq. (3) of
Wilson et al. (2017). Higher values are better. Symbols: p features, S sets of values on the same points (fantasies; 1
where there are none).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


class Marginals(NamedTuple):
    """Means (m, S) and variances (m,) at m points; ``vjp(d mean, d variance)`` gives gradients (m, p)."""

    mean: Array
    variance: Array
    vjp: Callable[[Array, Array], Array]


class Joint(NamedTuple):
    """Means (B, q) and covariances (B, q, q) of B pools; ``vjp(d mean, d covariance)`` gives gradients (B, q, p)."""

    mean: Array
    covariance: Array
    vjp: Callable[[Array, Array], Array]


class Pool(NamedTuple):
    """Means (m,), variances (m,) and, where they are asked for, covariances of fixed points by their indexes.

    ``draw(rng, count)`` returns functions that may be the one, at all points, (m, count).
    """

    mean: Array
    variance: Array
    covariance: Callable[[NDArray[np.intp], NDArray[np.intp]], Array]
    draw: Callable[[np.random.Generator, int], Array]


class Posterior(Protocol):
    """A belief about function values."""

    @property
    def noise(self) -> float:
        """The variance of a value around the function."""
        ...

    def marginals(self, x: Array) -> Marginals:
        """Return the belief at each of x (m, p) by itself."""
        ...

    def joint(self, pools: Array) -> Joint:
        """Return the belief at B pools (B, q, p) of points."""
        ...

    def pool(self, x: Array) -> Pool:
        """Return the belief at x (m, p) without gradients, for a choice among them."""
        ...

    def condition(self, x: Array, y: Array, noise: Array | float = 0.0) -> Posterior:
        """Return the belief after further values y (m, S) at x (m, p), with ``noise`` besides its own."""
        ...
