"""Regression of final scores on what is known at one step: linear, with the residuals corrected nearby.

z = z0 + q + r(q) + noise of variance v(q),    q = (x - mean x) b

b is found by ridge regression. The mean r and the variance v of the residuals are local averages over the linear
prediction q, by a Gaussian kernel, shrunk toward 0 and toward the variance of all residuals: among the good trials the
curve tells another amount than among the bad ones. The prediction is a Student t distribution, wide where few are near.

Symbols: n past trials, p features, m trials to predict; x (n, p) features, z (n,) final scores.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sonde.arrays import Array

RIDGE = 1.0  # of normal scores, whose variance is 1: counts as one observation that the curve tells nothing
PRIOR = 3.0  # observations that the variance of all residuals counts as, where it is that of the nearby ones
SILVERMAN = 1.06  # of the kernel's width for a normal density (Silverman 1986, eq. 3.28)


@dataclass(frozen=True)
class Prediction:
    """Student t distributions of final scores: means, scales and degrees of freedom, (m,) each."""

    mean: Array
    scale: Array
    dof: Array


@dataclass(frozen=True)
class Regression:
    """The regression at one step."""

    centre: Array  # of x
    level: float  # z0
    weights: Array  # b
    q: Array  # (n,) of the past trials
    residuals: Array  # (n,)
    squares: Array  # (n,) squared residuals, with the variances of z where it is a prediction itself
    variance: float  # of all residuals

    @classmethod
    def fitted(cls, x: Array, z: Array, variances: Array) -> Regression:
        """Return the regression of z, which are known up to variances."""
        centre, level = x.mean(axis=0), float(z.mean())
        around, rest = x - centre, z - level
        weights = np.linalg.solve(around.T @ around + RIDGE * np.eye(x.shape[1]), around.T @ rest)
        q = around @ weights
        squares = (rest - q) ** 2 + variances
        variance = float(squares.sum() + np.mean(rest**2 + variances)) / (len(z) + 1)
        return cls(centre, level, weights, q, rest - q, squares, variance)

    def predict(self, x: Array) -> Prediction:
        """Return the predictions for features x (m, p)."""
        q = (x - self.centre) @ self.weights
        width = max(SILVERMAN * float(self.q.std()) * len(self.q) ** -0.2, 1e-9)
        near = np.exp(-0.5 * ((q[:, None] - self.q) / width) ** 2)
        count = near.sum(axis=1)
        mean = self.level + q + near @ self.residuals / (count + PRIOR)
        variance = (near @ self.squares + PRIOR * self.variance) / (count + PRIOR)
        dof = np.minimum(count + PRIOR - len(self.weights), max(len(self.q) - 1 - len(self.weights), 1))
        return Prediction(mean, np.sqrt(np.maximum(variance, 1e-12)), np.maximum(dof, 1.0))
