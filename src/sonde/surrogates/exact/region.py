"""The model of a trust region from values: a Gaussian process in units of the region, centred on it.

    u = (x - centre) / side,    k(u, v) = s M(|u - v| / l) + b (u.v / rho + 1)^2 + c

with Matern-5/2 M, length scales l that are tied together (see ``priors``), and the quadratic kernel of any quadratic:
rotations cost it nothing, and it helps long before there are as many values as coefficients. It is what ``fobo``
has with gradients (``gradient.region``), and like there observation i has noise in proportion to its difference from
the centre, e^2 (y_i - y_centre)^2, besides noise that is the same for all. So values far above the best may be
explained roughly: neither a logarithm of the values nor their clipping is needed, and a quadratic, where e^2 is tiny,
is solved to the last digits.

Symbols: n observations, d parameters; y in units of the distance from the median to the best, higher is better.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sonde.surrogates.features import Features
from sonde.surrogates.gaussian_process.covariance import Covariance
from sonde.surrogates.gaussian_process.estimates import fit
from sonde.surrogates.gaussian_process.marginal_likelihood import Evidence
from sonde.surrogates.gaussian_process.observations import ObservationLayout
from sonde.surrogates.gaussian_process.posterior import ExactPosterior
from sonde.surrogates.outputs import LARGEST, Scale
from sonde.surrogates.priors import region_prior

Array = NDArray[np.float64]
Index = NDArray[np.intp]

NEAREST = 256  # observations at most
ITERATIONS = 60  # of L-BFGS on the hyperparameters
HIGHEST = 1e75  # of a value in units of the median's distance: its square is finite
START = 0.0, -9.0, -2.0, -9.0  # where log s, log noise, log b and log e^2 start


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


def fit_region(plain: Features, region: Region, units: Array, values: Array, deviations: Array) -> RegionFit:
    """Return the model of a region from values (n,) at units (n, d), lower is better; NaN deviations are unknown."""
    distances = np.abs(units - region.centre).max(axis=1)
    rows = np.sort(np.argsort(distances, kind="stable")[:NEAREST])
    nearest = int(np.searchsorted(rows, np.argmin(distances)))
    values, deviations = values[rows], deviations[rows]
    features = Features(plain.choices, origin=tuple(region.centre.tolist()), side=region.side)
    x, scale = features(units[rows]), scale_of(values)
    y = np.maximum(scale(values), -HIGHEST)
    misfits = (y - y[nearest]) ** 2
    evidence = Evidence(ObservationLayout(x), y, scale.noise(values, deviations), misfits=misfits)
    prior = region_prior(len(plain.choices), region.side)
    theta = np.concatenate([prior.location[: prior.size], START])
    covariance, _ = fit(Covariance(features.groups, theta, "quadratic"), prior, evidence, iterations=ITERATIONS)
    noise = evidence.noise(covariance) - covariance.noise
    return RegionFit(features, scale, ExactPosterior.of(covariance, x, y, noise), rows, y)


def scale_of(values: Array) -> Scale:
    """Return the scale whose unit is the distance from the median to the best of the values."""
    lowest = float(np.min(values))
    quarter = float(np.median(values / 4)) - lowest / 4  # the full difference of huge numbers overflows
    quarter = quarter or float(np.max(values / 4)) - lowest / 4
    return Scale(lowest, 4 * min(quarter, LARGEST / 4) or 1.0, None, 0.0, 1.0)
