"""Training losses of the networks and their gradients, in closed form.

A loss is a function of the basis functions Phi; backpropagation takes its gradient to the weights of the layers. Let
A = beta Phi^T Phi + alpha I be the precision of the output weights and m = beta A^-1 Phi^T y their mean (eq. 6 and 7 of
Snoek et al. 2015). The negative log marginal likelihood L (eq. 8) has the gradient

    dL / dPhi = beta (Phi m - y) m^T + beta Phi A^-1,

because m minimises the quadratic form in eq. (8), so its own derivative does not contribute. One Cholesky factor of A
gives its inverse and its determinant. Several targets on the same basis functions are independent given these, with
common alpha and beta: L is the mean of theirs, and they share A. This algebra is in float64; everything else has the
precision of the networks.

Arrays are transposed here: units are rows and data are columns. The last unit is a constant one, so biases are weights
like all others, and arrays are read in the order of their memory.

Symbols: M networks, B data of each, K targets, p features, H units, D = H + 1 basis functions (the last is constant).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack
from scipy.special import expit

from sonde.arrays import Array
from sonde.surrogates.basis.networks import ACTIVATIONS, GAIN, Layer, Network
from sonde.surrogates.basis.regression import ALPHA, BETA, BOUNDS

Arrays = list[NDArray[Any]]

JITTER = 1e-4  # added to alpha, so that A is positive definite


class Parameters(NamedTuple):
    """The trained parameters: weights and biases of each layer, and parameters of the loss."""

    layers: tuple[Layer, ...]
    output: Array  # (M, D), linear output weights; the evidence integrates them out and does not use them
    alpha: Array  # (M,), log precision of the output weights; for the evidence only
    beta: Array  # (M,), log precision of the noise; for the evidence only

    @classmethod
    def of(cls, network: Network, dtype: Any = np.float32) -> Parameters:
        """Return the parameters of networks before training."""
        layers = tuple(Layer(*(each.astype(dtype) for each in layer)) for layer in network.layers)
        count = network.count
        return cls(layers, np.zeros((count, network.units), dtype), np.zeros(count), np.full(count, 3.0))

    @property
    def arrays(self) -> Arrays:
        """All parameters as a list, in a fixed order."""
        return [*(each for layer in self.layers for each in layer), self.output, self.alpha, self.beta]

    @classmethod
    def from_arrays(cls, arrays: Sequence[NDArray[Any]]) -> Parameters:
        """Return the parameters of such a list."""
        *flat, output, alpha, beta = arrays
        pairs = zip(flat[::2], flat[1::2], strict=True)
        return cls(tuple(Layer(*pair) for pair in pairs), output, alpha, beta)


class Objective(NamedTuple):
    """Losses (M,) and their gradients in the last layer (M, H, B), the output weights, log alpha and log beta."""

    losses: Array
    units: NDArray[Any]
    output: NDArray[Any]
    alpha: Array
    beta: Array


Loss = Callable[[Parameters, NDArray[Any], NDArray[Any], NDArray[Any]], Objective]


def loss_and_gradient(
    parameters: Parameters, activation: str, loss: str, x: NDArray[Any], targets: NDArray[Any], weights: NDArray[Any]
) -> tuple[Array, Parameters]:
    """Return losses (M,) at x (M, B, p) with targets (M, B) and weights (M, B), 0 or 1, and their gradients.

    The evidence also takes targets (M, K, B).
    """
    kinds, matrices = ACTIVATIONS[activation], [np.concatenate(layer, axis=1) for layer in parameters.layers]
    outputs = _forward(matrices, kinds, GAIN.astype(x.dtype) * x.swapaxes(1, 2))
    objective = LOSSES[loss](parameters, outputs[-1], targets, weights)
    gradients = _backward(matrices, kinds, outputs, objective.units)
    layers = tuple(Layer(each[:, :-1], each[:, -1:]) for each in gradients)
    return objective.losses, Parameters(layers, objective.output, objective.alpha, objective.beta)


def _forward(matrices: Arrays, kinds: Sequence[str], x: NDArray[Any]) -> Arrays:
    """Return the input and the outputs of all layers with their constant unit, each (M, H + 1, B)."""
    outputs = [_with_constant(len(x), x.shape[1], x)]
    outputs[0][:, :-1] = x
    for kind, matrix in zip(kinds, matrices, strict=True):
        outputs.append(_with_constant(len(matrix), matrix.shape[2], x))
        units = outputs[-1][:, :-1]
        np.matmul(matrix.swapaxes(1, 2), outputs[-2], out=units)
        np.tanh(units, out=units) if kind == "tanh" else np.maximum(units, 0, out=units)
    return outputs


def _with_constant(count: int, units: int, like: NDArray[Any]) -> NDArray[Any]:
    """Return an uninitialised array for units, and a constant one as the last unit."""
    empty = np.empty((count, units + 1, like.shape[2]), like.dtype)
    empty[:, -1] = 1.0
    return empty


def _backward(matrices: Arrays, kinds: Sequence[str], outputs: Arrays, gradients: NDArray[Any]) -> Arrays:
    """Return the gradients in the weight matrices by backpropagation."""
    found: Arrays = []
    for i in reversed(range(len(matrices))):
        units = outputs[i + 1][:, :-1]
        if kinds[i] == "tanh":
            delta = units * units
            np.subtract(1, delta, out=delta)
            delta *= gradients
        else:
            delta = gradients * (units > 0)
        found.append(outputs[i] @ delta.swapaxes(1, 2))
        if i:
            gradients = matrices[i][:, :-1] @ delta
    return found[::-1]


def _squares(parameters: Parameters, basis: NDArray[Any], targets: NDArray[Any], weights: NDArray[Any]) -> Objective:
    """The mean squared error of the linear output; its minimum is the MAP estimate of the paper."""
    errors = (parameters.output[:, None, :] @ basis)[:, 0] - targets
    errors *= weights
    counts = weights.sum(axis=1)
    losses = np.sum(errors.astype(float) ** 2, axis=1) / counts
    return _by_output(parameters, basis, losses, errors * (2 / counts)[:, None])


def _logistic(parameters: Parameters, basis: NDArray[Any], targets: NDArray[Any], weights: NDArray[Any]) -> Objective:
    """The mean negative log likelihood of labels 1 and -1."""
    margins = targets * (parameters.output[:, None, :] @ basis)[:, 0]
    counts = weights.sum(axis=1)
    losses = np.sum(weights * np.logaddexp(0, -margins).astype(float), axis=1) / counts
    return _by_output(parameters, basis, losses, -targets * weights * expit(-margins) / counts[:, None])


def _by_output(parameters: Parameters, basis: NDArray[Any], losses: Array, gradients: NDArray[Any]) -> Objective:
    """Return the objective of a loss with gradients (M, B) in the linear output."""
    nothing = np.zeros(len(losses))
    by_output = (basis @ gradients[..., None])[..., 0]
    return Objective(losses, parameters.output[:, :-1, None] * gradients[:, None, :], by_output, nothing, nothing)


def _evidence(parameters: Parameters, basis: NDArray[Any], targets: NDArray[Any], weights: NDArray[Any]) -> Objective:
    """The negative log marginal likelihood (eq. 8) and log priors of alpha and beta, divided by the number of data."""
    dtype, size = basis.dtype, basis.shape[1]
    targets = targets.reshape(len(targets), -1, targets.shape[-1])  # (M, K, B)
    if not weights.all():
        basis, targets = basis * weights[:, None, :], targets * weights[:, None, :]
    several = targets.shape[1]
    counts = weights.sum(axis=1, dtype=float)
    log_alpha, log_beta = (np.clip(each.astype(float), -BOUNDS, BOUNDS) for each in (parameters.alpha, parameters.beta))
    alpha, beta = np.exp(log_alpha), np.exp(log_beta)
    gram, inverse, log_determinant = _inverted(basis, alpha, beta)
    projected = (targets @ basis.swapaxes(1, 2)).astype(float)
    mean = beta[:, None, None] * projected @ inverse  # eq. (6), (M, K, D)
    errors = mean.astype(dtype) @ basis - targets
    misfit, length = (np.mean(np.sum(each**2, axis=2), axis=1) for each in (errors.astype(float), mean))
    logs = size * log_alpha + counts * log_beta - log_determinant
    hyper = 0.5 * ((log_alpha - ALPHA[0]) / ALPHA[1]) ** 2 + 0.5 * ((log_beta - BETA[0]) / BETA[1]) ** 2
    losses = (0.5 * (beta * misfit + (alpha + JITTER) * length - logs) + hyper) / counts
    share = beta / counts
    gradients = (share[:, None, None] * inverse[:, :-1]).astype(dtype) @ basis
    gradients += ((share / several)[:, None, None] * mean[:, :, :-1]).astype(dtype).swapaxes(1, 2) @ errors
    traces = np.trace(inverse, axis1=1, axis2=2), np.sum(inverse * gram, axis=(1, 2))
    by_alpha = 0.5 * alpha * (length + traces[0]) - 0.5 * size + (log_alpha - ALPHA[0]) / ALPHA[1] ** 2
    by_beta = 0.5 * beta * (misfit + traces[1]) - 0.5 * counts + (log_beta - BETA[0]) / BETA[1] ** 2
    by_alpha *= log_alpha == parameters.alpha  # log alpha and log beta are clipped
    by_beta *= log_beta == parameters.beta
    return Objective(losses, gradients, np.zeros_like(parameters.output), by_alpha / counts, by_beta / counts)


def _inverted(basis: NDArray[Any], alpha: Array, beta: Array) -> tuple[Array, Array, Array]:
    """Return Phi^T Phi, A^-1 (eq. 7) and log |A| for each network; NaN where A is not positive definite."""
    count, size, _ = basis.shape
    grams, inverses, logs = np.empty((count, size, size)), np.empty((count, size, size)), np.full(count, np.nan)
    for k in range(count):
        own = basis[k].astype(float)
        grams[k] = own @ own.T
        precision = beta[k] * grams[k]
        precision[np.diag_indices(size)] += alpha[k] + JITTER
        factor, failed = lapack.dpotrf(precision.T, lower=1, clean=1)
        if failed:
            inverses[k] = np.nan
            continue
        logs[k] = 2 * np.sum(np.log(np.diagonal(factor)))
        inverse, _ = lapack.dpotri(factor, lower=1)
        inverses[k] = inverse + np.tril(inverse, -1).T
    return grams, inverses, logs


LOSSES: dict[str, Loss] = {"squares": _squares, "logistic": _logistic, "evidence": _evidence}
LOSS_OF_ZERO = {"squares": 1.0, "logistic": 1.0, "evidence": 10.0}  # of predicting zero, approximately
