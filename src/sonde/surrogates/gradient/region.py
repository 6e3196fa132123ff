"""The model of a trust region: a Gaussian process on the observations around its centre, in units of the region.

    u = (x - centre) / radius,    k(u, v) = s exp(-|u - v|^2 / 2 l^2) + b (u.v / rho + 1)^2 + c

The quadratic kernel is centred on the region. With gradients it is a Bayesian quasi-Newton method: the prior on the
Hessian is isotropic, rotations cost it nothing, and every gradient is a secant equation. The process besides it models
what is not quadratic (Ament & Gomes 2022, section 4.3, has the same sum, centred on the domain). It is a smooth one,
which learns terms of third and fourth order from few gradients.

Observations far from the centre are dominated by terms of higher order: a quartic is 10^8 times its value at a hundred
times the distance. A stationary residual cannot be that small near the centre. So every observation has noise that
grows with its difference from the centre, the *misfits*. They follow Taylor's theorem: a quadratic is wrong by a term
of third order, and its gradient by one of second order, so the variances are e^2 |y_i - y_centre|^3 and
e^2 (|g_i - g_centre|^2 / p)^2, with one factor e for all. It is inferred with the other hyperparameters.

Symbols: n observations, p columns, N rows of the matrix; theta is that of ``covariance``.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np

from sonde.arrays import Array, Index
from sonde.surrogates.gaussian_process.covariance import Covariance
from sonde.surrogates.gaussian_process.estimates import maximise
from sonde.surrogates.gaussian_process.marginal_likelihood import Evidence
from sonde.surrogates.gaussian_process.observations import ObservationLayout
from sonde.surrogates.gaussian_process.posterior import ExactPosterior
from sonde.surrogates.gradient.fitting import Observations
from sonde.surrogates.gradient.subspace import Subspace, complement_evidence

ROWS = 400  # of the matrix, at most
FEWEST = 20  # observations to take where there are more than twice as many as parameters
TINY, LARGE = 1e-300, 1e75  # the least unit of the values, and the largest number in it
EVALUATIONS = 30  # of the marginal likelihood by L-BFGS, from the best start
# starts: all combinations of log l above that of the prior, log s / b and log e^2. The density has several modes: what
# is nearly quadratic, what is smooth (a long l and a huge s make a polynomial), what is neither
STARTS = tuple(product((0.0, 2.0), (-6.0, 8.0), (-30.0, -12.0, -3.0)))
# standard deviations of the priors of log l, log s, log b and log e^2, around l = sqrt(p) / 2, s = b, e^2 = 1e-5
SPREADS = np.array([1.5, 4.0, 4.0, 12.0])
BOUNDS = np.array([(-6.0, 8.0), (-60.0, 60.0), (-60.0, 60.0), (-60.0, -1.0)]).T


@dataclass(frozen=True)
class RegionModel:
    """The posterior in a trust region, a function of displacements from its centre in units of its radius."""

    posterior: ExactPosterior
    subspace: Subspace | None

    def __call__(self, u: Array) -> tuple[float, Array, float, Array]:
        """Return the mean at u (p,) and its gradient, and the standard deviation and its gradient; lower is better."""
        x = u[None] if self.subspace is None else self.subspace(u[None])
        marginals = self.posterior.marginals(x)
        deviation = float(np.sqrt(max(marginals.variance[0], 1e-300)))
        mean = marginals.vjp(np.ones((1, 1)), np.zeros(1))
        spread = marginals.vjp(np.zeros((1, 1)), np.full(1, 0.5 / deviation))
        if self.subspace is not None:
            mean, spread = (self.subspace.vjp(each, u[None]) for each in (mean, spread))
        return -float(marginals.mean[0, 0]), -mean[0], deviation, spread[0]


def nearest(distances: Array, width: int) -> Index:
    """Return the indices of the nearest observations: twice as many as ``width`` columns, or ``FEWEST``.

    More than make a matrix of ``ROWS`` rows are not taken.
    """
    count = min(len(distances), max(FEWEST, 2 * width))
    while count > 2 and count * (1 + min(width, 2 * count)) > ROWS:
        count -= 1
    return np.sort(np.argsort(distances, kind="stable")[:count])


@np.errstate(over="ignore")
def fit_region(observations: Observations, centre: int, radius: float) -> RegionModel:
    """Return the model of the region around one of the observations."""
    unit = _unit(observations, centre, radius)
    scaled = Observations(
        (observations.x - observations.x[centre]) / radius,
        _limited((observations.values / 4 - observations.values[centre] / 4) / unit),
        observations.deviations / 4 / unit,
        _limited(observations.gradients / 4 * radius / unit),
        None if observations.hessians is None else _limited(observations.hessians / 4 * radius**2 / unit),
    )
    subspace, dimension = None, 0
    if 2 * len(scaled.values) < scaled.x.shape[1] and scaled.hessians is None:
        subspace = Subspace.of(scaled)
        scaled, dimension = subspace.reduce(scaled), subspace.complement_dim
    covariance = _fitted(scaled, centre, dimension)
    return RegionModel(_evidence(scaled, centre, dimension).posterior(covariance), subspace)


def _unit(observations: Observations, centre: int, radius: float) -> float:
    """Return the unit of quarters of the values: the change over the region that the gradient at its centre predicts.

    Quarters, because the difference of huge numbers is infinite.
    """
    steepest = float(np.nanmax(np.abs(observations.gradients[centre]), initial=0.0)) / 4 * radius
    values = observations.values / 4
    return max(steepest or float(np.max(np.abs(values - values[centre]))), TINY)


def _limited(numbers: Array) -> Array:
    """Return numbers whose squares are finite; larger ones, which say nothing about the region, are unknown or clipped.

    Values (n,) are clipped; derivatives (n, ...) become NaN.
    """
    large = np.abs(numbers) > LARGE
    return np.where(large, np.sign(numbers) * LARGE if numbers.ndim == 1 else np.nan, numbers)


def _evidence(scaled: Observations, centre: int, complement_dim: int) -> Evidence:
    """Return the observations y (N,), higher is better, with their misfits."""
    usable = np.isfinite(scaled.gradients)
    curvatures, entries = np.empty(0), np.empty((3, 0), dtype=np.intp)
    if scaled.hessians is not None:
        known = np.isfinite(scaled.hessians) & np.triu(np.ones(scaled.hessians.shape[1:], dtype=bool))
        entries, curvatures = np.stack(np.nonzero(known)), scaled.hessians[known]
    layout = ObservationLayout(scaled.x, np.stack(np.nonzero(usable)), entries)
    y = -np.concatenate([scaled.values, scaled.gradients[usable], curvatures])
    squares = _mean_squares(scaled.gradients, centre, complement_dim)
    bends = np.zeros(len(scaled.values))
    if curvatures.size and scaled.hessians is not None:
        bends = _mean_squares(scaled.hessians.reshape(len(bends), -1), centre, 0)
    misfits = np.concatenate([np.abs(scaled.values) ** 3, squares[layout.gradients[0]] ** 2, bends[entries[0]]])
    return Evidence(layout, y, np.nan_to_num(scaled.deviations) ** 2, misfits=misfits)


def _mean_squares(rows: Array, centre: int, zeros: int) -> Array:
    """Return the mean squares (n,) of differences from the row of the centre; ``zeros`` more entries are 0."""
    differences = rows - np.where(np.isfinite(rows[centre]), rows[centre], 0.0)
    count = np.maximum(np.isfinite(differences).sum(axis=1) + zeros, 1)
    return np.asarray(np.nansum(differences**2, axis=1) / count)


def _fitted(scaled: Observations, centre: int, complement_dim: int) -> Covariance:
    """Return the covariance of the highest posterior density."""
    evidence = _evidence(scaled._replace(hessians=None), centre, complement_dim)
    groups = np.zeros(scaled.x.shape[1], dtype=np.intp)
    dimension = len(groups) - bool(complement_dim) + complement_dim

    def covariance_at(free: Array) -> Covariance:
        theta = np.array([free[0], free[1], -60.0, free[2], free[3]])
        return Covariance(groups, theta, "quadratic", "rbf", complement_dim)

    location = np.array([0.5 * np.log(dimension / 4), 0.0, 0.0, np.log(1e-5)])
    location[1:3] = np.log(_size(covariance_at(location), evidence))

    def log_prior(free: Array) -> tuple[float, Array]:
        score = (free - location) / SPREADS
        return -0.5 * float(score @ score), -score / SPREADS

    def log_posterior(free: Array) -> tuple[float, Array]:
        covariance, (prior, prior_gradient) = covariance_at(free), log_prior(free)
        value, gradient = evidence(covariance)
        if complement_dim:
            more, its_gradient = complement_evidence(covariance, evidence)
            value, gradient = value + more, gradient + its_gradient
        return value + prior, gradient[[0, 1, 3, 4]] + prior_gradient

    def height(free: Array) -> float:  # without the gradient, at a third of the cost
        covariance = covariance_at(free)
        more = complement_evidence(covariance, evidence)[0] if complement_dim else 0.0
        return evidence.value(covariance) + more + log_prior(free)[0]

    starts = []
    for lengthscale, ratio, share in STARTS:
        start = np.array([location[0] + lengthscale, location[1] + ratio, location[2], share])
        start[1:3] += np.log(_size(covariance_at(start), evidence))
        starts.append(start)
    found, _ = maximise(log_posterior, max(starts, key=height), *BOUNDS, maxfun=EVALUATIONS)
    return covariance_at(found)


def _size(covariance: Covariance, evidence: Evidence) -> float:
    """Return y^T K^-1 y / N, by which variances are to be multiplied."""
    return max(float(np.sum(evidence.posterior(covariance).white ** 2)) / len(evidence.y), 1e-20)
