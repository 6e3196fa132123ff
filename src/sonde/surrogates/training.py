"""Training of the networks, in NumPy: by L-BFGS on all rows, or by stochastic gradients.

L-BFGS minimises the loss of each network on all of its rows: up to a thousand of them, eighty iterations reach what two
thousand steps of Adam do, at a tenth of the cost. Adam, and SGD with momentum, train the networks side by side on
minibatches; a run that goes astray is begun again, slower.

The losses and their gradients are in ``losses``; weights are float32.

Symbols: M networks, B rows of a minibatch, p inputs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from sonde.surrogates.head import regress
from sonde.surrogates.losses import LOSSES_OF_ZERO, Parameters, loss_and_gradient
from sonde.surrogates.network import Layer, Network

Array = NDArray[np.float64]
Rows = NDArray[np.intp]

RECORDED = 100  # stochastic steps whose mean loss is told
BATCHES = (64, 256)  # B: the first where the data are not more than a few of them
RESTARTS = 3
SLOWER = 0.2  # what a restart makes of the learning rate
ASTRAY = 10.0  # times the loss of answering zero: a network worse than that has diverged
DECAY = 1e-4  # of the weights, a step times the learning rate
RATES = {"adam": 5e-3, "sgd": 2e-2}
CLIPPED, MOMENTUM = 10.0, 0.9  # SGD: the largest norm of a gradient, and how much of the last step is kept
MOMENTS = (0.9, 0.999)  # Adam: how much of the last moments is kept


def train(
    network: Network, x: Array, targets: Array, rows: Sequence[Rows], *, steps: int, rng: np.random.Generator,
    loss: str = "squares", optimizer: str = "lbfgs", speed: float = 1.0,
) -> tuple[Network, list[float]]:  # fmt: skip
    """Return the networks after training network k on ``rows[k]``, and mean losses on the way.

    ``speed`` multiplies the learning rate of stochastic gradients. Networks whose training fails come back as they
    were, which is a basis as well.
    """
    with np.errstate(all="ignore"):  # values that overflow make a loss infinite, which ends the training
        if optimizer == "lbfgs":
            return _by_lbfgs(network, x, targets, rows, steps, loss)
        return _by_steps(network, x, targets, rows, steps, rng, loss, optimizer, speed)


def _by_lbfgs(
    network: Network, x: Array, targets: Array, rows: Sequence[Rows], steps: int, loss: str
) -> tuple[Network, list[float]]:
    """Train each network by itself; the losses are the mean one before and after."""
    parts, losses = [], []
    for k, own in enumerate(rows):
        single = network.members(slice(k, k + 1))
        layers, before, after = _minimised(single, x[own], targets[own], steps, loss)
        parts.append(layers)
        losses.append((before, after))
    stages = zip(*parts, strict=True)
    layers = tuple(Layer(*map(np.concatenate, zip(*stage, strict=True))) for stage in stages)
    return replace(network, layers=layers), np.mean(losses, axis=0).tolist()


def _minimised(
    network: Network, x: Array, targets: Array, steps: int, loss: str
) -> tuple[tuple[Layer, ...], float, float]:
    """Return the layers of one network after L-BFGS, its loss before and after."""
    begun = _first_guess(network, x, targets, loss)
    shapes = [each.shape for each in begun.arrays]
    cuts = np.cumsum([each.size for each in begun.arrays])[:-1]
    inputs, told, ones = x.astype(np.float32)[None], targets.astype(np.float32)[None], np.ones((1, len(x)), np.float32)
    losses: list[float] = []

    def unpack(theta: Array) -> Parameters:
        arrays = [part.reshape(shape) for part, shape in zip(np.split(theta, cuts), shapes, strict=True)]
        return Parameters.from_arrays([*(each.astype(np.float32) for each in arrays[:-2]), *arrays[-2:]])

    def objective(theta: Array) -> tuple[float, Array]:
        reached, gradient = loss_and_gradient(unpack(theta), network.activation, loss, inputs, told, ones)
        losses.append(float(reached[0]))
        slopes = np.concatenate([each.ravel() for each in gradient.arrays]).astype(float)
        good = np.isfinite(reached[0]) and bool(np.isfinite(slopes).all())
        return (losses[-1], slopes) if good else (np.inf, np.zeros_like(slopes))

    start = np.concatenate([each.ravel() for each in begun.arrays]).astype(float)
    options = {"maxiter": steps, "ftol": 0.0, "gtol": 0.0}
    found = minimize(objective, start, jac=True, method="L-BFGS-B", options=options)
    trained = np.isfinite(found.fun) and found.fun < losses[0]
    layers = unpack(found.x if trained else start).layers
    as_they_were = network.layers if not trained else None
    doubles = tuple(Layer(*(each.astype(float) for each in layer)) for layer in layers)
    return as_they_were or doubles, losses[0], float(found.fun) if trained else losses[0]


def _first_guess(network: Network, x: Array, targets: Array, loss: str) -> Parameters:
    """Return the parameters with alpha and beta that suit the basis as it is."""
    begun = Parameters.of(network)
    if loss != "evidence" or not np.isfinite(targets).all():
        return begun
    basis = replace(network, quadratic=False).basis(x).values
    best = regress(basis, np.empty((len(x), 0)), targets, np.ones(len(x))).most_probable()
    return begun._replace(alpha=np.log([best.alpha]), beta=np.log([best.beta]))


def _by_steps(
    network: Network, x: Array, targets: Array, rows: Sequence[Rows], steps: int, rng: np.random.Generator,
    loss: str, optimizer: str, speed: float,
) -> tuple[Network, list[float]]:  # fmt: skip
    """Train all networks by stochastic gradients."""
    batch = batch_size(rows)
    inputs, told = x.astype(np.float32), targets.astype(np.float32)
    begun = Parameters.of(network)
    for attempt in range(RESTARTS):
        flat = side_by_side(begun.arrays)
        parameters = parts(flat, begun)
        move = OPTIMIZERS[optimizer](flat)
        rates = learning_rates(steps, optimizer, speed, attempt)
        reached: list[Array] = []
        for rate in rates.tolist():
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


def side_by_side(arrays: Sequence[NDArray[Any]]) -> NDArray[np.float32]:
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
    """Return the learning rate of each step, along half a cosine."""
    half = 0.5 + 0.5 * np.cos(np.pi * np.arange(steps) / steps)
    return np.asarray(speed * RATES[optimizer] * SLOWER**attempt * half)


def astray(reached: Array, loss: str) -> bool:
    """Return whether a network has diverged, by its losses (T, M) of some steps."""
    return not np.all(np.mean(reached, axis=0) < ASTRAY * LOSSES_OF_ZERO[loss])  # NaN too


def _recorded(reached: list[Array]) -> list[float]:
    """Return the mean loss of each hundred steps."""
    return [float(np.mean(reached[start : start + RECORDED])) for start in range(0, len(reached), RECORDED)]


def minibatch(rows: Sequence[Rows], size: int, rng: np.random.Generator) -> tuple[Rows, NDArray[np.float32]]:
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


Move = Callable[[NDArray[np.float32]], NDArray[np.float32]]  # from gradients (M, all of a network) to moves


def _adam(parameters: NDArray[np.float32]) -> Move:
    """Return the moves of Adam (Kingma & Ba 2015)."""
    means, squares, count = np.zeros_like(parameters), np.zeros_like(parameters), 0

    def move(gradients: NDArray[np.float32]) -> NDArray[np.float32]:
        nonlocal means, squares, count
        count += 1
        first, second = (1 - kept**count for kept in MOMENTS)
        means += (1 - MOMENTS[0]) * (gradients - means)
        squares += (1 - MOMENTS[1]) * (gradients * gradients - squares)
        return means / first / (np.sqrt(squares / second) + 1e-8)

    return move


def _sgd(parameters: NDArray[np.float32]) -> Move:
    """Return steps with momentum, the gradient of each network clipped to a norm."""
    kept = np.zeros_like(parameters)

    def move(gradients: NDArray[np.float32]) -> NDArray[np.float32]:
        nonlocal kept
        norms = np.sqrt(np.sum(gradients.astype(float) ** 2, axis=1, keepdims=True))
        kept = MOMENTUM * kept + gradients * np.minimum(1.0, CLIPPED / np.maximum(norms, 1e-30)).astype(np.float32)
        return kept

    return move


OPTIMIZERS: dict[str, Callable[[NDArray[np.float32]], Move]] = {"adam": _adam, "sgd": _sgd}
