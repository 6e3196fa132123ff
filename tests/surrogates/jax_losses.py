"""The losses of the networks as JAX differentiates them: what the closed forms of ``losses`` must agree with."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from sonde.surrogates.head import ALPHA, BETA
from sonde.surrogates.losses import JITTER
from sonde.surrogates.network import ACTIVATIONS, GAIN


def total(arrays: list[Any], activation: str, loss: str, x: Any, targets: Any, weights: Any) -> Any:
    """Return the sum of the losses of all networks; ``arrays`` as of ``Parameters``."""
    *flat, output, alpha, beta = arrays
    out = float(GAIN) * x
    for kind, layer, biases in zip(ACTIVATIONS[activation], flat[::2], flat[1::2], strict=True):
        raw = out @ layer + biases
        out = jnp.tanh(raw) if kind == "tanh" else jnp.maximum(raw, 0)
    basis = jnp.concatenate([out, jnp.ones((*out.shape[:-1], 1))], axis=-1)
    return jnp.sum(jax.vmap(LOSSES[loss])(output, alpha, beta, basis, targets, weights))


def _squares(output: Any, alpha: Any, beta: Any, basis: Any, targets: Any, weights: Any) -> Any:
    return jnp.sum(weights * (basis @ output - targets) ** 2) / jnp.sum(weights)


def _logistic(output: Any, alpha: Any, beta: Any, basis: Any, targets: Any, weights: Any) -> Any:
    return jnp.sum(weights * jax.nn.softplus(-targets * (basis @ output))) / jnp.sum(weights)


def _evidence(output: Any, alpha: Any, beta: Any, basis: Any, targets: Any, weights: Any) -> Any:
    basis, targets, count = basis * weights[:, None], targets * weights, jnp.sum(weights)
    size, prior, noise = basis.shape[1], jnp.exp(alpha) + JITTER, jnp.exp(beta)
    factor = jnp.linalg.cholesky(noise * basis.T @ basis + prior * jnp.eye(size))
    mean = noise * jax.scipy.linalg.cho_solve((factor, True), basis.T @ targets)
    misfit = noise * jnp.sum((targets - basis @ mean) ** 2) + prior * jnp.sum(mean**2)
    logs = size * alpha + count * beta - 2 * jnp.sum(jnp.log(jnp.diag(factor)))
    hyper = 0.5 * ((alpha - ALPHA[0]) / ALPHA[1]) ** 2 + 0.5 * ((beta - BETA[0]) / BETA[1]) ** 2
    return (0.5 * (misfit - logs) + hyper) / count


LOSSES = {"squares": _squares, "logistic": _logistic, "evidence": _evidence}
