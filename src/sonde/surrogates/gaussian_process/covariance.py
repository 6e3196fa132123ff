"""The covariance of values, gradients and curvatures of a Gaussian process, in closed form with derivatives.

k(x, y) = s f(r.r) + c + trend,    r = (x - y) / lengthscales,    f from ``profiles``, the trend from ``trends``

with a length scale for each parameter. c is the prior variance of a constant mean, b that of the trend. A mean with a
Gaussian prior adds a term to the kernel, so both means are integrated out. ``sonde.kernels`` gives the same (a test
compares them). Sums over pairs are matrix products, like r.r: sum_j C_ij (x_i - y_j) = x_i sum_j C_ij - (C Y)_i.

Plain NumPy: at the sizes of Bayesian optimization, XLA saves less time per suggestion than its compilation costs.

Symbols: those of ``observations``; x and y points (m, p) and (n, p) with p features, d parameters (``groups`` (p,) is
the parameter of each feature), theta the logarithms of (length scales (d,), s, noise variance, b if there is a trend,
and, for observations with gradients, the noise variance of gradients as a share of their mean square).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np

from sonde.arrays import Array, Index
from sonde.surrogates.gaussian_process.derivatives import GradientMatrix, Isotropic, Toward, ValueMatrix
from sonde.surrogates.gaussian_process.observations import ObservationLayout
from sonde.surrogates.gaussian_process.port import Cross
from sonde.surrogates.gaussian_process.products import Products
from sonde.surrogates.gaussian_process.profiles import PROFILES, Profile
from sonde.surrogates.gaussian_process.trends import TRENDS, Trend

CONSTANT = 1.0  # c, the prior variance of the constant mean of standardized values


@dataclass(frozen=True)
class Covariance:
    """The covariance k(x, y) of one theta, trend and profile, and of its derivatives."""

    groups: Index
    theta: Array
    trend: str | None = None  # its name
    profile: str = "matern52"
    complement_dim: int = 0  # dimension of the orthogonal complement, see ``subspace``

    @cached_property
    def size(self) -> int:
        """The number of length scales, d."""
        return int(self.groups[-1]) + 1

    @cached_property
    def roots(self) -> Array:
        """1 / length scale of each feature, (p,)."""
        return np.exp(-self.theta[self.groups])

    @cached_property
    def scale(self) -> float:
        """The variance s of the stationary part."""
        return float(np.exp(self.theta[self.size]))

    @property
    def noise_entry(self) -> int:
        """The entry of theta that is the logarithm of the noise variance."""
        return self.size + 1

    @property
    def noise(self) -> float:
        """The noise variance."""
        return float(np.exp(self.theta[self.size + 1]))

    @property
    def trend_variance(self) -> float:
        """The prior variance b of the trend."""
        return float(np.exp(self.theta[self.size + 2])) if self.trend else 0.0

    @property
    def gradient_noise(self) -> float:
        """The noise variance of gradients, as a share of their mean square."""
        return float(np.exp(self.theta[-1]))

    @property
    def rho(self) -> float:
        """The size of x.y at a corner of the cube; divided by it, b means the same in any dimension.

        It counts the axes of the orthogonal complement, too.
        """
        return 0.25 * (len(self.groups) - bool(self.complement_dim) + self.complement_dim)

    @cached_property
    def mean_prior(self) -> Trend | None:
        """The Gaussian prior of the mean function, besides a constant."""
        return TRENDS[self.trend](self.trend_variance, self.rho) if self.trend else None

    @property
    def smooth(self) -> int:
        """How often sample paths can be differentiated."""
        return self._profile.smooth

    @property
    def _profile(self) -> Profile:
        return PROFILES[self.profile]

    def diagonal(self, x: Array) -> tuple[Array, Array | None]:
        """Return k(x, x), (...), and its gradient in x, (..., p), None where it is constant."""
        flat = np.full(x.shape[:-1], self.scale + CONSTANT)
        if self.mean_prior is None:
            return flat, None
        value, gradient = self.mean_prior.diagonal(x)
        return flat + value, gradient

    def cross(self, x: Array, y: Array) -> Cross:
        """Return k of all pairs of x (..., m, p) and y (..., n, p)."""
        values, first = self.stationary(x, y)
        values += CONSTANT
        vjp = partial(self.stationary_vjp, x, y, first)
        if self.mean_prior is None:
            return Cross(values, vjp)
        trend, trend_vjp = self.mean_prior.cross(x, y)
        values += trend
        return Cross(values, lambda weights: vjp(weights) + trend_vjp(weights))

    def stationary(self, x: Array, y: Array) -> tuple[Array, Array]:
        """Return s f and s f' / f'(0) of all pairs."""
        return self._profile.values(self._squares(x, y), self.scale)

    def stationary_vjp(self, x: Array, y: Array, first: Array, weights: Array) -> Array:
        """Return sum_j weights_ij d (s f)_ij / dx_i, (..., m, p), from s f' / f'(0)."""
        gradients = weights * first
        drift = gradients @ y - x * gradients.sum(axis=-1)[..., None]
        return np.asarray(-2 * self._profile.slope * self.roots**2 * drift)

    def isotropic(self, x: Array, y: Array, order: int) -> list[Array]:
        """Return s f, s f', s f'', ... up to an order, of all pairs of x (..., m, p) and y (..., n, p)."""
        return [self.scale * each for each in self._profile.derivatives(self._squares(x, y), order)]

    def _squares(self, x: Array, y: Array) -> Array:
        """Return r.r of all pairs; in place, because these arrays are large."""
        a, b = x * self.roots, y * self.roots
        squares = np.sum(a * a, axis=-1)[..., :, None] + np.sum(b * b, axis=-1)[..., None, :]
        products = a @ b.swapaxes(-1, -2)
        products *= 2
        squares -= products
        return np.maximum(squares, 0.0, out=squares)

    def toward(self, x: Array, layout: ObservationLayout) -> Cross:
        """Return the covariances of values at x (m, p) with the observations of a layout, (m, N)."""
        f = self.isotropic(x, layout.x, 3 if layout.curvatures.size else 2)
        stationary, trend = Toward(x, layout, self.roots, f), self.mean_prior
        stationary.values[:, layout.values] += CONSTANT
        if trend is None:
            return Cross(stationary.values, stationary.vjp)
        return Cross(
            stationary.values + trend.between(ObservationLayout(x), layout),
            lambda weights: stationary.vjp(weights) + trend.toward_vjp(x, layout, weights),
        )

    def between(self, a: ObservationLayout, b: ObservationLayout) -> Array:
        """Return the covariances of the observations of two layouts, (N_a, N_b)."""
        part = Isotropic(a.x, b.x, self.roots, self.isotropic(a.x, b.x, a.highest + b.highest))
        whole = np.block([[part.block(left, right) for right in b.orders] for left in a.orders])
        whole[a.values, b.values] += CONSTANT
        return whole if self.mean_prior is None else whole + self.mean_prior.between(a, b)

    def observed(self, layout: ObservationLayout) -> Observed:
        """Return the matrix of values and gradients, for the marginal likelihood."""
        return Observed(self, layout)

    def products(self, x: Array, y: Array | None = None) -> Products:
        """Return matrix-free products with the covariance of values and gradients at x (m, p) and y (None: x)."""
        y = x if y is None else y
        return Products(x, y, self.roots, self.isotropic(x, y, 2), CONSTANT, self.mean_prior)

    def within_columns(self, x: Array) -> tuple[Array, Array]:
        """Return the covariances (n, n) of derivatives in one column, up to the scale (p,) of the column, r_c = 0."""
        return -2 * self.isotropic(x, x, 1)[1], self.roots**2

    def variances(self, layout: ObservationLayout) -> Array:
        """Return the prior variances of the observations of a layout, (N,)."""
        values = np.full(len(layout.x), self.scale + CONSTANT)
        gradients = -2 * self._profile.slope * self.scale * self.roots[layout.gradients[1]] ** 2
        whole = np.concatenate([values, gradients, self.curvature_variances(layout)])
        return whole if self.mean_prior is None else whole + self.mean_prior.variances(layout)

    def curvature_variances(self, layout: ObservationLayout) -> Array:
        """Return the prior variances of the curvatures of a layout, (H,), without the trend."""
        _, c, e = layout.curvatures
        if not c.size:  # also for profiles without a second derivative at 0
            return np.empty(0)
        second = float(self._profile.derivatives(np.zeros(()), 2)[2])
        return np.asarray(4 * second * self.scale * (1.0 + 2 * (c == e)) * self.roots[c] ** 2 * self.roots[e] ** 2)


class Observed:
    """The matrix (N, N) of the values and gradients of a layout, and its gradient in theta."""

    def __init__(self, covariance: Covariance, layout: ObservationLayout) -> None:
        self.covariance, self.layout, n = covariance, layout, len(layout.x)
        self.stationary = stationary_matrix(covariance, layout)
        self.matrix = self.stationary.matrix
        self.matrix[:n, :n] += CONSTANT
        self.trend: Array | None = None
        if covariance.trend:
            self.trend = covariance.trend_variance * _unit_trend(covariance.trend, covariance.rho, layout)
            self.matrix += self.trend

    def theta_gradient(self, weights: Array) -> Array:
        """Return 1/2 sum_ij W_ij dK_ij / d theta, (D,), for symmetric weights (N, N); 0 for variances of noise."""
        covariance, size, n, bend = self.covariance, self.covariance.size, len(self.layout.x), 0.0
        gradient = np.zeros(len(covariance.theta))
        gradient[:size] = np.bincount(covariance.groups, self.stationary.lengthscales(weights), size)
        if self.trend is not None:
            bend = float(np.vdot(weights, self.trend))
            gradient[size + 2] = 0.5 * bend
        constant = CONSTANT * float(weights[:n, :n].sum())
        gradient[size] = 0.5 * (float(np.vdot(weights, self.matrix)) - bend - constant)
        return gradient

    def inputs_gradient(self, weights: Array) -> Array:
        """Return sum_j W_ij dk(x_i, x_j) / dx_i, (n, p), for a layout without gradients."""
        assert isinstance(self.stationary, ValueMatrix)
        x, trend = self.layout.x, self.covariance.mean_prior
        total = self.covariance.stationary_vjp(x, x, self.stationary.first, weights)
        return total if trend is None else total + trend.cross(x, x).vjp(weights)


def stationary_matrix(covariance: Covariance, layout: ObservationLayout) -> ValueMatrix | GradientMatrix:
    """Return the matrix of the stationary part; that of values alone is made in less time."""
    x, roots = layout.x, covariance.roots
    if layout.gradients.size:
        return GradientMatrix(layout, roots, covariance.isotropic(x, x, 3))
    return ValueMatrix(x, roots, *covariance.stationary(x, x), PROFILES[covariance.profile].slope)


def _unit_trend(name: str, rho: float, layout: ObservationLayout) -> Array:
    """Return the covariances of observations under a trend of variance 1, which do not depend on theta."""
    if (name, rho) not in layout.trends:
        layout.trends[name, rho] = TRENDS[name](1.0, rho).between(layout, layout)
    return layout.trends[name, rho]
