"""All trials of a study as arrays, for strategies.

Symbols: n trials, d parameters, K objectives. Row i of every array is trial number i. Values are signed so that lower
is better. Memory is linear in n; unit-cube points and derivatives are computed on first use.

With several objectives there is no single value. ``outcomes`` has the values of all; ``of(k)`` is the history of one of
them, and ``with_values`` the history of any function of them: what reads one objective reads these.

``update`` takes the rows that changed, so that a history never has to be read again as a whole.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from typing import Any, Protocol

import numpy as np

from sonde.arrays import Array, Integers, Mask
from sonde.space import Space
from sonde.trials.objectives import ONE, Objectives
from sonde.trials.outcome import unpack_gradient, unpack_hessian
from sonde.trials.state import State
from sonde.trials.trial import checked_objectives, unpack_row

_CODE = {state: code for code, state in enumerate(State)} | {state.value: code for code, state in enumerate(State)}

_CACHED = ("completed", "measured", "pending", "failed", "arrivals")

ROUNDING = 1e-9  # relative difference below which two values of a configuration are equal


@dataclass(frozen=True)
class Changes:
    """The trials that changed since some revision, and the revision that a reader has after them.

    A row has number, state, revision, row, value, noise, gradient, hessian, constraints and objectives of a trial, and
    the seconds from its start to its result if it was suggested.
    """

    revision: int
    rows: Sequence[tuple[Any, ...]]


class StateCache(Protocol):
    """A cache of fitted models. The name of a state is a hash of the data that it was fitted to.

    It may drop a state at any time: fitting again gives the same state.
    """

    def get(self, name: str) -> bytes | None:
        """Return the state of that name, or None."""

    def put(self, name: str, state: bytes) -> None:
        """Keep a state for other processes."""


class Points:
    """Some trials: their numbers, rows, unit-cube points and activity, computed on first use."""

    def __init__(self, history: History, numbers: Integers) -> None:
        self._history, self.numbers = history, numbers

    @cached_property
    def rows(self) -> Array:
        """Rows of the codec."""
        return self._history.rows[self.numbers]

    @cached_property
    def units(self) -> Array:
        """Points of the unit cube."""
        return self._history.units[self.numbers]

    @cached_property
    def active(self) -> Mask:
        """Which entries are active."""
        return ~np.isnan(self.rows)

    def __len__(self) -> int:
        return len(self.numbers)


class History:
    """All trials of a study as arrays. Strategies must not change it."""

    def __init__(self, space: Space, sign: float = 1.0, *, objectives: Objectives = ONE) -> None:
        self.space = space
        self.sign = sign
        self.objectives = objectives
        self.revision = 0
        self.cache: StateCache | None = None  # of fitted models, shared between processes; a study sets it
        self.curves: Mapping[int, Array] = {}  # by number, learning curves (m, 2) of step and value; a study sets it
        self._rows = _Column(len(space))
        self._units = _Column(len(space))
        self._states = _Column()
        self._revisions = _Column()
        self._values = _Column()
        self._noise = _Column()
        self._outcomes = _Column(2 * len(objectives))  # of several objectives: values, then noise
        self._violations = _Column()
        self._seconds = _Column()
        self.gradients: dict[int, bytes] = {}
        self.hessians: dict[int, bytes] = {}
        self.constraints: dict[int, dict[str, float]] = {}
        self._known_rows: set[bytes] | None = None  # packed; built on first use, then kept up to date
        self._first_values: dict[bytes, float] = {}  # by hash of the row, of the results compared so far
        self._compared = 0
        self._noise_found = False

    def update(self, changes: Changes) -> None:
        """Add or replace the trials that changed."""
        self.revision = max(self.revision, changes.revision)
        if not changes.rows:
            return
        numbers, states, revisions, rows, values, noise, gradients, hessians, constraints, told, seconds = zip(
            *changes.rows, strict=True
        )
        width = 8 * len(self.space)
        for number, row in zip(numbers, rows, strict=True):
            if len(row) != width:
                unpack_row(row, number, len(self.space))  # raises
        index = np.array(numbers)
        codes = np.array([_CODE[state] for state in states], dtype=float)
        self._rows.put(index, np.frombuffer(b"".join(rows), dtype="<f8").reshape(len(index), -1))
        self._states.put(index, codes)
        self._revisions.put(index, np.array(revisions, dtype=float))
        self._values.put(index, self.sign * np.array(values, dtype=float))
        self._noise.put(index, np.array(noise, dtype=float))
        if self.objectives.several:
            self._outcomes.put(index, self._unpacked(numbers, told))
        violations = [max(levels.values(), default=0.0) if levels else 0.0 for levels in constraints]
        self._violations.put(index, np.array(violations))
        self._seconds.put(index, np.array(seconds, dtype=float))
        extras = (self.gradients, gradients), (self.hessians, hessians), (self.constraints, constraints)
        for column, items in extras:
            column.update((number, item) for number, item in zip(numbers, items, strict=True) if item is not None)
        if self._known_rows is not None:
            self._known_rows.update(rows)
        for name in _CACHED:
            self.__dict__.pop(name, None)

    def _unpacked(self, numbers: Sequence[int], told: Sequence[bytes | None]) -> Array:
        """Return values and noise (n, 2 K) of several objectives; NaN where a trial has none."""
        count = len(self.objectives)
        missing = np.full(2 * count, np.nan, dtype="<f8").tobytes()
        packed = [
            missing if one is None else checked_objectives(one, number, count)
            for number, one in zip(numbers, told, strict=True)
        ]
        return np.frombuffer(b"".join(packed), dtype="<f8").reshape(len(numbers), -1)

    def __len__(self) -> int:
        return self._states.length

    @property
    def outcomes(self) -> Array:
        """The values of all objectives (n, K), signed so that lower is better; NaN where a trial has none."""
        if not self.objectives.several:
            return self.values[:, None]
        return self.objectives.signs * self._outcomes.view[:, : len(self.objectives)]

    def of(self, objective: int) -> History:
        """Return the history of one of several objectives."""
        if not self.objectives.several:
            return self
        count = len(self.objectives)
        view = self.with_values(self.outcomes[:, objective], self._outcomes.view[:, count + objective])
        view.sign = float(self.objectives.signs[objective])
        for name in ("gradients", "hessians"):
            packed = getattr(self, name)
            setattr(view, name, {number: _part(each, objective, count) for number, each in packed.items()})
        return view

    def with_values(self, values: Array, noise: Array | None = None) -> History:
        """Return a history of the same trials with values (n,), lower is better, and without derivatives."""
        view = copy(self)
        for name in _CACHED:
            view.__dict__.pop(name, None)
        view.objectives, view.sign = ONE, 1.0
        view._values, view._noise, view._outcomes = _Column(), _Column(), _Column(2)
        if len(self):
            index = np.arange(len(self))
            view._values.put(index, values)
            view._noise.put(index, np.full(len(self), np.nan) if noise is None else noise)
        view.gradients, view.hessians = {}, {}
        view._first_values, view._compared, view._noise_found = {}, 0, False
        return view

    @property
    def states(self) -> Integers:
        """The states as integers, in the order of ``State``."""
        return self._states.view.astype(np.int64)

    @property
    def revisions(self) -> Integers:
        """The revision of each trial's last change."""
        return self._revisions.view.astype(np.int64)

    @property
    def values(self) -> Array:
        """Values, signed so that lower is better; NaN where a trial has none."""
        return self._values.view

    @property
    def rows(self) -> Array:
        """Rows of the codec, (n, d)."""
        return self._rows.view

    @property
    def units(self) -> Array:
        """Points of the unit cube, (n, d)."""
        self._encode()
        return self._units.view

    @property
    def noise(self) -> Array:
        """Declared standard deviations of the values; NaN where none was declared."""
        return self._noise.view

    @property
    def seconds(self) -> Array:
        """Seconds from the start of each trial to its end.

        NaN where it has not ended, and for trials that were not suggested: those that were added or enqueued may be
        copies of trials that ran elsewhere, so that their times say nothing.
        """
        return self._seconds.view

    @property
    def violations(self) -> Array:
        """Largest measured constraint of each trial; a trial is feasible if it is at most zero."""
        return self._violations.view

    @property
    def feasible(self) -> Mask:
        """Which trials break no measured constraint."""
        return self.violations <= 0

    @property
    def feasible_values(self) -> Array:
        """Value of each trial, infinite where there is none or a measured constraint is broken."""
        return np.where(self.feasible & ~np.isnan(self.values), self.values, np.inf)

    @property
    def noisy(self) -> bool:
        """Whether noise was declared for any value; that of the predicted value of a stopped trial is not declared."""
        declared = self.noise[self._states.view != _CODE[State.STOPPED]]
        return bool(np.any(declared > 0) or np.any(self._outcomes.view[:, len(self.objectives) :] > 0))

    @property
    def noise_found(self) -> bool:
        """Whether a configuration was evaluated twice with different values; each result is compared once."""
        new = self.arrivals[self._compared :]
        self._compared += len(new)
        if not self._noise_found:
            new = new[self._states.view[new] == _CODE[State.COMPLETED]]  # a failure has no value to compare
            rows, values = self._rows.view[new].astype("<f8"), self.values[new].tolist()
            self._noise_found = any(self._differs(row, value) for row, value in zip(rows, values, strict=True))
        return self._noise_found

    def _differs(self, row: Array, value: float) -> bool:
        """Whether a value differs from the first value of its configuration."""
        first = self._first_values.setdefault(blake2b(row.tobytes(), digest_size=16).digest(), value)
        return first != value and not math.isclose(first, value, rel_tol=ROUNDING)

    @cached_property
    def completed(self) -> Points:
        """Trials with a value: of a stopped one it is the predicted final value, whose noise is known."""
        predicted = np.flatnonzero((self._states.view == _CODE[State.STOPPED]) & ~np.isnan(self._values.view))
        if not len(predicted):
            return self.measured
        return Points(self, np.sort(np.concatenate([self.measured.numbers, predicted])))

    @cached_property
    def measured(self) -> Points:
        """Completed trials, without those that were stopped early."""
        return self._points([_CODE[State.COMPLETED]])

    @cached_property
    def pending(self) -> Points:
        """Trials that will have a result: running, or waiting in the queue."""
        return self._points([_CODE[State.WAITING], _CODE[State.RUNNING]])

    @cached_property
    def failed(self) -> Points:
        """Trials that failed."""
        return self._points([_CODE[State.FAILED]])

    @cached_property
    def arrivals(self) -> Integers:
        """Numbers of the completed, stopped and failed trials, in the order in which their results arrived.

        So a model of the first results stays the same when more arrive; by number, a late result would change it.
        """
        ended = np.sort(np.concatenate([self.completed.numbers, self.failed.numbers]))
        return ended[np.argsort(self._revisions.view[ended], kind="stable")]

    def count(self, *states: State) -> int:
        """Return how many trials are in one of the states."""
        return int(np.isin(self._states.view, [_CODE[state] for state in states]).sum())

    def best(self) -> int | None:
        """Return the number of the best feasible completed trial, the earliest among equals.

        Several objectives have none.
        """
        usable = (self._states.view == _CODE[State.COMPLETED]) & self.feasible
        if self.objectives.several or not usable.any():
            return None
        return int(np.argmin(np.where(usable, self.values, np.inf)))

    def contains(self, row: Array) -> bool:
        """Whether a lattice point was asked for before; False for a row with a continuous entry."""
        if not self._lattice(row):
            return False
        if self._known_rows is None:
            self._known_rows = {known.tobytes() for known in self._rows.view.astype("<f8")}
        return row.astype("<f8").tobytes() in self._known_rows

    @property
    def has_gradients(self) -> bool:
        """Whether any completed trial has a gradient, of any objective."""
        if self.objectives.several:
            return any(self.of(k).has_gradients for k in range(len(self.objectives)))
        done = self.states == _CODE[State.COMPLETED]
        return any(done[i] and np.isfinite(self.unit_gradients(np.array([i]))).any() for i in self.gradients)

    def unit_gradients(self, numbers: Integers) -> Array:
        """Return gradients (len(numbers), d) in units of the cube, lower is better, NaN where unknown."""
        gradients = self._told_gradients(numbers)
        return self.space.codec.unit_gradients(self._rows.view[numbers], gradients)

    def unit_hessians(self, numbers: Integers) -> Array:
        """Return Hessians (len(numbers), d, d) in units of the cube, lower is better, NaN where unknown."""
        size = len(self.space)
        missing = np.full((size, size), np.nan)
        told = [unpack_hessian(self.hessians.get(number), size) for number in numbers.tolist()]
        hessians = self.sign * np.array([missing if one is None else one for one in told]).reshape(-1, size, size)
        return self.space.codec.unit_hessians(self._rows.view[numbers], self._told_gradients(numbers), hessians)

    def _told_gradients(self, numbers: Integers) -> Array:
        missing = np.full(len(self.space), np.nan)
        told = [unpack_gradient(self.gradients.get(number)) for number in numbers.tolist()]
        return self.sign * np.array([missing if one is None else one for one in told]).reshape(-1, len(self.space))

    def _points(self, codes: list[int]) -> Points:
        return Points(self, np.flatnonzero(np.isin(self._states.view, codes)))

    def _encode(self) -> None:
        """Encode the rows added since the last call; a trial's configuration never changes."""
        done, length = self._units.length, self._rows.length
        if done < length:
            units, _ = self.space.codec.encode(self._rows.view[done:])
            self._units.put(np.arange(done, length), units)

    def _lattice(self, row: Array) -> bool:
        entries = zip(row.tolist(), self.space.codec.axes, strict=True)
        return not any(axis.continuous and entry == entry for entry, axis in entries)


def _part(packed: bytes, objective: int, count: int) -> bytes:
    """Return the derivatives of one of several objectives."""
    size = len(packed) // count
    return packed[objective * size : (objective + 1) * size]


class _Column:
    """An array (n,), or (n, width), that grows by doubling."""

    def __init__(self, *width: int) -> None:
        self._data = np.full((16, *width), np.nan)
        self.length = 0

    @property
    def view(self) -> Array:
        return self._data[: self.length]

    def put(self, index: Integers, rows: Array) -> None:
        length = max(self.length, int(index.max()) + 1)
        if length > len(self._data):
            grown = np.full((max(length, 2 * len(self._data)), *self._data.shape[1:]), np.nan)
            grown[: self.length] = self.view
            self._data = grown
        self._data[index] = rows
        self.length = length  # last: an interrupted update leaves the column as it was
