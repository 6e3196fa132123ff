"""The model of a trust region from values: a Gaussian process in units of the region, centred on it.

    u = (x - centre) / side,    k(u, v) = s M(|u - v| / l) + b (u.v / rho + 1)^2 + c

with Matern-5/2 M, length scales l that are tied together (see ``priors``), and the quadratic kernel of any quadratic:
rotations cost it nothing, and it helps long before there are as many values as coefficients. It is what ``fobo``
has with gradients (``gradient.region``), and like there an observation has noise that grows with its distance from the
centre, besides noise that is the same for all:

    e^2 (y_i - y_centre)^2 r_i^4,    r_i = 2 max_k |u_ik|, 1 at the border of the region

So values far away or far above the best may be explained roughly, and those in the region are explained well: a valley
that bends is followed, and a quadratic, where e^2 is tiny, is solved to the last digits.

The model is of the values or of their logarithm (``outputs``), whichever has the higher posterior density where the
fit starts, Jacobian included: far from a minimum a function of fourth order ranges over decades.

Where several results share the highest value, it may be a bound: a clipped loss, an accuracy at chance level. No
quadratic is flat there, so these results are *censored*: hyperparameters are fitted to the others, and each of these
counts as what the others predict, if that is worse than the bound.

Symbols: n observations, d parameters; y in units of the distance from the median to the best, higher is better.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from sonde.arrays import Array, Index, Mask
from sonde.surrogates.features import Features
from sonde.surrogates.gaussian_process.covariance import Covariance
from sonde.surrogates.gaussian_process.estimates import best_start, fit
from sonde.surrogates.gaussian_process.marginal_likelihood import Evidence
from sonde.surrogates.gaussian_process.observations import ObservationLayout
from sonde.surrogates.gaussian_process.posterior import ExactPosterior
from sonde.surrogates.outputs import LARGEST, Scale
from sonde.surrogates.priors import TiedPrior, region_prior

NEAREST = 256  # observations at most
ITERATIONS = 60  # of L-BFGS on the hyperparameters
FARTHEST = 4.0  # a distance r beyond it counts as this
HIGHEST = 1e70  # of a value in units of the median's distance: its square is finite
# starts of log s, log noise, log b and log e^2: the density has several modes, such as nearly quadratic and without
# noise, or smooth and explained roughly far from the centre
STARTS = tuple(
    (s, noise, b, e) for s in (0.0, -6.0) for b in (-2.0, 2.0, 6.0) for noise, e in ((-9.0, -9.0), (-14.0, -20.0))
)
KAPPA = 0.1  # offset of the logarithm
SHARED = 3  # results that share the highest value, from which on it is a bound


class Region(NamedTuple):
    """A box around a point of the unit cube."""

    centre: Array  # (d,)
    side: float


class RegionFit(NamedTuple):
    """The posterior of a region, and which observations it learned from."""

    features: Features
    scale: Scale
    posterior: ExactPosterior
    rows: Index
    y: Array


class Observed(NamedTuple):
    """Values y (n,) on a scale at x (n, p) in units of the region, with the noise variances (n,) that the user told."""

    x: Array
    y: Array
    told: Array
    level: float  # the value at the centre
    scale: Scale
    known: Mask  # (n,), those that are not censored
    jacobian: float  # sum of the log slopes of the scale at the known values

    @classmethod
    def of(cls, x: Array, values: Array, deviations: Array, known: Mask, scale: Scale) -> Observed:
        """Return values (n,) on a scale."""
        y = np.maximum(scale(values), -HIGHEST)
        jacobian = float(np.log(np.abs(scale.slope(values[known]))).sum())
        centre = np.argmin(np.abs(x).max(axis=1))
        return cls(x, y, scale.noise(values, deviations), float(y[centre]), scale, known, jacobian)

    def evidence(self, which: Mask) -> Evidence:
        """Return some of the observations, with their misfits."""
        x, y = self.x[which], self.y[which]
        distances = np.minimum(2 * np.abs(x).max(axis=1), FARTHEST)
        return Evidence(ObservationLayout(x), y, self.told[which], misfits=(y - self.level) ** 2 * distances**4)

    def posterior(self, covariance: Covariance, which: Mask) -> ExactPosterior:
        """Return the posterior given some of the observations."""
        noise = self.evidence(which).noise(covariance) - covariance.noise
        return ExactPosterior.of(covariance, self.x[which], self.y[which], noise)


def fit_region(plain: Features, region: Region, units: Array, values: Array, deviations: Array) -> RegionFit:
    """Return the model of a region from values (n,) at units (n, d), lower is better; NaN deviations are unknown."""
    distances = np.abs(units - region.centre).max(axis=1)
    rows = np.sort(np.argsort(distances, kind="stable")[:NEAREST])
    values, deviations = values[rows], deviations[rows]
    features = Features(plain.choices, origin=tuple(region.centre.tolist()), side=region.side)
    x, known = features(units[rows]), ~censored(values)
    scales = scale_of(values[known]), Scale.of(values[known], KAPPA)
    prior = region_prior(units.shape[1], region.side)
    observed, covariance = fitted([Observed.of(x, values, deviations, known, each) for each in scales], features, prior)
    if not known.all():
        expected = observed.posterior(covariance, known).marginals(x[~known]).mean[:, 0]
        observed.y[~known] = np.minimum(observed.y[~known], expected)
    posterior = observed.posterior(covariance, np.ones_like(known))
    return RegionFit(features, observed.scale, posterior, rows, observed.y)


def fitted(on_scales: Sequence[Observed], features: Features, prior: TiedPrior) -> tuple[Observed, Covariance]:
    """Return the scale and the covariance of the highest posterior density that a fit finds.

    All starts are looked at on all scales, and only the best one is climbed from: looking at twelve starts takes the
    time of four steps, a climb that of thirty. A climb on each scale is no better, and takes longer.
    """
    thetas = [np.concatenate([prior.location[: prior.size], start]) for start in STARTS]
    starts = [Covariance(features.groups, theta, "quadratic") for theta in thetas]

    def looked_at(observed: Observed) -> tuple[float, Observed, Evidence, Covariance]:
        evidence = observed.evidence(observed.known)
        start, density = best_start(starts, prior, evidence)
        return density + observed.jacobian, observed, evidence, start

    _, observed, evidence, start = max(map(looked_at, on_scales), key=lambda each: each[0])
    return observed, fit(start, prior, evidence, iterations=ITERATIONS)[0]


def censored(values: Array) -> Mask:
    """Return which values (n,) are bounds: the highest ones, if several are equal and at least two others are known."""
    highest = np.asarray(values == np.max(values))
    return highest & (SHARED <= np.sum(highest) <= len(values) - 2)


def scale_of(values: Array) -> Scale:
    """Return the scale whose unit is the distance from the median to the best of the values."""
    lowest = float(np.min(values))
    quarter = float(np.median(values / 4)) - lowest / 4  # the full difference of huge numbers overflows
    quarter = quarter or float(np.max(values / 4)) - lowest / 4
    return Scale(lowest, 4 * min(quarter, LARGEST / 4) or 1.0, None, 0.0, 1.0)
