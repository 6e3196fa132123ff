"""Training of the networks on a GPU, in JAX: the stochastic gradients of ``training``, of the same minibatches.

JAX differentiates the losses, whose closed forms ``losses`` has; a test holds the two equal. Minibatches are drawn here
and handed over a hundred at a time, so the compiled function knows their size and not that of the data, and between two
calls there is time to see whether training has gone astray.

Symbols: M networks, T steps of a call, B rows of a minibatch, p inputs.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache, partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.lax import stop_gradient as constant
from numpy.typing import NDArray

from sonde.surrogates.basis.losses import JITTER
from sonde.surrogates.basis.networks import ACTIVATIONS, GAIN, Network
from sonde.surrogates.basis.regression import ALPHA, BETA, BOUNDS
from sonde.surrogates.basis.training import (
    CLIPPED,
    DECAY,
    MOMENTS,
    MOMENTUM,
    RECORDED,
    RESTARTS,
    Rows,
    astray,
    batch_size,
    before_training,
    learning_rates,
    minibatch,
    parts,
    side_by_side,
)

Array = NDArray[np.float64]

exactly = partial(jnp.matmul, precision="highest")  # a GPU would round to ten bits
MEMORY = "XLA_PYTHON_CLIENT_PREALLOCATE"  # read when a GPU is first opened


@cache
def visible() -> bool:
    """Return whether JAX sees a GPU.

    Where nobody has opened it before, JAX takes memory of it as needed and not most of it at once: the objective may be
    a training on the same GPU.
    """
    before = os.environ.get(MEMORY)
    os.environ.setdefault(MEMORY, "false")
    try:
        return bool(jax.devices("gpu"))
    except RuntimeError:
        return False
    finally:
        if before is None:
            del os.environ[MEMORY]


def train(
    network: Network, x: Array, targets: Array, rows: Sequence[Rows], *, steps: int, rng: np.random.Generator,
    loss: str = "squares", optimizer: str = "adam", speed: float = 1.0, device: str = "gpu",
) -> tuple[Network, list[float]]:  # fmt: skip
    """Return the networks after training network k on ``rows[k]``, and mean losses on the way, as ``training`` does."""
    batch = batch_size(rows)
    inputs, told = x.astype(np.float32), targets.astype(np.float32)
    begun = before_training(network, x, targets, rows, loss)
    with jax.enable_x64(True), jax.default_device(jax.devices(device)[0]):
        run = _compiled(network.activation, loss, optimizer, tuple(each.shape[1:] for each in begun.arrays))
        for attempt in range(RESTARTS):
            flat = jnp.asarray(side_by_side(begun.arrays))
            moments = jnp.zeros((2, *flat.shape), jnp.float32)
            rates = learning_rates(steps, optimizer, speed, attempt).astype(np.float32)
            losses: list[float] = []
            for start in range(0, steps, RECORDED):
                rate = rates[start : start + RECORDED]
                drawn = [minibatch(rows, batch, rng) for _ in rate]
                index, weights = (np.stack(each) for each in zip(*drawn, strict=True))
                counts = np.arange(start, start + len(rate), dtype=np.float32) + 1
                flat, moments, reached = run(flat, moments, inputs[index], told[index], weights, rate, counts)
                losses.append(float(np.mean(reached)))
                if astray(np.asarray(reached), loss):
                    break
            else:
                found = np.asarray(flat, float)
                if np.isfinite(found).all():
                    return replace(network, layers=parts(found, begun).layers), losses
    return network, losses


@cache
def _compiled(activation: str, loss: str, optimizer: str, shapes: tuple[tuple[int, ...], ...]) -> Callable[..., Any]:
    """Return T steps: (parameters, moments, x (T, M, B, p), targets, weights (T, M, B), rates and counts (T,))."""
    ends = np.cumsum([np.prod(shape, dtype=int) for shape in shapes])

    def losses_of(flat: Any, x: Any, targets: Any, weights: Any) -> Any:
        pieces = zip(jnp.split(flat, ends[:-1], axis=1), shapes, strict=True)
        arrays = [piece.reshape(len(flat), *shape) for piece, shape in pieces]
        return total(arrays, activation, loss, x, targets, weights)

    def step(carried: Any, given: Any) -> Any:
        flat, moments = carried
        x, targets, weights, rate, count = given
        (_, reached), gradients = jax.value_and_grad(losses_of, has_aux=True)(flat, x, targets, weights)
        moments, move = _OPTIMIZERS[optimizer](moments, gradients, count)
        return ((1 - rate * DECAY) * flat - rate * move, moments), reached

    @jax.jit
    def run(flat: Any, moments: Any, *given: Any) -> Any:
        (flat, moments), losses = jax.lax.scan(step, (flat, moments), given)
        return flat, moments, losses

    return run


def total(arrays: Any, activation: str, loss: str, x: Any, targets: Any, weights: Any) -> Any:
    """Return the sum of the losses of all networks, whose gradients are each network's own, and the losses (M,).

    ``arrays`` are those of ``Parameters``, x (M, B, p), targets and weights (M, B).
    """
    *flat, output, alpha, beta = arrays
    out = GAIN.astype(x.dtype) * x
    for kind, layer, biases in zip(ACTIVATIONS[activation], flat[::2], flat[1::2], strict=True):
        raw = out @ layer + biases
        out = jnp.tanh(raw) if kind == "tanh" else jnp.maximum(raw, 0)
    basis = jnp.concatenate([out, jnp.ones((*out.shape[:-1], 1), out.dtype)], axis=-1)
    losses = jax.vmap(_LOSSES[loss])(output, alpha, beta, basis, targets, weights)
    return jnp.sum(losses), losses


def _squares(output: Any, alpha: Any, beta: Any, basis: Any, targets: Any, weights: Any) -> Any:
    return jnp.sum(weights * (basis @ output - targets) ** 2) / jnp.sum(weights)


def _logistic(output: Any, alpha: Any, beta: Any, basis: Any, targets: Any, weights: Any) -> Any:
    return jnp.sum(weights * jax.nn.softplus(-targets * (basis @ output))) / jnp.sum(weights)


def _evidence(output: Any, alpha: Any, beta: Any, basis: Any, targets: Any, weights: Any) -> Any:
    """The algebra of D by D matrices is in float64, as in ``losses``, and no slope goes through a factorisation.

    The mean m minimises the misfit, so it counts as constant, and d log|A| = tr(A^-1 dA).
    """
    alpha, beta = (jnp.clip(each.astype(float), -BOUNDS, BOUNDS) for each in (alpha, beta))
    basis, targets, count = basis * weights[:, None], targets * weights, weights.sum()
    size, prior, noise = basis.shape[1], jnp.exp(alpha) + JITTER, jnp.exp(beta)
    gram, projected = (exactly(basis.T, each).astype(float) for each in (basis, targets))
    precision = noise * gram + prior * jnp.eye(size)  # A, eq. (7)
    factor = jnp.linalg.cholesky(constant(precision))
    half = jax.scipy.linalg.solve_triangular(factor, jnp.eye(size), lower=True)
    inverse = half.T @ half
    mean = constant(noise * inverse @ projected)  # eq. (6)
    errors = targets - exactly(basis, mean.astype(basis.dtype))
    misfit = noise * jnp.sum(errors.astype(float) ** 2) + prior * jnp.sum(mean**2)
    change = jnp.sum(inverse * precision)
    determinant = 2 * jnp.sum(jnp.log(jnp.diag(factor))) + change - constant(change)
    hyper = 0.5 * ((alpha - ALPHA[0]) / ALPHA[1]) ** 2 + 0.5 * ((beta - BETA[0]) / BETA[1]) ** 2
    return (0.5 * (misfit - size * alpha - count * beta + determinant) + hyper) / count  # eq. (8)


def _adam(moments: Any, gradients: Any, count: Any) -> Any:
    """Return the moments and the move of Adam (Kingma & Ba 2015)."""
    kept = jnp.array(MOMENTS["adam"], jnp.float32)[:, None, None]
    moments = moments + (1 - kept) * (jnp.stack([gradients, gradients * gradients]) - moments)
    mean, square = moments / (1 - kept**count)
    return moments, mean / (jnp.sqrt(square) + 1e-8)


def _sgd(moments: Any, gradients: Any, count: Any) -> Any:
    """Return a step with momentum, the gradient of each network clipped to a norm; the second moment is not used."""
    norms = jnp.sqrt(jnp.sum(gradients.astype(float) ** 2, axis=1, keepdims=True))
    clipped = gradients * jnp.minimum(1.0, CLIPPED / jnp.maximum(norms, 1e-30)).astype(gradients.dtype)
    move = MOMENTUM * moments[0] + clipped
    return moments.at[0].set(move), move


_LOSSES = {"squares": _squares, "logistic": _logistic, "evidence": _evidence}
_OPTIMIZERS = {"adam": _adam, "sgd": _sgd}
