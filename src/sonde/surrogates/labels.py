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

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from sonde.surrogates.adaptive import AdaptiveBasis, Recipe
from sonde.surrogates.linear import LinearPosterior, mixture
from sonde.surrogates.network import Network
from sonde.surrogates.table import BLOCK, Table

Array = NDArray[np.float64]

ALPHAS = (0.1, 1.0, 10.0)  # prior precisions of the weights; the evidence chooses
ITERATIONS, CLOSE = 30, 1e-8


@dataclass(frozen=True)
class Laplace:
    """Weights around ``mean`` (D,) with this precision (D, D)."""

    mean: Array
    precision: Array


@dataclass
class LabelBasis:
    """Learns beliefs about the latent, positive where things work."""

    basis: AdaptiveBasis = field(default_factory=lambda: AdaptiveBasis(Recipe(loss="logistic")))
    _known: dict[int, tuple[Network, list[Laplace]]] = field(default_factory=dict)

    def learn(self, x: Array, labels: Array, count: int) -> LinearPosterior:
        """Return the belief after labels (n,) at x (n, p), by networks of the first ``count`` rows."""
        table = Table(x, labels, np.zeros(len(labels)))
        network = self.basis.network(table, count).network
        known = self._known.get(id(network))
        if known is None:
            first = [_most_evident(network, k, table.rows(slice(count))) for k in range(network.count)]
            self._known = {id(network): (network, first)}  # holding the network keeps its id its own
        parts = []
        for k, prior in enumerate(self._known[id(network)][1]):
            after, _ = approximate(_columns(network, k, table.rows(slice(count, None))), prior)
            inverse = np.linalg.inv(np.linalg.cholesky(after.precision))
            parts.append((after.mean, inverse.T))
        return mixture(network, parts, eta=np.empty((network.count, 0)))


Columns = Callable[[], Iterator[tuple[Array, Array]]]


def _columns(network: Network, k: int, table: Table) -> Columns:
    """Return network k's basis functions and labels, block by block, as often as they are asked for."""
    own = network.members(slice(k, k + 1))

    def each() -> Iterator[tuple[Array, Array]]:
        for start in range(0, len(table.y), BLOCK):
            block = table.rows(slice(start, start + BLOCK))
            yield own.basis(block.x).values, block.y

    return each


def _most_evident(network: Network, k: int, table: Table) -> Laplace:
    """Return the approximation under the prior precision for which there is most evidence."""
    size = network.units
    tried = (
        approximate(_columns(network, k, table), Laplace(np.zeros(size), alpha * np.eye(size))) for alpha in ALPHAS
    )
    return max(tried, key=lambda pair: pair[1])[0]


def approximate(columns: Columns, prior: Laplace) -> tuple[Laplace, float]:
    """Return the normal approximation of the weights given labels, and the logarithm of the evidence, by Newton."""
    weights = prior.mean
    value, slope, curvature = _objective(columns, prior, weights)
    for _ in range(ITERATIONS):
        step = np.linalg.solve(curvature, slope)
        if step @ slope < CLOSE:
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
    pull = prior.precision @ off
    value, slope, curvature = 0.5 * float(off @ pull), pull, prior.precision.copy()
    for basis, labels in columns():
        margins = labels * (basis @ weights)
        value += float(np.sum(np.logaddexp(0.0, -margins)))
        wrong = expit(-margins)
        slope = slope - basis.T @ (labels * wrong)
        curvature += basis.T @ (basis * (wrong * (1 - wrong))[:, None])
    return value, slope, curvature
