"""Functions drawn from the prior of the model, and their maxima.

f(x) = c + sqrt(s / M) sum_m (a_m cos w_m.x + b_m sin w_m.x), with c, a, b standard normal: random Fourier features. The
spectrum of Matern-5/2 is a multivariate Student t with 5 degrees of freedom, so w = z sqrt(5 / chi^2_5) / lengthscale.
With M = 4096 pairs the covariance of the draws differs from the model's by about 0.01 of its variance (``mismatch``
measures it). Unlike an exact draw, which exists only at the points where it was sampled, such a function has gradients,
so its maximum can be searched for. The prior of the model has a constant mean of variance 1, which is c, and otherwise
mean zero, as in the paper.

The paper does not give its hyperparameters. Here: one length scale, a quarter of the cube's diagonal, variance 1, no
noise (the model has 1e-6, for its numerics).

Symbols: d parameters, M pairs of features, m points.
"""

from dataclasses import dataclass

import numpy as np

from sonde.optimizers import bfgs, choose_starts
from sonde.sampling import sobol
from sonde.surrogates.features import Features
from sonde.surrogates.gaussian_process.covariance import CONSTANT, Covariance

DIMENSION = 8
FEATURES = Features((0,) * DIMENSION)
LENGTHSCALE = np.sqrt(DIMENSION) / 4
VARIANCE, NOISE = 1.0, 1e-6
COVARIANCE = Covariance(FEATURES.groups, np.log([*[LENGTHSCALE] * DIMENSION, VARIANCE, NOISE]))
PAIRS = 4096
CANDIDATES, STARTS = 8192, 256


@dataclass(frozen=True)
class Draw:
    """One function on the unit cube."""

    frequencies: np.ndarray  # (d, M)
    even: np.ndarray  # (M,), of the cosines
    odd: np.ndarray  # (M,), of the sines
    constant: float

    def __call__(self, units: np.ndarray) -> np.ndarray:
        """Return values (m,)."""
        phases = units @ self.frequencies
        return np.asarray(self.constant + np.cos(phases) @ self.even + np.sin(phases) @ self.odd)

    def gradients(self, units: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return values (m,) and gradients (m, d)."""
        phases = units @ self.frequencies
        cosines, sines = np.cos(phases), np.sin(phases)
        values = self.constant + cosines @ self.even + sines @ self.odd
        return values, (cosines * self.odd - sines * self.even) @ self.frequencies.T


def draw(task: int) -> Draw:
    """Return the function of a task."""
    rng = np.random.default_rng([task, 0])
    heavy = np.sqrt(5 / rng.chisquare(5, size=PAIRS))
    frequencies = rng.normal(size=(DIMENSION, PAIRS)) * heavy / LENGTHSCALE
    even, odd = np.sqrt(VARIANCE / PAIRS) * rng.normal(size=(2, PAIRS))
    return Draw(frequencies, even, odd, float(np.sqrt(CONSTANT) * rng.normal()))


def maximum(function: Draw) -> float:
    """Return the maximum, as found by gradient ascent from many starts."""
    points = sobol(0, CANDIDATES, DIMENSION, seed=1)
    values = np.concatenate([function(points[i : i + 256]) for i in range(0, len(points), 256)])
    starts = points[choose_starts(values, STARTS, np.random.default_rng(0))]
    zeros, ones = np.zeros(DIMENSION), np.ones(DIMENSION)
    tops = [
        bfgs(function.gradients, starts[i : i + 64], zeros, ones, calls=400, tolerance=1e-9)[1]
        for i in range(0, STARTS, 64)
    ]
    return float(np.max(tops))


def mismatch(task: int, pairs: int = 1000) -> float:
    """Return the root mean square difference of the task's covariance from the model's, over random pairs of points."""
    x, y = np.random.default_rng([task, 1]).random((2, pairs, DIMENSION))
    ours = VARIANCE * np.cos((x - y) @ draw(task).frequencies).mean(axis=1)
    model = [
        COVARIANCE.cross(FEATURES(a[None]), FEATURES(b[None])).values[0, 0] - CONSTANT
        for a, b in zip(x, y, strict=True)
    ]
    return float(np.sqrt(np.mean((ours - np.array(model)) ** 2)))
