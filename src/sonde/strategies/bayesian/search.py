"""The search of a strategy: from the targets of its schedule to the points of a batch.

A few points are found one after the other, each with those before it pending, and may then be moved together. A large
batch is selected from one candidate set.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sonde.acquisition.utilities import Utility
from sonde.arrays import Array
from sonde.sampling import Key, sobol
from sonde.strategies.bayesian.acquisitions import (
    acquire,
    add_pending,
    fantasies_of,
    needs_fantasies,
    scored_together,
)
from sonde.strategies.bayesian.domain import Domain
from sonde.strategies.bayesian.fantasies import Fantasies, FrontFantasies
from sonde.strategies.bayesian.joint_search import best_pool
from sonde.strategies.bayesian.large_batch import LARGE, select_large_batch
from sonde.strategies.bayesian.point_search import best_point, candidates
from sonde.strategies.bayesian.target import Target

AllFantasies = list[Fantasies] | list[FrontFantasies]
THRIFT = {"greedy": 2, "joint": 4}  # divides the effort of later points of a batch; joint ones are moved once more


@dataclass(frozen=True)
class Search:
    """An acquisition function, how the points of a batch are chosen, and the method that maximises it."""

    acquisition: str | Utility = "log_ei"
    batch: str = "greedy"  # or "joint" or "thompson"
    method: str = "bfgs"  # one of ``joint_search.SEARCHES``

    @property
    def acquisition_name(self) -> str:
        """The name of the acquisition function, for explanations."""
        return self.acquisition if isinstance(self.acquisition, str) else "a custom utility"

    def points(self, targets: Sequence[Target | Array], domain: Domain, key: Key) -> Array:
        """Return a point of high acquisition value for each target, (q, d); targets that are points are kept."""
        pending, count = domain.history.pending.units, len(targets)
        searched = [target for target in targets if isinstance(target, Target)]
        if len(searched) == count and self._selects(len(pending) + count):
            points = select_large_batch(searched, domain, pending, key, thompson=self.batch == "thompson")
        else:
            points = self._one_by_one(targets, domain, pending, key)
            together = self.batch == "joint" and len(searched) == len(points) == count > 1
            if together and scored_together(searched[0].surrogate, len(pending) + count):
                points = self._moved(points, searched[0], domain.fresh(), pending, key)
        return filled(points, count, key)

    def _selects(self, count: int) -> bool:
        """Whether a batch is selected from a candidate set, given its size and that of the pending points."""
        return self.batch == "thompson" or (count > LARGE and needs_fantasies(self.acquisition))

    def _one_by_one(self, targets: Sequence[Target | Array], domain: Domain, pending: Array, key: Key) -> Array:
        """Return the points found one after the other, each with those before it pending."""
        points, room = pending, len(pending) + len(targets) - 1
        fantasies = {target: self._fantasies(target, pending, room, key.seed) for target in _searched(targets)}
        for offset, target in enumerate(targets):
            point: Array | None
            if isinstance(target, Target):
                thrift = THRIFT[self.batch] if offset else 1
                point = self._maximizer(target, fantasies[target], domain, points, key.at(offset), thrift=thrift)
            else:
                point = target
            if point is None:
                break
            points = np.concatenate([points, point[None]])
            domain.take(point)
            for later in _searched(targets[offset + 1 :]):
                add_pending(later.surrogate, fantasies[later], point[None])
        return points[len(pending) :]

    def _fantasies(self, target: Target, pending: Array, room: int, seed: int) -> AllFantasies:
        """Return fantasies of the pending points, with room for those that will be found; none if not needed."""
        if target.acquisition or not needs_fantasies(self.acquisition):
            return []
        fantasies = fantasies_of(target.surrogate, room, seed)
        add_pending(target.surrogate, fantasies, pending)
        return fantasies

    def _maximizer(
        self, target: Target, fantasies: AllFantasies, domain: Domain, pending: Array, key: Key, *, thrift: int
    ) -> Array | None:
        """Return the best point of a target; None where none was found."""
        if target.acquisition:
            none = pending[:0]
            acquisition = acquire(target.acquisition, target.surrogate, none, (), none, size=1, seed=key.seed)
        else:
            net = candidates(domain, target.box, key) if self.acquisition == "es" else pending
            acquisition = acquire(self.acquisition, target.surrogate, pending, fantasies, net, size=1, seed=key.seed)
        if self.method == "bfgs":
            return best_point(acquisition, domain, target.box, key, thrift=thrift)
        pool = best_pool(acquisition, domain, target.box, key, size=1, method=self.method)
        return None if pool is None else pool[0]

    def _moved(self, points: Array, target: Target, domain: Domain, pending: Array, key: Key) -> Array:
        """Return the points of a batch (q, d) moved together to a higher acquisition value of all of them."""
        net = candidates(domain, target.box, key)
        whole = acquire(self.acquisition, target.surrogate, pending, (), net, size=len(points), seed=key.seed)
        moved = best_pool(whole, domain, target.box, key, size=len(points), method=self.method, guess=points)
        return points if moved is None else _without_duplicates(moved, points, domain)


def filled(points: Array, count: int, key: Key) -> Array:
    """Return ``count`` points: where a finite space is nearly used up, the rest is drawn at random."""
    if len(points) == count:
        return points
    return np.concatenate([points, sobol(key.number, count - len(points), points.shape[1], seed=key.seed)])


def _searched(targets: Sequence[Target | Array]) -> list[Target]:
    """Return the distinct targets of a search."""
    return list(dict.fromkeys(target for target in targets if isinstance(target, Target)))


def _without_duplicates(points: Array, spare: Array, domain: Domain) -> Array:
    """Return the points with spare ones in place of duplicates: an ascent may merge two points."""
    kept = []
    for point, other in zip(points, spare, strict=True):
        kept.append(point if domain.novel(point) else other)
        domain.take(kept[-1])
    return np.array(kept)
