"""Replays a study: is every suggestion what its strategy suggests from the seed and the results so far?

The storage keeps, for each suggested trial, the revision of the history that its suggestion knew and the call of the
strategy that it is of. So the history of every call can be built again, one after the other: the trials below the
first number of the batch; those that had ended by that revision with their results, the others pending. A new strategy
with the same key then has to suggest the same rows. Each call starts from the stored trials, so rounding errors do not
add up.

Two things are not stored of a trial that ended late: when it was lost, if it was told afterwards, and whether a retry
had failed before it was told. A suggestion that differs while there is such a trial is not counted as a deviation.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

import numpy as np

from sonde.arrays import Array
from sonde.sampling import Key
from sonde.space import Space
from sonde.storage import Storage
from sonde.strategies import Strategy, record, resolve_strategy
from sonde.study.verification import TOLERANCE, Verification
from sonde.trials import Changes, History, State, TrialRecord
from sonde.trials.trial import Batch, columns, unpack_row

_PAGE = 10_000  # trials read at once

Kept = tuple[int, TrialRecord]  # a trial and the revision of its last change


@dataclass(frozen=True)
class Call:
    """One call of the strategy, and the trials that came of it."""

    seen: int
    batch: Batch
    trials: Sequence[TrialRecord]

    @property
    def sound(self) -> bool:
        """Whether a storage can have written it: consecutive trials, none before the first and not too many."""
        first, count = self.trials[0].number, len(self.trials)
        numbers = [record.number for record in self.trials]
        return self.batch.first <= first and count <= self.batch.size and numbers == list(range(first, first + count))


def verify(
    storage: Storage, study: str, history: History, strategy: Strategy, seed: int, *, shown: str,
    progress: Callable[[int, int], object] | None = None,
) -> Verification:  # fmt: skip
    """Replay a study on an empty history, with a strategy that has not suggested yet, up to the first deviation.

    ``shown`` is the strategy as text.
    """
    kept, missing = read(storage, study)
    replay, calls = Replay(history, kept), list(calls_of(kept))
    total = sum(len(call.trials) for call in calls)
    found = Verification(shown, others=len(kept) - total)
    for call in calls:
        found = _checked(call, replay, strategy, seed, found)
        if progress is not None:
            progress(found.checked + found.unchecked, total)
        if found.deviates is not None:
            return found
    return found if missing is None else _deviating(found, missing, math.inf, "it was deleted from the storage")


def unused(strategy: Strategy, stored: str) -> Strategy:
    """Return a strategy that has not suggested yet, with the options of this one if it is the one that is stored."""
    return type(strategy)(**strategy.options) if record(strategy) == stored else resolve_strategy(stored)


def read(storage: Storage, study: str) -> tuple[list[Kept], int | None]:
    """Return trials with the revisions of their last changes, up to the first number that is missing, and that one."""
    found: dict[int, Kept] = {}
    revision, more = 0, True
    while more:
        page = storage.page(study, revision, _PAGE)
        found |= {record.number: (changed, record) for changed, record in page.changed}
        revision, more = page.revision, page.more
    missing = next((place for place, number in enumerate(sorted(found)) if number != place), None)
    return [found[number] for number in range(len(found) if missing is None else missing)], missing


def calls_of(kept: Sequence[Kept]) -> Iterator[Call]:
    """Return the calls of the strategy, in their order."""
    suggested = [trial for _, trial in kept if trial.seen is not None and trial.batch is not None]
    for (seen, batch), trials in groupby(suggested, lambda trial: (trial.seen, trial.batch)):
        if seen is not None and batch is not None:
            yield Call(seen, batch, list(trials))


def _checked(call: Call, replay: Replay, strategy: Strategy, seed: int, found: Verification) -> Verification:
    """Return what is known after one more call."""
    if not call.sound:
        return _deviating(found, call.trials[0].number, math.inf, "its record contradicts that of its batch")
    history = replay.at(call)
    rows = strategy.suggest(history.space, history, call.batch.size, Key(seed, call.batch.first))
    distances = distances_of(history.space, call.trials, rows)
    wrong = next((place for place, distance in enumerate(distances) if distance > TOLERANCE), None)
    if wrong is None:
        return replace(found, checked=found.checked + len(distances), distance=max(found.distance, *distances))
    number, late = call.trials[wrong].number, replay.unclear(call)
    if late is None:
        return _deviating(found, number, distances[wrong], "")
    reason = (
        f"Trial {number} cannot be checked: trial {late} ended after it had been given to a second worker, and what "
        "was known of it until then is not stored."
    )
    return replace(found, unchecked=found.unchecked + len(distances), reasons=(*found.reasons, reason))


def _deviating(found: Verification, number: int, distance: float, why: str) -> Verification:
    apart = f"it is {distance:.3g} of the unit cube away from it" if math.isfinite(distance) else "a choice differs"
    return replace(
        found, deviates=number, distance=distance, reasons=(*found.reasons, f"Trial {number}: {why or apart}.")
    )


class Replay:
    """The history of a study as it was at one call of the strategy after the other."""

    def __init__(self, history: History, kept: Sequence[Kept]) -> None:
        self._history, self._kept = history, kept
        ended = (
            number for number, (_, record) in enumerate(kept) if record.state not in (State.WAITING, State.RUNNING)
        )
        self._changed = sorted(ended, key=lambda number: kept[number][0])
        self._next = 0  # of these
        self._count = 0  # trials so far
        self._lost: set[int] = set()  # trials whose retry is there

    def at(self, call: Call) -> History:
        """Return the history that a call knew."""
        new = range(self._count, call.batch.first)
        self._count = max(self._count, call.batch.first)
        of_new = {number: self._kept[number][1].retry_of for number in new}
        retried = {first for number, first in of_new.items() if first is not None and 0 <= first < number}
        self._lost |= retried
        numbers = sorted({*new, *retried, *self._changed_until(call.seen)})
        self._history.update(Changes(call.seen, [self._row(number, call.seen) for number in numbers]))
        return self._history

    def unclear(self, call: Call) -> int | None:
        """Return a trial of which it is not known exactly what a call knew of it, if there is one."""
        for number, (revision, trial) in enumerate(self._kept[: call.batch.first]):
            again = number in self._lost or trial.retry_of is not None
            if again and revision > call.seen and trial.state.finished:
                return number
        return None

    def _changed_until(self, seen: int) -> list[int]:
        """Return the trials that have changed last since the call before, up to a revision."""
        start = self._next
        while self._next < len(self._changed) and self._kept[self._changed[self._next]][0] <= seen:
            self._next += 1
        return [number for number in self._changed[start : self._next] if number < self._count]

    def _row(self, number: int, seen: int) -> tuple[object, ...]:
        revision, record = self._kept[number]
        if revision > seen:  # it ended later
            state = State.LOST if number in self._lost else State.RUNNING
            revision, record = seen, replace(record, state=state, outcome=None, finished=None)
        return columns(record, revision)


def distances_of(space: Space, trials: Sequence[TrialRecord], rows: Array) -> list[float]:
    """Return how far each stored row is from the computed one: in units of the cube, infinite if a choice differs."""
    stored = np.array([unpack_row(record.row, record.number, len(space)) for record in trials])
    common = min(len(stored), len(rows))
    continuous = np.array([axis.continuous for axis in space.codec.axes])
    (units, active), (others, too) = space.codec.encode(stored[:common]), space.codec.encode(rows[:common])
    same = (active == too) & (continuous | ~active | (stored[:common] == rows[:common]))
    apart = np.where(continuous & active, np.abs(units - others), 0.0).max(axis=1, initial=0.0)
    return [*np.where(same.all(axis=1), apart, math.inf).tolist(), *[math.inf] * (len(stored) - common)]
