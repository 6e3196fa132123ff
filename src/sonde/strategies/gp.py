"""Bayesian optimization: an exact Gaussian process and reparameterized acquisitions (Wilson et al. 2017)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sonde.acquisition.utilities import Utility
from sonde.errors import OptionError
from sonde.sampling import Key
from sonde.space import Space
from sonde.strategies.acquire import acquire, check_acquisition, needs_fantasies
from sonde.strategies.belief import Belief, BelievedValues, Fantasies, believe
from sonde.strategies.field import Field
from sonde.strategies.novelty import novel_rows
from sonde.strategies.oddities import warn_of_oddities
from sonde.strategies.pools import SEARCHES, best_pool
from sonde.strategies.port import Strategy
from sonde.strategies.region import box_around, side_length
from sonde.strategies.search import Box, best_point, candidates
from sonde.strategies.sobol import Sobol
from sonde.strategies.start import first_count, ready
from sonde.surrogates.chain import Chain
from sonde.trials import History

Array = NDArray[np.float64]

BATCHES = ("greedy", "joint")
HYPERPARAMETERS = ("map", "slice")


class GP(Strategy):
    """Models the values by a Gaussian process and tries where most is expected.

    The bare name ``"gp"`` chooses well by itself; every option is for those who want to choose.

    Parameters
    ----------
    acquisition
        ``"log_ei"`` (default), ``"ei"``, ``"pi"``, ``"ucb"``, ``"sr"`` or ``"es"``; or a function
        ``(mean (q,), spread (q,), best) -> number`` of a pool's outcomes mean + spread, in JAX: its mean is maximised.
    batch
        Points asked for together are chosen one after the other, each with those before it under way
        (``"greedy"``), or then moved together as well (``"joint"``).
    search
        How the acquisition is searched: ``"lbfgs"``, ``"adam"``, ``"direct"`` or ``"random"``.
    hyperparameters
        The most probable ones (``"map"``), or an average over draws of them (``"slice"``).
    """

    name = "gp"

    def __init__(
        self, acquisition: str | Utility | Callable[..., Any] = "log_ei", *, batch: str = "greedy",
        search: str = "lbfgs", hyperparameters: str = "map",
    ) -> None:  # fmt: skip
        self.acquisition = check_acquisition(acquisition)
        self.batch = _one_of(batch, "batch", BATCHES)
        self.search = _one_of(search, "search", tuple(SEARCHES))
        self.hyperparameters = _one_of(hyperparameters, "hyperparameters", HYPERPARAMETERS)
        self._chain = Chain()

    def suggest(self, space: Space, history: History, count: int, key: Key) -> Array:
        """Return the points of highest acquisition."""
        warn_of_oddities(history)
        if not ready(space, history):
            return Sobol().suggest(space, history, count, key)
        marginalise = self.hyperparameters == "slice"
        belief = believe(space, history, self._chain, marginalise=marginalise, seed=key.seed)
        field = Field(space, history)
        box = self._box(space, history, belief, field, count)
        points = self._greedy(belief, field, box, history.pending.units, count, key)
        if self.batch == "joint" and count > 1 and len(points) == count:
            whole = acquire(self.acquisition, belief, history.pending.units, (), candidates(field, box, key),
                            size=count, seed=key.seed)  # fmt: skip
            found = best_pool(whole, field, box, key, size=count, method=self.search, guess=points)
            points = points if found is None else found
        return novel_rows(space, history, points, key)

    def _box(self, space: Space, history: History, belief: Belief, field: Field, count: int) -> Box:
        done = history.completed.numbers
        values = np.where(history.violations[done] <= 0, history.values[done], np.inf)
        side = side_length(values, first_count(space), patience=max(4, len(space)) * (len(history.pending) + count))
        return Box(*box_around(belief.incumbents[0], side, field.free), belief.incumbents[:1])

    def _greedy(self, belief: Belief, field: Field, box: Box, pending: Array, count: int, key: Key) -> Array:
        """Choose one point after the other, each with those before it under way."""
        fantasies = self._fantasies(belief, pending, count, key.seed)
        chosen: list[Array] = []
        for offset in range(count):
            under_way = np.concatenate([pending, np.array(chosen).reshape(-1, pending.shape[1])])
            net = candidates(field, box, key.at(offset)) if self.acquisition == "es" else pending
            one = acquire(self.acquisition, belief, under_way, fantasies, net, size=1, seed=key.seed)
            if self.search == "lbfgs":
                point = best_point(one, field, box, key.at(offset))
            else:
                pool = best_pool(one, field, box, key.at(offset), size=1, method=self.search)
                point = None if pool is None else pool[0]
            if point is None:
                break
            chosen.append(point)
            field.take(point)
            for each in fantasies if offset + 1 < count else ():
                each.add(belief.features(point))
        return np.array(chosen).reshape(-1, pending.shape[1])

    def _fantasies(self, belief: Belief, pending: Array, count: int, seed: int) -> list[Fantasies]:
        if belief.best is None or not needs_fantasies(self.acquisition):
            return []
        room = len(pending) + count - 1
        fantasies = [Fantasies.of(posterior, belief.best, room, seed) for posterior in belief.posteriors]
        for point in belief.features(pending):
            for each in fantasies:
                each.add(point)
        return fantasies

    def model(self, space: Space, history: History) -> BelievedValues:
        """Return the Gaussian process on the results so far."""
        return BelievedValues(space, history, believe(space, history, self._chain))

    def explain(self, space: Space, history: History) -> str:
        """Say what it does."""
        if not ready(space, history):
            return f"spreads the first {first_count(space)} configurations evenly, for want of results to learn from"
        belief = believe(space, history, self._chain)
        name = self.acquisition if isinstance(self.acquisition, str) else "a utility of yours"
        scale = "as they are" if belief.scale.floor is None else "on a log scale"
        lengths = belief.posteriors[0].covariance.theta[: len(space)]
        names = [space.names[k] for k in np.argsort(lengths, kind="stable")[:3]]
        return (
            f"models {len(belief.values)} values, {scale}, by a Gaussian process and maximises {name}; "
            f"the values depend most on {', '.join(names)}"
        )


def _one_of(given: str, name: str, known: tuple[str, ...]) -> str:
    if given not in known:
        raise OptionError(f"{name} must be one of {', '.join(known)}, got {given!r}")
    return given
