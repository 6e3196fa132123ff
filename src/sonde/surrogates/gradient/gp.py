"""The Gaussian process given values, slopes and curvatures (Ament & Gomes 2022, appendix D)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack

from sonde.surrogates.exact.gp import ExactPosterior
from sonde.surrogates.gradient.covariance import SiteCross, SlopeCovariance, ValueCross
from sonde.surrogates.gradient.observations import Sites
from sonde.surrogates.linear_algebra import factorise

Array = NDArray[np.float64]


@dataclass(frozen=True)
class SlopePosterior(ExactPosterior):
    """The belief after what was seen at ``sites``, and values at further points x."""

    covariance: SlopeCovariance
    sites: Sites

    @classmethod
    def after(cls, covariance: SlopeCovariance, sites: Sites, y: Array, noise: Array) -> SlopePosterior:
        """Return the belief after observations y (N,) with noise variances (N,), the inferred ones included."""
        matrix = covariance.between(sites, sites)
        matrix[np.diag_indices(len(matrix))] += noise
        inverse, _ = lapack.dtrtri(factorise(matrix), lower=1)
        return cls(covariance, np.empty((0, sites.x.shape[1])), inverse, inverse @ y[:, None], sites)

    @property
    def observations(self) -> Array:
        """What was seen, (N,): L L^-1 y."""
        return np.asarray(np.linalg.solve(self.inverse, self.white[:, 0]))

    def toward(self, x: Array) -> _Both:  # type: ignore[override]
        """Return the covariances of values at x (m, p) with what was seen, (m, N)."""
        return _Both(self.covariance.toward(x, self.sites), self.covariance.cross(x, self.x))

    def slopes(self, x: Array) -> tuple[Array, Array]:
        """Return the belief about the gradients at x (m, p): means (m, p) and covariances (m, p, p)."""
        m, p = x.shape
        everywhere = np.stack([np.repeat(np.arange(m), p), np.tile(np.arange(p), m)])
        asked, entries = Sites(x, everywhere), slice(m, None)
        seen = [self.sites, Sites(self.x)]
        cross = np.concatenate([self.covariance.between(asked, each)[entries] for each in seen], axis=1)
        whitened = (cross @ self.inverse.T).reshape(m, p, -1)
        prior = self.covariance.between(asked, asked)[entries, entries].reshape(m, p, m, p)
        own = prior[np.arange(m), :, np.arange(m), :]
        return (cross @ self.weights[:, 0]).reshape(m, p), own - whitened @ whitened.swapaxes(1, 2)


@dataclass(frozen=True)
class _Both:
    """Covariances with sites and, after them, with values at further points."""

    sites: SiteCross
    points: ValueCross

    @property
    def values(self) -> Array:
        return np.concatenate([self.sites.values, self.points.values], axis=1)

    def pull(self, weights: Array) -> Array:
        count = self.sites.values.shape[1]
        return self.sites.pull(weights[:, :count]) + self.points.pull(weights[:, count:])
