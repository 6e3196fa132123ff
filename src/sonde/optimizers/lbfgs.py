"""L-BFGS on a box for many starts in step.

SciPy's L-BFGS-B takes one start at a time, and most of its time goes to calls of a function that could have answered
for all of them. Here all starts move together, each with its own memory and step length; one that has arrived leaves.

A coordinate close to a bound that its gradient points to goes there and stays; the quasi-Newton direction is taken in
the others, and the step is projected (Bertsekas 1982) and shortened until it climbs.

Symbols: B starts, D coordinates, M remembered pairs (s = step, y = change of gradient).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Function = Callable[[Array], tuple[Array, Array]]

MEMORY = 10
CLIMB = 1e-4  # share of the promised climb that a step must make
FIRST = 0.1  # largest coordinate of the first step, in units of the box
BACKTRACKS = 8
CLOSE = 1e-3  # to a bound, in units of the box


def lbfgs(
    function: Function, starts: Array, low: Array, high: Array, *, iterations: int = 60, tolerance: float = 1e-6
) -> tuple[Array, Array]:
    """Return the points reached (B, D) and their values; bounds are (D,) or (B, D).

    A start has arrived when a step gains less than ``tolerance`` (relative where values are large), twice in a row.
    """
    low, high = (np.broadcast_to(bound, starts.shape) for bound in (low, high))
    x = np.clip(starts, low, high)
    value, gradient = (np.array(each) for each in function(x.copy()))  # the function may keep what it got
    steps, changes = (np.zeros((MEMORY, *x.shape)) for _ in range(2))
    moving, idle = np.isfinite(value), np.zeros(len(x), dtype=int)
    for iteration in range(iterations):
        live = np.flatnonzero(moving)
        if not len(live):
            break
        box = low[live], high[live]
        width = box[1] - box[0]
        sinking = (x[live] - box[0] <= CLOSE * width) & (gradient[live] < 0)
        rising = (box[1] - x[live] <= CLOSE * width) & (gradient[live] > 0)
        ahead = np.where(sinking | rising, 0.0, gradient[live])
        way = _direction(ahead, steps[:, live], changes[:, live], width, iteration)
        way[sinking | rising] = 0.0
        uphill = np.sum(way * ahead, axis=1) > 0
        way = np.where(uphill[:, None], way, _steepest(ahead, width))
        way = np.where(sinking, box[0] - x[live], np.where(rising, box[1] - x[live], way))
        reached, reached_value, reached_gradient = _climb(function, x[live], value[live], gradient[live], way, *box)
        slot = iteration % MEMORY
        steps[slot, live] = reached - x[live]
        changes[slot, live] = gradient[live] - reached_gradient  # of the negative: the function is maximised
        gained = reached_value - value[live]
        idle[live] = np.where(gained <= tolerance * np.maximum(1.0, np.abs(value[live])), idle[live] + 1, 0)
        x[live], value[live], gradient[live] = reached, reached_value, reached_gradient
        moving[live] = (idle[live] < 2) & (way != 0).any(axis=1) & (gained > 0)
    return x, value


def _climb(
    function: Function, x: Array, value: Array, gradient: Array, way: Array, low: Array, high: Array
) -> tuple[Array, Array, Array]:
    """Shorten each start's step until it climbs enough; one that never does stays where it is."""
    reached, reached_value, reached_gradient = x.copy(), value.copy(), gradient.copy()
    length, left = np.ones(len(x)), np.arange(len(x))
    for _ in range(BACKTRACKS):
        tried = np.clip(x[left] + length[left, None] * way[left], low[left], high[left])
        tried_value, tried_gradient = function(tried)
        promised = np.sum(gradient[left] * (tried - x[left]), axis=1)
        good = tried_value >= value[left] + CLIMB * np.maximum(promised, 0.0)
        good &= np.isfinite(tried_value)
        done = left[good]
        reached[done], reached_value[done], reached_gradient[done] = (
            tried[good],
            tried_value[good],
            tried_gradient[good],
        )
        # the maximum of the parabola through value, slope and the value tried, kept within a tenth and a half
        lack = np.where(np.isfinite(tried_value), promised - (tried_value - value[left]), np.inf)
        with np.errstate(invalid="ignore", divide="ignore"):
            share = np.clip(np.nan_to_num(promised / (2 * lack), nan=0.5), 0.1, 0.5)
        length[left] *= share
        left = left[~good]
        if not len(left):
            break
    return reached, reached_value, reached_gradient


def _direction(ahead: Array, steps: Array, changes: Array, width: Array, iteration: int) -> Array:
    """Return the quasi-Newton direction by the two-loop recursion, oldest pair last in the first loop."""
    products = np.sum(steps * changes, axis=2)
    norms = np.sum(changes * changes, axis=2)
    usable = (products > 1e-10 * norms) & (norms > 0)  # also false for empty slots
    if not usable.any():
        return _steepest(ahead, width)
    order = [(iteration - 1 - age) % MEMORY for age in range(min(iteration, MEMORY))]
    inverse = np.where(usable, 1 / np.where(usable, products, 1.0), 0.0)
    way, shares = ahead.copy(), {}
    scale = np.zeros(len(ahead))
    for slot in order:
        shares[slot] = inverse[slot] * np.sum(steps[slot] * way, axis=1)
        way -= shares[slot][:, None] * changes[slot]
        fresh = usable[slot] & (scale == 0)
        scale[fresh] = products[slot][fresh] / norms[slot][fresh]
    bare = scale == 0
    way *= np.where(bare, 1.0, scale)[:, None]
    for slot in reversed(order):
        back = inverse[slot] * np.sum(changes[slot] * way, axis=1)
        way += (shares[slot] - back)[:, None] * steps[slot]
    return np.where(bare[:, None], _steepest(ahead, width), way)


def _steepest(ahead: Array, width: Array) -> Array:
    """Return the gradient, scaled to a modest step in units of the box."""
    largest = np.max(np.abs(ahead) / np.where(width > 0, width, 1.0), axis=1, keepdims=True)
    return FIRST * ahead / np.where(largest > 0, largest, 1.0)
