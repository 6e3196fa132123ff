"""What is known of each configuration, by its row, in the order in which results came.

A strategy whose state is a fold over the history replays its steps: where it needs a result that is here it goes on,
where it is not it stops and asks for it. What it does then depends on results and their order alone, never on which
process asked for what.

A trial that was lost is tried once more. When that one is lost too nobody waits for a result; should the first one come
after all, it counts as one of the best, and for the steps that were taken without it, it stays away.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sonde.trials import History, State

Array = NDArray[np.float64]

_GONE = [code for code, state in enumerate(State) if state in (State.LOST, State.CANCELLED)]


def fingerprint(row: Array) -> bytes:
    """Return a few bytes that tell rows apart: of a row of thousands of entries, much less than the row."""
    return blake2b(row.astype("<f8").tobytes(), digest_size=16).digest()


def _by_mark(rows: Array, numbers: NDArray[np.int64]) -> dict[bytes, list[int]]:
    """Return the numbers of trials by the fingerprints of their rows."""
    found: dict[bytes, list[int]] = {}
    for number in numbers.tolist():
        found.setdefault(fingerprint(rows[number]), []).append(number)
    return found


class Result(NamedTuple):
    """A loss, lower is better, inf where the trial failed or broke a measured constraint; and its place of arrival."""

    loss: float
    place: int


class Results:
    """All results of a history, first come first."""

    def __init__(self) -> None:
        self.rows: list[Array] = []
        self.losses: list[float] = []
        self.best: list[int] = []  # best[i] is the place of the best of the first i + 1 results, the latest of equals
        self.pending: set[bytes] = set()
        self.gone: set[bytes] = set()  # lost or cancelled: no result is waited for
        self._by_row: dict[bytes, Result] = {}

    def __len__(self) -> int:
        return len(self.losses)

    def update(self, history: History) -> None:
        """Take in what has come since the last time."""
        losses = np.where(history.violations > 0, np.inf, history.values)
        rows = history.rows
        gone = _by_mark(rows, np.flatnonzero(np.isin(history.states, _GONE)))
        pending = _by_mark(rows, history.pending.numbers)
        new = history.arrivals[len(self) :]
        arrived = _by_mark(rows, new)
        for number in new.tolist():
            mark = fingerprint(rows[number])
            retries = [other for other in gone.get(mark, ()) if other > number]
            alive = max([*pending.get(mark, ()), *arrived[mark]]) > number
            late = bool(retries) and not alive and bool(np.all(history.revisions[retries] < history.revisions[number]))
            self._add(rows[number], float(losses[number]), None if late else mark)
        self.pending = set(pending)
        self.gone = gone.keys() - self.pending - self._by_row.keys()

    def _add(self, row: Array, loss: float, mark: bytes | None) -> None:
        loss = np.inf if np.isnan(loss) else loss
        place = len(self.losses)
        self.rows.append(row)
        self.losses.append(loss)
        self.best.append(place if not place or loss <= self.losses[self.best[-1]] else self.best[-1])
        if mark is not None:
            self._by_row.setdefault(mark, Result(loss, place))

    def find(self, row: bytes) -> Result | None:
        """Return the first result of a row, by its fingerprint, if there is one."""
        return self._by_row.get(row)

    def knows(self, row: bytes) -> bool:
        """Whether a row was asked for, whatever became of it."""
        return row in self._by_row or row in self.pending or row in self.gone

    def improved(self, place: int) -> bool:
        """Whether a result was better than all before it."""
        return not place or self.losses[place] < self.losses[self.best[place - 1]]
