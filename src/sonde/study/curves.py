"""The learning curves of a study: what running trials report, when to stop one, and what a stopped one would have had.

Reports go through the storage, so that any process may report and decide. Processes of a study in memory reach it by a
channel.
"""

from __future__ import annotations

import math
import pickle
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from sonde.arrays import Array
from sonde.errors import NotConnected, StorageError
from sonde.sampling import Key
from sonde.storage import Storage
from sonde.study.channel import Channel, request
from sonde.trials import Outcome, State, TrialKey
from sonde.trials.outcome import stopped

if TYPE_CHECKING:  # the model loads SciPy, which most studies do not need before the first suggestion
    from collections.abc import Iterable

    from sonde.curves import Curve, CurveModel

Reports = list[tuple[float, float]]  # step and value

EACH = 50  # ended trials up to which every new one is learned from at once; beyond, when they grow by a fiftieth


@dataclass(frozen=True)
class Settings:
    """What of a study its curves need: its UUID, its seed, the sign of its objective, and whether to stop trials."""

    study: str
    seed: int
    sign: float
    stops: bool


class Curves:
    """The curves of a study, read as they grow, with the model of those that have ended."""

    def __init__(self, storage: Storage, settings: Settings) -> None:
        self._storage, self.settings = storage, settings
        self._lock = threading.RLock()
        self._points: dict[int, dict[float, float]] = {}  # by number: the last value that came for each step
        self._arrays: dict[int, Array] = {}
        self._newer: set[int] = set()  # than their arrays
        self._past: dict[int, tuple[int, float | None]] = {}  # of ended trials: revision, final value (lower is better)
        self._read, self._seen = 0, 0  # revisions of reports and of trials
        self._model: CurveModel | None = None
        self._fitted_to = -1  # ended trials
        self._channel: Channel | None = None

    def report(self, trial: TrialKey, reports: Reports) -> int | None:
        """Add to the curve of a trial; return the trial's number, or None if a crash of the database has lost it."""
        return self._storage.report(self.settings.study, trial, reports)

    def update(self) -> set[int]:
        """Read what is new, and return the numbers of the trials that it is of."""
        with self._lock:
            self._read, new = self._storage.reports(self.settings.study, self._read)
            for number, step, value in new:
                self._points.setdefault(number, {})[step] = value
            numbers = {number for number, _, _ in new}
            self._newer |= numbers
            return numbers

    def of(self, number: int) -> Reports:
        """Return the curve of a trial, sorted by step."""
        with self._lock:
            return sorted(self._points.get(number, {}).items())

    def arrays(self) -> dict[int, Array]:
        """Return all curves (m, 2) of step and value, up to date."""
        with self._lock:
            self.update()
            self._arrays.update((number, np.array(self.of(number))) for number in self._newer)
            self._newer = set()
            return self._arrays

    def should_stop(self, number: int) -> bool:
        """Whether a running trial is hopeless by its curve."""
        if not self.settings.stops:
            return False
        from sonde.curves import should_stop

        with self._lock:
            return should_stop(self._fitted(), self._signed(number), Key(self.settings.seed, number))

    def stopped(self, trial: TrialKey) -> Outcome:
        """Return the outcome of a trial that was stopped: the predicted final value, where it can be predicted."""
        with self._lock:
            number = self.report(trial, [])
            predicted = None if number is None else self._fitted().predict(self._signed(number))
        return stopped() if predicted is None else stopped(self.settings.sign * predicted.mean, predicted.deviation)

    def channel(self) -> Channel:
        """Return the channel to this process."""
        with self._lock:
            if self._channel is None:
                self._channel = Channel(self._answer)
            return self._channel

    def close(self) -> None:
        """Close the channel."""
        if self._channel is not None:
            self._channel.close()

    def __reduce__(self) -> tuple[Any, ...]:
        """In another process they are those of the database, or this process answers."""
        if self._storage.url is not None:
            return StoredCurves, (pickle.dumps(self._storage), self.settings)
        try:
            channel = self.channel()
        except OSError:  # no sockets here: only reporting needs one
            return DistantCurves, (None, b"")
        return DistantCurves, (channel.address, channel.key)

    def _answer(self, asked: Any) -> Any:
        what, *arguments = asked
        if what == "report":
            number, token, reports = arguments
            return self.report(TrialKey(number, token), [(step, value) for step, value in reports])
        return self.should_stop(*arguments)

    def _fitted(self) -> CurveModel:
        """Return the model of the trials that have ended so far."""
        from sonde.curves import CurveModel, PastTrial

        self.update()
        changes = self._storage.changes(self.settings.study, self._seen)
        self._seen = changes.revision
        self._note(changes.rows)
        count = learned_from(len(self._past))
        if self._model is None or count != self._fitted_to:
            first = sorted((revision, number) for number, (revision, _) in self._past.items())[:count]  # as they ended
            self._model = CurveModel([PastTrial(self._signed(number), self._past[number][1]) for _, number in first])
            self._fitted_to = count
        return self._model

    def _note(self, rows: Iterable[tuple[Any, ...]]) -> None:
        """Note the ends of trials; those that break constraints, or have several values, do not count."""
        for number, state, revision, _, value, *_, constraints, _ in rows:
            if state == State.COMPLETED:
                if value is not None and max((constraints or {}).values(), default=0.0) <= 0:
                    self._past[number] = revision, self.settings.sign * value
            elif State(state).finished:
                self._past[number] = revision, float("inf") if state == State.FAILED else None

    def _signed(self, number: int) -> Curve:
        from sonde.curves import Curve

        return Curve.of((step, self.settings.sign * value) for step, value in self._points.get(number, {}).items())


def learned_from(ended: int) -> int:
    """Return from how many of the ended trials the model learns: fits to thousands take as long as short trainings."""
    if ended <= EACH:
        return ended
    return int(EACH * 1.02 ** math.floor(math.log(ended / EACH, 1.02)))


class StoredCurves:
    """The curves of a study in a database, for another process; it opens the database when they are first needed."""

    def __init__(self, packed: bytes, settings: Settings) -> None:
        self._arguments = packed, settings

    def report(self, trial: TrialKey, reports: Reports) -> int | None:
        """As ``Curves.report``."""
        return _opened(*self._arguments).report(trial, reports)

    def should_stop(self, number: int) -> bool:
        """As ``Curves.should_stop``."""
        return _opened(*self._arguments).should_stop(number)


class DistantCurves:
    """The curves of a study in the memory of another process."""

    def __init__(self, address: Any, key: bytes) -> None:
        self._address, self._key = address, key

    def report(self, trial: TrialKey, reports: Reports) -> int | None:
        """As ``Curves.report``."""
        number: int | None = request(self._address, self._key, ["report", *trial, reports])
        return number

    def should_stop(self, number: int) -> bool:
        """As ``Curves.should_stop``."""
        return bool(request(self._address, self._key, ["should_stop", number]))


@dataclass
class Reporter:
    """Reports for one trial, in the process of its study or in another one.

    A report that does not arrive is no reason to lose the trial: it is a warning.
    """

    curves: Curves | StoredCurves | DistantCurves
    trial: TrialKey
    told_to_stop: bool = False
    _number: int | None = None  # known after the first report

    def report(self, step: float, value: float) -> None:
        """Add to the trial's curve."""
        with self._forgiving():
            self._number = self.curves.report(self.trial, [(step, value)])

    def should_stop(self) -> bool:
        """Whether the trial is hopeless; it stays so."""
        if not self.told_to_stop and self._number is not None:
            with self._forgiving():
                self.told_to_stop = self.curves.should_stop(self._number)
        return self.told_to_stop

    @contextmanager
    def _forgiving(self) -> Iterator[None]:
        try:
            yield
        except (NotConnected, StorageError) as error:
            warnings.warn(f"the learning curve of trial {self.trial.number} is incomplete: {error}", stacklevel=5)


@lru_cache(maxsize=4)
def _opened(packed: bytes, settings: Settings) -> Curves:
    return Curves(pickle.loads(packed), settings)
