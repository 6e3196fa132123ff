"""Radial units as a basis: a hidden layer that sits on observations, under the same linear regression.

phi(x) = L^-1 k(Z, x) with K_ZZ = L L^T, the covariances with chosen observations Z, whitened so that the weights have
the prior N(0, I) of eq. (7). With as many units as observations this is the exact Gaussian process of ``gp``; with
fewer it is linear in the observations. What the units cannot represent stays as uncertain as the covariance says, so
the belief has the form of the exact one, with another square root.

Symbols: n rows, m units, p inputs.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack

from sonde.surrogates.basis.data import Table, held_out, log_score
from sonde.surrogates.basis.regression import Hyperparameters, Regression, regress
from sonde.surrogates.exact.covariance import Covariance
from sonde.surrogates.exact.gp import ExactPosterior
from sonde.surrogates.linear_algebra import factorise

Array = NDArray[np.float64]

UNITS = 512
JUDGED = 1280  # rows at most by which it is judged: twice as many as there are units
KEPT = 4


@dataclass
class Placed:
    """Units on some observations: the inverse of L, and sums over whole blocks of rows."""

    z: Array  # (m, p)
    inverse: Array  # L^-1, (m, m)
    sums: dict[bytes, Regression] = field(default_factory=dict)


@dataclass
class RadialBasis:
    """Learns beliefs, and remembers where units were put."""

    _known: OrderedDict[bytes, Placed] = field(default_factory=OrderedDict)

    def learn(self, covariance: Covariance, data: Table, count: int) -> ExactPosterior:
        """Return the belief after the data, by units on the first ``count`` rows."""
        if len(data.y) <= UNITS:
            return ExactPosterior.of(covariance, data.x, data.y, data.noise)
        placed = self._place(covariance, data.rows(slice(count)))
        return _posterior(covariance, placed, _sums(covariance, placed, data))

    def _place(self, covariance: Covariance, first: Table) -> Placed:
        """Return the units on the first rows."""
        key = first.digest() + covariance.theta.tobytes()
        if key not in self._known:
            self._known[key] = _place(covariance, first)
            while len(self._known) > KEPT:
                self._known.popitem(last=False)
        self._known.move_to_end(key)
        return self._known[key]

    def leave_one_out(self, covariance: Covariance, data: Table, count: int) -> tuple[Array, Array]:
        """Return means and variances of each value given all others, with the units where they are."""
        belief = self.learn(covariance, data, count)
        if len(data.y) <= UNITS:
            return belief.leave_one_out(data.y)
        placed = self._place(covariance, data.rows(slice(count)))
        basis = covariance.cross(data.x, placed.z).values @ placed.inverse.T
        beta, weights = 1 / covariance.noise, _weights(covariance, data)
        mean, root = _sums(covariance, placed, data).weights(Hyperparameters(1.0, beta, np.empty(0)))
        lever = np.sum((basis @ root) ** 2, axis=1)
        hat = np.minimum(beta * weights * lever, 1 - 1e-6)
        beyond = np.maximum(covariance.diagonal(data.x)[0] - np.sum(basis**2, axis=1), 0.0)
        means = data.y - (data.y - basis @ mean) / (1 - hat)
        return means, lever / (1 - hat) + beyond + covariance.noise + data.noise


def score(covariance: Covariance, data: Table) -> float:
    """Return how well the belief after most rows foretells those that were held out."""
    if len(data.y) > JUDGED:
        data = data.rows(np.linspace(0, len(data.y) - 1, JUDGED).astype(int))
    held = held_out(len(data.y))
    seen, unseen = data.rows(np.flatnonzero(~held)), data.rows(np.flatnonzero(held))
    belief = RadialBasis().learn(covariance, seen, len(seen.y))
    at = belief.marginals(unseen.x)
    return log_score(unseen.y - at.mean[:, 0], at.variance + belief.noise + unseen.noise)


def _place(covariance: Covariance, data: Table) -> Placed:
    """Put half of the units on the best observations, half evenly among all."""
    order = np.argsort(-data.y, kind="stable")
    best, others = order[: UNITS // 2], np.sort(order[UNITS // 2 :])
    evenly = others[np.unique(np.linspace(0, len(others) - 1, min(len(others), UNITS // 2)).astype(int))]
    z = data.x[np.sort(np.concatenate([best, evenly]))]
    matrix = covariance.cross(z, z).values
    matrix[np.diag_indices(len(z))] += 1e-8 * np.mean(np.diagonal(matrix))
    inverse, _ = lapack.dtrtri(factorise(matrix), lower=1)
    return Placed(z, inverse)


def _sums(covariance: Covariance, placed: Placed, data: Table) -> Regression:
    """Return the regression on the units of all rows; whole blocks are summed once."""

    def on(block: Table) -> Regression:
        basis = covariance.cross(block.x, placed.z).values @ placed.inverse.T
        return regress(basis, np.empty((len(block.y), 0)), block.y, _weights(covariance, block))

    return data.summed(placed.sums, on)


def _weights(covariance: Covariance, data: Table) -> Array:
    """Return how much rows count whose noise was told."""
    return covariance.noise / (covariance.noise + data.noise)


def _posterior(covariance: Covariance, placed: Placed, total: Regression) -> ExactPosterior:
    """Return the belief: k(x, y) - k(x, Z) R^T R k(Z, y), R^T R = L^-T (I - K^-1) L^-1 and K of eq. (7)."""
    size, beta = len(placed.z), 1 / covariance.noise
    values, vectors = np.linalg.eigh(total.gram[:size, :size])
    precisions = 1 + beta * np.maximum(values, 0.0)
    told = np.sqrt(1 - 1 / precisions)
    told = np.maximum(told, 1e-12)  # a direction of which nothing was told
    root = told[:, None] * (vectors.T @ placed.inverse)
    white = beta * (vectors.T @ total.gram[:size, -1]) / precisions / told
    return ExactPosterior(covariance, placed.z, root, white[:, None])
