"""Where things fail, learned by networks: Bayesian logistic regression on their basis (Snoek et al. 2015, section 3.2).

The output weights have a Laplace approximation: the normal distribution around the most probable ones with the
curvature there as precision. The belief about the latent is then of the same form as that about values (``linear``),
and the probability is its integral under a logistic function, or under a step where failing is certain on one side of a
border.

The networks and the approximation are those of a checkpoint; labels that came since enter through a second, short
approximation with the first as the prior.

Symbols: n rows, D basis functions of one network, labels 1 (works) and -1 (fails).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import expit, log_ndtr

from sonde.surrogates.basis.adaptive import AdaptiveBasis, Recipe
from sonde.surrogates.basis.data import BLOCK, Table, held_out
from sonde.surrogates.basis.networks import Network
from sonde.surrogates.basis.posterior import LinearPosterior, mixture

Array = NDArray[np.float64]

ALPHAS = (0.1, 1.0, 10.0)  # prior precisions of the weights; the evidence chooses
FEW_ROWS = 1024  # the prior precision is chosen, and probabilities are calibrated, on at most so many
KEPT_BLOCKS = 64  # blocks of basis functions that are not computed again in each iteration
ITERATIONS, CLOSE, NEAR = 30, 1e-8, 1e-4  # the last: where it starts near the top, and rows are many
SPREADS = np.array([1.0, 1.0, 2.0])  # prior deviations of the log slope, the offset and the log narrowing

RECIPE = Recipe(loss="logistic", members=3, effort=0.2)


@dataclass(frozen=True)
class Laplace:
    """Weights around ``mean`` (D,) with this precision (D, D)."""

    mean: Array
    precision: Array


class Link(NamedTuple):
    """P(works) = Phi((slope latent + offset) / sqrt(extra + slope^2 narrowing variance))."""

    slope: float
    offset: float
    narrowing: float
    extra: float


# A logistic function is nearly a normal integral of this slope (MacKay 1992); a step is one without extra width.
LINKS = {"noisy": Link(np.sqrt(np.pi / 8), 0.0, 1.0, 1.0), "noiseless": Link(1.0, 0.0, 1.0, 1e-12)}


@dataclass(frozen=True)
class Learned:
    """What is remembered of a checkpoint; holding the network keeps its id its own."""

    network: Network
    weights: list[Laplace]
    link: Link


@dataclass
class FailureClassifier:
    """Learns beliefs about the latent, positive where things work."""

    link: Link = LINKS["noisy"]
    basis: AdaptiveBasis = field(default_factory=lambda: AdaptiveBasis(RECIPE))
    _known: dict[int, Learned] = field(default_factory=dict)

    def learn(self, x: Array, labels: Array, count: int) -> tuple[LinearPosterior, Link]:
        """Return the belief after labels (n,) at x (n, p), by networks of the first ``count`` rows, and its link."""
        table = Table(x, labels, np.zeros(len(labels)))
        trained = self.basis.network(table, count)
        network = trained.network
        if id(network) not in self._known:
            first = table.rows(slice(count))
            link = self.link if trained.judge is None else _calibrated(trained.judge, first, self.link)
            weights = [_most_evident(network, k, first) for k in range(network.count)]
            self._known = {id(network): Learned(network, weights, link)}
        learned = self._known[id(network)]
        parts = []
        for k, prior in enumerate(learned.weights):
            after, _ = approximate(_columns(network, k, table.rows(slice(count, None))), prior)
            parts.append(_mean_and_root(after))
        return _mixed(network, parts, learned.link), learned.link


def _mixed(network: Network, parts: list[tuple[Array, Array]], link: Link) -> LinearPosterior:
    return mixture(network, parts, eta=np.empty((network.count, 0)), widening=link.narrowing)


def _mean_and_root(belief: Laplace) -> tuple[Array, Array]:
    return belief.mean, np.linalg.inv(np.linalg.cholesky(belief.precision)).T


def _calibrated(judge: Network, table: Table, link: Link) -> Link:
    """Return the link under which labels are most probable that networks like these have not seen."""
    held = held_out(len(table.y))
    seen, unseen = (_thinned(table.rows(np.flatnonzero(rows))) for rows in (~held, held))
    parts = [_mean_and_root(_most_evident(judge, k, seen)) for k in range(judge.count)]
    at = _mixed(judge, parts, link).marginals(unseen.x)

    def loss(theta: Array) -> float:
        slope, narrowing = np.exp(theta[[0, 2]])
        z = (slope * at.mean[:, 0] + theta[1]) / np.sqrt(link.extra + slope**2 * narrowing * at.variance)
        # weak priors: a few labels that are right must not make it certain
        return float(-np.sum(log_ndtr(unseen.y * z)) + 0.5 * np.sum(((theta - start) / SPREADS) ** 2))

    start = np.array([np.log(link.slope), 0.0, 0.0])
    best = minimize(loss, start, method="L-BFGS-B", bounds=[(-4.0, 4.0), (-4.0, 4.0), (-8.0, 2.0)]).x
    return Link(float(np.exp(best[0])), float(best[1]), float(np.exp(best[2])), link.extra)


Columns = Callable[[], Iterator[tuple[Array, Array]]]


def _columns(network: Network, k: int, table: Table) -> Columns:
    """Return network k's basis functions and labels, block by block, as often as they are asked for."""
    own, kept = network.members(slice(k, k + 1)), list[tuple[Array, Array]]()

    def each() -> Iterator[tuple[Array, Array]]:
        for place, start in enumerate(range(0, len(table.y), BLOCK)):
            if place < len(kept):
                yield kept[place]
                continue
            block = table.rows(slice(start, start + BLOCK))
            pair = own.basis(block.x).values, block.y
            if place < KEPT_BLOCKS:
                kept.append(pair)
            yield pair

    return each


def _thinned(table: Table) -> Table:
    """Return at most so many rows, evenly chosen."""
    if len(table.y) <= FEW_ROWS:
        return table
    return table.rows(np.linspace(0, len(table.y) - 1, FEW_ROWS).astype(int))


def _most_evident(network: Network, k: int, table: Table) -> Laplace:
    """Return the approximation under the prior precision for which there is most evidence."""
    size, few = network.units, _thinned(table)
    columns = _columns(network, k, few)
    priors = [Laplace(np.zeros(size), alpha * np.eye(size)) for alpha in ALPHAS]
    tried = [approximate(columns, prior) for prior in priors]
    best = max(range(len(tried)), key=lambda place: tried[place][1])
    if few is table:
        return tried[best][0]
    return approximate(_columns(network, k, table), priors[best], start=tried[best][0].mean)[0]


def approximate(columns: Columns, prior: Laplace, *, start: Array | None = None) -> tuple[Laplace, float]:
    """Return the normal approximation of the weights given labels, and the logarithm of the evidence, by Newton."""
    weights, close = (prior.mean, CLOSE) if start is None else (start, NEAR)
    value, slope, curvature = _objective(columns, prior, weights)
    for _ in range(ITERATIONS):
        step = np.linalg.solve(curvature, slope)
        if step @ slope < close:
            break
        length = 1.0
        while True:  # the objective is convex, so some step downhill succeeds
            tried = _objective(columns, prior, weights - length * step)
            if tried[0] <= value or length < 1e-3:
                break
            length /= 2
        weights = weights - length * step
        value, slope, curvature = tried
    logs = np.linalg.slogdet(prior.precision)[1] - np.linalg.slogdet(curvature)[1]
    return Laplace(weights, curvature), float(-value + 0.5 * logs)


def _objective(columns: Columns, prior: Laplace, weights: Array) -> tuple[float, Array, Array]:
    """Return -log p(labels, weights), its gradient and curvature."""
    off = weights - prior.mean
    vjp = prior.precision @ off
    value, slope, curvature = 0.5 * float(off @ vjp), vjp, prior.precision.copy()
    for basis, labels in columns():
        margins = labels * (basis @ weights)
        value += float(np.sum(np.logaddexp(0.0, -margins)))
        wrong = expit(-margins)
        slope = slope - basis.T @ (labels * wrong)
        curvature += basis.T @ (basis * (wrong * (1 - wrong))[:, None])
    return value, slope, curvature
