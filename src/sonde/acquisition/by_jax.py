"""Utilities that users write in JAX; gradients and batching are added here."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import numpy as np

from sonde.acquisition.utilities import ValueAndGradients
from sonde.arrays import Array


def differentiated(function: Callable[..., Any]) -> Callable[[Array, Array, float], ValueAndGradients]:
    """Return a utility, batched and with gradients, of a JAX function ``(mean (q,), spread (q,), best) -> number``."""
    batched = jax.jit(jax.vmap(jax.value_and_grad(function, argnums=(0, 1)), in_axes=(0, 0, None)))

    def utility(mean: Array, spread: Array, best: float) -> ValueAndGradients:
        means = np.broadcast_to(mean, spread.shape)
        with jax.enable_x64(True):
            size = spread.shape[-1]
            value, gradients = batched(means.reshape(-1, size), spread.reshape(-1, size), float(best))
        mean_gradient, spread_gradient = (np.asarray(each).reshape(spread.shape) for each in gradients)
        return np.asarray(value).reshape(spread.shape[:-1]), mean_gradient, spread_gradient

    return utility
