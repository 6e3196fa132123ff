"""A classifier of failures: Bayesian logistic regression on the basis of networks (Snoek et al. 2015, section 3.2).

The posterior of the output weights is a Laplace approximation: a normal distribution at the mode, with the Hessian
there as its precision. The latent function then has a ``LinearPosterior``, like the values. The probability of success
is the expectation of a logistic function of the latent function, or of a step function if a configuration always fails
or never.

Networks and Laplace approximation are those of a checkpoint. Labels that arrived later enter by a second Laplace
approximation, whose prior is the first one.

Symbols: n trials, D basis functions of one network, labels 1 (success) and -1 (failure).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit, log_ndtr

from sonde.arrays import Array
from sonde.surrogates.basis.adaptive import AdaptiveBasis, Recipe
from sonde.surrogates.basis.data import BLOCK, Table, held_out
from sonde.surrogates.basis.networks import Network
from sonde.surrogates.basis.posterior import LinearPosterior, mixture

ALPHAS = (0.1, 1.0, 10.0)  # candidate prior precisions of the weights; the marginal likelihood chooses
FEW_ROWS = 1024  # at most so many rows choose the prior precision and calibrate the probabilities
CACHED_BLOCKS = 64  # blocks of basis functions that are cached between Newton iterations
ITERATIONS, TOLERANCE, LOOSE_TOLERANCE = 30, 1e-8, 1e-4  # of Newton's method; loose if it starts near the mode
PRIOR_SCALES = np.array([1.0, 1.0, 2.0])  # standard deviations of log slope, offset and log inflation

RECIPE = Recipe(loss="logistic", members=3, effort=0.2)


@dataclass(frozen=True)
class Laplace:
    """A normal distribution of weights with mean (D,) and precision (D, D)."""

    mean: Array
    precision: Array


class Link(NamedTuple):
    """P(success) = Phi((slope mean + offset) / sqrt(extra + slope^2 inflation variance)) of the latent function."""

    slope: float
    offset: float
    inflation: float
    extra: float


# The logistic function is nearly a probit function with this slope (MacKay 1992); the step is one of no extra variance.
LINKS = {"noisy": Link(np.sqrt(np.pi / 8), 0.0, 1.0, 1.0), "noiseless": Link(1.0, 0.0, 1.0, 1e-12)}


@dataclass(frozen=True)
class Fitted:
    """The fit of a checkpoint. It is cached by the id of its network, so it holds the network to keep the id unique."""

    network: Network
    weights: list[Laplace]
    link: Link


@dataclass
class FailureClassifier:
    """Fits the posterior of a latent function that is positive where trials succeed."""

    link: Link = LINKS["noisy"]
    basis: AdaptiveBasis = field(default_factory=lambda: AdaptiveBasis(RECIPE))
    _known: dict[int, Fitted] = field(default_factory=dict)

    def learn(self, x: Array, labels: Array, count: int) -> tuple[LinearPosterior, Link]:
        """Return the posterior given labels (n,) at x (n, p), on networks of the first ``count`` rows, and its link."""
        table = Table(x, labels, np.zeros(len(labels)))
        trained = self.basis.network(table, count)
        network = trained.network
        if id(network) not in self._known:
            first = table.rows(slice(count))
            link = self.link if trained.validation is None else _calibrated(trained.validation, first, self.link)
            weights = [_best_prior(network, k, first) for k in range(network.count)]
            self._known = {id(network): Fitted(network, weights, link)}
        fitted = self._known[id(network)]
        parts = []
        for k, prior in enumerate(fitted.weights):
            after, _ = laplace_approximation(_blocks(network, k, table.rows(slice(count, None))), prior)
            parts.append(_mean_and_root(after))
        return _latent(network, parts, fitted.link), fitted.link


def _latent(network: Network, parts: list[tuple[Array, Array]], link: Link) -> LinearPosterior:
    return mixture(network, parts, eta=np.empty((network.count, 0)), inflation=link.inflation)


def _mean_and_root(weights: Laplace) -> tuple[Array, Array]:
    return weights.mean, np.linalg.inv(np.linalg.cholesky(weights.precision)).T


def _calibrated(validation: Network, table: Table, link: Link) -> Link:
    """Return the link that maximises the likelihood of held-out labels under the validation networks."""
    held = held_out(len(table.y))
    known, unseen = (_thinned(table.rows(rows)) for rows in (~held, held))
    parts = [_mean_and_root(_best_prior(validation, k, known)) for k in range(validation.count)]
    at = _latent(validation, parts, link).marginals(unseen.x)

    def loss(theta: Array) -> float:
        slope, inflation = np.exp(theta[[0, 2]])
        z = (slope * at.mean[:, 0] + theta[1]) / np.sqrt(link.extra + slope**2 * inflation * at.variance)
        # weak priors: a few correct predictions must not make it certain
        return float(-np.sum(log_ndtr(unseen.y * z)) + 0.5 * np.sum(((theta - start) / PRIOR_SCALES) ** 2))

    start = np.array([np.log(link.slope), 0.0, 0.0])
    best = minimize(loss, start, method="L-BFGS-B", bounds=[(-4.0, 4.0), (-4.0, 4.0), (-8.0, 2.0)]).x
    return Link(float(np.exp(best[0])), float(best[1]), float(np.exp(best[2])), link.extra)


Blocks = Callable[[], Iterator[tuple[Array, Array]]]


def _blocks(network: Network, k: int, table: Table) -> Blocks:
    """Return a function that iterates over basis functions of network k and labels, block by block."""
    own, cached = network.members(slice(k, k + 1)), list[tuple[Array, Array]]()

    def each() -> Iterator[tuple[Array, Array]]:
        for i, start in enumerate(range(0, len(table.y), BLOCK)):
            if i < len(cached):
                yield cached[i]
                continue
            block = table.rows(slice(start, start + BLOCK))
            pair = own.basis(block.x).values, block.y
            if i < CACHED_BLOCKS:
                cached.append(pair)
            yield pair

    return each


def _thinned(table: Table) -> Table:
    """Return at most ``FEW_ROWS`` rows, evenly spaced."""
    if len(table.y) <= FEW_ROWS:
        return table
    return table.rows(np.linspace(0, len(table.y) - 1, FEW_ROWS).astype(int))


def _best_prior(network: Network, k: int, table: Table) -> Laplace:
    """Return the approximation under the prior precision of highest marginal likelihood."""
    size, few = network.units, _thinned(table)
    blocks = _blocks(network, k, few)
    priors = [Laplace(np.zeros(size), alpha * np.eye(size)) for alpha in ALPHAS]
    tried = [laplace_approximation(blocks, prior) for prior in priors]
    best = max(range(len(tried)), key=lambda i: tried[i][1])
    if few is table:
        return tried[best][0]
    return laplace_approximation(_blocks(network, k, table), priors[best], start=tried[best][0].mean)[0]


def laplace_approximation(blocks: Blocks, prior: Laplace, *, start: Array | None = None) -> tuple[Laplace, float]:
    """Return the Laplace approximation of the weights given labels, and the log evidence, by Newton's method."""
    weights, tolerance = (prior.mean, TOLERANCE) if start is None else (start, LOOSE_TOLERANCE)
    value, gradient, hessian = _objective(blocks, prior, weights)
    for _ in range(ITERATIONS):
        step = np.linalg.solve(hessian, gradient)
        if step @ gradient < tolerance:
            break
        length = 1.0
        while True:  # the objective is convex, so backtracking succeeds
            tried = _objective(blocks, prior, weights - length * step)
            if tried[0] <= value or length < 1e-3:
                break
            length /= 2
        weights = weights - length * step
        value, gradient, hessian = tried
    logs = np.linalg.slogdet(prior.precision)[1] - np.linalg.slogdet(hessian)[1]
    return Laplace(weights, hessian), float(-value + 0.5 * logs)


def _objective(blocks: Blocks, prior: Laplace, weights: Array) -> tuple[float, Array, Array]:
    """Return -log p(labels, weights), its gradient and its Hessian."""
    deviation = weights - prior.mean
    gradient = prior.precision @ deviation
    value, hessian = 0.5 * float(deviation @ gradient), prior.precision.copy()
    for basis, labels in blocks():
        margins = labels * (basis @ weights)
        value += float(np.sum(np.logaddexp(0.0, -margins)))
        wrong = expit(-margins)
        gradient = gradient - basis.T @ (labels * wrong)
        hessian += basis.T @ (basis * (wrong * (1 - wrong))[:, None])
    return value, gradient, hessian
