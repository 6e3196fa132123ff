"""Adam (Kingma & Ba 2015) on a box, for noisy gradients: an acquisition function with fresh base samples at every step.

It does not use Optax: the function is NumPy's, and an Optax update outside of a compiled loop costs more than the
function. Symbols: B starts, D coordinates.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from sonde.arrays import Array


def adam(
    function: Callable[[int, Array], tuple[Array, Array]], starts: Array, low: Array, high: Array, *,
    steps: int = 1024, rate: float = 0.02,
) -> Array:  # fmt: skip
    """Return the points (B, D) after gradient ascent on ``function(step, points)``; the learning rate falls to zero."""
    x = np.clip(starts, low, high)
    first, second = np.zeros_like(x), np.zeros_like(x)
    for step in range(steps):
        _, gradient = function(step, x)
        first = 0.9 * first + 0.1 * gradient
        second = 0.999 * second + 0.001 * gradient**2
        ratio = (first / (1 - 0.9 ** (step + 1))) / (np.sqrt(second / (1 - 0.999 ** (step + 1))) + 1e-8)
        x = np.clip(x + rate * (1 - step / steps) * (high - low) * ratio, low, high)
    return x
