"""What is known of each configuration, by its row, in the order in which results came.

A strategy whose state is a fold over the history replays its steps: where it needs a result that is here it goes on,
where it is not it stops and asks for it. What it does then depends on results and their order alone, never on which
process asked for what.

A configuration that was tried several times is worth the mean of its results. Which of them count in a step follows
from when they came: those up to the last result that the step waited for. So a later one changes later steps only, in
whichever process.

A trial that was lost is tried once more. When that one is lost too nobody waits for a result; should the first one come
after all, it counts as one of the best, and for the steps that were taken without it, it stays away.
"""

from __future__ import annotations

from bisect import bisect_right
from hashlib import blake2b
from heapq import heappop, heappush
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


class _Known:
    """The results of one row: their places, and the mean after each; failures only count where all have failed."""

    def __init__(self) -> None:
        self.places: list[int] = []
        self._means: list[float] = []
        self._values = 0

    def add(self, loss: float, place: int) -> float:
        mean = self._means[-1] if self._values else np.inf
        if loss < np.inf:
            self._values += 1  # equal losses have that mean to the last digit: ties stay ties
            mean = loss if self._values == 1 else mean + (loss / self._values - mean / self._values)
        self.places.append(place)
        self._means.append(mean)
        return mean

    def loss(self, by: int) -> float:
        return self._means[bisect_right(self.places, by) - 1]


class Results:
    """All results of a history, first come first."""

    def __init__(self) -> None:
        self.rows: list[Array] = []
        self.losses: list[float] = []
        self.best: list[int] = []  # best[i] is a place of the best row of the first i + 1 results, the latest of equals
        self.lowest: list[float] = []  # and the mean of that row's results among those
        self.pending: set[bytes] = set()
        self.gone: set[bytes] = set()  # lost or cancelled: no result is waited for
        self._by_row: dict[bytes, _Known] = {}
        self._by_place: list[_Known] = []
        self._ranked: list[tuple[float, int]] = []  # a heap of means and minus the place of the last result in each

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
            given_up = bool(retries) and not alive and mark not in self._by_row
            late = given_up and bool(np.all(history.revisions[retries] < history.revisions[number]))
            self._add(rows[number], float(losses[number]), None if late else mark)
        self.pending = set(pending)
        self.gone = gone.keys() - self.pending - self._by_row.keys()

    def _add(self, row: Array, loss: float, mark: bytes | None) -> None:
        loss = np.inf if np.isnan(loss) else loss
        place = len(self.losses)
        known = _Known() if mark is None else self._by_row.setdefault(mark, _Known())
        self.rows.append(row)
        self.losses.append(loss)
        self._by_place.append(known)
        heappush(self._ranked, (known.add(loss, place), -place))
        while self._by_place[-self._ranked[0][1]].places[-1] != -self._ranked[0][1]:  # more is known of that row
            heappop(self._ranked)
        self.best.append(-self._ranked[0][1])
        self.lowest.append(self._ranked[0][0])

    def find(self, row: bytes) -> Result | None:
        """Return the first result of a row, by its fingerprint, if there is one."""
        known = self._by_row.get(row)
        return None if known is None else Result(known.loss(known.places[0]), known.places[0])

    def loss(self, row: bytes, by: int) -> float | None:
        """Return the mean of the results of a row, by its fingerprint, up to a place; None where it has none."""
        known = self._by_row.get(row)
        return None if known is None or known.places[0] > by else known.loss(by)

    def knows(self, row: bytes) -> bool:
        """Whether a row was asked for, whatever became of it."""
        return row in self._by_row or row in self.pending or row in self.gone

    def improved(self, place: int) -> bool:
        """Whether a row became better by a result than all were before it."""
        return not place or self._by_place[place].loss(place) < self.lowest[place - 1]
