"""The search domain: the unit cube, its continuous and its lattice coordinates, and what has been tried.

Symbols: d parameters; points are (m, d) in the unit cube, on the lattice where an axis has one, ``IDLE`` where
inactive.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np

from sonde.arrays import Array, Mask
from sonde.space import Space
from sonde.space.axis import Axis
from sonde.trials import History

LISTED = 2**12  # a space with at most so many configurations is searched by listing it
SAME = 1e-9  # two points closer than this in every coordinate are one
WHOLE_AXIS = 24  # a lattice axis of at most so many points is tried at every one of them


class Domain:
    """A space, and which of its points were tried or are pending."""

    def __init__(self, space: Space, history: History) -> None:
        self.space = space
        self.history = history
        self._taken: list[Array] = []

    @cached_property
    def continuous(self) -> Mask:
        """Which coordinates are continuous, (d,)."""
        return np.array([axis.continuous for axis in self.space.codec.axes])

    @cached_property
    def tried(self) -> Array:
        """All points asked for so far."""
        known = (self.history.completed, self.history.pending, self.history.failed)
        return np.concatenate([points.units for points in known])

    @cached_property
    def listed(self) -> Array | None:
        """All feasible points of a small finite space; None for any other."""
        if self.space.size > LISTED:
            return None
        rows = np.array(list(self.space.rows())).reshape(-1, len(self.space))
        return self.space.codec.encode(rows[self._feasible(rows)])[0]

    def project(self, points: Array) -> tuple[Array, Mask]:
        """Return the nearest points that stand for configurations, and which coordinates are active."""
        return self.space.codec.project(points)

    def feasible(self, points: Array) -> Mask:
        """Return which points meet the known constraints."""
        if not self.space.constraints:
            return np.ones(len(points), dtype=bool)
        return self._feasible(self.space.codec.decode(points))

    def _feasible(self, rows: Array) -> Mask:
        return self.space.feasible_rows(rows) if self.space.constraints else np.ones(len(rows), dtype=bool)

    def novel(self, point: Array) -> bool:
        """Whether a point is neither tried, nor pending, nor taken."""
        row = self.space.codec.decode(point[None])[0]
        if self.history.contains(row):
            return False
        others = np.concatenate([self.tried, *self._taken]) if self._taken else self.tried
        return not len(others) or bool(np.abs(others - point).max(axis=1).min() > SAME)

    def take(self, point: Array) -> None:
        """Count a point as pending."""
        self._taken.append(point[None])

    def fresh(self) -> Domain:
        """Return this domain with no point taken."""
        return Domain(self.space, self.history)

    def spread(self, points: Array, count: int, rng: np.random.Generator) -> Array:
        """Return ``count`` perturbations of points (m, d), at scales from 10^-3.5 to 10^-0.5 and by lattice steps."""
        d = points.shape[1]
        moved = points[rng.integers(len(points), size=count)].copy()
        chosen = rng.random((count, d)) < rng.uniform(min(1.0, 1 / d), 1.0, (count, 1))
        scale = 10 ** rng.uniform(-3.5, -0.5, (count, 1))
        moved += np.where(chosen & self.continuous, scale * rng.standard_normal((count, d)), 0.0)
        for k in np.flatnonzero(~self.continuous).tolist():
            here = rng.random(count) < min(0.5, 2 / d)
            moved[here, k] = self._jump(k, moved[here, k], rng)
        return np.clip(moved, 0.0, 1.0)

    def _jump(self, k: int, units: Array, rng: np.random.Generator) -> Array:
        """Return other places on lattice axis k: near ones where it is ordered, any where it is not."""
        anywhere = rng.random(len(units))
        if not list(self.space.parameters.values())[k].ordered:
            return anywhere
        steps = np.rint(rng.standard_cauchy(len(units)))
        near = np.clip(units + (steps + (steps == 0)) / float(self.space.codec.axes[k].size), 0.0, 1.0)
        return np.where(rng.random(len(units)) < 0.25, anywhere, near)

    def neighbours(self, point: Array, active: Mask) -> Array:
        """Return the points that differ from ``point`` in one active lattice coordinate, (m, d)."""
        moves = [np.empty((0, len(point)))]
        for k in np.flatnonzero(~self.continuous & active).tolist():
            places = _places(self.space.codec.axes[k], float(point[k]))
            moved = np.repeat(point[None], len(places), axis=0)
            moved[:, k] = places
            moves.append(moved)
        return self.project(np.concatenate(moves))[0]


def _places(axis: Axis, unit: float) -> Array:
    """Return units of other points of a lattice axis: all of a short one, at growing distances on a long one."""
    here = round((float(axis.from_unit(unit)) - axis.low) / (axis.step or 1.0))
    if axis.size <= WHOLE_AXIS:
        index = np.arange(axis.size)
    else:
        reach = 2.0 ** np.arange(0, np.log2(axis.size))
        index = np.unique(np.clip(np.concatenate([here - reach, here + reach]), 0, axis.size - 1))
    return axis.to_unit([axis.point(i) for i in index.tolist() if i != here])
