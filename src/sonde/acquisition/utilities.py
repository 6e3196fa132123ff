"""Utilities of one sample of a batch's outcomes: table 1 of Wilson et al. (2017).

A utility is a function of (mean, spread, best): the posterior means mu (B, 1, q), the samples' deviations from them L z
(B, s, q), and the incumbent's value; the outcomes are y = mu + L z. It returns values (B, s) and their gradients in
mean and spread, (B, s, q) each. ``montecarlo`` does the rest: sampling, the chain rule to the points, pending points.

To add a utility, write the function and add a row to ``UTILITIES``; or write it in JAX, without gradients, and wrap it
in ``by_jax.differentiated``.

Symbols: B batches of q points, s Monte Carlo samples.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.special import expit

from sonde.acquisition.closed import BETA
from sonde.arrays import Array

ValueAndGradients = tuple[Array, Array, Array]

STEP = 0.01  # temperature tau of the sigmoid that relaxes the step function in q-PI
SMOOTH = 0.02  # temperature of the smooth maxima in log q-EI


class Utility(NamedTuple):
    """A row of the table. ``log``: the function returns logarithms. ``signed``: its values may be negative."""

    function: Callable[[Array, Array, float], ValueAndGradients]
    log: bool = False
    signed: bool = False


def expected_improvement(mean: Array, spread: Array, best: float) -> ValueAndGradients:
    """max(0, max(y) - best)."""
    top, gradient = _maximum(mean + spread)
    gradient *= (top > best)[..., None]
    return np.maximum(top - best, 0.0), gradient, gradient


def log_expected_improvement(mean: Array, spread: Array, best: float) -> ValueAndGradients:
    """log softplus(smooth max(y) - best) at a small temperature (Ament et al. 2023).

    Its gradient is never zero; as the temperature goes to zero, it is the logarithm of ``expected_improvement``.
    """
    outcomes = (mean + spread) / SMOOTH
    top = outcomes.max(axis=-1, keepdims=True)
    weights = np.exp(outcomes - top)
    total = weights.sum(axis=-1, keepdims=True)
    gain = (top + np.log(total))[..., 0] - best / SMOOTH
    soft = np.logaddexp(0.0, gain)
    # as g -> -inf, softplus(g) -> exp(g), so log softplus(g) -> g and its derivative -> 1
    value = np.where(gain < -30, gain, np.log(np.maximum(soft, 1e-300)))
    rate = np.where(gain < -30, 1.0, expit(gain) / np.maximum(soft, 1e-300))
    gradient = (rate / SMOOTH)[..., None] * weights / total
    return np.log(SMOOTH) + value, gradient, gradient


def probability_of_improvement(mean: Array, spread: Array, best: float) -> ValueAndGradients:
    """sigmoid((max(y) - best) / tau)."""
    top, gradient = _maximum(mean + spread)
    value = expit((top - best) / STEP)
    gradient *= (value * (1 - value) / STEP)[..., None]
    return value, gradient, gradient


def upper_confidence_bound(mean: Array, spread: Array, best: float) -> ValueAndGradients:
    """max(mu + sqrt(beta pi / 2) |L z|), eq. (9)."""
    stretch = np.sqrt(BETA * np.pi / 2)
    top, gradient = _maximum(mean + stretch * np.abs(spread))
    return top, gradient, gradient * stretch * np.sign(spread)


def simple_regret(mean: Array, spread: Array, best: float) -> ValueAndGradients:
    """max(y)."""
    top, gradient = _maximum(mean + spread)
    return top, gradient, gradient


UTILITIES: dict[str, Utility] = {
    "log_ei": Utility(log_expected_improvement, log=True),
    "ei": Utility(expected_improvement),
    "pi": Utility(probability_of_improvement),
    "ucb": Utility(upper_confidence_bound, signed=True),
    "sr": Utility(simple_regret, signed=True),
}


def _maximum(outcomes: Array) -> tuple[Array, Array]:
    """Return the maximum over the batch and its (sub)gradient."""
    top = outcomes.max(axis=-1)
    gradient = (outcomes == top[..., None]).astype(float)
    return top, gradient / gradient.sum(axis=-1, keepdims=True)
