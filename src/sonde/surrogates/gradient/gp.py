"""The posterior of a Gaussian process given values, gradients and curvatures (Ament & Gomes 2022, appendix D)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack

from sonde.surrogates.exact.gp import CovarianceFunction, CrossCovariance, ExactPosterior
from sonde.surrogates.gradient.observations import ObservationLayout
from sonde.surrogates.linear_algebra import factorise

Array = NDArray[np.float64]


class DerivativeCovarianceFunction(CovarianceFunction, Protocol):
    """A covariance function, and the covariances of its derivatives."""

    def toward(self, x: Array, layout: ObservationLayout) -> CrossCovariance:
        """Return the covariances of values at x (m, p) with the observations of a layout, (m, N)."""
        ...

    def between(self, a: ObservationLayout, b: ObservationLayout) -> Array:
        """Return the covariances of the observations of two layouts, (N_a, N_b)."""
        ...


@dataclass(frozen=True)
class GradientPosterior(ExactPosterior):
    """The posterior given the observations of ``layout``, and values at further points x, such as fantasies."""

    covariance: DerivativeCovarianceFunction
    layout: ObservationLayout

    @classmethod
    def after(
        cls, covariance: DerivativeCovarianceFunction, layout: ObservationLayout, y: Array, noise: Array
    ) -> GradientPosterior:
        """Return the posterior given observations y (N,) with noise variances (N,), the inferred ones included."""
        matrix = covariance.between(layout, layout)
        matrix[np.diag_indices(len(matrix))] += noise
        inverse, _ = lapack.dtrtri(factorise(matrix), lower=1)
        return cls(covariance, np.empty((0, layout.x.shape[1])), inverse, inverse @ y[:, None], layout)

    @property
    def observations(self) -> Array:
        """The vector of observations, (N,): L L^-1 y."""
        return np.asarray(np.linalg.solve(self.inverse, self.white[:, 0]))

    def cross_covariances(self, x: Array) -> _Both:
        """Return the covariances of values at x (m, p) with the observations, (m, N)."""
        return _Both(self.covariance.toward(x, self.layout), self.covariance.cross(x, self.x))

    def gradients(self, x: Array) -> tuple[Array, Array]:
        """Return the posterior of the gradients at x (m, p): means (m, p) and covariances (m, p, p)."""
        m, p = x.shape
        everywhere = np.stack([np.repeat(np.arange(m), p), np.tile(np.arange(p), m)])
        predicted, entries = ObservationLayout(x, everywhere), slice(m, None)
        observed = [self.layout, ObservationLayout(self.x)]
        cross = np.concatenate([self.covariance.between(predicted, each)[entries] for each in observed], axis=1)
        whitened = (cross @ self.inverse.T).reshape(m, p, -1)
        prior = self.covariance.between(predicted, predicted)[entries, entries].reshape(m, p, m, p)
        own = prior[np.arange(m), :, np.arange(m), :]
        return (cross @ self.weights[:, 0]).reshape(m, p), own - whitened @ whitened.swapaxes(1, 2)


@dataclass(frozen=True)
class _Both:
    """Covariances with the observations and, after them, with values at further points."""

    observed: CrossCovariance
    points: CrossCovariance

    @property
    def values(self) -> Array:
        return np.concatenate([self.observed.values, self.points.values], axis=1)

    def vjp(self, weights: Array) -> Array:
        count = self.observed.values.shape[1]
        return self.observed.vjp(weights[:, :count]) + self.points.vjp(weights[:, count:])
