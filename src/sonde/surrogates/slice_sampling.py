"""Univariate slice sampling (Neal 2003): stepping out, then shrinking. It has nothing to tune."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from sonde.arrays import Array

STEPS = 8  # a slice is stepped out to at most so many widths


def slice_sample(
    log_density: Callable[[Array], float], start: Array, *, count: int, rng: np.random.Generator, width: float = 1.0,
    sweeps: int = 1, share: float = 1.0,
) -> Array:  # fmt: skip
    """Return ``count`` states (count, D) of a Markov chain that begins at ``start``.

    Between two states are ``sweeps`` sweeps, each over a random ``share`` of the D coordinates.
    """
    point, level = start.copy(), log_density(start)
    states = []
    for _ in range(count):
        for _ in range(sweeps):
            for axis in rng.permutation(len(point))[: math.ceil(share * len(point))].tolist():
                point, level = _move(log_density, point, level, axis, width, rng)
        states.append(point)
    return np.array(states)


def _move(
    log_density: Callable[[Array], float], point: Array, level: float, axis: int, width: float,
    rng: np.random.Generator,
) -> tuple[Array, float]:  # fmt: skip
    """Return the state after an update of one coordinate, and its log density."""

    def at(coordinate: float) -> tuple[Array, float]:
        moved = point.copy()
        moved[axis] = coordinate
        return moved, log_density(moved)

    height = level - rng.exponential()
    left = point[axis] - width * rng.random()
    right = left + width
    leftward = int(rng.integers(STEPS))  # steps are divided between the sides at random: detailed balance
    rightward = STEPS - 1 - leftward
    while leftward > 0 and at(left)[1] > height:
        left, leftward = left - width, leftward - 1
    while rightward > 0 and at(right)[1] > height:
        right, rightward = right + width, rightward - 1
    while right - left > 1e-12:
        proposal = rng.uniform(left, right)
        moved, reached = at(proposal)
        if reached > height:
            return moved, reached
        left, right = (proposal, right) if proposal < point[axis] else (left, proposal)
    return point, level
