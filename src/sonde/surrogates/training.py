"""Training of the networks by stochastic gradients, in JAX.

Many networks are trained at once, each on rows of its own. Minibatches are drawn outside and handed over a hundred at a
time, so the compiled function knows their size and not that of the data: one compilation serves any number of
observations, and between two calls there is time to see whether training has gone astray.

Symbols: M networks, T steps of a call, B rows of a minibatch, p inputs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax  # type: ignore[import-untyped]
from numpy.typing import NDArray

from sonde.surrogates.network import ACTIVATIONS, GAIN, Layer, Network

Array = NDArray[np.float64]
Rows = NDArray[np.intp]

STEPS = 100  # T: steps of one call
BATCHES = (64, 256)  # B: the first where the data are not more than a few of them
RESTARTS = 3
SLOWER = 0.2  # what a restart makes of the learning rate
ASTRAY = 10.0  # times the loss of answering zero: a network worse than that has diverged
DECAY = 1e-4  # of the weights, a step times the learning rate
OPTIMIZERS: dict[str, Callable[[], optax.GradientTransformation]] = {
    "adam": optax.scale_by_adam,
    "sgd": lambda: optax.chain(optax.clip_by_global_norm(10.0), optax.trace(decay=0.9)),
}
RATES = {"adam": 5e-3, "sgd": 2e-2}


def train(
    network: Network, x: Array, targets: Array, rows: Sequence[Rows], *, steps: int, rng: np.random.Generator,
    loss: str = "squares", optimizer: str = "adam", speed: float = 1.0,
) -> tuple[Network, list[float]]:  # fmt: skip
    """Return the networks after training network k on ``rows[k]``, and the losses on the way, one for each call.

    ``speed`` multiplies the learning rate. Training that diverges is begun again, slower; if it always does, the
    networks come back as they were, which is a basis as well.
    """
    begun = _parameters(network)
    batch = BATCHES[0] if max(map(len, rows)) <= 4 * BATCHES[0] else BATCHES[1]
    run = _compiled(network.activation, loss, optimizer)
    calls = max(1, round(steps / STEPS))
    limit = ASTRAY * _LOSSES_OF_ZERO[loss]
    for attempt in range(RESTARTS):
        parameters, state = begun, OPTIMIZERS[optimizer]().init(begun)
        rates = speed * RATES[optimizer] * SLOWER**attempt * _cosine(calls * STEPS)
        losses: list[float] = []
        for call in range(calls):
            index, weights = _minibatches(rows, batch, rng)
            rate = rates[call * STEPS : (call + 1) * STEPS]
            arrays = (x[index], targets[index], weights, rate)
            parameters, state, reached = run(parameters, state, *(np.asarray(each, np.float32) for each in arrays))
            losses.append(float(np.mean(reached)))
            if not np.all(np.asarray(reached) < limit):  # NaN too
                break
        else:
            layers = tuple(Layer(*(np.asarray(each, float) for each in layer)) for layer in parameters["layers"])
            return replace(network, layers=layers), losses
    return network, losses


def _parameters(network: Network) -> dict[str, Any]:
    layers = [tuple(jnp.asarray(each, jnp.float32) for each in layer) for layer in network.layers]
    count = network.count
    return {
        "layers": layers,
        "output": jnp.zeros((count, network.units), jnp.float32),
        "alpha": jnp.zeros(count, jnp.float32),  # logarithms of the precisions of weights and noise: evidence only
        "beta": jnp.full(count, 3.0, jnp.float32),
    }


def _cosine(steps: int) -> Array:
    return 0.5 + 0.5 * np.cos(np.pi * np.arange(steps) / steps)


def _minibatches(rows: Sequence[Rows], size: int, rng: np.random.Generator) -> tuple[Rows, Array]:
    """Return rows (T, M, B) and weights: all of few rows, filled up with rows of weight zero; draws from many."""
    index = np.zeros((STEPS, len(rows), size), dtype=np.intp)
    weights = np.ones(index.shape)
    for k, own in enumerate(rows):
        if len(own) <= size:
            index[:, k, : len(own)] = own
            weights[:, k, len(own) :] = 0.0
        else:
            index[:, k] = own[rng.integers(len(own), size=(STEPS, size))]
    return index, weights


@cache
def _compiled(activation: str, loss: str, optimizer: str) -> Callable[..., Any]:
    """Return T steps: (parameters, state, x (T, M, B, p), targets, weights (T, M, B), rates (T,)) -> after them."""
    rule = OPTIMIZERS[optimizer]()

    def total(parameters: Any, x: Any, targets: Any, weights: Any) -> Any:
        basis = _basis(parameters, x, ACTIVATIONS[activation])
        losses = jax.vmap(_LOSSES[loss])(parameters, basis, targets, weights)
        return jnp.sum(losses), losses  # of the sum, each network's gradient is its own

    def step(carried: Any, given: Any) -> Any:
        parameters, state = carried
        x, targets, weights, rate = given
        (_, reached), slopes = jax.value_and_grad(total, has_aux=True)(parameters, x, targets, weights)
        move, state = rule.update(slopes, state)
        shrunk = jax.tree.map(lambda each: each * (1 - rate * DECAY), parameters)
        return (jax.tree.map(lambda each, change: each - rate * change, shrunk, move), state), reached

    @jax.jit
    def run(parameters: Any, state: Any, x: Any, targets: Any, weights: Any, rates: Any) -> Any:
        (parameters, state), losses = jax.lax.scan(step, (parameters, state), (x, targets, weights, rates))
        return parameters, state, jnp.mean(losses, axis=0)

    return run


def _basis(parameters: Any, x: Any, kinds: tuple[str, ...]) -> Any:
    out = GAIN.astype(np.float32) * x
    for kind, (weights, biases) in zip(kinds, parameters["layers"], strict=True):
        raw = out @ weights + biases
        out = jnp.tanh(raw) if kind == "tanh" else jnp.maximum(raw, 0)
    return jnp.concatenate([out, jnp.ones((*out.shape[:-1], 1), out.dtype)], axis=-1)


def _squares(parameters: Any, basis: Any, targets: Any, weights: Any) -> Any:
    """Return the mean squared error of the linear output: the MAP estimate."""
    errors = basis @ parameters["output"] - targets
    return jnp.sum(weights * errors**2) / jnp.sum(weights)


def _logistic(parameters: Any, basis: Any, targets: Any, weights: Any) -> Any:
    """Return the mean of -log P of labels 1 and -1."""
    margins = targets * (basis @ parameters["output"])
    return jnp.sum(weights * jax.nn.softplus(-margins)) / jnp.sum(weights)


def _evidence(parameters: Any, basis: Any, targets: Any, weights: Any) -> Any:
    """Return -log p(targets) (eq. 8), the output weights integrated out, a row."""
    alpha, beta = jnp.exp(parameters["alpha"]), jnp.exp(parameters["beta"])
    basis, targets, count = basis * weights[:, None], targets * weights, jnp.sum(weights)
    size = basis.shape[1]
    factor = jnp.linalg.cholesky(beta * basis.T @ basis + (alpha + 1e-4) * jnp.eye(size))  # eq. (7)
    mean = beta * jax.scipy.linalg.cho_solve((factor, True), basis.T @ targets)  # eq. (6)
    misfit = beta * jnp.sum((targets - basis @ mean) ** 2) + alpha * jnp.sum(mean**2)
    logs = size * parameters["alpha"] + count * parameters["beta"] - 2 * jnp.sum(jnp.log(jnp.diag(factor)))
    hyper = parameters["alpha"] ** 2 / 18 + (parameters["beta"] - 4) ** 2 / 18
    return (0.5 * (misfit - logs) + hyper) / count


_LOSSES: dict[str, Callable[..., Any]] = {"squares": _squares, "logistic": _logistic, "evidence": _evidence}
_LOSSES_OF_ZERO = {"squares": 1.0, "logistic": 1.0, "evidence": 10.0}
