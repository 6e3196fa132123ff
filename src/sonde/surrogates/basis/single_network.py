"""The surrogate of Snoek et al. (2015): Bayesian linear regression on one network, trained anew on all observations.

Training minimizes squared errors, or the logistic loss of labels, by stochastic gradients with momentum. Then slice
sampling draws K hyperparameters: those of the regression from eq. (8) and the priors of eq. (9), and the precision
alpha of the classifier's weights from the evidence of its Laplace approximation (section 3.2). All K posteriors share
the network, whose basis functions are evaluated once for all of them.

Symbols: m points, p features, D basis functions, K hyperparameter samples, s fantasies.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from sonde.arrays import Array
from sonde.surrogates.basis.classifier import Blocks, Laplace, laplace_approximation
from sonde.surrogates.basis.networks import Network
from sonde.surrogates.basis.posterior import TINY, LinearPosterior, mixture
from sonde.surrogates.basis.regression import BOUNDS, Hyperparameters, Regression, regress
from sonde.surrogates.basis.training import train
from sonde.surrogates.slice_sampling import slice_sample

STEPS, SPEED = 300, 2.5  # of training; the factor of the learning rate
# Of the random weights and biases: smaller ones leave the basis functions nearly linear, and so the model too certain.
WEIGHT_GAIN, BIASES = 5 / 3, 1.0
LOG_ALPHA = 1.0  # prior deviation of log alpha of the classifier: a wider one makes it unsure of separable labels
BURN_IN = 10  # samples that are dropped: the chain begins at the most probable alpha and beta

Vjp = Callable[[Array, Array], Array]


def trained(x: Array, targets: Array, loss: str) -> Network:
    """Return the network trained on targets (n,) at x (n, p) from random weights, a function of the data alone.

    The ``loss`` is ``"squares"``, for a network with the quadratic mean function of eq. (9), or ``"logistic"``.
    """
    count, inputs = x.shape
    rng = np.random.default_rng([count, inputs])
    network = Network.untrained(inputs, 1, rng, quadratic=loss == "squares", biases=BIASES, gain=WEIGHT_GAIN)
    rows = [np.arange(count)]
    return train(network, x, targets, rows, steps=STEPS, rng=rng, loss=loss, optimizer="sgd", speed=SPEED)[0]


def regression_on(network: Network, x: Array, y: Array) -> Regression:
    """Return the regression of y (n,) on the basis functions at x (n, p)."""
    basis = network.basis(x).values
    return regress(basis[:, : network.units], basis[:, network.units :], y, np.ones(len(y)))


def posteriors_of(network: Network, regression: Regression, given: Sequence[Hyperparameters]) -> list[LinearPosterior]:
    """Return the posterior of the values for each sample of the hyperparameters, eq. (4) to (7)."""
    eta = [each.eta[None] for each in given]
    return [
        mixture(network, [regression.weights(each)], eta=own, noise=1 / each.beta)
        for own, each in zip(eta, given, strict=True)
    ]


def draws_of(regression: Regression, count: int, rng: np.random.Generator) -> list[Hyperparameters]:
    """Return ``count`` samples of alpha, beta and the parameters of eta."""
    return regression.draws(BURN_IN + count, rng)[BURN_IN:]


def leave_one_out(network: Network, x: Array, y: Array, given: Sequence[Hyperparameters]) -> tuple[Array, Array]:
    """Return means and variances of all values given the others, averaged over the samples; the basis is fixed."""
    regression, basis, means, variances = regression_on(network, x, y), network.basis(x).values, [], []
    quadratic = np.concatenate([np.ones((len(x), 1)), x, x * x], axis=1)
    for each in given:
        eta = quadratic @ each.eta
        mean, variance = regression.leave_one_out(each, basis[:, : network.units], y - eta, np.ones(len(y)))
        means.append(eta + mean)
        variances.append(variance + 1 / each.beta)
    return np.mean(means, axis=0), np.mean(variances, axis=0) + np.var(means, axis=0)


def classifiers(network: Network, x: Array, labels: Array, count: int, rng: np.random.Generator) -> list[Laplace]:
    """Return the output weights given labels (n,), 1 or -1, for ``count`` samples of alpha."""
    blocks = one_block(network.basis(x).values, labels)
    mode = np.zeros(network.units)

    def fitted(theta: Array) -> tuple[Laplace, float]:
        nonlocal mode
        prior = Laplace(np.zeros(network.units), float(np.exp(theta[0])) * np.eye(network.units))
        found, evidence = laplace_approximation(blocks, prior, start=mode)
        mode = found.mean
        return found, evidence

    def log_density(theta: Array) -> float:
        if abs(theta[0]) > BOUNDS:
            return -np.inf
        return fitted(theta)[1] - 0.5 * float(theta[0] / LOG_ALPHA) ** 2

    return [fitted(theta)[0] for theta in slice_sample(log_density, np.zeros(1), count=count, rng=rng)]


def with_label(weights: Laplace, basis: Array, label: float) -> Laplace:
    """Return the output weights given one more label at a point with basis functions (D,)."""
    return laplace_approximation(one_block(basis[None], np.array([label])), weights)[0]


def one_block(basis: Array, labels: Array) -> Blocks:
    """Return the data of a classifier as its only block."""
    return lambda: iter([(basis, labels)])


def latent(network: Network, weights: Laplace) -> LinearPosterior:
    """Return the posterior of the latent function that is positive where trials succeed."""
    root = np.linalg.inv(np.linalg.cholesky(weights.precision)).T
    return mixture(network, [(weights.mean, root)], eta=np.empty((1, 0)))


@dataclass(frozen=True)
class Stack:
    """K posteriors on one network."""

    network: Network
    means: Array  # (D, K, s)
    roots: Array  # (D, K, D)

    @classmethod
    def of(cls, posteriors: Sequence[LinearPosterior]) -> Stack:
        """Return the posteriors of one network, each with the same number of fantasies."""
        means, roots = [each.mean for each in posteriors], [each.root for each in posteriors]
        return cls(posteriors[0].network, np.stack(means, axis=1), np.stack(roots, axis=1))

    def marginals(self, x: Array) -> tuple[Array, Array, Vjp]:
        """Return means (m, K, s) and variances (m, K) at x (m, p), and a map of gradients in them to those in x."""
        basis = self.network.basis(x)
        size, count, width = self.roots.shape
        roots, means = self.roots.reshape(size, -1), self.means.reshape(size, -1)
        spread = (basis.values @ roots).reshape(-1, count, width)

        def vjp(by_mean: Array, by_variance: Array) -> Array:
            by_spread = (2 * by_variance)[..., None] * spread
            by_basis = by_mean.reshape(len(x), -1) @ means.T + by_spread.reshape(len(x), -1) @ roots.T
            return basis.vjp(by_basis)

        variance = np.maximum(np.einsum("mkw,mkw->mk", spread, spread), TINY)
        return (basis.values @ means).reshape(-1, *self.means.shape[1:]), variance, vjp
