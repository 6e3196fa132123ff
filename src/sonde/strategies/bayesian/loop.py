"""Bayesian optimization, whatever the model: where most is expected of a trial (Wilson et al. 2017)."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from dataclasses import field as dataclass_field

import numpy as np
from numpy.typing import NDArray

from sonde.acquisition.port import Acquisition
from sonde.acquisition.utilities import Utility
from sonde.activity import doing
from sonde.sampling import Key, sobol
from sonde.space import Space
from sonde.strategies.bayesian.acquisitions import acquire, needs_fantasies
from sonde.strategies.bayesian.domain import Domain
from sonde.strategies.bayesian.joint_search import best_pool
from sonde.strategies.bayesian.large_batch import select_large_batch
from sonde.strategies.bayesian.model import Fantasies, Surrogate
from sonde.strategies.bayesian.search import Box, best_point, candidates
from sonde.strategies.bayesian.trust_region import box_around, follow
from sonde.strategies.history_warnings import warn_of_history
from sonde.strategies.initial_design import first_count, ready
from sonde.strategies.novelty import novel_rows
from sonde.strategies.port import Strategy
from sonde.strategies.sobol import Sobol
from sonde.strategies.threads import one_thread
from sonde.trials import History

Array = NDArray[np.float64]

CROWD = 64  # with more points than this under way, a batch is chosen from a pool instead of by searches
THRIFT = {"greedy": 2, "joint": 4}  # with the later points of a batch; those of a joint one are moved once more
# Trials without improvement (times how many run at once) after which every other one looks elsewhere: another basin, or
# another cell of a lattice, is worth more than the last digits in this one.
STALLED = 2


@dataclass
class Target:
    """A belief, where to look with it, and outcomes it imagines of what is under way."""

    belief: Surrogate
    box: Box
    fantasies: list[Fantasies] = dataclass_field(default_factory=list)
    acquisition: str | None = None  # another one than the strategy's, regardless of what is under way
    place: Array | None = None  # a point (d,) that is taken as it is

    def imagine(self, pending: Array, count: int, seed: int, acquisition: str | Utility) -> None:
        """Condition on outcomes of the points under way, with room for those that will be chosen."""
        best, room = self.belief.best, len(pending) + count - 1
        if best is None or self.acquisition or self.place is not None or not needs_fantasies(acquisition):
            return
        self.fantasies = [Fantasies.of(posterior, best, room, seed) for posterior in self.belief.posteriors]
        for point in pending:
            self.add(point)

    def add(self, point: Array) -> None:
        """Condition on outcomes of one more point under way, (d,)."""
        for each in self.fantasies:
            each.add(self.belief.features(point))


class Bayesian(Strategy):
    """Believes something about the objective and tries where most is expected."""

    acquisition: str | Utility = "log_ei"
    batch: str = "greedy"
    search: str = "bfgs"

    @abstractmethod
    def fit_surrogate(self, space: Space, history: History, key: Key, *, far: bool = False) -> Surrogate:
        """Return the belief after a history with results to learn from; ``far``: to look elsewhere with."""

    def first(self, space: Space) -> int:
        """Return how many first trials are spread evenly."""
        return first_count(space)

    def ready(self, space: Space, history: History) -> bool:
        """Whether there is enough to learn from."""
        return ready(history, self.first(space))

    def patience(self, space: Space) -> int:
        """Return after how many trials in a row without improvement the region around the best one is halved."""
        return max(4, len(space))

    @one_thread()
    def suggest(self, space: Space, history: History, count: int, key: Key) -> Array:
        """Return the points of highest acquisition."""
        warn_of_history(history)
        if not self.ready(space, history):
            return Sobol().suggest(space, history, count, key)
        field, pending = Domain(space, history), history.pending.units
        crowded = self.batch == "thompson" or (len(pending) + count > CROWD and needs_fantasies(self.acquisition))
        with doing(f"fitting the model to {len(history.completed):,} results"):
            aims = self._targets(space, history, field, count, key, imagine=not crowded)
        with doing(f"searching for the next {f'{count:,} points' if count > 1 else 'point'}"):
            points = self._chosen(space, history, field, aims, count, key, crowded=crowded)
        return novel_rows(space, history, points, key)

    def _chosen(
        self, space: Space, history: History, field: Domain, aims: list[Target], count: int, key: Key, *, crowded: bool
    ) -> Array:
        """Return points of high acquisition, one for each aim."""
        pending = history.pending.units
        if crowded:
            every = [(aim.belief, aim.box) for aim in aims]
            points = select_large_batch(every, field, pending, key, thompson=self.batch == "thompson")
        else:
            points = self._greedy(aims, field, pending, count, key)
        if len(points) < count:  # a lattice that is nearly used up: what is left, if anything, is taken at random
            points = np.concatenate([points, sobol(key.number, count - len(points), len(space), seed=key.seed)])
        elif self.batch == "joint" and count > 1 and not crowded:
            aim, fresh = aims[0], Domain(space, history)
            whole = acquire(self.acquisition, aim.belief, pending, (), candidates(fresh, aim.box, key),
                            size=count, seed=key.seed)  # fmt: skip
            found = best_pool(whole, fresh, aim.box, key, size=count, method=self.search, guess=points)
            points = points if found is None else _distinct(found, points, fresh)
        return points

    def _targets(
        self, space: Space, history: History, field: Domain, count: int, key: Key, *, imagine: bool
    ) -> list[Target]:
        """Return an aim for each point: around the best one; where that stalls, elsewhere every other time."""
        at_once = len(history.pending) + count
        patience = self.patience(space) * at_once
        progress = follow(feasible_values(history), self.first(space), patience)
        stalled = progress.stalled >= STALLED * at_once
        exploring = [stalled and key.at(offset).number % 2 == 1 for offset in range(count)]
        made = {far: self._target_of(space, history, field, progress.side, far, key) for far in set(exploring)}
        for aim in made.values() if imagine else ():
            aim.imagine(history.pending.units, count, key.seed, self.acquisition)
        return [made[far] for far in exploring]

    def _target_of(self, space: Space, history: History, field: Domain, side: float, far: bool, key: Key) -> Target:
        belief = self.fit_surrogate(space, history, key, far=far)
        best = belief.incumbents[0]
        if far:
            return Target(belief, Box(np.zeros(len(space)), np.ones(len(space)), belief.incumbents, shunned=best))
        return Target(belief, Box(*box_around(best, side, field.free), best[None]))

    def _greedy(self, aims: list[Target], field: Domain, pending: Array, count: int, key: Key) -> Array:
        """Choose a point for each aim, each with those before it under way."""
        chosen: list[Array] = []
        for offset in range(count):
            aim = aims[offset]
            point = aim.place
            if point is None:
                under_way = np.concatenate([pending, np.array(chosen).reshape(-1, pending.shape[1])])
                point = self._searched(
                    aim, field, under_way, key.at(offset), thrift=THRIFT[self.batch] if offset else 1
                )
            if point is None:
                break
            chosen.append(point)
            field.take(point)
            for each in {id(later): later for later in aims[offset + 1 :]}.values():
                each.add(point)
        return np.array(chosen).reshape(-1, pending.shape[1])

    def _searched(self, aim: Target, field: Domain, under_way: Array, turn: Key, *, thrift: int) -> Array | None:
        """Return the best point of an aim; None where none was found."""
        if aim.acquisition:
            none = under_way[:0]
            one = acquire(aim.acquisition, aim.belief, none, (), none, size=1, seed=turn.seed)
        else:
            net = candidates(field, aim.box, turn) if self.acquisition == "es" else under_way
            one = acquire(self.acquisition, aim.belief, under_way, aim.fantasies, net, size=1, seed=turn.seed)
        return self._search(one, field, aim.box, turn, thrift=thrift)

    def _search(self, acquisition: Acquisition, field: Domain, box: Box, key: Key, *, thrift: int) -> Array | None:
        if self.search == "bfgs":
            return best_point(acquisition, field, box, key, thrift=thrift)
        pool = best_pool(acquisition, field, box, key, size=1, method=self.search)
        return None if pool is None else pool[0]


def feasible_values(history: History) -> Array:
    """Return the values of completed trials, infinite where they break a measured constraint."""
    done = history.completed.numbers
    return np.where(history.violations[done] <= 0, history.values[done], np.inf)


def _distinct(pool: Array, spare: Array, field: Domain) -> Array:
    """Return the pool with points that stand where another does replaced by spare ones: a climb may merge two."""
    kept = []
    for point, other in zip(pool, spare, strict=True):
        kept.append(point if field.novel(point) else other)
        field.take(kept[-1])
    return np.array(kept)
