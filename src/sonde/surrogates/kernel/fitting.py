"""Fits the parameters of a kernel by marginal likelihood, along a growing history.

As in ``exact.warm_starts``, parameters are a pure function of the data: they are fitted at the checkpoints of
``refits``, each time from the result of the fit to half as many observations and from the given parameters. The output
scale (see ``outputs``) is chosen at checkpoints too, by marginal likelihood. Automatic differentiation gives the
gradient of sum(W K) in the parameters, W as in ``exact.marginal_likelihood``.

Symbols: those of ``gradient.observations``; theta as in ``family``.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack
from scipy.optimize import minimize

from sonde.surrogates.exact.marginal_likelihood import LOG_2PI
from sonde.surrogates.gradient.fitting import Observations, ScaledObservations, scale_observations
from sonde.surrogates.gradient.gp import GradientPosterior
from sonde.surrogates.gradient.iterative import IterativePosterior
from sonde.surrogates.kernel.covariance import KernelCovariance
from sonde.surrogates.kernel.family import Family
from sonde.surrogates.kernel.iterative import KernelMean
from sonde.surrogates.linear_algebra import factorise
from sonde.surrogates.outputs import KAPPAS, Scale
from sonde.surrogates.recent import Recent
from sonde.surrogates.refits import checkpoint
from sonde.surrogates.slice_sampling import slice_sample

Array = NDArray[np.float64]

COMPARED, FITTED = 128, 300  # rows of the matrix, to compare output scales and to fit
KEPT = 64  # fits in the cache
IMPOSSIBLE = 1e10  # minus the log density where rounding leaves no number
NOISY = np.log(0.3)  # log noise variance of a start from much noise


def noise_of(covariance: KernelCovariance, data: ScaledObservations) -> Array:
    """Return the noise variances (N,), as in ``gradient.marginal_likelihood``."""
    columns = data.layout.gradients[1]
    return np.concatenate([covariance.noise + data.known_noise, covariance.gradient_noise * data.mean_squares[columns]])


def log_evidence(covariance: KernelCovariance, data: ScaledObservations) -> tuple[float, Array]:
    """Return the log marginal likelihood and its gradient in theta."""
    factor, solved, noise, value = _solved(covariance, data)
    lower, _ = lapack.dpotri(factor, lower=1)
    inverse = np.tril(lower) + np.tril(lower, -1).T
    weights = np.outer(solved, solved) - inverse
    n, size, own = len(data.layout.x), covariance.family.size, np.diagonal(weights)
    gradient = np.zeros(len(covariance.theta))
    gradient[:size] = 0.5 * covariance.theta_gradient(data.layout, weights)
    gradient[size] = 0.5 * covariance.noise * float(own[:n].sum())
    if covariance.family.with_gradients:
        gradient[-1] = 0.5 * float(noise[n:] @ own[n:])
    return value, gradient


def log_likelihood(covariance: KernelCovariance, data: ScaledObservations) -> float:
    """Return the log marginal likelihood."""
    return _solved(covariance, data)[3]


def _solved(covariance: KernelCovariance, data: ScaledObservations) -> tuple[Array, Array, Array, float]:
    """Return the Cholesky factor of K, K^-1 y, the noise variances and the log marginal likelihood."""
    matrix, noise = covariance.between(data.layout, data.layout), noise_of(covariance, data)
    matrix[np.diag_indices(len(matrix))] += noise
    factor = factorise(matrix)
    solved, _ = lapack.dpotrs(factor, data.y, lower=1)
    value = -0.5 * data.y @ solved - np.log(np.diagonal(factor)).sum() - 0.5 * len(data.y) * LOG_2PI
    return factor, solved, noise, float(value)


@dataclass(frozen=True)
class KernelFit:
    """Fitted covariance and output scale, and their log posterior density."""

    covariance: KernelCovariance
    kappa: float | None
    score: float

    def scaled(self, observations: Observations) -> tuple[Scale, ScaledObservations]:
        """Return the output scale, and the observations on it."""
        scale = Scale.of(observations.values, self.kappa)
        return scale, scale_observations(observations, scale)

    def posterior(self, observations: Observations) -> tuple[Scale, GradientPosterior]:
        """Return the output scale and the posterior given some observations with gradients."""
        scale, data = self.scaled(observations)
        return scale, _factorised(self.covariance, data)

    def posterior_of_many(
        self, observations: Observations, rows: NDArray[np.intp], few: Observations
    ) -> tuple[Scale, IterativePosterior]:
        """Return the posterior given all observations; only the matrix of ``few``, those at ``rows``, is factorised."""
        scale, data = self.scaled(observations)
        small = scale_observations(few, scale)
        subset = _factorised(self.covariance, small)
        return scale, IterativePosterior.after(
            subset,
            rows,
            data.layout,
            data.y,
            noise_of(self.covariance, data),
            partial(KernelMean.after, self.covariance),
        )

    def sample(self, observations: Observations, *, count: int, rng: np.random.Generator, share: float) -> list[Array]:
        """Return ``count`` draws of theta from its posterior, by slice sampling; as in ``exact.fitting``."""
        data, prior = self.scaled(observations)[1], self.covariance.family.prior

        def log_density(theta: Array) -> float:
            if np.any(theta < prior.low) or np.any(theta > prior.high):
                return -np.inf
            value = log_likelihood(replace(self.covariance, theta=theta), data) + prior.log_density(theta)[0]
            return value if np.isfinite(value) else -np.inf

        return list(slice_sample(log_density, prior.clip(self.covariance.theta), count=count, rng=rng, share=share))


def _factorised(covariance: KernelCovariance, data: ScaledObservations) -> GradientPosterior:
    return GradientPosterior.after(covariance, data.layout, data.y, noise_of(covariance, data))


def fit(family: Family, observations: Observations, kappa: float | None, start: Array, *, iterations: int) -> KernelFit:
    """Return the MAP estimate of theta by L-BFGS-B from ``start``."""
    scale, prior = Scale.of(observations.values, kappa), family.prior
    data = scale_observations(observations, scale)

    def loss(theta: Array) -> tuple[float, Array]:
        value, gradient = log_evidence(KernelCovariance(family, theta), data)
        density, density_gradient = prior.log_density(theta)
        if not (np.isfinite(value) and np.all(np.isfinite(gradient))):
            return IMPOSSIBLE, np.zeros_like(theta)
        return -value - density, -gradient - density_gradient

    found = minimize(
        loss, prior.clip(start), jac=True, method="L-BFGS-B", bounds=list(zip(prior.low, prior.high, strict=True)),
        options={"maxiter": iterations, "ftol": 1e-6, "gtol": 1e-3},
    )  # fmt: skip
    jacobian = float(np.log(np.abs(scale.slope(observations.values)))[data.layout.points].sum())
    return KernelFit(KernelCovariance(family, np.asarray(found.x)), kappa, jacobian - float(found.fun))


@dataclass
class KernelFits:
    """Fits at the checkpoints of a history, with a cache keyed by the data."""

    kappas: tuple[float | None, ...] = KAPPAS
    _fits: Recent[KernelFit] = field(default_factory=lambda: Recent(KEPT))

    def fit(self, family: Family, observations: Observations) -> KernelFit:
        """Return the fit at the last checkpoint of a history; before the first checkpoint, of the whole history."""
        return self._at(family, observations, checkpoint(len(observations.values)) or len(observations.values))

    def _at(self, family: Family, observations: Observations, count: int) -> KernelFit:
        observations = observations.rows(slice(count))
        key = observations.digest() + family.key
        before = checkpoint(count // 2)

        def compute() -> KernelFit:
            return self._best(family, observations, self._at(family, observations, before) if before else None)

        return self._fits.get_or_compute(key, compute)

    def _best(self, family: Family, observations: Observations, start: KernelFit | None) -> KernelFit:
        """Return the best fit of all output scales and starts: a few iterations for each, more for the best ones.

        Fits start from the given parameters and from ``start``, without one from much noise: whether variation is noise
        or signal makes separate local optima.
        """
        few, many = thinned(observations, COMPARED), thinned(observations, FITTED)
        other = family.start.copy() if start is None else start.covariance.theta
        if start is None:
            other[family.size] = NOISY
        first = [fit(family, few, self.kappas[0], each, iterations=8) for each in (family.start, other)]
        best = max(first, key=_score)
        coarse = [best, *(fit(family, few, kappa, best.covariance.theta, iterations=4) for kappa in self.kappas[1:])]
        close = sorted(coarse, key=_score)[-2:]
        fine = [fit(family, many, each.kappa, each.covariance.theta, iterations=10) for each in close]
        return max(fine, key=_score)


def thinned(observations: Observations, rows: int) -> Observations:
    """Return an evenly spaced subset whose matrix has about so many rows, also if all gradients were complete."""
    few = observations.thinned(rows)
    count, width = len(few.values), 1 + few.x.shape[1]
    most = max(4, rows // width)
    known = np.flatnonzero(np.isfinite(few.gradients).any(axis=1))
    if few.width == 1 or len(known) <= 2 * most:
        return few
    kept = known[np.unique(np.linspace(0, len(known) - 1, most).astype(np.intp))]
    return few.trusting(np.isin(np.arange(count), kept))


def _score(fitted: KernelFit) -> float:
    return fitted.score
