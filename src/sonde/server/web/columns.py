"""The trials of a study as columns in memory, for the table of the dashboard.

They are brought up to date by what has changed since they were read last. A trial takes 8 bytes for each parameter and
objective and 40 for the rest; of an error there is its line, once for all trials that have it. Reading is by columns,
past the storage's interface: attributes, derivatives and tracebacks of a hundred thousand trials would take seconds.

Symbols: n trials, d parameters, K objectives. Row i is trial number i.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterable
from typing import Any

import numpy as np
import sqlalchemy as sa

from sonde.arrays import Array, Integers, Mask
from sonde.errors import StudyNotFound
from sonde.space import Space
from sonde.storage import StudyHeader
from sonde.storage.sql.database import Database
from sonde.storage.sql.tables import studies, trials
from sonde.trials import State
from sonde.trials.objectives import Objectives
from sonde.trials.outcome import unpack_objectives
from sonde.trials.reason import kind, one_line
from sonde.trials.trial import unpack_row

TOGETHER = 5000  # rows that are read before others may go on
LINE = 500  # characters of an error that are kept
KNOWN = 512  # whole texts that are remembered
STATES = tuple(state.value for state in State)

_CODE = {name: code for code, name in enumerate(STATES)}
_COMPLETED = _CODE["completed"]
_STUDY = sa.select(studies.c.id, studies.c.revision).where(studies.c.uuid == sa.bindparam("key"))
_CHANGED = sa.select(
    trials.c.number, trials.c.state, trials.c.row, trials.c.value, trials.c.objectives, trials.c.constraints,
    trials.c.error, trials.c.worker, trials.c.started, trials.c.finished,
).where(trials.c.study_id == sa.bindparam("study"), trials.c.revision > sa.bindparam("since"))  # fmt: skip


class Columns:
    """The columns of one study."""

    def __init__(self, header: StudyHeader) -> None:
        self.key = header.key
        self.space = Space.from_json(header.space)
        self.objectives = Objectives.from_text(header.direction)
        self.lock = threading.RLock()  # held by whoever reads several columns, or brings them up to date
        self.revision, self._length = 0, 0
        self.errors, self.workers = _Names(), _Names()
        self._data = self._empty(16)

    def __len__(self) -> int:
        return self._length

    def __getitem__(self, name: str) -> Any:
        """Return a column by its name in ``_empty``."""
        return self._data[name][: self._length]

    def update(self, database: Database) -> None:
        """Read what has changed."""
        with self.lock:
            database.read(self._read)

    def _read(self, connection: sa.Connection) -> None:
        found = _study(connection, self.key)
        if found.revision == self.revision:
            return
        rows = connection.execute(_CHANGED, {"study": found.id, "since": self.revision})
        for part in rows.partitions(TOGETHER):
            self._put(part)
        self.revision = found.revision

    def _put(self, part: Iterable[Any]) -> None:
        number, state, row, value, objectives, constraints, error, worker, started, finished = zip(*part, strict=True)
        index = np.array(number)
        self._grow(int(index.max()) + 1)
        data, width = self._data, len(self.space)
        for own, packed in zip(number, row, strict=True):
            if len(packed) != 8 * width:
                unpack_row(packed, own, width)  # raises
        data["row"][index] = np.frombuffer(b"".join(row), dtype="<f8").reshape(-1, width)
        data["state"][index] = [_CODE[own] for own in state]
        data["value"][index] = self._values(value, objectives)
        data["broken"][index] = [levels is not None and _broken(levels) for levels in constraints]
        data["error"][index] = [-1 if text is None else self.errors.index(text) for text in error]
        data["worker"][index] = [-1 if name is None else self.workers.index(name) for name in worker]
        data["started"][index] = np.array(started, dtype=float)
        data["finished"][index] = np.array(finished, dtype=float)

    def _values(self, value: Any, objectives: Any) -> Array:
        if not self.objectives.several:
            return np.array(value, dtype=float)[:, None]
        count = len(self.objectives)
        return np.array([[np.nan] * count if one is None else unpack_objectives(one)[0] for one in objectives])

    def _empty(self, length: int) -> dict[str, Any]:
        return {
            "state": np.zeros(length, np.int8), "row": np.full((length, len(self.space)), np.nan),
            "value": np.full((length, len(self.objectives)), np.nan), "broken": np.zeros(length, bool),
            "error": np.full(length, -1, np.int32), "worker": np.full(length, -1, np.int32),
            "started": np.full(length, np.nan), "finished": np.full(length, np.nan),
        }  # fmt: skip

    def _grow(self, length: int) -> None:
        if length > len(self._data["state"]):
            grown = self._empty(max(length, 2 * len(self._data["state"])))
            for name, column in self._data.items():
                grown[name][: self._length] = column[: self._length]
            self._data = grown
        self._length = max(self._length, length)

    # what is computed of them

    @property
    def durations(self) -> Array:
        """Seconds from start to end (n,); NaN where a trial has not ended."""
        return np.asarray(self["finished"] - self["started"])

    @property
    def usable(self) -> Mask:
        """Which trials may be the best (n,)."""
        return np.asarray((self["state"] == _COMPLETED) & ~self["broken"])

    def best_so_far(self) -> Array:
        """Return the best value up to each trial (n,), of the first objective; NaN before the first."""
        sign = self.objectives.each[0].sign
        lowest = np.minimum.accumulate(np.where(self.usable, sign * self["value"][:, 0], np.inf))
        return np.asarray(np.where(np.isfinite(lowest), sign * lowest, np.nan))

    def best(self) -> int | None:
        """Return the number of the best trial, the earliest among equals; None if there is none, or no order."""
        if self.objectives.several or not self.usable.any():
            return None
        return int(np.argmin(np.where(self.usable, self.objectives.each[0].sign * self["value"][:, 0], np.inf)))

    def counts(self) -> dict[str, int]:
        """Return how many trials there are in each state."""
        found = np.bincount(self["state"], minlength=len(STATES)).tolist()
        return {name: count for name, count in zip(STATES, found, strict=True) if count}

    def in_state(self, *names: str) -> Integers:
        """Return the numbers of the trials in one of some states."""
        return np.flatnonzero(np.isin(self["state"], [_CODE[name] for name in names]))


def revision(database: Database, key: str) -> int:
    """Return the revision of a study."""
    return int(database.read(lambda connection: _study(connection, key).revision))


def _study(connection: sa.Connection, key: str) -> Any:
    found = connection.execute(_STUDY, {"key": key}).one_or_none()
    if found is None:
        raise StudyNotFound("the study was deleted")
    return found


class _Names:
    """Texts that many trials share, by index: of a text its line. Those that differ in numbers only are of one kind."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.kinds: list[int] = []  # of each text
        self._kinds: dict[str, int] = {}
        self._index: dict[str, int] = {}  # by line
        self._known: dict[str, int] = {}  # by text, of the last ones: computing the line takes time

    def index(self, text: str) -> int:
        """Return the index of a text's line."""
        found = self._known.get(text)
        if found is None:
            line = one_line(text)[:LINE]
            found = self._index.setdefault(line, len(self.texts))
            if found == len(self.texts):
                self.texts.append(line)
                self.kinds.append(self._kinds.setdefault(kind(line), len(self._kinds)))
            if len(self._known) > KNOWN:
                self._known.clear()
            self._known[text] = found
        return found

    def of(self, index: int) -> str | None:
        """Return the text of an index."""
        return None if index < 0 else self.texts[index]


def _broken(levels: str) -> bool:
    """Whether a measured constraint is broken; levels that cannot be read count as broken."""
    try:
        return any(float(level) > 0 for level in json.loads(levels).values())
    except (ValueError, TypeError, AttributeError):
        return True
