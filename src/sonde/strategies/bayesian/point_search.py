"""The search for one point of highest acquisition value: candidates, gradient ascent, and lattice moves.

Candidates are a Sobol net and perturbations of the best points; ascents start from the best candidate and from others
in proportion to the acquisition. In a mixed space, ascents on the continuous coordinates alternate with the best move
of one lattice coordinate, until neither gains. An ascent that leaves the known constraints goes back along its way
until it meets them.
"""

from __future__ import annotations

import numpy as np

from sonde.acquisition.port import Acquisition
from sonde.arrays import Array
from sonde.optimizers import bfgs, choose_starts
from sonde.sampling import Key, Stream, sobol
from sonde.strategies.bayesian.domain import Domain
from sonde.strategies.bayesian.target import Box

CANDIDATES = 512
STARTS = 8
ROUNDS = 20  # of moves on the lattice
TOLERANCE, FINE = 1e-4, 1e-6  # of an ascent from every start, and of the last one from the best end
CALLS = 50  # of an ascent: what comes after them is gained along narrow ridges, slowly


def candidates(domain: Domain, box: Box, key: Key, count: int = CANDIDATES) -> Array:
    """Return feasible points: two thirds spread over the box, one third around the centres."""
    if domain.listed is not None:
        return domain.listed
    rng = key.rng(Stream.CANDIDATES)
    even = sobol(int(rng.integers(2**24)), count, len(box.low), seed=key.seed)
    points = box.low + (box.high - box.low) * even
    if len(box.centres):
        points = np.concatenate([points, np.clip(domain.spread(box.centres, count // 2, rng), box.low, box.high)])
    points, _ = domain.project(points)
    points = points[box.allows(points, domain.continuous)]
    return points[domain.feasible(points)]


def best_point(acquisition: Acquisition, domain: Domain, box: Box, key: Key, *, thrift: int = 1) -> Array | None:
    """Return the new point (d,) where the acquisition of one point is highest; None where none was found.

    ``thrift`` divides the effort: the later points of a batch fill gaps, and need less of a search.
    """
    points = candidates(domain, box, key, CANDIDATES // thrift)
    if not len(points):
        return None
    values = point_values(acquisition, points)
    if domain.listed is None:
        chosen = points[choose_starts(values, STARTS // thrift, key.rng(Stream.ASCENT_STARTS), log=acquisition.log)]
        improved = improve(acquisition, domain, box, chosen, calls=CALLS // thrift)
        if thrift == 1 and domain.continuous.any():
            best = improved[[int(np.argmax(point_values(acquisition, improved)))], None]
            improved = np.concatenate([ascend(acquisition, domain, box, best, tolerance=FINE)[:, 0], improved])
        improved = improved[box.allows(improved, domain.continuous)]
        points = np.concatenate([improved, points])
        values = np.concatenate([point_values(acquisition, improved), values])
    return first_novel(points, values, domain)


def first_novel(points: Array, values: Array, domain: Domain) -> Array | None:
    """Return the best point that has not been tried."""
    order = np.argsort(-np.where(np.isnan(values), -np.inf, values), kind="stable")
    return next((points[i] for i in order if domain.novel(points[i])), None)


def improve(acquisition: Acquisition, domain: Domain, box: Box, points: Array, *, calls: int = CALLS) -> Array:
    """Return the points (m, d) improved by ascents and moves on the lattice."""
    for _ in range(3):
        ascended = points
        if domain.continuous.any():
            ascended = ascend(acquisition, domain, box, points[:, None, :], calls=calls)[:, 0, :]
        if domain.continuous.all():
            return ascended
        moved = np.array([_walk(acquisition, domain, point) for point in ascended])
        if np.array_equal(moved, ascended):
            return moved
        points = moved
    return points


def ascend(
    acquisition: Acquisition, domain: Domain, box: Box, pools: Array, *, calls: int = CALLS,
    tolerance: float = TOLERANCE,
) -> Array:  # fmt: skip
    """Ascend from batches (m, q, d) along the active continuous coordinates.

    ``tolerance`` is a gain of the logarithm that is worth no step; other values are ascended to the end.
    """
    count, size, width = pools.shape
    points = pools.reshape(-1, width)
    _, active = domain.project(points)
    moving = active & domain.continuous
    # what must not move has a box of no width
    low = np.minimum(np.where(moving, box.low, points), points).reshape(count, -1)
    high = np.maximum(np.where(moving, box.high, points), points).reshape(count, -1)

    def function(flat: Array) -> tuple[Array, Array]:
        value, slope = acquisition.gradients(flat.reshape(-1, size, width))
        return value, slope.reshape(flat.shape)

    tolerance = tolerance if acquisition.log else 0.0
    reached, _ = bfgs(function, pools.reshape(count, -1), low, high, calls=calls, tolerance=tolerance)
    return back_inside(domain, points, domain.project(reached.reshape(-1, width))[0]).reshape(pools.shape)


def back_inside(domain: Domain, inside: Array, reached: Array) -> Array:
    """Return, for each point that breaks a constraint, the last halving of its way that does not."""
    for _ in range(6):
        broken = ~domain.feasible(reached)
        if not broken.any():
            return reached
        reached = reached.copy()
        reached[broken] = domain.project((inside[broken] + reached[broken]) / 2)[0]
    return np.where(domain.feasible(reached)[:, None], reached, inside)


def _walk(acquisition: Acquisition, domain: Domain, point: Array) -> Array:
    """Make the best move of one lattice coordinate as long as it gains."""
    value = point_values(acquisition, point[None])[0]
    for _ in range(ROUNDS):
        _, active = domain.project(point[None])
        moves = domain.neighbours(point, active[0])
        moves = moves[domain.feasible(moves)]
        if not len(moves):
            return point
        reached = point_values(acquisition, moves)
        best = int(np.argmax(np.where(np.isnan(reached), -np.inf, reached)))
        if not reached[best] > value:
            return point
        point, value = moves[best], reached[best]
    return point


def point_values(acquisition: Acquisition, points: Array) -> Array:
    """Return the acquisition of each point by itself."""
    return acquisition.values(points[:, None, :])
