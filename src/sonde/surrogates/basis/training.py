"""Training of the networks by stochastic gradients on minibatches, in NumPy.

SOAP (Vyas et al. 2025) runs Adam in the eigenbasis of each layer's gradient covariances: a few hundred steps reach the
loss of two thousand steps of Adam. Adam and SGD with momentum are there for comparison; the paper uses SGD. All
networks are trained in parallel. A run that diverges is restarted with a smaller learning rate.

``losses`` has the losses and their gradients. Weights are float32.

Symbols: M networks, K targets, B rows of a minibatch, P parameters of a network, T steps.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sonde.arrays import Array, Index
from sonde.surrogates.basis.losses import LOSS_OF_ZERO, Parameters, loss_and_gradient
from sonde.surrogates.basis.networks import Layer, Network
from sonde.surrogates.basis.regression import regress

Singles = NDArray[np.float32]

RECORDED = 100  # the mean loss of each so many steps is recorded
BATCHES = (64, 256)  # B: the first up to 4 x 64 rows
RESTARTS = 3
RESTART_FACTOR = 0.2  # factor of the learning rate at each restart
DIVERGED = 10.0  # a network whose loss exceeds so many times the loss of predicting zero has diverged
WEIGHT_DECAY = 1e-4  # times the learning rate, at each step
RATES = {"soap": 4e-2, "adam": 5e-3, "sgd": 2e-2}
MAX_NORM, MOMENTUM = 10.0, 0.9  # of SGD: the norm to which gradients are clipped, and the momentum
MOMENTS = {"soap": (0.8, 0.95), "adam": (0.9, 0.999)}  # Adam's beta_1 and beta_2
EIGENBASIS_EVERY = 32  # SOAP: the eigenbasis is updated after 1, 2, 4, 8, ... steps and every 32 steps


def train(
    network: Network, x: Array, targets: Array, rows: Sequence[Index], *, steps: int, rng: np.random.Generator,
    loss: str = "squares", optimizer: str = "soap", speed: float = 1.0,
) -> tuple[Network, list[float]]:  # fmt: skip
    """Return the networks after training network k on ``rows[k]``, and the mean loss of each 100 steps.

    Targets are (n,), or (n, K) for the evidence: then the basis functions are those of several targets.
    ``speed`` multiplies the learning rate. If all restarts diverge, the networks are returned unchanged: they are a
    usable basis as well.
    """
    batch = batch_size(rows)
    inputs, values = x.astype(np.float32), targets.astype(np.float32)
    with np.errstate(all="ignore"):  # an overflow makes the loss infinite, which ends the run
        initial = initial_parameters(network, x, targets, rows, loss)
        for attempt in range(RESTARTS):
            flat = flatten(initial.arrays)
            parameters = unflatten(flat, initial)
            update = OPTIMIZERS[optimizer](flat, parameters.layers)
            trace: list[Array] = []
            for rate in learning_rates(steps, optimizer, speed, attempt).tolist():
                index, weights = minibatch(rows, batch, rng)
                drawn = np.moveaxis(values[index], 1, -1)  # (M, B), or (M, K, B)
                losses, gradient = loss_and_gradient(
                    parameters, network.activation, loss, inputs[index], drawn, weights
                )
                trace.append(losses)
                window = len(trace) % RECORDED or RECORDED
                ended = window == RECORDED or len(trace) == steps
                if not np.isfinite(losses).all() or (ended and diverged(np.array(trace[-window:]), loss)):
                    break
                flat *= 1 - rate * WEIGHT_DECAY
                flat -= rate * update(flatten(gradient.arrays))
            else:
                if np.isfinite(flat).all():
                    layers = tuple(Layer(*(each.astype(float) for each in layer)) for layer in parameters.layers)
                    return replace(network, layers=layers), _mean_losses(trace)
    return network, _mean_losses(trace)


def initial_parameters(network: Network, x: Array, targets: Array, rows: Sequence[Index], loss: str) -> Parameters:
    """Return the initial parameters, with alpha and beta fitted to the untrained basis."""
    initial = Parameters.of(network)
    if loss != "evidence":
        return initial
    for k, own in enumerate(rows):
        few = own[: BATCHES[1]]
        if np.isfinite(targets[few]).all():
            basis = replace(network.members(slice(k, k + 1)), quadratic=False).basis(x[few]).values
            columns = targets[few].reshape(len(few), -1).T
            best = [regress(basis, np.empty((len(few), 0)), y, np.ones(len(few))).most_probable() for y in columns]
            initial.alpha[k], initial.beta[k] = np.mean([np.log([each.alpha, each.beta]) for each in best], axis=0)
    return initial


def flatten(arrays: Sequence[NDArray[Any]]) -> Singles:
    """Return arrays (M, ...) as one array (M, P)."""
    rows = [each.reshape(len(each), -1) for each in arrays]
    return np.concatenate(rows, axis=1, dtype=np.float32, casting="same_kind")


def unflatten(flat: NDArray[Any], like: Parameters) -> Parameters:
    """Return the parameters as views of one array (M, P)."""
    ends = np.cumsum([each[0].size for each in like.arrays])
    pieces = zip(np.split(flat, ends[:-1], axis=1), like.arrays, strict=True)
    return Parameters.from_arrays([piece.reshape(each.shape) for piece, each in pieces])


def batch_size(rows: Sequence[Index]) -> int:
    """Return the size of a minibatch, B."""
    return BATCHES[0] if max(map(len, rows)) <= 4 * BATCHES[0] else BATCHES[1]


def learning_rates(steps: int, optimizer: str, speed: float, attempt: int) -> Array:
    """Return the learning rate of each step (T,), which decreases linearly to zero."""
    return np.asarray(speed * RATES[optimizer] * RESTART_FACTOR**attempt * (1 - np.arange(steps) / steps))


def diverged(losses: Array, loss: str) -> bool:
    """Return whether the mean of the losses (T, M) of any network is too high or NaN."""
    return not np.all(np.mean(losses, axis=0) < DIVERGED * LOSS_OF_ZERO[loss])


def _mean_losses(losses: list[Array]) -> list[float]:
    """Return the mean loss of each hundred steps."""
    return [float(np.mean(losses[start : start + RECORDED])) for start in range(0, len(losses), RECORDED)]


def minibatch(rows: Sequence[Index], size: int, rng: np.random.Generator) -> tuple[Index, Singles]:
    """Return row indexes and weights (M, B): all rows, padded with weight zero, or a random draw if there are many."""
    longest = min(size, max(map(len, rows)))
    index, weights = np.zeros((len(rows), longest), dtype=np.intp), np.ones((len(rows), longest), np.float32)
    for k, own in enumerate(rows):
        if len(own) <= size:
            index[k, : len(own)] = own
            index[k, len(own) :] = own[0]
            weights[k, len(own) :] = 0.0
        else:
            index[k] = own[rng.integers(len(own), size=size)]
    return index, weights


Update = Callable[[Singles], Singles]  # from gradients to steps, both (M, P)


@dataclass
class _Adam:
    """Adam (Kingma & Ba 2015): the mean of the gradients over the root of their mean square."""

    means: Singles
    squares: Singles
    decays: tuple[float, float]
    count: int = 0

    @classmethod
    def start(cls, shape: tuple[int, ...], decays: tuple[float, float]) -> _Adam:
        return cls(np.zeros(shape, np.float32), np.zeros(shape, np.float32), decays)

    def __call__(self, gradients: Singles) -> Singles:
        self.count += 1
        first, second = (1 - decay**self.count for decay in self.decays)
        self.means += (1 - self.decays[0]) * (gradients - self.means)
        self.squares += (1 - self.decays[1]) * (gradients * gradients - self.squares)
        return self.means / first / (np.sqrt(self.squares / second) + 1e-8)


def _adam(parameters: Singles, layers: Sequence[Layer]) -> Update:
    return _Adam.start(parameters.shape, MOMENTS["adam"])


def _soap(parameters: Singles, layers: Sequence[Layer]) -> Update:
    """SOAP (Vyas et al. 2025) for the layers, and Adam for the few other parameters."""
    shapes = [(len(weights), weights.shape[1] + 1, weights.shape[2]) for weights, _ in layers]  # with the biases
    ends = np.cumsum([rows * columns for _, rows, columns in shapes])
    others = (len(parameters), parameters.shape[1] - ends[-1])
    updates: list[Update] = [*map(_soap_of_layer, shapes), _Adam.start(others, MOMENTS["soap"])]

    def update(gradients: Singles) -> Singles:
        pieces = np.split(gradients, ends, axis=1)
        return np.concatenate([own(piece) for own, piece in zip(updates, pieces, strict=True)], axis=1)

    return update


def _soap_of_layer(shape: tuple[int, int, int]) -> Update:
    """Return Adam in the eigenbasis of the moving averages of G G^T and G^T G, with G the gradient of a layer."""
    moments = _Adam.start(shape, MOMENTS["soap"])
    covariances = [np.zeros((shape[0], size, size), np.float32) for size in shape[1:]]
    bases: list[Singles] = [
        np.broadcast_to(np.eye(size, dtype=np.float32), (shape[0], size, size)) for size in shape[1:]
    ]

    def update(gradients: Singles) -> Singles:
        own: NDArray[Any] = gradients.reshape(shape)
        covariances[0] += (1 - moments.decays[1]) * (own @ _transpose(own) - covariances[0])
        covariances[1] += (1 - moments.decays[1]) * (_transpose(own) @ own - covariances[1])
        if moments.count & (moments.count - 1) == 0 or moments.count % EIGENBASIS_EVERY == 0:
            found = [_eigenvectors(covariance, old) for covariance, old in zip(covariances, bases, strict=True)]
            left, right = _transpose(found[0]) @ bases[0], _transpose(bases[1]) @ found[1]
            moments.means = left @ moments.means @ right
            moments.squares = left**2 @ moments.squares @ right**2  # gradients are uncorrelated in the old eigenbasis
            bases[:] = found
        rotated = _transpose(bases[0]) @ own @ bases[1]
        step = bases[0] @ moments(rotated) @ _transpose(bases[1])
        return step.reshape(gradients.shape)

    return update


def _transpose(matrices: NDArray[Any]) -> NDArray[Any]:
    return matrices.swapaxes(1, 2)


def _eigenvectors(matrices: NDArray[Any], otherwise: NDArray[Any]) -> NDArray[Any]:
    """Return eigenvectors, or ``otherwise`` if an entry is not finite: then the loss is not finite either."""
    return np.linalg.eigh(matrices)[1] if np.isfinite(matrices).all() else otherwise


def _sgd(parameters: Singles, layers: Sequence[Layer]) -> Update:
    """SGD with momentum; the gradient of each network is clipped to a norm."""
    velocity = np.zeros_like(parameters)

    def update(gradients: Singles) -> Singles:
        nonlocal velocity
        norms = np.sqrt(np.sum(gradients.astype(float) ** 2, axis=1, keepdims=True))
        clipping = np.minimum(1.0, MAX_NORM / np.maximum(norms, 1e-30)).astype(np.float32)
        velocity = MOMENTUM * velocity + gradients * clipping
        return velocity

    return update


OPTIMIZERS: dict[str, Callable[[Singles, Sequence[Layer]], Update]] = {"soap": _soap, "adam": _adam, "sgd": _sgd}
