"""BFGS on a box, for many starts at once.

SciPy's L-BFGS-B takes one start at a time, and spends most of its time in calls of a function that could evaluate all
starts together. Here each call tries one step of every start, each with its own inverse Hessian and step length. If a
step does not meet the Armijo condition, its start tries a shorter one in the next call. Converged starts drop out.

A coordinate close to a bound toward which its gradient points is moved to the bound and stays there. The other
coordinates take the quasi-Newton direction; the step is projected onto the box (Bertsekas 1982) and backtracked.

Symbols: B starts, D coordinates; H = inverse Hessian of the negative of the function (``curvature``).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from sonde.arrays import Array
from sonde.optimizers.curvature import DenseInverse, PairInverse, initial

Function = Callable[[Array], tuple[Array, Array]]

ARMIJO = 1e-4  # a step must gain at least this share of what the gradient predicts
FIRST = 0.1  # largest coordinate of a first step, in widths of the box
BACKTRACKS = 8  # after so many rejected steps in a row a start stops
CLOSE = 1e-3  # a coordinate is close to a bound within this distance, in widths of the box


def bfgs(
    function: Function, starts: Array, low: Array, high: Array, *, calls: int = 100, tolerance: float = 1e-6
) -> tuple[Array, Array]:
    """Return the points reached (B, D) and their values after at most ``calls`` calls; bounds are (D,) or (B, D).

    A start has converged when a step gains less than ``tolerance`` (relative where values are large), twice in a row.
    """
    low, high = (np.broadcast_to(bound, starts.shape) for bound in (low, high))
    ends = np.clip(starts, low, high)
    values, gradients = (np.array(each) for each in function(ends.copy()))  # it may keep its argument
    active = np.flatnonzero(np.isfinite(values))
    x, value, gradient, low, high = (each[active] for each in (ends, values, gradients, low, high))
    curvature = initial(*x.shape)
    small, rejected = (np.zeros(len(active), dtype=int) for _ in range(2))
    direction, length = _direction(x, gradient, low, high, curvature), np.ones(len(active))
    for _ in range(calls - 1):
        keep = (small < 2) & (rejected < BACKTRACKS) & direction.any(axis=1)
        if not keep.all():
            x, value, gradient, direction = x[keep], value[keep], gradient[keep], direction[keep]
            low, high, length, active = low[keep], high[keep], length[keep], active[keep]
            small, rejected, curvature = small[keep], rejected[keep], curvature.rows(keep)
        if not len(active):
            break
        tried = np.clip(x + length[:, None] * direction, low, high)
        tried_value, tried_gradient = function(tried.copy())
        predicted = np.einsum("bd,bd->b", gradient, tried - x)
        gained = np.where(np.isfinite(tried_value), tried_value - value, -np.inf)
        good = (gained >= ARMIJO * predicted) & (gained > 0)
        step, change = (np.where(good[:, None], each, 0.0) for each in (tried - x, gradient - tried_gradient))
        curvature = curvature.updated(step, change)
        small = np.where(good, np.where(gained <= tolerance * np.maximum(1.0, np.abs(value)), small + 1, 0), small)
        rejected = np.where(good, 0, rejected + 1)
        length = np.where(good, 1.0, length * _shortened(predicted, gained))
        x, gradient = (np.where(good[:, None], new, old) for new, old in ((tried, x), (tried_gradient, gradient)))
        value = np.where(good, tried_value, value)
        direction = np.where(good[:, None], _direction(x, gradient, low, high, curvature), direction)
        ends[active], values[active] = x, value
    return ends, values


def _direction(x: Array, gradient: Array, low: Array, high: Array, curvature: DenseInverse | PairInverse) -> Array:
    """Return the direction of each start: quasi-Newton where H is known and leads uphill, else steepest ascent."""
    close = CLOSE * (high - low)
    sinking, rising = (x - low <= close) & (gradient < 0), (high - x <= close) & (gradient > 0)
    bound = sinking | rising
    free = np.where(bound, 0.0, gradient)
    direction = np.where(bound, 0.0, curvature.times(free))
    newton = curvature.curved & (np.einsum("bd,bd->b", direction, free) > 0)
    if not newton.all():
        width = high - low
        largest = np.max(np.abs(free) / np.where(width > 0, width, 1.0), axis=1, keepdims=True)
        direction = np.where(newton[:, None], direction, FIRST * free / np.where(largest > 0, largest, 1.0))
    # A step much longer than the box would end in the same corner, however often it is shortened.
    excess = np.max(np.abs(direction) / np.where(high > low, high - low, np.inf), axis=1, keepdims=True)
    direction /= np.maximum(excess, 1.0)
    return np.where(sinking, low - x, np.where(rising, high - x, direction))


def _shortened(predicted: Array, gained: Array) -> Array:
    """Return the factor to the maximum of the parabola through value, derivative and the value tried, in [0.1, 0.5]."""
    lack = predicted - gained
    with np.errstate(invalid="ignore"):
        factor = np.where(lack > 0, predicted / (2 * np.where(lack > 0, lack, 1.0)), 0.5)
    return np.clip(np.nan_to_num(factor, nan=0.1), 0.1, 0.5)
