"""A sparse Gaussian process: Bayesian linear regression on radial basis functions centred on observations.

phi(x) = L^-1 k(Z, x) with K_ZZ = L L^T: the covariances with chosen observations Z (the centres, or inducing points),
whitened so that the weights have the prior N(0, I) of eq. (7). With a centre on every observation this is the exact
Gaussian process. With fewer centres the cost is linear in the observations. The prior variance that the basis cannot
represent is added to the predictions: this is the deterministic training conditional (DTC) of Quinonero-Candela &
Rasmussen (2005). So the posterior is an ``ExactPosterior`` with another square root.

Symbols: n observations, u centres, p features.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from scipy.linalg import lapack

from sonde.arrays import Array
from sonde.surrogates.basis.data import Table, held_out, log_score
from sonde.surrogates.basis.regression import Hyperparameters, Regression, regress
from sonde.surrogates.gaussian_process.covariance import Covariance
from sonde.surrogates.gaussian_process.posterior import ExactPosterior
from sonde.surrogates.linear_algebra import factorise
from sonde.surrogates.recent import Recent

CENTRES = 512
VALIDATED = 1280  # observations used for the score: 1024 to fit, twice the centres, and 256 held out
CACHED = 4


@dataclass
class Centres:
    """The centres, the inverse of L, and cached statistics of whole blocks of rows."""

    z: Array  # Z, (u, p)
    inverse: Array  # L^-1, (u, u)
    sums: dict[bytes, Regression] = field(default_factory=dict)


@dataclass
class RadialBasis:
    """Fits posteriors with at most this many centres, and caches the centres by the data they were chosen from."""

    centres: int = CENTRES
    _known: Recent[Centres] = field(default_factory=lambda: Recent(CACHED))

    def learn(self, covariance: Covariance, data: Table, count: int) -> ExactPosterior:
        """Return the posterior given all data, with centres chosen among the first ``count`` rows."""
        if len(data.y) <= self.centres:
            return ExactPosterior.of(covariance, data.x, data.y, data.noise)
        centres = self._centres(covariance, data.rows(slice(count)))
        return _posterior(covariance, centres, _statistics(covariance, centres, data))

    def _centres(self, covariance: Covariance, first: Table) -> Centres:
        """Return the centres chosen among these rows."""
        key = first.digest() + covariance.theta.tobytes()
        return self._known.get_or_compute(key, lambda: _centres(covariance, first, self.centres))

    def leave_one_out(self, covariance: Covariance, data: Table, count: int) -> tuple[Array, Array]:
        """Return leave-one-out means and variances of all values, with fixed centres."""
        posterior = self.learn(covariance, data, count)
        if len(data.y) <= self.centres:
            return posterior.leave_one_out(data.y)
        centres = self._centres(covariance, data.rows(slice(count)))
        basis = covariance.cross(data.x, centres.z).values @ centres.inverse.T
        given, weights = Hyperparameters(1.0, 1 / covariance.noise, np.empty(0)), _weights(covariance, data)
        mean, variance = _statistics(covariance, centres, data).leave_one_out(given, basis, data.y, weights)
        residual = np.maximum(covariance.diagonal(data.x)[0] - np.sum(basis**2, axis=1), 0.0)
        return mean, variance + residual + covariance.noise + data.noise


def score(covariance: Covariance, data: Table) -> float:
    """Return the mean log density of the held-out values under the posterior given the others."""
    if len(data.y) > VALIDATED:
        data = data.rows(np.linspace(0, len(data.y) - 1, VALIDATED).astype(int))
    held = held_out(len(data.y))
    training, validation = data.rows(~held), data.rows(held)
    posterior = RadialBasis().learn(covariance, training, len(training.y))
    at = posterior.marginals(validation.x)
    return log_score(validation.y - at.mean[:, 0], at.variance + posterior.noise + validation.noise)


def _centres(covariance: Covariance, data: Table, count: int) -> Centres:
    """Return centres: half on the best observations, half evenly spaced among the others."""
    order = np.argsort(-data.y, kind="stable")
    best, others = order[: count // 2], np.sort(order[count // 2 :])
    evenly = others[np.unique(np.linspace(0, len(others) - 1, min(len(others), count // 2)).astype(int))]
    z = data.x[np.sort(np.concatenate([best, evenly]))]
    matrix = covariance.cross(z, z).values
    matrix[np.diag_indices(len(z))] += 1e-8 * np.mean(np.diagonal(matrix))
    inverse, _ = lapack.dtrtri(factorise(matrix), lower=1)
    return Centres(z, inverse)


def _statistics(covariance: Covariance, centres: Centres, data: Table) -> Regression:
    """Return the statistics of the regression on all rows; those of whole blocks are cached."""

    def statistics(block: Table) -> Regression:
        basis = covariance.cross(block.x, centres.z).values @ centres.inverse.T
        return regress(basis, np.empty((len(block.y), 0)), block.y, _weights(covariance, block))

    return data.summed(centres.sums, statistics)


def _weights(covariance: Covariance, data: Table) -> Array:
    """Return weights of the rows (n,): model noise over model noise plus reported noise."""
    return covariance.noise / (covariance.noise + data.noise)


def _posterior(covariance: Covariance, centres: Centres, total: Regression) -> ExactPosterior:
    """Return the posterior: k(x, x') - k(x, Z) R^T R k(Z, x') with R^T R = L^-T (I - K^-1) L^-1 and K of eq. (7)."""
    size, beta = len(centres.z), 1 / covariance.noise
    values, vectors = np.linalg.eigh(total.gram[:size, :size])
    precisions = 1 + beta * np.maximum(values, 0.0)
    reduction = np.sqrt(1 - 1 / precisions)
    reduction = np.maximum(reduction, 1e-12)  # zero in directions without data
    root = reduction[:, None] * (vectors.T @ centres.inverse)
    white = beta * (vectors.T @ total.gram[:size, -1]) / precisions / reduction
    return ExactPosterior(covariance, centres.z, root, white[:, None])
