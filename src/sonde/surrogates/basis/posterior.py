"""The posterior of a Bayesian linear model on the basis functions of networks.

f(x) = phi(x)^T w with w ~ N(mean, R R^T). The regression on one network has this form (eq. 4 to 7 of Snoek et al.
2015). An ensemble has it too: the mean is the average of the networks' weights, and the disagreement of the networks
adds a few columns to R. The interface is that of the exact Gaussian process, so acquisition functions work on both.

Conditioning on pending points is a rank-one update of R for each (Potter's square-root filter). R does not depend on
the fantasized values: only the means differ between fantasies.

Symbols: D basis functions, c columns of R, m points, q points of a batch, s fantasies.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from sonde.arrays import Array
from sonde.surrogates.basis.networks import Network
from sonde.surrogates.port import Joint, Marginals, Pool

TINY = 1e-12


@dataclass(frozen=True)
class LinearPosterior:
    """The posterior of f(x) = phi(x)^T w; ``noise`` is the variance of an observation around f(x)."""

    network: Network
    mean: Array  # (D, s)
    root: Array  # (D, c)
    noise: float

    def marginals(self, x: Array) -> Marginals:
        """Return the marginal posterior at each of x (m, p)."""
        basis = self.network.basis(x)
        spread = basis.values @ self.root

        def vjp(mean_gradient: Array, variance_gradient: Array) -> Array:
            gradients = mean_gradient @ self.mean.T
            gradients += (2 * variance_gradient)[:, None] * (spread @ self.root.T)
            return basis.vjp(gradients)

        variance = np.maximum(np.sum(spread * spread, axis=-1), TINY)
        return Marginals(basis.values @ self.mean, variance, vjp)

    def means(self, x: Array) -> Array:
        """Return the posterior means (m, s) at x (m, p)."""
        return np.asarray(self.network.basis(x).values @ self.mean)

    def joint(self, pools: Array) -> Joint:
        """Return the joint posterior at each of m batches (m, q, p)."""
        count, size, width = pools.shape
        basis = self.network.basis(pools.reshape(-1, width))
        spread = (basis.values @ self.root).reshape(count, size, -1)

        def vjp(mean_gradient: Array, covariance_gradient: Array) -> Array:
            both = covariance_gradient + covariance_gradient.swapaxes(-1, -2)
            gradients = mean_gradient.reshape(-1, 1) * self.mean[:, 0]
            gradients += (both @ spread).reshape(count * size, -1) @ self.root.T
            return basis.vjp(gradients).reshape(pools.shape)

        covariance = spread @ spread.swapaxes(-1, -2) + TINY * np.eye(size)
        return Joint((basis.values @ self.mean[:, 0]).reshape(count, size), covariance, vjp)

    def pool(self, x: Array) -> Pool:
        """Return the posterior at fixed candidates x (m, p), without gradients."""
        return self._pool(self.network.basis(x).values)

    def _pool(self, basis: Array) -> Pool:
        spread = basis @ self.root
        mean = basis @ self.mean[:, 0]

        def draw(rng: np.random.Generator, count: int) -> Array:
            return np.asarray(mean[:, None] + spread @ rng.standard_normal((spread.shape[1], count)))

        def extended(more: Array) -> Pool:
            return self._pool(np.concatenate([basis, self.network.basis(more).values]))

        return Pool(mean, np.sum(spread**2, axis=1), lambda i, j: spread[i] @ spread[j].T, draw, extended)

    def condition(self, x: Array, y: Array, noise: Array | float = 0.0) -> LinearPosterior:
        """Return the posterior given further values y (m, s) at x (m, p); ``noise`` is added to the model's own."""
        mean, root = self.mean, self.root
        variances = np.broadcast_to(np.maximum(self.noise + noise, 1e-9), (len(x),))
        for basis, values, variance in zip(self.network.basis(x).values, y, variances, strict=True):
            spread = root.T @ basis  # R^T phi
            total = spread @ spread + variance
            gain = root @ spread
            mean = mean + np.outer(gain / total, values - basis @ mean)
            root = root - np.outer(gain / (total + np.sqrt(variance * total)), spread)
        return replace(self, mean=mean, root=root)


def mixture(
    network: Network, parts: Sequence[tuple[Array, Array]], *, eta: Array, inflation: float = 1.0, noise: float = 0.0
) -> LinearPosterior:
    """Return the Gaussian with the mean and covariance of an equal mixture of the networks' posteriors.

    ``parts`` are the mean (H + 1,) and a root (H + 1, H + 1) of the covariance of each network's weights; ``eta``
    (M, 1 + 2 p), or empty, are the coefficients of a quadratic mean function. The covariance is the mean of the
    networks' covariances plus the covariance of their means, times ``inflation``.
    """
    count, units = network.count, network.units  # M, H + 1
    size, extra = count * units, 2 * network.inputs * network.quadratic
    means = np.zeros((count, size + extra))  # row k: the weights of network k, zero elsewhere
    root = np.zeros((size + extra, size + count))
    share = np.sqrt(inflation / count)
    for k, (mean, own_root) in enumerate(parts):
        own = slice(k * units, (k + 1) * units)
        means[k, own], root[own, own] = mean, share * own_root
        if eta.size:
            means[k, own.stop - 1] += eta[k, 0]
            means[k, size:] = eta[k, 1:]
    centre = means.mean(axis=0)
    root[:, size:] = share * (means - centre).T
    return LinearPosterior(network, centre[:, None], root[:, : size + count * (count > 1)], noise)
