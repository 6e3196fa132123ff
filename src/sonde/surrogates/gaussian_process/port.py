"""The interface of a covariance function with fixed hyperparameters: the closed form, or any kernel.

Symbols: those of ``observations``; x (m, p), y (n, p) points, theta the hyperparameters.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple, Protocol

from sonde.arrays import Array
from sonde.surrogates.gaussian_process.observations import ObservationLayout

# from weights on values (n,) and gradients (n, p) at some points to values (m,) and gradients (m, p) at others
Operator = Callable[[Array, Array], tuple[Array, Array]]


class Cross(NamedTuple):
    """Covariances ``values`` (..., m, N) of values at x with observations, and their vector-Jacobian product.

    ``vjp(weights)`` returns sum_j weights_ij d values_ij / dx_i, (..., m, p).
    """

    values: Array
    vjp: Callable[[Array], Array]


class ObservationMatrix(Protocol):
    """The covariances (N, N) of the observations of a layout, without noise, and their gradient in theta."""

    matrix: Array

    def theta_gradient(self, weights: Array) -> Array:
        """Return 1/2 sum_ij W_ij dK_ij / d theta, (D,), for symmetric weights (N, N); 0 for variances of noise."""
        ...


class CovarianceFunction(Protocol):
    """A covariance function with fixed hyperparameters theta, of values and of derivatives: a dataclass."""

    __dataclass_fields__: ClassVar[dict[str, Any]]

    @property
    def theta(self) -> Array:
        """The hyperparameters, (D,)."""
        ...

    @property
    def noise_entry(self) -> int:
        """The entry of theta that is the logarithm of the noise variance."""
        ...

    @property
    def noise(self) -> float:
        """The noise variance of values."""
        ...

    @property
    def gradient_noise(self) -> float:
        """The noise variance of gradients, as a share of their mean square: exp of the last entry of theta."""
        ...

    @property
    def smooth(self) -> int:
        """How often sample paths can be differentiated."""
        ...

    def diagonal(self, x: Array) -> tuple[Array, Array | None]:
        """Return k(x, x), (...), and its gradient in x, (..., p), None where it is constant."""
        ...

    def cross(self, x: Array, y: Array) -> Cross:
        """Return k(x_i, y_j) of all pairs of x (..., m, p) and y (..., n, p)."""
        ...

    def toward(self, x: Array, layout: ObservationLayout) -> Cross:
        """Return the covariances of values at x (m, p) with the observations of a layout, (m, N)."""
        ...

    def between(self, a: ObservationLayout, b: ObservationLayout) -> Array:
        """Return the covariances of the observations of two layouts, (N_a, N_b)."""
        ...

    def products(self, x: Array, y: Array | None = None) -> Operator:
        """Return products with the covariances of values and gradients at x (m, p) with those at y (n, p) (None: x)."""
        ...

    def within_columns(self, x: Array) -> tuple[Array, Array]:
        """Return covariances (n, n) and scales (p,): their products are about those of the gradients in a column."""
        ...

    def variances(self, layout: ObservationLayout) -> Array:
        """Return the prior variances of the observations of a layout, (N,)."""
        ...

    def curvature_variances(self, layout: ObservationLayout) -> Array:
        """Return the prior variances of the curvatures of a layout, (H,), without a trend."""
        ...

    def observed(self, layout: ObservationLayout) -> ObservationMatrix:
        """Return the matrix of values and gradients, for the marginal likelihood."""
        ...
