"""Training of the networks, in NumPy, by gradients on minibatches.

SOAP is Adam along other axes, those along which the gradients of a layer are uncorrelated: a few hundred steps of it
reach what two thousand of Adam do. Adam and SGD with momentum are there for comparison, SGD for the paper's form. All
networks are trained side by side; a run that goes astray is begun again, slower.

The losses and their gradients are in ``losses``; weights are float32.

Symbols: M networks, B rows of a minibatch, p inputs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sonde.surrogates.basis.losses import LOSSES_OF_ZERO, Parameters, loss_and_gradient
from sonde.surrogates.basis.networks import Layer, Network
from sonde.surrogates.basis.regression import regress

Array = NDArray[np.float64]
Singles = NDArray[np.float32]
Rows = NDArray[np.intp]

RECORDED = 100  # steps whose mean loss is told
BATCHES = (64, 256)  # B: the first where the data are not more than a few of them
RESTARTS = 3
SLOWER = 0.2  # what a restart makes of the learning rate
ASTRAY = 10.0  # times the loss of answering zero: a network worse than that has diverged
DECAY = 1e-4  # of the weights, a step times the learning rate
RATES = {"soap": 4e-2, "adam": 5e-3, "sgd": 2e-2}
CLIPPED, MOMENTUM = 10.0, 0.9  # SGD: the largest norm of a gradient, and how much of the last step is kept
MOMENTS = {"soap": (0.8, 0.95), "adam": (0.9, 0.999)}  # how much is kept of the last mean and of the last square
TURNED = 32  # SOAP: the axes are found anew after 1, 2, 4, 8, ... steps, and after each so many


def train(
    network: Network, x: Array, targets: Array, rows: Sequence[Rows], *, steps: int, rng: np.random.Generator,
    loss: str = "squares", optimizer: str = "soap", speed: float = 1.0,
) -> tuple[Network, list[float]]:  # fmt: skip
    """Return the networks after training network k on ``rows[k]``, and mean losses on the way.

    ``speed`` multiplies the learning rate. Networks whose training fails come back as they were, which is a basis as
    well.
    """
    batch = batch_size(rows)
    inputs, told = x.astype(np.float32), targets.astype(np.float32)
    with np.errstate(all="ignore"):  # values that overflow make a loss infinite, which ends the training
        begun = before_training(network, x, targets, rows, loss)
        for attempt in range(RESTARTS):
            flat = side_by_side(begun.arrays)
            parameters = parts(flat, begun)
            move = OPTIMIZERS[optimizer](flat, parameters.layers)
            reached: list[Array] = []
            for rate in learning_rates(steps, optimizer, speed, attempt).tolist():
                index, weights = minibatch(rows, batch, rng)
                losses, gradient = loss_and_gradient(
                    parameters, network.activation, loss, inputs[index], told[index], weights
                )
                reached.append(losses)
                since = len(reached) % RECORDED or RECORDED
                ended = since == RECORDED or len(reached) == steps
                if not np.isfinite(losses).all() or (ended and astray(np.array(reached[-since:]), loss)):
                    break
                flat *= 1 - rate * DECAY
                flat -= rate * move(side_by_side(gradient.arrays))
            else:
                if np.isfinite(flat).all():
                    layers = tuple(Layer(*(each.astype(float) for each in layer)) for layer in parameters.layers)
                    return replace(network, layers=layers), _recorded(reached)
    return network, _recorded(reached)


def before_training(network: Network, x: Array, targets: Array, rows: Sequence[Rows], loss: str) -> Parameters:
    """Return the parameters before training, with alpha and beta that suit the basis as it is."""
    begun = Parameters.of(network)
    if loss != "evidence":
        return begun
    for k, own in enumerate(rows):
        few = own[: BATCHES[1]]
        if np.isfinite(targets[few]).all():
            basis = replace(network.members(slice(k, k + 1)), quadratic=False).basis(x[few]).values
            best = regress(basis, np.empty((len(few), 0)), targets[few], np.ones(len(few))).most_probable()
            begun.alpha[k], begun.beta[k] = np.log([best.alpha, best.beta])
    return begun


def side_by_side(arrays: Sequence[NDArray[Any]]) -> Singles:
    """Return arrays (M, ...) as one (M, all of a network)."""
    rows = [each.reshape(len(each), -1) for each in arrays]
    return np.concatenate(rows, axis=1, dtype=np.float32, casting="same_kind")


def parts(flat: NDArray[Any], like: Parameters) -> Parameters:
    """Return the parameters as parts of one array (M, all of a network)."""
    ends = np.cumsum([each[0].size for each in like.arrays])
    pieces = zip(np.split(flat, ends[:-1], axis=1), like.arrays, strict=True)
    return Parameters.from_arrays([piece.reshape(each.shape) for piece, each in pieces])


def batch_size(rows: Sequence[Rows]) -> int:
    """Return how many rows a minibatch has, B."""
    return BATCHES[0] if max(map(len, rows)) <= 4 * BATCHES[0] else BATCHES[1]


def learning_rates(steps: int, optimizer: str, speed: float, attempt: int) -> Array:
    """Return the learning rate of each step: it falls to zero along a line."""
    return np.asarray(speed * RATES[optimizer] * SLOWER**attempt * (1 - np.arange(steps) / steps))


def astray(reached: Array, loss: str) -> bool:
    """Return whether a network has diverged, by its losses (T, M) of some steps."""
    return not np.all(np.mean(reached, axis=0) < ASTRAY * LOSSES_OF_ZERO[loss])  # NaN too


def _recorded(reached: list[Array]) -> list[float]:
    """Return the mean loss of each hundred steps."""
    return [float(np.mean(reached[start : start + RECORDED])) for start in range(0, len(reached), RECORDED)]


def minibatch(rows: Sequence[Rows], size: int, rng: np.random.Generator) -> tuple[Rows, Singles]:
    """Return rows (M, B) and weights: all of few rows, filled up with rows of weight zero; a draw from many."""
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


Move = Callable[[Singles], Singles]  # from gradients (M, all of a network) to moves


@dataclass
class _Moments:
    """Moves by the mean of gradients over the root of their mean square: Adam (Kingma & Ba 2015)."""

    means: Singles
    squares: Singles
    kept: tuple[float, float]
    count: int = 0

    @classmethod
    def none(cls, shape: tuple[int, ...], kept: tuple[float, float]) -> _Moments:
        return cls(np.zeros(shape, np.float32), np.zeros(shape, np.float32), kept)

    def __call__(self, gradients: Singles) -> Singles:
        self.count += 1
        first, second = (1 - kept**self.count for kept in self.kept)
        self.means += (1 - self.kept[0]) * (gradients - self.means)
        self.squares += (1 - self.kept[1]) * (gradients * gradients - self.squares)
        return self.means / first / (np.sqrt(self.squares / second) + 1e-8)


def _adam(parameters: Singles, layers: Sequence[Layer]) -> Move:
    return _Moments.none(parameters.shape, MOMENTS["adam"])


def _soap(parameters: Singles, layers: Sequence[Layer]) -> Move:
    """Return the moves of SOAP (Vyas et al. 2025): each layer's own, and those of Adam for the few other parameters."""
    shapes = [(len(weights), weights.shape[1] + 1, weights.shape[2]) for weights, _ in layers]  # with the biases
    ends = np.cumsum([rows * columns for _, rows, columns in shapes])
    others = (len(parameters), parameters.shape[1] - ends[-1])
    moves: list[Move] = [*map(_soap_of_layer, shapes), _Moments.none(others, MOMENTS["soap"])]

    def move(gradients: Singles) -> Singles:
        parts = np.split(gradients, ends, axis=1)
        return np.concatenate([own(part) for own, part in zip(moves, parts, strict=True)], axis=1)

    return move


def _soap_of_layer(shape: tuple[int, int, int]) -> Move:
    """Return the moves of Adam along the eigenvectors of the mean products G G^T and G^T G of a layer's gradients G."""
    moments = _Moments.none(shape, MOMENTS["soap"])
    products = [np.zeros((shape[0], size, size), np.float32) for size in shape[1:]]
    axes: list[Singles] = [
        np.broadcast_to(np.eye(size, dtype=np.float32), (shape[0], size, size)) for size in shape[1:]
    ]

    def move(gradients: Singles) -> Singles:
        own: NDArray[Any] = gradients.reshape(shape)
        products[0] += (1 - moments.kept[1]) * (own @ _transposed(own) - products[0])
        products[1] += (1 - moments.kept[1]) * (_transposed(own) @ own - products[1])
        if moments.count & (moments.count - 1) == 0 or moments.count % TURNED == 0:
            found = [_eigenvectors(product, old) for product, old in zip(products, axes, strict=True)]
            left, right = _transposed(found[0]) @ axes[0], _transposed(axes[1]) @ found[1]
            moments.means = left @ moments.means @ right
            moments.squares = left**2 @ moments.squares @ right**2  # the old axes were uncorrelated
            axes[:] = found
        turned = _transposed(axes[0]) @ own @ axes[1]
        moved = axes[0] @ moments(turned) @ _transposed(axes[1])
        return moved.reshape(gradients.shape)

    return move


def _transposed(matrices: NDArray[Any]) -> NDArray[Any]:
    return matrices.swapaxes(1, 2)


def _eigenvectors(matrices: NDArray[Any], otherwise: NDArray[Any]) -> NDArray[Any]:
    """Return them, or what there was before where a number is none: then the loss is none either."""
    return np.linalg.eigh(matrices)[1] if np.isfinite(matrices).all() else otherwise


def _sgd(parameters: Singles, layers: Sequence[Layer]) -> Move:
    """Return steps with momentum, the gradient of each network clipped to a norm."""
    kept = np.zeros_like(parameters)

    def move(gradients: Singles) -> Singles:
        nonlocal kept
        norms = np.sqrt(np.sum(gradients.astype(float) ** 2, axis=1, keepdims=True))
        kept = MOMENTUM * kept + gradients * np.minimum(1.0, CLIPPED / np.maximum(norms, 1e-30)).astype(np.float32)
        return kept

    return move


OPTIMIZERS: dict[str, Callable[[Singles, Sequence[Layer]], Move]] = {"soap": _soap, "adam": _adam, "sgd": _sgd}
