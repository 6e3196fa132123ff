"""The subspace of a few observations in high dimension: the Gaussian process on it equals the one on the whole space.

A covariance that depends on inner products only is invariant under rotations. Rotate the axes so that the first m of
them span n points and their gradients, m <= 2 n. Derivatives along the other p - m axes, the orthogonal complement, are
then zero and independent of everything else: their covariance is K_c (x) I, with K_c the n by n matrix of d k / d(x.y).
So predictions need the m axes alone, and the marginal likelihood one more log-determinant, (p - m) log |K_c| (Ament &
Gomes 2022, section 3). The result is exact and costs O(n^2 p + (n m)^3). Columns without gradients, such as those of a
category, are not rotated: each is an axis.

The coordinates of a point end in its distance from the subspace, which is 0 for every observation.

Symbols: n observations, p feature columns, m axes, k points.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sonde.arrays import Array, Mask
from sonde.surrogates.gaussian_process.covariance import Covariance
from sonde.surrogates.gaussian_process.marginal_likelihood import LOG_2PI, Evidence
from sonde.surrogates.gradient.fitting import Observations
from sonde.surrogates.linear_algebra import factorise, symmetric_inverse

ALIKE = 1e-9  # relative size of a singular value that is a rounding error


@dataclass(frozen=True)
class Subspace:
    """Orthonormal axes (p, m) of points and gradients; the last ones are the columns without gradients."""

    axes: Array
    rotated: Mask  # columns with gradients, (p,)

    @classmethod
    def of(cls, observations: Observations) -> Subspace:
        """Return the subspace of observations; a gradient that lacks one of the rotated columns counts as unknown."""
        rotated = _rotated(np.isfinite(observations.gradients))
        lengths = np.linalg.norm(observations.gradients[:, rotated], axis=1)
        gradients = observations.gradients[np.isfinite(lengths) & (lengths > 0)]
        directions = [
            each[:, rotated] / max(float(np.abs(each[:, rotated]).max(initial=0.0)), 1e-300)
            for each in (observations.x, gradients)
            if len(each)
        ]
        left, sizes, _ = np.linalg.svd(np.concatenate(directions).T, full_matrices=False)
        left = left[:, sizes > ALIKE * sizes[0]]
        axes = np.zeros((len(rotated), left.shape[1] + int(np.sum(~rotated))))
        axes[rotated, : left.shape[1]] = left
        axes[np.flatnonzero(~rotated), np.arange(left.shape[1], axes.shape[1])] = 1.0
        return cls(axes, rotated)

    @property
    def complement_dim(self) -> int:
        """The dimension of the orthogonal complement."""
        return self.axes.shape[0] - self.axes.shape[1]

    def __call__(self, x: Array) -> Array:
        """Return the coordinates of points (k, p) on the axes, then their distances from the subspace, (k, m + 1)."""
        along = x @ self.axes
        return np.column_stack([along, np.linalg.norm(x - along @ self.axes.T, axis=1)])

    def vjp(self, gradients: Array, x: Array) -> Array:
        """Return gradients (k, p) at x (k, p) from gradients (k, m + 1) in the coordinates."""
        outside = x - (x @ self.axes) @ self.axes.T
        distance = np.linalg.norm(outside, axis=1, keepdims=True)
        return np.asarray(gradients[:, :-1] @ self.axes.T + gradients[:, -1:] * outside / np.maximum(distance, 1e-300))

    def reduce(self, observations: Observations) -> Observations:
        """Return the observations in the coordinates.

        Derivatives along columns without gradients and in the last coordinate are NaN.
        """
        gradients = np.full((len(observations.x), self.axes.shape[1] + 1), np.nan)
        count = self.axes.shape[1] - int(np.sum(~self.rotated))
        gradients[:, :count] = observations.gradients[:, self.rotated] @ self.axes[self.rotated, :count]
        return Observations(self(observations.x), observations.values, observations.deviations, gradients)


def _rotated(known: Mask) -> Mask:
    """Return the columns (p,) to rotate, given the known derivatives (n, p): those that keep most derivatives."""
    patterns = np.unique(known[known.any(axis=1)], axis=0)
    if not len(patterns):
        return np.ones(known.shape[1], dtype=bool)
    kept = [np.sum(known[:, pattern].all(axis=1)) * pattern.sum() for pattern in patterns]
    return np.asarray(patterns[int(np.argmax(kept))])


def complement_evidence(covariance: Covariance, evidence: Evidence) -> tuple[float, Array]:
    """Return the log marginal likelihood of the zero derivatives along the complement, and its gradient in theta.

    It is -1/2 log |2 pi (K_c + noise)| for each axis, and adds to that of the observations.
    """
    size, square = covariance.size, float(covariance.roots[0]) ** 2
    noise, values = evidence.noise(covariance), len(evidence.layout.x)
    points, rows = np.unique(evidence.layout.gradients[0], return_index=True)
    x, n, rows, gradient = evidence.layout.x[points], len(points), values + rows, np.zeros(len(covariance.theta))
    if not n:
        return 0.0, gradient
    _, first, second = covariance.isotropic(x, x, 2)
    process = -2 * first * square
    trend = np.zeros((n, n)) if covariance.mean_prior is None else covariance.mean_prior.complement_gradients(x)
    factor = factorise(process + trend + np.diag(noise[rows]))
    inverse = symmetric_inverse(factor)
    z = x * covariance.roots
    squares = np.maximum(np.sum(z * z, axis=1)[:, None] + np.sum(z * z, axis=1) - 2 * z @ z.T, 0.0)
    # d / d log l of -2 s f'(r.r) / l^2: the factor 1 / l^2, and r.r with its derivative -2 r.r
    gradient[0] = np.vdot(inverse, -2 * process + 4 * second * square * squares)
    gradient[size] = np.vdot(inverse, process)
    gradient[-1] = evidence.shared_noise(covariance, noise)[rows] @ np.diagonal(inverse)
    if covariance.trend:
        gradient[size + 2] = np.vdot(inverse, trend)
    value = -np.log(np.diagonal(factor)).sum() - 0.5 * n * LOG_2PI
    return covariance.complement_dim * float(value), -0.5 * covariance.complement_dim * gradient
