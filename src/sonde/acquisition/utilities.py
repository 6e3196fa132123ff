"""What one sample of a pool's outcomes is worth: table 1 of Wilson et al. (2017).

A utility is a function of (mean, spread, best): the belief's means mu (B, 1, q), the samples' distances from it L z
(B, S, q), and the best value so far; the outcomes are y = mu + L z. It returns values (B, S) and their gradients in mean
and spread, (B, S, q) each. Everything else (sampling, the chain rule to the inputs, points under way) is the
skeleton's.

To add one, write the function and name it in ``UTILITIES``; or write it for JAX, without gradients, and wrap it in
``by_jax.differentiated``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from sonde.acquisition.closed import BETA

Array = NDArray[np.float64]
ValueAndGradients = tuple[Array, Array, Array]

STEP = 0.01  # temperature of the relaxed step in q-PI
SMOOTH = 0.02  # temperature of the relaxed maxima in log q-EI


class Utility(NamedTuple):
    """A row of the table. ``log``: the function returns logarithms. ``signed``: it may be negative."""

    function: Callable[[Array, Array, float], ValueAndGradients]
    log: bool = False
    signed: bool = False


def expected_improvement(mean: Array, spread: Array, best: float) -> ValueAndGradients:
    """max(0, max(y) - best)."""
    top, slope = _maximum(mean + spread)
    slope *= (top > best)[..., None]
    return np.maximum(top - best, 0.0), slope, slope


def log_expected_improvement(mean: Array, spread: Array, best: float) -> ValueAndGradients:
    """log softplus(smooth max(y) - best) at a small temperature: never flat, exact as it goes to zero.

    (Ament et al. 2023.)
    """
    outcomes = (mean + spread) / SMOOTH
    top = outcomes.max(axis=-1, keepdims=True)
    weights = np.exp(outcomes - top)
    total = weights.sum(axis=-1, keepdims=True)
    gain = (top + np.log(total))[..., 0] - best / SMOOTH
    soft = np.logaddexp(0.0, gain)
    # log softplus(g) -> g and its slope -> 1 as g -> -inf, where softplus(g) = exp(g)
    value = np.where(gain < -30, gain, np.log(np.maximum(soft, 1e-300)))
    rate = np.where(gain < -30, 1.0, expit(gain) / np.maximum(soft, 1e-300))
    slope = (rate / SMOOTH)[..., None] * weights / total
    return np.log(SMOOTH) + value, slope, slope


def probability_of_improvement(mean: Array, spread: Array, best: float) -> ValueAndGradients:
    """sigmoid((max(y) - best) / tau)."""
    top, slope = _maximum(mean + spread)
    value = expit((top - best) / STEP)
    slope *= (value * (1 - value) / STEP)[..., None]
    return value, slope, slope


def upper_confidence_bound(mean: Array, spread: Array, best: float) -> ValueAndGradients:
    """max(mu + sqrt(beta pi / 2) |L z|), eq. (9)."""
    stretch = np.sqrt(BETA * np.pi / 2)
    top, slope = _maximum(mean + stretch * np.abs(spread))
    return top, slope, slope * stretch * np.sign(spread)


def simple_regret(mean: Array, spread: Array, best: float) -> ValueAndGradients:
    """max(y)."""
    top, slope = _maximum(mean + spread)
    return top, slope, slope


UTILITIES: dict[str, Utility] = {
    "log_ei": Utility(log_expected_improvement, log=True),
    "ei": Utility(expected_improvement),
    "pi": Utility(probability_of_improvement),
    "ucb": Utility(upper_confidence_bound, signed=True),
    "sr": Utility(simple_regret, signed=True),
}


def _maximum(outcomes: Array) -> tuple[Array, Array]:
    """Return the maximum over the pool and its (sub)gradient."""
    top = outcomes.max(axis=-1)
    slope = (outcomes == top[..., None]).astype(float)
    return top, slope / slope.sum(axis=-1, keepdims=True)
