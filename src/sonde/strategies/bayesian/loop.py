"""The loop of Bayesian optimization: fit a surrogate, choose targets, maximise the acquisition function.

It is the same for every surrogate. A target is a surrogate and the box in which its acquisition function is maximised:
the trust region around the incumbent or, where that has stalled, the whole unit cube (global exploration).
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, field

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

LARGE = 64  # more pending points than this: the batch is chosen from a candidate set instead of by searches
THRIFT = {"greedy": 2, "joint": 4}  # divides the effort of later points of a batch; joint ones are moved once more
# Trials without improvement (times how many run at once) after which every other trial explores globally: another
# basin is worth more than the last digits of the incumbent.
STALLED = 2


@dataclass
class Target:
    """A surrogate, the box in which to search, and fantasies of the pending points."""

    surrogate: Surrogate
    box: Box
    fantasies: list[Fantasies] = field(default_factory=list)
    acquisition: str | None = None  # another one than the strategy's, without pending points
    place: Array | None = None  # a point (d,) that is suggested as it is

    def imagine(self, pending: Array, count: int, seed: int, acquisition: str | Utility) -> None:
        """Condition on fantasies of the pending points, with room for those that will be chosen."""
        best, room = self.surrogate.best, len(pending) + count - 1
        if best is None or self.acquisition or self.place is not None or not needs_fantasies(acquisition):
            return
        self.fantasies = [Fantasies.of(posterior, best, room, seed) for posterior in self.surrogate.posteriors]
        for point in pending:
            self.add(point)

    def add(self, point: Array) -> None:
        """Condition on fantasies of one more pending point, (d,)."""
        for each in self.fantasies:
            each.add(self.surrogate.features(point))


class Bayesian(Strategy):
    """Fits a surrogate and suggests where the acquisition function is highest."""

    acquisition: str | Utility = "log_ei"
    batch: str = "greedy"
    search: str = "bfgs"

    @abstractmethod
    def fit_surrogate(self, space: Space, history: History, key: Key, *, far: bool = False) -> Surrogate:
        """Return the surrogate of a history with completed trials; ``far``: for global exploration."""

    def first(self, space: Space) -> int:
        """Return the size of the initial design."""
        return first_count(space)

    def ready(self, space: Space, history: History) -> bool:
        """Whether the initial design is complete."""
        return ready(history, self.first(space))

    def patience(self, space: Space) -> int:
        """Return after how many trials in a row without improvement the trust region is halved."""
        return max(4, len(space))

    @one_thread()
    def suggest(self, space: Space, history: History, count: int, key: Key) -> Array:
        """Return the points of highest acquisition value."""
        warn_of_history(history)
        if not self.ready(space, history):
            return Sobol().suggest(space, history, count, key)
        domain, pending = Domain(space, history), history.pending.units
        large = self.batch == "thompson" or (len(pending) + count > LARGE and needs_fantasies(self.acquisition))
        with doing(f"fitting the model to {len(history.completed):,} results"):
            targets = self._targets(space, history, domain, count, key, imagine=not large)
        with doing(f"searching for the next {f'{count:,} points' if count > 1 else 'point'}"):
            points = self._chosen(space, history, domain, targets, count, key, large=large)
        return novel_rows(space, history, points, key)

    def _chosen(
        self,
        space: Space,
        history: History,
        domain: Domain,
        targets: list[Target],
        count: int,
        key: Key,
        *,
        large: bool,
    ) -> Array:
        """Return points of high acquisition value, one for each target."""
        pending = history.pending.units
        if large:
            every = [(target.surrogate, target.box) for target in targets]
            points = select_large_batch(every, domain, pending, key, thompson=self.batch == "thompson")
        else:
            points = self._greedy(targets, domain, pending, count, key)
        if len(points) < count:  # a finite space is nearly used up: the rest is drawn at random
            points = np.concatenate([points, sobol(key.number, count - len(points), len(space), seed=key.seed)])
        elif self.batch == "joint" and count > 1 and not large:
            target, fresh = targets[0], Domain(space, history)
            whole = acquire(self.acquisition, target.surrogate, pending, (), candidates(fresh, target.box, key),
                            size=count, seed=key.seed)  # fmt: skip
            found = best_pool(whole, fresh, target.box, key, size=count, method=self.search, guess=points)
            points = points if found is None else _distinct(found, points, fresh)
        return points

    def _targets(
        self, space: Space, history: History, domain: Domain, count: int, key: Key, *, imagine: bool
    ) -> list[Target]:
        """Return a target for each point: the trust region; where it has stalled, every other time the whole cube."""
        at_once = len(history.pending) + count
        patience = self.patience(space) * at_once
        progress = follow(feasible_values(history), self.first(space), patience)
        stalled = progress.stalled >= STALLED * at_once
        exploring = [stalled and key.at(offset).number % 2 == 1 for offset in range(count)]
        made = {far: self._target_of(space, history, domain, progress.side, far, key) for far in set(exploring)}
        for target in made.values() if imagine else ():
            target.imagine(history.pending.units, count, key.seed, self.acquisition)
        return [made[far] for far in exploring]

    def _target_of(self, space: Space, history: History, domain: Domain, side: float, far: bool, key: Key) -> Target:
        surrogate = self.fit_surrogate(space, history, key, far=far)
        best = surrogate.incumbents[0]
        if far:
            return Target(
                surrogate, Box(np.zeros(len(space)), np.ones(len(space)), surrogate.incumbents, excluded=best)
            )
        return Target(surrogate, Box(*box_around(best, side, domain.free), best[None]))

    def _greedy(self, targets: list[Target], domain: Domain, pending: Array, count: int, key: Key) -> Array:
        """Choose the points one after the other, each with those before it pending."""
        chosen: list[Array] = []
        for offset in range(count):
            target = targets[offset]
            point = target.place
            if point is None:
                pending_now = np.concatenate([pending, np.array(chosen).reshape(-1, pending.shape[1])])
                point = self._searched(
                    target, domain, pending_now, key.at(offset), thrift=THRIFT[self.batch] if offset else 1
                )
            if point is None:
                break
            chosen.append(point)
            domain.take(point)
            for each in {id(later): later for later in targets[offset + 1 :]}.values():
                each.add(point)
        return np.array(chosen).reshape(-1, pending.shape[1])

    def _searched(self, target: Target, domain: Domain, pending_now: Array, key: Key, *, thrift: int) -> Array | None:
        """Return the best point of a target; None where none was found."""
        if target.acquisition:
            none = pending_now[:0]
            one = acquire(target.acquisition, target.surrogate, none, (), none, size=1, seed=key.seed)
        else:
            net = candidates(domain, target.box, key) if self.acquisition == "es" else pending_now
            one = acquire(self.acquisition, target.surrogate, pending_now, target.fantasies, net, size=1, seed=key.seed)
        return self._search(one, domain, target.box, key, thrift=thrift)

    def _search(self, acquisition: Acquisition, domain: Domain, box: Box, key: Key, *, thrift: int) -> Array | None:
        if self.search == "bfgs":
            return best_point(acquisition, domain, box, key, thrift=thrift)
        pool = best_pool(acquisition, domain, box, key, size=1, method=self.search)
        return None if pool is None else pool[0]


def feasible_values(history: History) -> Array:
    """Return the values of completed trials, infinite where they break a measured constraint."""
    done = history.completed.numbers
    return np.where(history.violations[done] <= 0, history.values[done], np.inf)


def _distinct(pool: Array, spare: Array, domain: Domain) -> Array:
    """Return the batch with spare points in place of duplicates: an ascent may merge two points."""
    kept = []
    for point, other in zip(pool, spare, strict=True):
        kept.append(point if domain.novel(point) else other)
        domain.take(kept[-1])
    return np.array(kept)
