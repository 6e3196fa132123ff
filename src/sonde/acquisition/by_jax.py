"""Utilities of the user's own, written in JAX: derived and batched here."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import numpy as np

from sonde.acquisition.utilities import Array, ValueAndGradients


def differentiated(function: Callable[..., Any]) -> Callable[[Array, Array, float], ValueAndGradients]:
    """Make a utility of a JAX function ``(mean (q,), spread (q,), best) -> number``: Sonde derives and batches it."""
    batched = jax.jit(jax.vmap(jax.value_and_grad(function, argnums=(0, 1)), in_axes=(0, 0, None)))

    def utility(mean: Array, spread: Array, best: float) -> ValueAndGradients:
        means = np.broadcast_to(mean, spread.shape)
        with jax.enable_x64(True):
            size = spread.shape[-1]
            value, gradients = batched(means.reshape(-1, size), spread.reshape(-1, size), float(best))
        mean_gradient, spread_gradient = (np.asarray(slope).reshape(spread.shape) for slope in gradients)
        return np.asarray(value).reshape(spread.shape[:-1]), mean_gradient, spread_gradient

    return utility
