"""Small Gaussian processes with gradients and curvatures, and slow reference results."""

from __future__ import annotations

from functools import cache
from math import prod
from typing import TYPE_CHECKING

import numpy as np
from numpy.polynomial.hermite_e import hermeval
from numpy.typing import NDArray

from sonde.surrogates.gaussian_process.covariance import Covariance
from sonde.surrogates.gaussian_process.observations import ObservationLayout
from sonde.surrogates.gaussian_process.posterior import ExactPosterior
from sonde.surrogates.gaussian_process.profiles import PROFILES

if TYPE_CHECKING:
    from sonde.kernels import Kernel

Array = NDArray[np.float64]
Index = NDArray[np.intp]

TRENDS = (None, "quadratic", "bowl")
ALL = list(PROFILES)
TWICE = [name for name, profile in PROFILES.items() if profile.smooth >= 2]  # those that allow Hessians
OWN, SHARED = np.arange(3), np.array([0, 1, 1, 1])  # a length scale for each feature, and one for several


def gradient_covariance(
    profile: str = "matern52",
    trend: str | None = None,
    groups: Index = OWN,
    *,
    noise: float = 1e-2,
    gradient_noise: float = 1e-3,
    seed: int = 0,
) -> Covariance:
    lengthscales = np.random.default_rng([seed, 2]).normal(-0.4, 0.3, groups[-1] + 1)
    bend = [] if trend is None else [-0.7]
    theta = np.array([*lengthscales, 0.3, np.log(noise), *bend, np.log(gradient_noise)])
    return Covariance(groups, theta, trend, profile)


def points_of(count: int, width: int = 3, seed: int = 0) -> Array:
    return np.random.default_rng([seed, 1]).random((count, width)) - 0.5


def close_points(width: int = 3) -> Array:
    """Points that coincide, that nearly coincide, and that are 1e-6 and 1e-3 apart, among others."""
    x = points_of(8, width)
    x[1] = x[0]
    x[2] = x[0] + 1e-6 * points_of(1, width, seed=1)[0]
    x[3] = x[0]
    x[3, 0] += 1e-6
    x[4] = x[0]
    x[4, -1] += 1e-12
    x[5] = x[0] + 1e-3 * points_of(1, width, seed=2)[0]
    return x


def full_layout(x: Array, *, curvatures: bool = False) -> ObservationLayout:
    """All derivatives at every point; of curvatures the upper triangle."""
    known = np.ones(x.shape, dtype=bool)
    triangle = np.triu(np.ones((len(x), x.shape[1], x.shape[1]), dtype=bool)) & curvatures
    return ObservationLayout(x, np.stack(np.nonzero(known)), np.stack(np.nonzero(triangle)))


def partial_layout(x: Array, *, curvatures: bool = False, seed: int = 0) -> ObservationLayout:
    """About half of all gradients and of all curvatures, in any order."""
    rng, whole = np.random.default_rng([seed, 5]), full_layout(x, curvatures=curvatures)
    kept = [
        rng.permutation(np.flatnonzero(rng.random(each.shape[1]) < 0.5)) for each in (whole.gradients, whole.curvatures)
    ]
    return ObservationLayout(x, whole.gradients[:, kept[0]], whole.curvatures[:, kept[1]])


def gradients_of(posterior: ExactPosterior, x: Array) -> tuple[Array, Array]:
    """The posterior of the gradients at x (m, p): means (m, p) and covariances (m, p, p)."""
    (m, p), predicted, covariance = x.shape, full_layout(x), posterior.covariance
    observed = [*([] if posterior.layout is None else [posterior.layout]), ObservationLayout(posterior.x)]
    cross = np.concatenate([covariance.between(predicted, each)[m:] for each in observed], axis=1)
    whitened = (cross @ posterior.inverse.T).reshape(m, p, -1)
    prior = covariance.between(predicted, predicted)[m:, m:].reshape(m, p, m, p)
    own = prior[np.arange(m), :, np.arange(m), :]
    return (cross @ posterior.weights[:, 0]).reshape(m, p), own - whitened @ whitened.swapaxes(1, 2)


def kernel_entries(layout: ObservationLayout, *, curvatures: bool = False) -> Index:
    """The indices of the observations in the vectors of ``sonde.kernels``, which go point by point."""
    p = layout.x.shape[1]
    each = 1 + p + (p * (p + 1) // 2 if curvatures else 0)
    low, high = np.minimum(*layout.curvatures[1:]), np.maximum(*layout.curvatures[1:])
    triangle = low * p - low * (low - 1) // 2 + high - low
    inside = [np.zeros(len(layout.x), dtype=np.intp), 1 + layout.gradients[1], 1 + p + triangle]
    return np.asarray(layout.points * each + np.concatenate(inside))


def kernel_of(covariance: Covariance) -> Kernel:
    """The same covariance as a sum of kernels of ``sonde.kernels``."""
    from sonde.kernels import ARD, RBF, Constant, InnerProducts, Matern, Matern52, Polynomial, RationalQuadratic

    kinds = {
        "matern52": Matern52(), "matern72": Matern(3), "rbf": RBF(), "rational_quadratic": RationalQuadratic(1.0)
    }  # fmt: skip
    kernel: Kernel = covariance.scale * ARD(kinds[covariance.profile], 1 / covariance.roots) + Constant(1.0)
    if covariance.trend is None:
        return kernel
    root = np.full(len(covariance.groups), np.sqrt(covariance.rho))
    shape = Polynomial(2) if covariance.trend == "quadratic" else InnerProducts(lambda xx, xy, yy: xy + xx * yy)
    return kernel + covariance.trend_variance * ARD(shape, root)


@cache
def kernel_matrix(profile: str, trend: str | None, curvatures: bool) -> Array:
    """The matrix of ``sonde.kernels`` of all derivatives at ``close_points``, for ``gradient_covariance``."""
    from sonde.kernels import ValueGradientGram, ValueGradientHessianGram

    operator = ValueGradientHessianGram if curvatures else ValueGradientGram
    return np.asarray(operator(kernel_of(gradient_covariance(profile, trend)), close_points()).as_matrix())


def hermite_covariance(covariance: Covariance, a: ObservationLayout, b: ObservationLayout) -> Array:
    """The covariances of an RBF process, pair by pair: each column has a Hermite polynomial as a factor.

    d^m / dr^m exp(-r^2 / 2) = (-1)^m He_m(r) exp(-r^2 / 2), and a derivative in the second point is minus one in r.
    """

    def orders(layout: ObservationLayout) -> list[tuple[int, Index]]:
        rows: list[tuple[int, list[int]]] = [(int(i), []) for i in layout.points[layout.values]]
        rows += [(i, [c]) for i, c in layout.gradients.T]
        rows += [(i, [c, e]) for i, c, e in layout.curvatures.T]
        return [(i, np.bincount(np.array(c, dtype=int), minlength=layout.x.shape[1])) for i, c in rows]

    def of_pair(i: int, m: Index, j: int, n: Index) -> float:
        r = (a.x[i] - b.x[j]) * covariance.roots
        polynomials = prod(hermeval(r[k], [0.0] * (m[k] + n[k]) + [1.0]) for k in range(len(r)))
        units = prod(covariance.roots ** (m + n))
        value = covariance.scale * (-1) ** m.sum() * polynomials * units * np.exp(-0.5 * r @ r)
        return float(value + (1.0 if m.sum() + n.sum() == 0 else 0.0))

    return np.array([[of_pair(*left, *right) for right in orders(b)] for left in orders(a)])
