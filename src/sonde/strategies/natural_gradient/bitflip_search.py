"""Bit-flip local search over a finite space: change one parameter at a time, accept what is not worse.

This is an iterated local search (Lourenço, Martin & Stützle 2003). A sweep goes through all changes of one parameter in
random order. The search moves to every candidate that is not worse than the current one, and it evaluates nothing
twice, so it crosses plateaus without cycling. When a whole sweep brings no move, the current configuration is a local
optimum: the search continues from a random perturbation of the incumbent. When another search has found a better
incumbent, this one moves there.

The search replays its steps from an ``ObservationLog``: ``advance`` stops at the first candidate without a loss.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from sonde.arrays import Array
from sonde.igo import Family
from sonde.sampling import Key, Stream
from sonde.space import Space
from sonde.space.axis import Axis
from sonde.strategies.natural_gradient.families import Families
from sonde.strategies.natural_gradient.observation_log import ObservationLog, ObservedLoss, row_fingerprint
from sonde.strategies.natural_gradient.success_rate import SuccessRate

PERTURBED = 0.3  # a perturbation changes 1 + G parameters, G geometric with this success probability
MAX_PERTURBATIONS = 100  # tried in a row; if all are known or infeasible, the space counts as exhausted


class Move(NamedTuple):
    """A change of one parameter by a number of lattice points; ``cyclic`` wraps around, otherwise it is clipped."""

    column: int
    axis: Axis
    by: int
    cyclic: bool

    def apply(self, number: float) -> float:
        """Return the changed number."""
        index = round((number - self.axis.low) / (self.axis.step or 1.0)) + self.by
        size = self.axis.size
        return self.axis.point(index % size if self.cyclic else min(max(index, 0), size - 1))


class Moves:
    """All changes of one parameter, in a space without continuous parameters."""

    def __init__(self, families: Families) -> None:
        self._axes = families.axes
        unordered = [*families.bits, *(column for group in families.choices.values() for column in group)]
        self._fixed = [
            Move(column, self._axes[column], by, True)
            for column in unordered
            for by in range(1, int(self._axes[column].size))
        ]
        self._numbers = families.numbers
        self._fixed += [Move(column, self._axes[column], by, False) for column in self._numbers for by in (-1, 1)]

    def sweep(self, rng: np.random.Generator) -> list[Move]:
        """Return every change once, in random order; each ordered parameter also gets a jump of random length."""
        moves = list(self._fixed)
        for column in self._numbers:
            jump = 1 + int(rng.integers(int(self._axes[column].size) - 1))
            moves.append(Move(column, self._axes[column], jump, True))
        return [moves[i] for i in rng.permutation(len(moves)).tolist()]

    def random_numbers(self, rng: np.random.Generator) -> Array:
        """Return a random number for every parameter."""
        units = rng.random(len(self._axes)).tolist()
        return np.array([float(axis.from_unit(unit)) for axis, unit in zip(self._axes, units, strict=True)])


class Candidate(NamedTuple):
    """A configuration: its numbers, inactive parameters included; its row as suggested; the row's fingerprint."""

    complete: Array
    row: Array
    fingerprint: bytes


class BitFlipSearch:
    """An iterated local search that is replayed as far as losses are observed."""

    def __init__(self, space: Space, families: Families, family: Family, seed: int) -> None:
        self._space, self._seed = space, seed
        self._moves = Moves(families)
        self.success_rate = SuccessRate(family.free)
        self.exhausted = False
        self._current: Candidate | None = None
        self._loss = np.inf
        self._visited: set[bytes] = set()
        self._latest = 0  # the latest arrival that a step has used
        self._sweeps = self._perturbations = 0
        self._moved = False  # whether this sweep has moved
        self._escaping = False  # whether a perturbation led here and the loss is still above that of the incumbent
        self._sweep: Iterator[Move] = iter(())
        self._next: Candidate | None = None
        self._accept_next = False  # whether to move to the next candidate whatever its loss: it is a perturbation

    def advance(self, log: ObservationLog) -> None:
        """Move as far as losses are observed."""
        if self._current is None and len(log):
            self._move_to(self._completed(log.rows[0]), log.losses[0])
        while self._current is not None and not self.exhausted:
            self._next = self._next or self._choose(log)
            if self._next is None:
                self.exhausted = True
            elif (observed := log.find(self._next.fingerprint)) is not None:
                self._learn(self._next, observed, log)
            elif self._next.fingerprint in log.abandoned:
                self._visited.add(self._next.fingerprint)
                self._next, self._accept_next = None, False
            else:
                return

    def proposals(self) -> Iterator[Candidate]:
        """Yield candidates: first the one whose loss the search waits for, then the rest of the sweep."""
        if self._next is not None and self._current is not None:
            yield self._next
            rest = [] if self._accept_next else list(self._sweep)
            self._sweep = iter(rest)
            yield from filter(self._unvisited, (self._changed(self._current, move) for move in rest))

    def _learn(self, candidate: Candidate, observed: ObservedLoss, log: ObservationLog) -> None:
        """Accept or reject an evaluated candidate; then move to the incumbent if another search has found it."""
        self._next = None
        self._visited.add(candidate.fingerprint)
        self.success_rate.add(observed.arrival, better=log.improved(observed.arrival))
        self._latest = max(self._latest, observed.arrival)
        self._loss, loss = self._mean_loss(self._current, log), self._mean_loss(candidate, log)
        if loss <= self._loss or self._accept_next:
            self._move_to(candidate, loss)
        self._accept_next = False
        if self._loss <= log.lowest[self._latest]:
            self._escaping = False
        elif not self._escaping:
            self._move_to(self._completed(log.rows[log.best[self._latest]]), log.lowest[self._latest])

    def _mean_loss(self, candidate: Candidate | None, log: ObservationLog) -> float:
        """Return the mean loss of a candidate up to the latest arrival that a step has used."""
        loss = log.mean_loss(candidate.fingerprint, self._latest) if candidate else None
        return self._loss if loss is None else loss  # its loss came too late for any step

    def _move_to(self, candidate: Candidate, loss: float) -> None:
        self._current, self._loss, self._moved = candidate, loss, True
        self._visited.add(candidate.fingerprint)

    def _choose(self, log: ObservationLog) -> Candidate | None:
        """Return the next candidate of the sweep, at a local optimum a perturbation; None if nothing is left."""
        assert self._current is not None
        while True:
            for move in self._sweep:
                if self._unvisited(candidate := self._changed(self._current, move)):
                    return candidate
            if not self._moved:
                return self._perturbed(self._completed(log.rows[log.best[self._latest]]))
            self._sweeps, self._moved = self._sweeps + 1, False
            self._sweep = iter(self._moves.sweep(Key(self._seed, self._sweeps).rng(Stream.SWEEP)))

    def _perturbed(self, incumbent: Candidate) -> Candidate | None:
        """Return the incumbent with a few random changes."""
        for _ in range(MAX_PERTURBATIONS):
            self._perturbations += 1
            rng = Key(self._seed, self._perturbations).rng(Stream.PERTURBATION)
            candidate, count = incumbent, 1 + int(rng.geometric(PERTURBED))
            for move in self._moves.sweep(rng)[:count]:
                candidate = self._changed(candidate, move)
            if self._unvisited(candidate):
                self._accept_next = self._escaping = self._moved = True
                self._sweep = iter(())
                return candidate
        return None

    def _changed(self, candidate: Candidate, move: Move) -> Candidate:
        complete = candidate.complete.copy()
        complete[move.column] = move.apply(complete[move.column])
        return self._candidate(complete)

    def _candidate(self, complete: Array) -> Candidate:
        row = self._space.codec.deactivate(complete[None])[0]
        return Candidate(complete, row, row_fingerprint(row))

    def _completed(self, row: Array) -> Candidate:
        """Return a row as a candidate; inactive parameters get random numbers, for when a move activates them."""
        numbers = self._moves.random_numbers(Key(self._seed, self._latest).rng(Stream.INACTIVE))
        return self._candidate(np.where(np.isnan(row), numbers, row))

    def _unvisited(self, candidate: Candidate) -> bool:
        """Whether a candidate is feasible and not visited."""
        return candidate.fingerprint not in self._visited and (
            not self._space.constraints or self._space.feasible(self._space.codec.configuration(candidate.row))
        )
