"""The probability that a configuration is feasible, learned from failures and from measured constraints.

Each measured constraint c(x) <= 0 has its own Gaussian process: P = Phi(-mean / deviation). Failures are modelled by a
least-squares classifier (Rasmussen & Williams 2006, section 6.5): a Gaussian process regression on labels +1 (worked)
and -1 (failed), squashed by Phi((a mean + b) / sqrt(1 + a^2 variance)). a and b maximize the leave-one-out likelihood.
The classifier needs only the regression's posterior, gradients included. Where a configuration always fails or never
(``"noiseless"``), the latent function decides: P = Phi((mean + b) / sqrt(i variance)), the probability that it is
positive, with b and an inflation i fitted in the same way.

Symbols: units (m, d) points of the unit cube, P the probability of feasibility, Phi and phi the normal distribution
function and density.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize
from scipy.special import erfcx, log_ndtr

from sonde.arrays import Array, Index, Mask
from sonde.surrogates.features import Features
from sonde.surrogates.gaussian_process.covariance import Covariance
from sonde.surrogates.gaussian_process.estimates import first_guess, fit, prior_of
from sonde.surrogates.gaussian_process.marginal_likelihood import Evidence
from sonde.surrogates.gaussian_process.posterior import ExactPosterior
from sonde.surrogates.port import Posterior

Condition = Callable[[Array], tuple[Array, Array]]  # log P of passing (m,) and its gradient (m, d) at units (m, d)

# noise variance of the labels: without it, one edge between works and fails makes length scales so short that nothing
# is known a little away from the trials
LABEL_NOISE = 0.05
NEARLY = 1e-12  # stands for no extra variance
FITTED = 256  # hyperparameters are fitted to at most so many observations; the posterior uses all of them


@dataclass(frozen=True)
class PassProbability:
    """log P of passing one condition: log Phi((slope mean + offset) / sqrt(extra + slope^2 inflation variance))."""

    posterior: Posterior
    features: Features
    slope: float
    offset: float
    extra: float  # 1 for a classifier of noisy failures, 0 for a latent or measured quantity whose sign decides
    inflation: float = 1.0  # of the variance

    def __call__(self, units: Array) -> tuple[Array, Array]:
        """Return log P (m,) and its gradient (m, d) at units (m, d)."""
        predicted = self.posterior.marginals(self.features(units))
        numerator = self.slope * predicted.mean[:, 0] + self.offset
        by_variance = self.slope**2 * self.inflation
        width = np.sqrt(self.extra + by_variance * predicted.variance)
        z = numerator / width
        value = log_ndtr(z)
        rate = np.sqrt(2 / np.pi) / erfcx(-z / np.sqrt(2.0))  # phi / Phi
        mean_gradient = (rate * self.slope / width)[:, None]
        variance_gradient = -0.5 * rate * z * by_variance / width**2
        return value, self.features.vjp(predicted.vjp(mean_gradient, variance_gradient), units)


@dataclass(frozen=True)
class Feasibility:
    """log P(all conditions pass); conditions are treated as independent."""

    conditions: tuple[Condition, ...]

    def __call__(self, units: Array) -> tuple[Array, Array]:
        """Return log P (m,) and its gradient (m, d) at units (m, d)."""
        parts = [condition(units) for condition in self.conditions]
        return sum(value for value, _ in parts), sum(gradient for _, gradient in parts)  # type: ignore[return-value]


def learn_success(features: Features, units: Array, works: Mask, failures: str = "noisy") -> PassProbability:
    """Return the failure classifier: which configurations worked, and which failed.

    ``failures`` are ``"noisy"``: a configuration may fail once and work the next time, or ``"noiseless"``.
    """
    x, labels = features(units), np.where(works, 1.0, -1.0)
    rare, common = sorted((np.flatnonzero(works), np.flatnonzero(~works)), key=len)
    rare = _evenly(rare, max(FITTED // 2, FITTED - len(common)))
    rows = np.concatenate([rare, _evenly(common, FITTED - len(rare))])
    covariance = _fitted(features, x, labels, rows, LABEL_NOISE)
    posterior = ExactPosterior.of(covariance, x, labels, LABEL_NOISE)
    means, variances = posterior.leave_one_out(labels)

    noisy = failures == "noisy"

    def passing(parameters: Array) -> PassProbability:
        if noisy:
            return PassProbability(posterior, features, float(np.exp(parameters[0])), float(parameters[1]), 1.0)
        return PassProbability(posterior, features, 1.0, float(parameters[1]), NEARLY, float(np.exp(parameters[0])))

    def loss(parameters: Array) -> float:
        own = passing(parameters)
        z = (own.slope * means + own.offset) / np.sqrt(own.extra + own.slope**2 * own.inflation * variances)
        # weak priors on log a, log i and b: one failure among a hundred must not make the classifier certain
        return float(-np.sum(log_ndtr(labels * z)) + 0.5 * (parameters[0] - start[0]) ** 2 + 0.5 * parameters[1] ** 2)

    start = np.array([1.0 if noisy else 0.0, 0.0])
    return passing(minimize(loss, start, method="L-BFGS-B", bounds=[(-3.0, 4.0), (-3.0, 3.0)]).x)


def learn_constraint(features: Features, units: Array, levels: Array) -> PassProbability:
    """Return the probability that a measured constraint is met; ``levels`` are at most 0 where it is."""
    largest = float(np.max(np.abs(levels))) or 1.0
    scaled = np.arcsinh(10 * (levels / largest))  # monotone, keeps 0, compresses values over decades
    centre, deviation = float(scaled.mean()), float(scaled.std()) or 1.0
    x, y = features(units), (scaled - centre) / deviation
    covariance = _fitted(features, x, y, _evenly(np.arange(len(y)), FITTED))
    return PassProbability(ExactPosterior.of(covariance, x, y), features, -1.0, -centre / deviation, NEARLY)


def _fitted(features: Features, x: Array, y: Array, rows: Index, noise: float = 0.0) -> Covariance:
    """Return the covariance fitted to some of the observations."""
    guess, evidence = first_guess(features.groups), Evidence.of_values(x[rows], y[rows], np.full(len(rows), noise))
    return fit(guess, prior_of(guess), evidence, iterations=50)[0]


def _evenly(rows: Index, count: int) -> Index:
    """Return at most ``count`` of the rows, evenly spaced."""
    return rows[np.unique(np.linspace(0, len(rows) - 1, min(len(rows), count)).astype(int))]


def combine(conditions: Sequence[Condition]) -> Feasibility | None:
    """Return the feasibility model of all conditions; None where there are none."""
    return Feasibility(tuple(conditions)) if conditions else None
