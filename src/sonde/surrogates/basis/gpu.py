"""Training of the networks on a GPU, in JAX: the same stochastic gradients on the same minibatches as ``training``.

JAX differentiates the losses; a test compares them with the closed forms of ``losses``. Minibatches are drawn by NumPy
and passed on a hundred at a time. So the compiled function does not depend on the number of observations, and a run
that diverges is noticed between two calls.

Symbols: M networks, T steps of a call, B rows of a minibatch, p features, P parameters of a network.
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

from sonde.arrays import Array, Index
from sonde.surrogates.basis import training
from sonde.surrogates.basis.losses import JITTER
from sonde.surrogates.basis.networks import ACTIVATIONS, GAIN, Network
from sonde.surrogates.basis.regression import ALPHA, BETA, BOUNDS

exact_matmul = partial(jnp.matmul, precision="highest")  # by default a GPU rounds to ten bits (TF32)
PREALLOCATE = "XLA_PYTHON_CLIENT_PREALLOCATE"  # read when a GPU is first opened


@cache
def visible() -> bool:
    """Return whether JAX sees a GPU.

    JAX then allocates GPU memory as needed instead of most of it in advance, unless the GPU was opened before: the
    objective may need the same GPU.
    """
    before = os.environ.get(PREALLOCATE)
    os.environ.setdefault(PREALLOCATE, "false")
    try:
        return bool(jax.devices("gpu"))
    except RuntimeError:
        return False
    finally:
        if before is None:
            del os.environ[PREALLOCATE]


def train(
    network: Network, x: Array, targets: Array, rows: Sequence[Index], *, steps: int, rng: np.random.Generator,
    loss: str = "squares", optimizer: str = "adam", speed: float = 1.0, device: str = "gpu",
) -> tuple[Network, list[float]]:  # fmt: skip
    """Return the networks after training network k on ``rows[k]``, and the mean losses, as ``training.train`` does."""
    batch = training.batch_size(rows)
    inputs, values = x.astype(np.float32), targets.astype(np.float32)
    initial = training.initial_parameters(network, x, targets, rows, loss)
    with jax.enable_x64(True), jax.default_device(jax.devices(device)[0]):
        run = _compiled(network.activation, loss, optimizer, tuple(each.shape[1:] for each in initial.arrays))
        for attempt in range(training.RESTARTS):
            flat = jnp.asarray(training.flatten(initial.arrays))
            moments = jnp.zeros((2, *flat.shape), jnp.float32)
            rates = training.learning_rates(steps, optimizer, speed, attempt).astype(np.float32)
            losses: list[float] = []
            for start in range(0, steps, training.RECORDED):
                rate = rates[start : start + training.RECORDED]
                drawn = [training.minibatch(rows, batch, rng) for _ in rate]
                index, weights = (np.stack(each) for each in zip(*drawn, strict=True))
                counts = np.arange(start, start + len(rate), dtype=np.float32) + 1
                flat, moments, reached = run(flat, moments, inputs[index], values[index], weights, rate, counts)
                losses.append(float(np.mean(reached)))
                if training.diverged(np.asarray(reached), loss):
                    break
            else:
                found = np.asarray(flat, float)
                if np.isfinite(found).all():
                    return replace(network, layers=training.unflatten(found, initial).layers), losses
    return network, losses


@cache
def _compiled(activation: str, loss: str, optimizer: str, shapes: tuple[tuple[int, ...], ...]) -> Callable[..., Any]:
    """Return a function of (parameters, moments, x (T, M, B, p), targets, weights (T, M, B), rates, counts (T,))."""
    ends = np.cumsum([np.prod(shape, dtype=int) for shape in shapes])

    def losses_of(flat: Any, x: Any, targets: Any, weights: Any) -> Any:
        pieces = zip(jnp.split(flat, ends[:-1], axis=1), shapes, strict=True)
        arrays = [piece.reshape(len(flat), *shape) for piece, shape in pieces]
        return total_loss(arrays, activation, loss, x, targets, weights)

    def step(carried: Any, given: Any) -> Any:
        flat, moments = carried
        x, targets, weights, rate, count = given
        (_, reached), gradients = jax.value_and_grad(losses_of, has_aux=True)(flat, x, targets, weights)
        moments, update = _OPTIMIZERS[optimizer](moments, gradients, count)
        return ((1 - rate * training.WEIGHT_DECAY) * flat - rate * update, moments), reached

    @jax.jit
    def run(flat: Any, moments: Any, *given: Any) -> Any:
        (flat, moments), losses = jax.lax.scan(step, (flat, moments), given)
        return flat, moments, losses

    return run


def total_loss(arrays: Any, activation: str, loss: str, x: Any, targets: Any, weights: Any) -> Any:
    """Return the sum of the losses of all networks, and the losses (M,); networks share no parameters.

    ``arrays`` is ``Parameters.arrays``; x is (M, B, p), targets and weights are (M, B). The evidence also takes targets
    (M, B, K).
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
    """The negative log marginal likelihood, eq. (8), with D x D matrices in float64 as in ``losses``.

    The gradient does not differentiate the Cholesky factor: the mean m minimises the quadratic form, so it counts as
    constant, and d log|A| = tr(A^-1 dA).
    """
    alpha, beta = (jnp.clip(each.astype(float), -BOUNDS, BOUNDS) for each in (alpha, beta))
    targets = targets.reshape(len(basis), -1)  # (B, K)
    basis, targets, count = basis * weights[:, None], targets * weights[:, None], weights.sum()
    size, prior, noise = basis.shape[1], jnp.exp(alpha) + JITTER, jnp.exp(beta)
    gram, projected = (exact_matmul(basis.T, each).astype(float) for each in (basis, targets))
    precision = noise * gram + prior * jnp.eye(size)  # A, eq. (7)
    factor = jnp.linalg.cholesky(constant(precision))
    half = jax.scipy.linalg.solve_triangular(factor, jnp.eye(size), lower=True)
    inverse = half.T @ half
    mean = constant(noise * inverse @ projected)  # eq. (6)
    errors = targets - exact_matmul(basis, mean.astype(basis.dtype))
    misfit = (noise * jnp.sum(errors.astype(float) ** 2) + prior * jnp.sum(mean**2)) / targets.shape[1]
    change = jnp.sum(inverse * precision)
    determinant = 2 * jnp.sum(jnp.log(jnp.diag(factor))) + change - constant(change)
    hyper = 0.5 * ((alpha - ALPHA[0]) / ALPHA[1]) ** 2 + 0.5 * ((beta - BETA[0]) / BETA[1]) ** 2
    return (0.5 * (misfit - size * alpha - count * beta + determinant) + hyper) / count  # eq. (8)


def _adam(moments: Any, gradients: Any, count: Any) -> Any:
    """Return the moments and the step of Adam (Kingma & Ba 2015)."""
    decays = jnp.array(training.MOMENTS["adam"], jnp.float32)[:, None, None]
    moments = moments + (1 - decays) * (jnp.stack([gradients, gradients * gradients]) - moments)
    mean, square = moments / (1 - decays**count)
    return moments, mean / (jnp.sqrt(square) + 1e-8)


def _sgd(moments: Any, gradients: Any, count: Any) -> Any:
    """Return the momentum and the step of SGD, with clipped gradients; the second moment is not used."""
    norms = jnp.sqrt(jnp.sum(gradients.astype(float) ** 2, axis=1, keepdims=True))
    clipped = gradients * jnp.minimum(1.0, training.MAX_NORM / jnp.maximum(norms, 1e-30)).astype(gradients.dtype)
    update = training.MOMENTUM * moments[0] + clipped
    return moments.at[0].set(update), update


_LOSSES = {"squares": _squares, "logistic": _logistic, "evidence": _evidence}
_OPTIMIZERS = {"adam": _adam, "sgd": _sgd}
