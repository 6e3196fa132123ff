"""The schedule of ``fobo``: which trials go to the global model, a local search, a new start or a discrete change."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from sonde.arrays import Array
from sonde.sampling import Key, Stream
from sonde.space import Space
from sonde.strategies.bayesian.domain import SAME, Domain
from sonde.strategies.bayesian.large_batch import LARGE
from sonde.strategies.bayesian.surrogate import Surrogate, features_of, fit_feasibility
from sonde.strategies.bayesian.target import Box, Target
from sonde.strategies.bayesian.trust_region import GAIN, progress_of
from sonde.strategies.first_order.active_searches import (
    FIRST,
    Searches,
    is_high_dimensional,
    local_searches,
    searching_locally,
)
from sonde.strategies.first_order.gradient_model import GradientModel
from sonde.strategies.first_order.local_model import local_step
from sonde.strategies.first_order.local_search import SAME_MINIMUM
from sonde.strategies.first_order.search_starts import SearchStarts, incumbent
from sonde.surrogates.exact.feasibility import Feasibility

PATIENCE = 4  # trials without improvement after which the trust region around the incumbent is halved
CHANGES = 32  # random changes of a point, of which the first new one is tried
AROUND = 0.1  # distance in every continuous coordinate within which a combination counts as tried


class FirstOrderSchedule:
    """Steps and starts of local searches; once one has ended, they alternate with the global model.

    In high dimension there is no global model.
    """

    def __init__(self, model: GradientModel) -> None:
        self._model, self._starts = model, SearchStarts(model)

    def first(self, space: Space) -> int:
        """Return the size of the initial design."""
        return FIRST

    def targets(self, domain: Domain, count: int, key: Key) -> list[Target | Array]:
        """Return a target or a point for each of the next trials."""
        alternating, at_once = self._model.in_any_dimension, len(domain.history.pending) + count
        high = is_high_dimensional(domain.space) and not alternating
        local_first = bool(domain.continuous.all()) and not alternating and at_once <= LARGE
        searches = Searches([], domain.history.completed.numbers[:0], first=False)
        if domain.continuous.any():  # a lattice has no local searches
            searches = local_searches(domain, alternating=alternating)
        if high or (local_first and searches.first):
            return self._local_points(domain, searches, count, key)
        return self._alternating(domain, searches, count, key)

    def _alternating(self, domain: Domain, searches: Searches, count: int, key: Key) -> list[Target | Array]:
        """Return a target for each point: of the global model for even numbers, of a local search for odd ones."""
        history = domain.history
        values, at_once = history.feasible_values[history.completed.numbers], len(history.pending) + count
        progress = progress_of(values, FIRST, PATIENCE, at_once)
        surrogate = self._model.fit(domain.space, history)
        best = surrogate.incumbents[0]
        distances = np.abs(history.units[searches.minima] - best)[:, domain.continuous].max(axis=1, initial=0.0)
        if np.any(distances < SAME_MINIMUM):  # the last digits of a minimum are the local search's business
            surrogate = _with_margin(surrogate)
        trust_region = Target(surrogate, Box.around(best, progress.side, domain.continuous))
        if at_once > LARGE:  # a large batch is selected from one candidate set
            return [trust_region] * count
        exploration = Target(surrogate, Box.exploring(surrogate.incumbents))
        targets: list[Target | Array] = []
        for trial in (key.at(offset) for offset in range(count)):
            if trial.number % 2 == 0 or not domain.continuous.any():
                targets.append(exploration if progress.stalled and trial.number % 4 == 2 else trust_region)
            else:
                targets.append(self._local_point(domain, searches, trial.number // 2, surrogate.feasibility, trial))
        return targets

    def _local_points(self, domain: Domain, searches: Searches, count: int, key: Key) -> list[Target | Array]:
        """Return steps and starts of local searches.

        If not all parameters are continuous, every other trial is the incumbent with one discrete parameter changed.
        """
        success = fit_feasibility(features_of(domain.space), domain.history)
        every = bool(domain.continuous.all())
        points: list[Target | Array] = []
        for trial in (key.at(offset) for offset in range(count)):
            changes = not (every or searching_locally(domain, np.array([trial.number]))[0])
            rng = trial.rng(Stream.LOCAL_STARTS)
            changed = changed_point(domain, incumbent(domain.history), rng) if changes else None
            if changed is not None:
                points.append(changed)
            else:
                index = trial.number if every else trial.number // 2
                points.append(self._local_point(domain, searches, index, success, trial))
        return points

    def _local_point(
        self, domain: Domain, searches: Searches, index: int, success: Feasibility | None, trial: Key
    ) -> Array:
        """Return the next step of a local search, or a new start."""
        step = None
        if continues_search(searches, index):
            step = local_step(self._model, domain, searches.waiting.pop(0), success)
        return self._starts.sample(domain, searches.minima, trial) if step is None else step


def continues_search(searches: Searches, index: int) -> bool:
    """Whether the local trial of this index continues a search; otherwise it is a new start.

    A converged search, which works on the last digits of the incumbent, gets every other one, the first search all.
    """
    waiting = searches.waiting
    return bool(waiting) and (searches.first or not waiting[0].converged or index % 2 == 0)


def changed_point(domain: Domain, point: Array, rng: np.random.Generator) -> Array | None:
    """Return a point (d,) with one discrete coordinate changed; None if no new one is found.

    A combination that was tried nearby is not new, even if the continuous coordinates differ a little.
    """
    active = domain.project(point[None])[1][0]
    discrete = np.flatnonzero(active & ~domain.continuous)
    if not len(discrete):
        return None
    # parameters that become active by the change get random values
    changed = np.where(active, point, rng.random((CHANGES, len(point))))
    changed[np.arange(CHANGES), rng.choice(discrete, CHANGES)] = rng.random(CHANGES)
    changed = domain.project(changed)[0]
    around = np.all(np.abs(domain.tried - point)[:, active & domain.continuous] <= AROUND, axis=1)
    tried = domain.tried[around][:, ~domain.continuous]
    return next(
        (each for each in changed if not np.any(np.all(np.abs(tried - each[~domain.continuous]) <= SAME, axis=1))), None
    )


def _with_margin(surrogate: Surrogate) -> Surrogate:
    """Return a surrogate whose best value is higher by the gain that counts as a success in a trust region."""
    if surrogate.best is None:
        return surrogate
    margin = GAIN * max(0.0, surrogate.best - float(np.median(surrogate.values)))
    return replace(surrogate, best=surrogate.best + margin)
