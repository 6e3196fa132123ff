"""A study at one moment, as ``sonde show`` shows it. It is read from the storage alone: no strategy is loaded.

Trials are arrays (``History``), brought up to date by what has changed; only a few trials are read as records.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from sonde.arrays import Integers
from sonde.space import Space
from sonde.storage import Storage, StudyHeader, StudyStatus
from sonde.trials import History, State, TrialRecord
from sonde.trials.objectives import Objectives
from sonde.trials.reason import one_line
from sonde.trials.state import ENDED

RECENT = 20  # ended trials whose mean rate is that of the study
FAILURES = 3
_CODE = {state: code for code, state in enumerate(State)}


class Improvement(NamedTuple):
    """A result that is better than all before: how many results there were with it, its trial, its value."""

    results: int
    trial: int
    value: float


class Best(NamedTuple):
    """The best trial by the observed values."""

    trial: int
    value: float
    params: Mapping[str, Any]


class Range(NamedTuple):
    """The values of one of several objectives on the Pareto front."""

    name: str
    direction: str
    best: float
    worst: float


class Running(NamedTuple):
    """A running trial, its worker, and since when it runs, in seconds since the epoch."""

    worker: str
    trial: int
    since: float | None


class Failure(NamedTuple):
    """A failed trial and why, in one line."""

    trial: int
    reason: str


@dataclass(frozen=True)
class Overview:
    """What can be said of a study at one moment."""

    header: StudyHeader
    space: Space
    objectives: Objectives
    status: StudyStatus
    counts: Mapping[State, int]
    best: Best | None
    improvements: Sequence[Improvement]
    front: int  # how many trials the Pareto front of several objectives has
    ranges: Sequence[Range]
    running: Sequence[Running]
    failures: Sequence[Failure]
    rate: float | None  # trials that end in a second
    now: float

    @property
    def trials(self) -> int:
        """How many trials there are."""
        return sum(self.counts.values())

    @property
    def ended(self) -> int:
        """How many trials have a result."""
        return sum(self.counts.get(state, 0) for state in ENDED)

    @property
    def state(self) -> str:
        """Whether the study is paused, has running trials, or is idle."""
        if self.status.paused:
            return "paused"
        return "running" if self.counts.get(State.RUNNING) else "idle"

    def end(self, total: int | None) -> float | None:
        """Return when ``total`` trials will have ended, by the rate so far; None if that is unknown."""
        if total is None or not self.rate:
            return None
        return self.now + max(0, total - self.ended) / self.rate


class Watched:
    """A study that is looked at again and again."""

    def __init__(self, storage: Storage, name: str) -> None:
        self._storage = storage
        self.header = storage.find_study(name)
        self.space = Space.from_json(self.header.space)
        self.objectives = Objectives.from_text(self.header.direction)
        self._history = History(self.space, self.objectives.each[0].sign, objectives=self.objectives)
        self._records: dict[int, tuple[int, TrialRecord]] = {}  # by number, with the revision they are of

    def look(self, shown: int | None = None) -> Overview:
        """Return the study as it is now, with so many of its running trials, those that run longest."""
        history, key = self._history, self.header.key
        history.update(self._storage.changes(key, history.revision))
        front = self._front()
        ended = self._read(_latest(history, history.arrivals, RECENT))
        running = self._read(np.flatnonzero(history.states == _CODE[State.RUNNING])[:shown])
        failed = self._read(_latest(history, history.failed.numbers, FAILURES))
        self._records = {one.number: self._records[one.number] for one in (*ended, *running, *failed)}
        now = self._storage.now()
        return Overview(
            self.header, self.space, self.objectives, self._storage.status(key), _counts(history),
            self._best(), improvements(history), len(front), self._ranges(front),
            [Running(one.worker or "", one.number, one.started) for one in running],
            [Failure(one.number, _reason(one)) for one in reversed(failed)], rate(ended, now), now,
        )  # fmt: skip

    def _read(self, numbers: Integers) -> list[TrialRecord]:
        """Return the records of some trials; those that have not changed are not read again."""
        revisions = self._history.revisions
        for number in numbers.tolist():
            known = self._records.get(number)
            if known is None or known[0] != revisions[number]:
                self._records[number] = int(revisions[number]), self._storage.record(self.header.key, number)
        return [self._records[number][1] for number in numbers.tolist()]

    def _best(self) -> Best | None:
        history = self._history
        number = history.best()
        if number is None:
            return None
        params = self.space.codec.configuration(history.rows[number])
        return Best(number, float(history.sign * history.values[number]), params)

    def _front(self) -> Integers:
        if not self.objectives.several:
            return np.zeros(0, dtype=np.int64)
        from sonde.study.front import front

        return front(self._history)

    def _ranges(self, front: Integers) -> list[Range]:
        if not len(front):
            return []
        low, high = (reduce(self._history.outcomes[front], axis=0) for reduce in (np.min, np.max))
        signed = zip(self.objectives.each, low.tolist(), high.tolist(), strict=True)
        return [Range(one.name, one.direction, one.sign * best, one.sign * worst) for one, best, worst in signed]


def improvements(history: History) -> list[Improvement]:
    """Return the results of one objective that were better than all before, in the order in which they came."""
    numbers = history.arrivals
    if history.objectives.several or not len(numbers):
        return []
    usable = (history.states[numbers] == _CODE[State.COMPLETED]) & history.feasible[numbers]
    values = np.where(usable, history.values[numbers], np.inf)
    before = np.concatenate([[np.inf], np.minimum.accumulate(values)[:-1]])
    better = np.flatnonzero(values < before)
    return [Improvement(int(i) + 1, int(numbers[i]), float(history.sign * values[i])) for i in better]


def rate(ended: Sequence[TrialRecord], now: float) -> float | None:
    """Return how many trials ended in a second since the first of them; added trials did not run and do not count."""
    times = sorted(one.finished for one in ended if one.started is not None and one.finished is not None)
    if len(times) < 2 or now <= times[0]:
        return None
    return (len(times) - 1) / (now - times[0])


def _latest(history: History, numbers: Integers, most: int) -> Integers:
    """Return those trials that changed last, the last one at the end."""
    return numbers[np.argsort(history.revisions[numbers], kind="stable")][-most:]


def _counts(history: History) -> dict[State, int]:
    codes, counts = np.unique(history.states, return_counts=True)
    states = list(State)
    return {states[int(code)]: int(count) for code, count in zip(codes, counts, strict=True)}


def _reason(record: TrialRecord) -> str:
    error = None if record.outcome is None else record.outcome.error
    return one_line(error or "")
