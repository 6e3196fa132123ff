"""The initial design: how many space-filling trials come before the first surrogate."""

from __future__ import annotations

import math

from sonde.space import Space
from sonde.trials import History

DIAGONAL = 1.2  # of the box around the centre that holds the initial design, in units of a side of the cube


def ready(history: History, first: int) -> bool:
    """Whether a surrogate can be fitted: the ``first`` trials are made and at least two completed."""
    return len(history.completed) >= 2 and len(history) >= first


def first_count(space: Space) -> int:
    """Return the size of the initial design: one more than parameters, at least 4 and at most 10."""
    return max(4, min(10, len(space) + 1))


def central_side(space: Space) -> float:
    """Return the side of the box around the centre in which the continuous coordinates of the initial design lie.

    Its diagonal is the same in any dimension. A Sobol sequence over a cube of many dimensions is far from everywhere.
    """
    return min(1.0, DIAGONAL / math.sqrt(max(1, sum(axis.continuous for axis in space.codec.axes))))


def explain_initial_design(first: int) -> str:
    """Say what a strategy does before the first surrogate."""
    return f"spreads the first {first} configurations evenly: too few results to fit a model"
