"""BFGS on a box for many starts in step.

SciPy's L-BFGS-B takes one start at a time, and most of its time goes to calls of a function that could have answered
for all of them. Here each call tries one step of every start, each with its own curvature and step length; a start
whose step does not climb enough tries a shorter one next time, and one that has arrived leaves.

A coordinate close to a bound that its gradient points to goes there and stays; the quasi-Newton direction is taken in
the others, and the step is projected (Bertsekas 1982) and shortened until it climbs.

Symbols: B starts, D coordinates; H = inverse Hessian of the negative of the function (``curvature``).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from sonde.optimizers.curvature import Dense, Pairs, unknown

Array = NDArray[np.float64]
Function = Callable[[Array], tuple[Array, Array]]

CLIMB = 1e-4  # share of the promised climb that a step must make
FIRST = 0.1  # largest coordinate of a first step, in units of the box
REFUSALS = 8  # in a row, each of a shorter step, after which a start stays where it is
CLOSE = 1e-3  # to a bound, in units of the box


def bfgs(
    function: Function, starts: Array, low: Array, high: Array, *, calls: int = 100, tolerance: float = 1e-6
) -> tuple[Array, Array]:
    """Return the points reached (B, D) and their values after at most so many calls; bounds are (D,) or (B, D).

    A start has arrived when a step gains less than ``tolerance`` (relative where values are large), twice in a row.
    """
    low, high = (np.broadcast_to(bound, starts.shape) for bound in (low, high))
    ends = np.clip(starts, low, high)
    values, gradients = (np.array(each) for each in function(ends.copy()))  # the function may keep what it got
    live = np.flatnonzero(np.isfinite(values))
    x, value, gradient, low, high = (each[live] for each in (ends, values, gradients, low, high))
    curvature = unknown(*x.shape)
    idle, refused = (np.zeros(len(live), dtype=int) for _ in range(2))
    way, length = _way(x, gradient, low, high, curvature), np.ones(len(live))
    for _ in range(calls - 1):
        on = (idle < 2) & (refused < REFUSALS) & way.any(axis=1)
        if not on.all():
            x, value, gradient, low, high, way = (each[on] for each in (x, value, gradient, low, high, way))
            length, live, idle, refused, curvature = length[on], live[on], idle[on], refused[on], curvature.of(on)
        if not len(live):
            break
        tried = np.clip(x + length[:, None] * way, low, high)
        tried_value, tried_gradient = function(tried.copy())
        promised = np.einsum("bd,bd->b", gradient, tried - x)
        gained = np.where(np.isfinite(tried_value), tried_value - value, -np.inf)
        good = (gained >= CLIMB * promised) & (gained > 0)
        step, change = (np.where(good[:, None], each, 0.0) for each in (tried - x, gradient - tried_gradient))
        curvature = curvature.updated(step, change)
        idle = np.where(good, np.where(gained <= tolerance * np.maximum(1.0, np.abs(value)), idle + 1, 0), idle)
        refused = np.where(good, 0, refused + 1)
        length = np.where(good, 1.0, length * _shortened(promised, gained))
        x, gradient = (np.where(good[:, None], new, old) for new, old in ((tried, x), (tried_gradient, gradient)))
        value = np.where(good, tried_value, value)
        way = np.where(good[:, None], _way(x, gradient, low, high, curvature), way)
        ends[live], values[live] = x, value
    return ends, values


def _way(x: Array, gradient: Array, low: Array, high: Array, curvature: Dense | Pairs) -> Array:
    """Return the direction of each start: quasi-Newton where its curvature is known and leads uphill, else steepest."""
    close = CLOSE * (high - low)
    sinking, rising = (x - low <= close) & (gradient < 0), (high - x <= close) & (gradient > 0)
    bound = sinking | rising
    ahead = np.where(bound, 0.0, gradient)
    way = np.where(bound, 0.0, curvature.times(ahead))
    newton = curvature.curved & (np.einsum("bd,bd->b", way, ahead) > 0)
    if not newton.all():
        width = high - low
        largest = np.max(np.abs(ahead) / np.where(width > 0, width, 1.0), axis=1, keepdims=True)
        way = np.where(newton[:, None], way, FIRST * ahead / np.where(largest > 0, largest, 1.0))
    # A longer step than the box would end in the same corner, however often it is shortened.
    excess = np.max(np.abs(way) / np.where(high > low, high - low, np.inf), axis=1, keepdims=True)
    way /= np.maximum(excess, 1.0)
    return np.where(sinking, low - x, np.where(rising, high - x, way))


def _shortened(promised: Array, gained: Array) -> Array:
    """Return the factor to the maximum of the parabola through value, slope and the value tried: a tenth to a half."""
    lack = promised - gained
    with np.errstate(invalid="ignore"):
        share = np.where(lack > 0, promised / (2 * np.where(lack > 0, lack, 1.0)), 0.5)
    return np.clip(np.nan_to_num(share, nan=0.1), 0.1, 0.5)
