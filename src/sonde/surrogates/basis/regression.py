"""Bayesian linear regression on basis functions, and draws of what it is given (Snoek et al. 2015, eq. 4 to 9).

y = phi(x)^T w + eta(x) + noise, w ~ N(0, I / alpha), noise of precision beta, and eta a concave quadratic (values are
higher-better here): eta(x) = lambda - sum_k Lambda_k (x_k - c_k)^2. alpha, beta, lambda, c and Lambda are drawn from
their posterior by slice sampling.

No draw looks at the data: eta is linear in (1, x_k, x_k^2), so the products of all columns with each other, summed over
the rows once, give eq. (8) for any eta, and in the eigenbasis of Phi^T Phi for any alpha and beta in O(D p).

Symbols: N rows, D basis functions, p inputs, columns [phi (D), x (p), x^2 (p), y].
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sonde.surrogates.slice_sampling import slice_sample

Array = NDArray[np.float64]

LOG_2PI = np.log(2 * np.pi)
ALPHA, BETA = (0.0, 3.0), (4.0, 3.0)  # means and deviations of the normal priors of log alpha and log beta
BOUNDS = 12.0  # of both logarithms
OFFSET, CENTRE, BEND = 1.0, 0.25, 0.1  # prior deviations of lambda and c, scale of the horseshoe of Lambda
FIXED_POINTS = 20


@dataclass(frozen=True)
class Hyperparameters:
    """Precisions alpha and beta, and coefficients of (1, x, x^2) in eta."""

    alpha: float
    beta: float
    eta: Array  # (1 + 2 p,), or empty


@dataclass(frozen=True)
class Regression:
    """What the data say: sums of products of columns over N rows."""

    count: int
    gram: Array
    size: int  # D; the constant is the last of the basis functions

    @property
    def quadratic(self) -> bool:
        """Whether there are columns for eta."""
        return len(self.gram) > self.size + 1

    @property
    def inputs(self) -> int:
        """p."""
        return (len(self.gram) - self.size - 1) // 2

    @cached_property
    def _eigen(self) -> tuple[Array, Array]:
        values, vectors = np.linalg.eigh(self.gram[: self.size, : self.size])
        return np.maximum(values, 0.0), vectors

    @cached_property
    def _columns(self) -> Array:
        """Columns of (1, x, x^2), then y: the ones of which y - eta is a combination."""
        return np.array([self.size - 1, *range(self.size, len(self.gram))])

    @cached_property
    def _rotated(self) -> Array:
        """U^T Phi^T (1, x, x^2, y), (D, 2 p + 2)."""
        return np.asarray(self._eigen[1].T @ self.gram[: self.size][:, self._columns])

    @cached_property
    def _squares(self) -> Array:
        return self.gram[np.ix_(self._columns, self._columns)]

    def _target(self, eta: Array) -> Array:
        """y - eta as a combination of the columns (1, x, x^2, y)."""
        combination = np.zeros(len(self._columns))
        combination[: len(eta)] = -eta
        combination[-1] = 1.0
        return combination

    def log_evidence(self, given: Hyperparameters) -> float:
        """Return log p(y), eq. (8)."""
        eigenvalues, _ = self._eigen
        target = self._target(given.eta)
        precisions = given.beta * eigenvalues + given.alpha
        explained = given.beta**2 * np.sum((self._rotated @ target) ** 2 / precisions)
        misfit = max(given.beta * float(target @ self._squares @ target) - explained, 0.0)
        logs = self.size * np.log(given.alpha) + self.count * np.log(given.beta) - np.sum(np.log(precisions))
        return float(0.5 * (logs - misfit - self.count * LOG_2PI))

    def weights(self, given: Hyperparameters) -> tuple[Array, Array]:
        """Return the mean of w (D,), eq. (6), and a root (D, D) of its covariance, eq. (7)."""
        eigenvalues, vectors = self._eigen
        precisions = given.beta * eigenvalues + given.alpha
        mean = vectors @ (given.beta * (self._rotated @ self._target(given.eta)) / precisions)
        return mean, vectors / np.sqrt(precisions)

    def __add__(self, other: Regression) -> Regression:
        """Return what the rows of both say."""
        return Regression(self.count + other.count, self.gram + other.gram, self.size)

    def without(self, other: Regression) -> Regression:
        """Return what all rows but those of ``other`` say."""
        return Regression(self.count - other.count, self.gram - other.gram, self.size)

    def most_probable(self) -> Hyperparameters:
        """Return alpha and beta near the top of the evidence, eta = 0, by MacKay's fixed point."""
        eigenvalues, _ = self._eigen
        alpha, beta = 1.0, np.exp(BETA[0])
        target = self._target(np.empty(0))
        rotated, total = self._rotated @ target, float(target @ self._squares @ target)
        for _ in range(FIXED_POINTS):
            precisions = beta * eigenvalues + alpha
            effective = float(np.sum(beta * eigenvalues / precisions))
            mean = beta * rotated / precisions
            misfit = total - 2 * mean @ rotated + np.sum(eigenvalues * mean**2)
            alpha = _within((effective + 1e-2) / (mean @ mean + 1e-2))
            beta = _within((max(self.count - effective, 0.0) + 1.0) / (max(misfit, 0.0) + np.exp(-2 * BETA[1])))
        return Hyperparameters(alpha, beta, np.empty(0))

    def draws(self, count: int, rng: np.random.Generator) -> list[Hyperparameters]:
        """Return ``count`` draws from the posterior of the hyperparameters, along a chain from the most probable."""
        best = self.most_probable()
        start = np.zeros(2 + (1 + 2 * self.inputs) * self.quadratic)
        start[:2] = np.log([best.alpha, best.beta])
        if self.quadratic:
            start[3 + self.inputs :] = np.log(BEND)

        def log_density(theta: Array) -> float:
            if np.any(np.abs(theta[:2]) > BOUNDS):
                return -np.inf
            return self.log_evidence(self._unpack(theta)) + self._log_prior(theta)

        return [self._unpack(theta) for theta in slice_sample(log_density, start, count=count, rng=rng)]

    def _unpack(self, theta: Array) -> Hyperparameters:
        """Return the hyperparameters of theta = (log alpha, log beta, lambda, c, log Lambda)."""
        alpha, beta = np.exp(theta[:2])
        if not self.quadratic:
            return Hyperparameters(alpha, beta, np.empty(0))
        offset, centre, bend = theta[2], theta[3 : 3 + self.inputs], np.exp(theta[3 + self.inputs :])
        eta = np.concatenate([[offset - bend @ centre**2], 2 * bend * centre, -bend])  # eq. (9), multiplied out
        return Hyperparameters(alpha, beta, eta)

    def _log_prior(self, theta: Array) -> float:
        means, deviations = np.array([ALPHA, BETA]).T
        value = -0.5 * np.sum(((theta[:2] - means) / deviations) ** 2)
        if self.quadratic:
            offset, centre, logs = theta[2], theta[3 : 3 + self.inputs], theta[3 + self.inputs :]
            value -= 0.5 * (offset / OFFSET) ** 2 + 0.5 * np.sum((centre / CENTRE) ** 2)
            if np.any(np.abs(logs) > BOUNDS):
                return -np.inf
            # the horseshoe's density between its bounds (Carvalho et al. 2009), and the Jacobian of the logarithm
            value += np.sum(np.log(np.log1p((BEND / np.exp(logs)) ** 2)) + logs)
        return float(value)


def regress(basis: Array, extra: Array, y: Array, weights: Array) -> Regression:
    """Return the sums over rows of basis (N, D), extra columns (N, 2 p or 0), values y (N,) and weights (N,)."""
    columns = np.concatenate([basis, extra, y[:, None]], axis=1) * np.sqrt(weights)[:, None]
    return Regression(len(y), columns.T @ columns, basis.shape[1])


def _within(precision: float) -> float:
    return float(np.clip(precision, np.exp(-BOUNDS), np.exp(BOUNDS)))
