"""The observations of a history, indexed by configuration and in the order of their arrival.

A search that reads this log replays its steps. Where it needs an observation that is here, it continues; where the
observation is missing, it stops and proposes that configuration. So its state depends only on the observations and
their order, never on which process asked for which trial.

The loss of a configuration that was evaluated several times is the mean of its losses. A step uses the losses that
arrived up to the last one it waited for. A later loss changes later steps only, and it does so in every process.

A lost trial is retried once. When the retry is lost too, no step waits for this configuration any more. If the first
trial ends after all, its loss can become the best so far, but steps that were taken without it stay as they were.
"""

from __future__ import annotations

from bisect import bisect_right
from hashlib import blake2b
from heapq import heappop, heappush
from typing import NamedTuple

import numpy as np

from sonde.arrays import Array, Integers
from sonde.trials import History, State

_ABANDONED = [code for code, state in enumerate(State) if state in (State.LOST, State.CANCELLED, State.STOPPED)]


def row_fingerprint(row: Array) -> bytes:
    """Return a hash of a row of the codec: 16 bytes, where the row may have thousands of entries."""
    return blake2b(row.astype("<f8").tobytes(), digest_size=16).digest()


def _by_fingerprint(rows: Array, numbers: Integers) -> dict[bytes, list[int]]:
    """Return the numbers of trials, grouped by the fingerprints of their rows."""
    found: dict[bytes, list[int]] = {}
    for number in numbers.tolist():
        found.setdefault(row_fingerprint(rows[number]), []).append(number)
    return found


class ObservedLoss(NamedTuple):
    """A loss to minimise, and its index in the order of arrival.

    The loss is inf where the trial failed or violated a measured constraint.
    """

    loss: float
    arrival: int


class _RowLosses:
    """The losses of one configuration: when each arrived, and the mean after each.

    Failures count only where all evaluations failed.
    """

    def __init__(self) -> None:
        self.arrivals: list[int] = []
        self._means: list[float] = []
        self._completed = 0

    def add(self, loss: float, arrival: int) -> float:
        mean = self._means[-1] if self._completed else np.inf
        if loss < np.inf:
            self._completed += 1  # equal losses have exactly that mean: ties stay ties
            mean = loss if self._completed == 1 else mean + (loss / self._completed - mean / self._completed)
        self.arrivals.append(arrival)
        self._means.append(mean)
        return mean

    def mean(self, until: int) -> float:
        return self._means[bisect_right(self.arrivals, until) - 1]


class ObservationLog:
    """All observations of a history, in the order of their arrival."""

    def __init__(self) -> None:
        self.rows: list[Array] = []
        self.losses: list[float] = []
        self.outcomes: list[Array] = []  # of several objectives (K,): their losses only say which trials failed
        self.best: list[int] = []  # best[i]: arrival of the incumbent among the first i + 1, the latest of equals
        self.lowest: list[float] = []  # lowest[i]: the mean loss of that incumbent
        self.pending: set[bytes] = set()
        self.abandoned: set[bytes] = set()  # lost, cancelled, or stopped without a value: no step waits for them
        self._by_row: dict[bytes, _RowLosses] = {}
        self._by_arrival: list[_RowLosses] = []
        self._ranked: list[tuple[float, int]] = []  # a heap of (mean loss, minus the arrival of its last loss)

    def __len__(self) -> int:
        return len(self.losses)

    def update(self, history: History) -> None:
        """Add the observations that arrived since the last call."""
        outcomes, several = history.outcomes, history.objectives.several
        values = np.where(np.isnan(outcomes).any(axis=1), np.nan, 0.0) if several else history.values
        losses = np.where(history.violations > 0, np.inf, values)
        rows = history.rows
        abandoned = _by_fingerprint(rows, np.flatnonzero(np.isin(history.states, _ABANDONED)))
        pending = _by_fingerprint(rows, history.pending.numbers)
        new = history.arrivals[len(self) :]
        arrived = _by_fingerprint(rows, new)
        for number in new.tolist():
            fingerprint = row_fingerprint(rows[number])
            retries = [other for other in abandoned.get(fingerprint, ()) if other > number]
            alive = max([*pending.get(fingerprint, ()), *arrived[fingerprint]]) > number
            given_up = bool(retries) and not alive and fingerprint not in self._by_row
            late = given_up and bool(np.all(history.revisions[retries] < history.revisions[number]))
            self._add(rows[number], float(losses[number]), None if late else fingerprint)
            self.outcomes += [outcomes[number]] if several else []
        self.pending = set(pending)
        self.abandoned = abandoned.keys() - self.pending - self._by_row.keys()

    def _add(self, row: Array, loss: float, fingerprint: bytes | None) -> None:
        loss = np.inf if np.isnan(loss) else loss
        arrival = len(self.losses)
        own = _RowLosses() if fingerprint is None else self._by_row.setdefault(fingerprint, _RowLosses())
        self.rows.append(row)
        self.losses.append(loss)
        self._by_arrival.append(own)
        heappush(self._ranked, (own.add(loss, arrival), -arrival))
        while self._by_arrival[-self._ranked[0][1]].arrivals[-1] != -self._ranked[0][1]:  # that mean is outdated
            heappop(self._ranked)
        self.best.append(-self._ranked[0][1])
        self.lowest.append(self._ranked[0][0])

    def find(self, fingerprint: bytes) -> ObservedLoss | None:
        """Return the first loss of a configuration, if it has one."""
        own = self._by_row.get(fingerprint)
        return None if own is None else ObservedLoss(own.mean(own.arrivals[0]), own.arrivals[0])

    def mean_loss(self, fingerprint: bytes, until: int) -> float | None:
        """Return the mean loss of a configuration up to an arrival; None where it has none by then."""
        own = self._by_row.get(fingerprint)
        return None if own is None or own.arrivals[0] > until else own.mean(until)

    def mean_outcomes(self, fingerprint: bytes, until: int) -> Array:
        """Return the mean outcomes (K,) of a configuration up to an arrival, of the trials with a finite loss."""
        arrivals = [each for each in self._by_row[fingerprint].arrivals if each <= until]
        outcomes = [self.outcomes[each] for each in arrivals if np.isfinite(self.losses[each])]
        return np.asarray(np.mean(outcomes, axis=0)) if len(outcomes) > 1 else outcomes[0]

    def contains(self, fingerprint: bytes) -> bool:
        """Whether a configuration is evaluated, pending or abandoned."""
        return fingerprint in self._by_row or fingerprint in self.pending or fingerprint in self.abandoned

    def improved(self, arrival: int) -> bool:
        """Whether the loss that arrived then gave its configuration a lower mean than any had before."""
        return not arrival or self._by_arrival[arrival].mean(arrival) < self.lowest[arrival - 1]
