"""The belief of a Bayesian linear regression on a network's basis functions.

f(x) = phi(x)^T w with w ~ N(mean, R R^T). One network after its regression is of this form (eq. 4 to 7 of Snoek et al.
2015), and so are several: their average has the mean of their weights, and their spread is a few more columns of R.
The same questions as of the exact process (``gp``) have the same answers, so an acquisition cannot tell them apart.

Points under way enter by rank-one changes of R (Potter's square root), whatever their outcome: only the means differ
between fantasies.

Symbols: D basis functions, c columns of R, S sets of values (fantasies).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from sonde.surrogates.basis.networks import Network
from sonde.surrogates.port import Joint, Marginals, Pool

Array = NDArray[np.float64]

TINY = 1e-12


@dataclass(frozen=True)
class LinearPosterior:
    """The belief about phi(x)^T w; ``noise`` is the variance of a value around it."""

    network: Network
    mean: Array  # (D, S)
    root: Array  # (D, c)
    noise: float

    def marginals(self, x: Array) -> Marginals:
        """Return the belief at each of x (m, p) by itself."""
        basis = self.network.basis(x)
        spread = basis.values @ self.root

        def vjp(mean_gradient: Array, variance_gradient: Array) -> Array:
            gradients = mean_gradient @ self.mean.T
            gradients += (2 * variance_gradient)[:, None] * (spread @ self.root.T)
            return basis.vjp(gradients)

        variance = np.maximum(np.sum(spread * spread, axis=-1), TINY)
        return Marginals(basis.values @ self.mean, variance, vjp)

    def joint(self, pools: Array) -> Joint:
        """Return the belief at B pools (B, q, p) of points."""
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
        """Return the belief at x (m, p) without gradients, for a choice among them."""
        basis = self.network.basis(x).values
        spread = basis @ self.root
        mean = basis @ self.mean[:, 0]

        def draw(rng: np.random.Generator, count: int) -> Array:
            return np.asarray(mean[:, None] + spread @ rng.standard_normal((spread.shape[1], count)))

        return Pool(mean, np.sum(spread**2, axis=1), lambda i, j: spread[i] @ spread[j].T, draw)

    def condition(self, x: Array, y: Array, noise: Array | float = 0.0) -> LinearPosterior:
        """Return the belief after further values y (m, S) at x (m, p), with ``noise`` besides the belief's own."""
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
    network: Network, parts: Sequence[tuple[Array, Array]], *, eta: Array, widening: float = 1.0, noise: float = 0.0
) -> LinearPosterior:
    """Return the belief with mean and covariance of a mixture of beliefs, one for each network.

    ``parts`` are means (H + 1,) and roots of covariances of the weights of each, ``eta`` (M, 1 + 2 p), or nothing,
    coefficients of a quadratic mean. The covariance is the mean of the networks' own, plus that of their means, times
    ``widening``.
    """
    count, units = network.count, network.units
    size, extra = count * units, 2 * network.inputs * network.quadratic
    means = np.zeros((count, size + extra))  # each network's weights, at its own place
    root = np.zeros((size + extra, size + count))
    share = np.sqrt(widening / count)
    for k, (mean, own_root) in enumerate(parts):
        own = slice(k * units, (k + 1) * units)
        means[k, own], root[own, own] = mean, share * own_root
        if eta.size:
            means[k, own.stop - 1] += eta[k, 0]
            means[k, size:] = eta[k, 1:]
    centre = means.mean(axis=0)
    root[:, size:] = share * (means - centre).T
    return LinearPosterior(network, centre[:, None], root[:, : size + count * (count > 1)], noise)
