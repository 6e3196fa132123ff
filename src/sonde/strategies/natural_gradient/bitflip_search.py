"""A climb by changes of one parameter of a finite space, replayed over a history.

It stands at a configuration and goes through the changes of one parameter in random order, sweep by sweep; whatever is
not worse is moved to, and nothing is looked at twice, so that plateaus are crossed and not circled. When a sweep moves
nowhere the place is a local optimum: the climb goes on from a few random changes of the best. When the best of all is
found elsewhere, the climb goes there.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sonde.igo import Family
from sonde.space import Space
from sonde.space.axis import Axis
from sonde.strategies.natural_gradient.families import Families
from sonde.strategies.natural_gradient.outcomes import Result, Results, fingerprint
from sonde.strategies.natural_gradient.success_rate import SuccessRate

Array = NDArray[np.float64]

_SWEEP, _KICK, _FILL = 23, 24, 25  # purposes of the streams
JUMP = 0.3  # a kick changes 1 + G parameters, with G geometric of this
TRIES = 100


class Move(NamedTuple):
    """A change of one parameter by so many points of its lattice; a cyclic one goes on from the last to the first."""

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
    """All changes of one parameter, of a space without continuous ones."""

    def __init__(self, layout: Families) -> None:
        self._axes = layout.axes
        unordered = [*layout.bits, *(column for group in layout.choices.values() for column in group)]
        self._fixed = [
            Move(column, self._axes[column], by, True)
            for column in unordered
            for by in range(1, int(self._axes[column].size))
        ]
        self._numbers = layout.numbers
        self._fixed += [Move(column, self._axes[column], by, False) for column in self._numbers for by in (-1, 1)]

    def sweep(self, rng: np.random.Generator) -> list[Move]:
        """Return every change once, in random order; numbers also get a random one."""
        moves = list(self._fixed)
        for column in self._numbers:
            far = 1 + int(rng.integers(int(self._axes[column].size) - 1))
            moves.append(Move(column, self._axes[column], far, True))
        return [moves[i] for i in rng.permutation(len(moves)).tolist()]

    def anything(self, rng: np.random.Generator) -> Array:
        """Return a random number of every parameter."""
        units = rng.random(len(self._axes)).tolist()
        return np.array([float(axis.from_unit(unit)) for axis, unit in zip(self._axes, units, strict=True)])


class Place(NamedTuple):
    """A configuration: a number for every parameter, the row as it is suggested, and its fingerprint."""

    complete: Array
    row: Array
    mark: bytes


class BitFlipSearch:
    """A local search, as far as results allow."""

    def __init__(self, space: Space, layout: Families, family: Family, seed: int) -> None:
        self._space, self._seed = space, seed
        self._moves = Moves(layout)
        self.luck = SuccessRate(family.free)
        self.exhausted = False
        self._at: Place | None = None
        self._loss = np.inf
        self._visited: set[bytes] = set()
        self._latest = 0  # the place of the latest result that was looked at
        self._sweeps = self._kicks = 0
        self._moved = self._astray = False
        self._sweep: Iterator[Move] = iter(())
        self._next: Place | None = None
        self._kick = False  # whether the next place is one to go to, whatever its loss

    def advance(self, results: Results) -> None:
        """Move as far as results are known."""
        if self._at is None and len(results):
            self._stand(self._filled(results.rows[0]), results.losses[0])
        while self._at is not None and not self.exhausted:
            self._next = self._next or self._choose(results)
            if self._next is None:
                self.exhausted = True
            elif (result := results.find(self._next.mark)) is not None:
                self._learn(self._next, result, results)
            elif self._next.mark in results.gone:
                self._visited.add(self._next.mark)
                self._next, self._kick = None, False
            else:
                return

    def proposals(self) -> Iterator[Place]:
        """Yield what could be tried next: the change that is waited for, and the rest of the sweep."""
        if self._next is not None and self._at is not None:
            yield self._next
            rest = [] if self._kick else list(self._sweep)
            self._sweep = iter(rest)
            yield from filter(self._open, (self._changed(self._at, move) for move in rest))

    def _learn(self, place: Place, result: Result, results: Results) -> None:
        """Look at a result: move there if it is not worse, and to the best of all if that is elsewhere."""
        self._next = None
        self._visited.add(place.mark)
        self.luck.add(result.place, better=results.improved(result.place))
        self._latest = max(self._latest, result.place)
        self._loss, loss = self._mean(self._at, results), self._mean(place, results)
        if loss <= self._loss or self._kick:
            self._stand(place, loss)
        self._kick = False
        if self._loss <= results.lowest[self._latest]:
            self._astray = False
        elif not self._astray:
            self._stand(self._filled(results.rows[results.best[self._latest]]), results.lowest[self._latest])

    def _mean(self, place: Place | None, results: Results) -> float:
        """Return the mean of the results of a place up to the latest that was looked at."""
        loss = results.loss(place.mark, self._latest) if place else None
        return self._loss if loss is None else loss  # a result that came too late for steps: as it was stood upon

    def _stand(self, place: Place, loss: float) -> None:
        self._at, self._loss, self._moved = place, loss, True
        self._visited.add(place.mark)

    def _choose(self, results: Results) -> Place | None:
        """Return the next change to look at, or a kick where there is none; None if nothing is left."""
        assert self._at is not None
        while True:
            for move in self._sweep:
                if self._open(place := self._changed(self._at, move)):
                    return place
            if not self._moved:
                return self._kicked(self._filled(results.rows[results.best[self._latest]]))
            self._sweeps, self._moved = self._sweeps + 1, False
            self._sweep = iter(self._moves.sweep(np.random.default_rng([self._seed, self._sweeps, _SWEEP])))

    def _kicked(self, best: Place) -> Place | None:
        for _ in range(TRIES):
            self._kicks += 1
            rng = np.random.default_rng([self._seed, self._kicks, _KICK])
            place, count = best, 1 + int(rng.geometric(JUMP))
            for move in self._moves.sweep(rng)[:count]:
                place = self._changed(place, move)
            if self._open(place):
                self._kick = self._astray = self._moved = True
                self._sweep = iter(())
                return place
        return None

    def _changed(self, place: Place, move: Move) -> Place:
        complete = place.complete.copy()
        complete[move.column] = move.apply(complete[move.column])
        return self._place(complete)

    def _place(self, complete: Array) -> Place:
        row = self._space.codec.deactivate(complete[None])[0]
        return Place(complete, row, fingerprint(row))

    def _filled(self, row: Array) -> Place:
        """Return a row as a place: what is inactive gets some number, in case that it becomes active."""
        anything = self._moves.anything(np.random.default_rng([self._seed, self._latest, _FILL]))
        return self._place(np.where(np.isnan(row), anything, row))

    def _open(self, place: Place) -> bool:
        return place.mark not in self._visited and (
            not self._space.constraints or self._space.feasible(self._space.codec.configuration(place.row))
        )
