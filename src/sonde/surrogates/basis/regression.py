"""Bayesian linear regression on basis functions, with sampled hyperparameters (Snoek et al. 2015, eq. 4 to 9).

y = phi(x)^T w + eta(x) + noise, with w ~ N(0, I / alpha) and noise of precision beta. The mean function eta is a
concave quadratic, because higher values are better here: eta(x) = lambda - sum_k Lambda_k (x_k - c_k)^2. Slice sampling
draws the hyperparameters alpha, beta, lambda, c and Lambda from their posterior.

The Gram matrix of the columns [phi, x, x^2, y] is a sufficient statistic: eta is linear in (1, x_k, x_k^2), so the
matrix gives the marginal likelihood (eq. 8) for any eta. In the eigenbasis of Phi^T Phi, eq. (8) costs O(D p) for any
alpha and beta, whatever the number of observations.

Symbols: n observations, D basis functions, p features, columns [phi (D), x (p), x^2 (p), y].
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sonde.arrays import Array
from sonde.surrogates.slice_sampling import slice_sample

LOG_2PI = np.log(2 * np.pi)
ALPHA, BETA = (0.0, 3.0), (4.0, 3.0)  # means and standard deviations of the normal priors of log alpha and log beta
BOUNDS = 12.0  # of |log alpha|, |log beta| and |log Lambda|
OFFSET, CENTRE, CURVATURE = 1.0, 0.25, 0.1  # prior standard deviations of lambda and c, horseshoe scale of Lambda
FIXED_POINT_STEPS = 20


@dataclass(frozen=True)
class Hyperparameters:
    """The precisions alpha and beta, and the coefficients of (1, x, x^2) in eta."""

    alpha: float
    beta: float
    eta: Array  # (1 + 2 p,), or empty


@dataclass(frozen=True)
class Regression:
    """The sufficient statistics of n observations: the Gram matrix of their columns."""

    count: int  # n
    gram: Array  # of [phi, x, x^2, y]
    size: int  # D; the constant is the last of the basis functions

    @property
    def quadratic(self) -> bool:
        """Whether there is a quadratic mean function."""
        return len(self.gram) > self.size + 1

    @property
    def inputs(self) -> int:
        """Number of features, p."""
        return (len(self.gram) - self.size - 1) // 2

    @cached_property
    def _eigen(self) -> tuple[Array, Array]:
        values, vectors = np.linalg.eigh(self.gram[: self.size, : self.size])
        return np.maximum(values, 0.0), vectors

    @cached_property
    def _columns(self) -> Array:
        """Indexes of the columns (1, x, x^2, y), of which y - eta is a linear combination."""
        return np.array([self.size - 1, *range(self.size, len(self.gram))])

    @cached_property
    def _rotated(self) -> Array:
        """U^T Phi^T (1, x, x^2, y), (D, 2 p + 2)."""
        return np.asarray(self._eigen[1].T @ self.gram[: self.size][:, self._columns])

    @cached_property
    def _squares(self) -> Array:
        return self.gram[np.ix_(self._columns, self._columns)]

    def _target(self, eta: Array) -> Array:
        """Coefficients of y - eta in the columns (1, x, x^2, y)."""
        combination = np.zeros(len(self._columns))
        combination[: len(eta)] = -eta
        combination[-1] = 1.0
        return combination

    def log_evidence(self, given: Hyperparameters) -> float:
        """Return the log marginal likelihood log p(y), eq. (8)."""
        eigenvalues, _ = self._eigen
        target = self._target(given.eta)
        precisions = given.beta * eigenvalues + given.alpha
        projected = self._rotated @ target
        explained = given.beta**2 * (projected @ (projected / precisions))
        misfit = max(given.beta * float(target @ self._squares @ target) - explained, 0.0)
        logs = self.size * np.log(given.alpha) + self.count * np.log(given.beta) - np.log(precisions).sum()
        return float(0.5 * (logs - misfit - self.count * LOG_2PI))

    def weights(self, given: Hyperparameters) -> tuple[Array, Array]:
        """Return the mean of w (D,), eq. (6), and a root (D, D) of its covariance, eq. (7)."""
        eigenvalues, vectors = self._eigen
        precisions = given.beta * eigenvalues + given.alpha
        mean = vectors @ (given.beta * (self._rotated @ self._target(given.eta)) / precisions)
        return mean, vectors / np.sqrt(precisions)

    def leave_one_out(self, given: Hyperparameters, basis: Array, y: Array, weights: Array) -> tuple[Array, Array]:
        """Return the mean (n,) and variance (n,) of phi^T w at each observation given the others, for eta = 0."""
        mean, root = self.weights(given)
        variance = np.sum((basis @ root) ** 2, axis=1)
        leverage = np.minimum(given.beta * weights * variance, 1 - 1e-6)
        return y - (y - basis @ mean) / (1 - leverage), variance / (1 - leverage)

    def __add__(self, other: Regression) -> Regression:
        """Return the statistics of the observations of both."""
        return Regression(self.count + other.count, self.gram + other.gram, self.size)

    def most_probable(self) -> Hyperparameters:
        """Return alpha and beta that nearly maximise the marginal likelihood for eta = 0, by MacKay's fixed point."""
        eigenvalues, _ = self._eigen
        alpha, beta = 1.0, np.exp(BETA[0])
        target = self._target(np.empty(0))
        rotated, total = self._rotated @ target, float(target @ self._squares @ target)
        for _ in range(FIXED_POINT_STEPS):
            precisions = beta * eigenvalues + alpha
            effective = float(np.sum(beta * eigenvalues / precisions))
            mean = beta * rotated / precisions
            misfit = total - 2 * mean @ rotated + np.sum(eigenvalues * mean**2)
            alpha = _bounded((effective + 1e-2) / (mean @ mean + 1e-2))
            beta = _bounded((max(self.count - effective, 0.0) + 1.0) / (max(misfit, 0.0) + np.exp(-2 * BETA[1])))
        return Hyperparameters(alpha, beta, np.empty(0))

    def draws(self, count: int, rng: np.random.Generator) -> list[Hyperparameters]:
        """Return ``count`` successive slice samples of the hyperparameters, started at the most probable ones."""
        best = self.most_probable()
        start = np.zeros(2 + (1 + 2 * self.inputs) * self.quadratic)
        start[:2] = np.log([best.alpha, best.beta])
        if self.quadratic:
            start[3 + self.inputs :] = np.log(CURVATURE)

        def log_density(theta: Array) -> float:
            if max(abs(theta[0]), abs(theta[1])) > BOUNDS:
                return -np.inf
            return self.log_evidence(self._unpack(theta)) + self._log_prior(theta)

        return [self._unpack(theta) for theta in slice_sample(log_density, start, count=count, rng=rng)]

    def _unpack(self, theta: Array) -> Hyperparameters:
        """Return the hyperparameters of theta = (log alpha, log beta, lambda, c, log Lambda)."""
        alpha, beta = np.exp(theta[:2])
        if not self.quadratic:
            return Hyperparameters(alpha, beta, np.empty(0))
        offset, centre, curvature = theta[2], theta[3 : 3 + self.inputs], np.exp(theta[3 + self.inputs :])
        # eq. (9), expanded
        eta = np.concatenate([[offset - curvature @ centre**2], 2 * curvature * centre, -curvature])
        return Hyperparameters(alpha, beta, eta)

    def _log_prior(self, theta: Array) -> float:
        """Return the log prior density of theta, up to a constant."""
        value = -0.5 * ((theta[0] - ALPHA[0]) / ALPHA[1]) ** 2 - 0.5 * ((theta[1] - BETA[0]) / BETA[1]) ** 2
        if self.quadratic:
            offset, centre, logs = theta[2], theta[3 : 3 + self.inputs], theta[3 + self.inputs :]
            value -= 0.5 * (offset / OFFSET) ** 2 + 0.5 * (centre @ centre) / CENTRE**2
            if np.abs(logs).max() > BOUNDS:
                return -np.inf
            # a density between the bounds of the horseshoe (Carvalho et al. 2009), and the Jacobian of the logarithm
            value += np.log(np.log1p(CURVATURE**2 * np.exp(-2 * logs))).sum() + logs.sum()
        return float(value)


def regress(basis: Array, extra: Array, y: Array, weights: Array) -> Regression:
    """Return the statistics of basis (n, D), extra columns (n, 2 p or 0), y (n,) and weights of the rows (n,)."""
    columns = np.concatenate([basis, extra, y[:, None]], axis=1) * np.sqrt(weights)[:, None]
    return Regression(len(y), columns.T @ columns, basis.shape[1])


def _bounded(precision: float) -> float:
    return float(np.clip(precision, np.exp(-BOUNDS), np.exp(BOUNDS)))
