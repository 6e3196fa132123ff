"""Multi-start local searches with trust regions: each runs from its own start to a local minimum.

Gradients make a local search so cheap that many fit into a budget. A trial is therefore compared with the best trial of
its own local search, not with the incumbent: a start that is worse than a known local minimum may lead below it.

Every local search has a trust region, a box, and a *caution*, the number of standard deviations that a step adds to the
posterior mean (see ``local_model``). Both follow from how much a step has gained, in units of the decrease that the
gradient predicts for a quadratic: it needs no model, so the state is a fold over the trials. The box reaches at most
halfway to the nearest known local minimum, because a local model would otherwise return to the trials there. A
search is *converged* where the gradient predicts no more gain over another step like the last one. A converged search
that holds the incumbent continues with its last digits; any other one is finished. A search is also finished after many
trials without success, and when it arrives at a known local minimum or descends towards one.

A trial belongs to the local search whose region contains it. A trial in no region is a new start if a local search
requested it or if it is the best so far. Several local searches can therefore run in parallel. The fold goes in the
order of the trials' numbers, so it is the same in any process.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sonde.arrays import Array, Index, Mask

WIDEST, START, NARROWEST = 2.0, 0.4, 2.0**-20  # sides of a trust region
RESIZE = 2.5  # factor by which a trust region grows and shrinks
CAUTION = 1.0  # standard deviations that a step adds to the posterior mean, at first
LEAST_CAUTION, MOST_CAUTION = 2.0**-7, 8.0
POOR, GOOD = 0.25, 0.75  # decreases of a step, as multiples of those of a quadratic: below and above, caution changes
EDGE = 0.9  # a good step of at least this share of the radius lets the region grow
STALLED = 6  # trials in a row without success that finish a search
GAIN = 1e-3  # share of the spread of all values: a smaller gain is no success
COARSE, FINE = (
    1e-5,
    1e-10,
)  # shares of the spread: a search converges, that of the incumbent ends, at this predicted gain
SAME_MINIMUM = 1e-3  # two minima closer than this in every coordinate are one
BASIN = 1.0, 3.0  # within a basin: predicted decrease to its minimum, as a multiple of the actual one


@dataclass
class LocalSearch:
    """State of one local search: its best trial, the side of its trust region, and whether it goes on."""

    best: int
    side: float = START
    caution: float = CAUTION
    last_step: float = WIDEST  # distance from the best trial to the last one
    finished: bool = False
    stepped: bool = False  # a trial was requested since the start
    converged: bool = False  # at a local minimum, up to the last digits
    duplicate: bool = False  # at a local minimum that another search has found
    suspect: int | None = None  # the known minimum that the gradient at the best trial points to
    stalled: int = 0

    @property
    def only_start(self) -> bool:
        """Whether no step was made from the start yet."""
        return not (self.stepped or self.finished or self.converged)

    @property
    def complete(self) -> bool:
        """Whether it has ended at a local minimum that no other search had found."""
        return self.finished and not self.duplicate

    @property
    def at_minimum(self) -> bool:
        """Whether it has reached a local minimum that no other search had found."""
        return (self.finished or self.converged) and not self.duplicate


@dataclass(frozen=True)
class Evaluated:
    """Evaluated trials: ``values`` (n,), lower is better, inf if infeasible; ``units`` and ``gradients`` (n, d).

    Trials that no local search ``requested`` (n,) may become its best and never count as failures. ``discrete`` (n,)
    numbers the combination of parameters that are not continuous: trials with different ones are infinitely far apart.
    """

    values: Array
    units: Array
    gradients: Array
    requested: Mask
    discrete: Index
    local_first: bool = False  # until a search has ended, every trial was requested

    def distances(self, i: int, others: list[int]) -> Array:
        """Return the maximum-norm distances of others from trial i."""
        distances = np.abs(self.units[others] - self.units[i]).max(axis=1, initial=0.0)
        return np.where(self.discrete[others] == self.discrete[i], distances, np.inf)

    def predicted_gain(self, i: int, side: float) -> float:
        """Return the decrease that the gradient of trial i predicts inside a region and the cube; inf without one."""
        gradients, unit = self.gradients[i], self.units[i]
        if np.isnan(gradients).all():
            return np.inf
        room = np.minimum(np.where(gradients > 0, unit, 1 - unit), side)
        return float(np.nansum(np.abs(gradients) * room))

    def spread(self, count: int) -> float:
        """Return the difference of the median and the best of the first values."""
        values = self.values[:count]
        values = values[np.isfinite(values)] / 4  # the difference of huge numbers is infinite
        return 4 * float(np.median(values) - np.min(values)) if len(values) else 0.0


def replay(trials: Evaluated, first: int) -> list[LocalSearch]:
    """Return all local searches; the first one starts from the best of the ``first`` trials, the initial design."""
    count = len(trials.values)
    if not count:
        return []
    searches = [LocalSearch(int(np.argmin(trials.values[:first])))]
    for i in range(min(first, count), count):
        search = _owner(trials, searches, i)
        requested = trials.requested[i] or (trials.local_first and not any(each.complete for each in searches))
        if search is None:
            if not requested and trials.values[i] >= np.min(trials.values[:i]):
                continue
            search = LocalSearch(i)
            searches.append(search)
        elif requested:
            _step(trials, search, i)
        elif trials.values[i] < trials.values[search.best]:
            search.best, search.last_step, search.stalled = i, search.side, 0
        else:
            continue
        _update_status(trials, search, [each.best for each in searches if each.at_minimum and each is not search], i)
    return searches


def _owner(trials: Evaluated, searches: list[LocalSearch], i: int) -> LocalSearch | None:
    """Return the local search whose region contains a trial: the nearest one in units of its region's side."""
    active = [each for each in searches if not each.finished]
    if not active:
        return None
    distances = trials.distances(i, [each.best for each in active]) / [each.side for each in active]
    nearest = int(np.argmin(distances))
    return active[nearest] if distances[nearest] <= 0.5 + 1e-9 else None


def _step(trials: Evaluated, search: LocalSearch, i: int) -> None:
    # an infeasible trial gains nothing; in quarters, because the difference of huge numbers is infinite
    gain = trials.values[search.best] / 4 - trials.values[i] / 4 if np.isfinite(trials.values[i]) else -np.inf
    spread = trials.spread(i + 1) / 4
    success = gain > GAIN * spread
    leading = gain > FINE * spread and trials.values[i] <= np.min(trials.values[: i + 1])
    search.stalled = 0 if success or leading else search.stalled + 1  # the last digits of the incumbent count
    search.stepped, search.last_step = True, float(np.abs(trials.units[i] - trials.units[search.best]).max())
    # half the decrease that the gradient predicts is that of a step to the minimum of a quadratic
    slope = float(np.nansum(trials.gradients[search.best] / 8 * (trials.units[search.best] - trials.units[i])))
    decrease = gain / slope if slope > 0 else np.sign(gain)
    if decrease < POOR:
        search.caution, search.side = min(4 * search.caution, MOST_CAUTION), search.side / RESIZE
    elif decrease > GOOD:
        search.caution = max(search.caution / 2, LEAST_CAUTION)
        if search.last_step >= EDGE * search.side / 2:
            search.side = min(RESIZE * search.side, WIDEST)
    if gain > 0:
        search.best = i


def _update_status(trials: Evaluated, search: LocalSearch, minima: list[int], i: int) -> None:
    """Set whether a search is converged or finished after trial i, and keep its region away from others' minima."""
    spread, leading = trials.spread(i + 1), trials.values[search.best] <= np.min(trials.values[: i + 1])
    predicted = trials.predicted_gain(search.best, min(search.side, search.last_step))
    distances = trials.distances(search.best, minima)
    nearest = float(distances.min(initial=np.inf))
    if search.best == i:
        near = minima[int(np.argmin(distances))] if np.isfinite(nearest) else None
        suspect = near if near is not None and _in_basin(trials, i, near) else None
        # once may be chance, so two gradients in a row must point to the same minimum
        search.duplicate, search.suspect = suspect is not None and suspect == search.suspect, suspect
    search.duplicate |= nearest < SAME_MINIMUM
    search.converged = predicted <= COARSE * spread
    done = search.converged and not (leading and predicted > FINE * spread)
    lost = search.stalled >= STALLED or (search.side < NARROWEST and not search.converged)
    search.finished = search.duplicate or lost or done
    search.side = min(search.side, nearest)  # a region reaches half its side, so halfway
    if search.converged and not search.finished:
        search.side = min(search.side, max(4 * search.last_step, NARROWEST**2))  # trials elsewhere are not its own


def _in_basin(trials: Evaluated, i: int, minimum: int) -> bool:
    """Whether trial i may be in the basin of a known local minimum.

    On the way down, gradient times distance is the decrease times 1 for a cone and times 2 for a parabola; across a
    ridge it may be anything.
    """
    if not np.isfinite(trials.values[i]):
        return False
    direction = trials.units[minimum] - trials.units[i]
    predicted = -float(np.nansum(trials.gradients[i] / 4 * direction))  # in quarters, see above
    decrease = float(trials.values[i] / 4 - trials.values[minimum] / 4)
    return decrease > 0 and BASIN[0] * decrease <= predicted <= BASIN[1] * decrease
