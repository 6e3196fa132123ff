"""The configurations around which a model is shown: where the parameters are that a figure does not vary.

An anchor has a number for every parameter, also for those that are inactive there: a figure may make one active. Such
a number is that of the best trial in which the parameter is active, or the centre of its range.

Symbols: d parameters, m points, k varied parameters.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from sonde.arrays import Array, Integers
from sonde.errors import ConfigurationError, OptionError
from sonde.plots.activity import Required
from sonde.space import Space
from sonde.trials import History

REACH = 0.2  # distance, in ranges of the parameters, at which a trial is shown with 60% of its ink
FAINTEST = 0.25  # share of the ink of a trial that is far away
RANKS = ("best trial", "second best", "third best")
CENTRE = "centre"
GIVEN = "given"


class Anchor(NamedTuple):
    """A name, and a number for every parameter (d,)."""

    name: str
    numbers: Array


def anchors(space: Space, history: History, at: Mapping[str, Any] | None = None) -> list[Anchor]:
    """Return the best trials and the centre of the space; or the best one with the given values of ``at``."""
    ranked = _ranked(history)
    best = [
        Anchor(name, _complete(space, row, ranked, history))
        for name, row in zip(RANKS, _distinct(history.rows[ranked]), strict=False)
    ]
    centre = Anchor(CENTRE, _centre(space))
    if at is None:
        return [*best, centre]
    return [Anchor(GIVEN, _given(space, (best[0] if best else centre).numbers, at))]


def rows_around(space: Space, anchor: Anchor, columns: Sequence[int], numbers: Array, needed: Required) -> Array:
    """Return the rows (m, d) of an anchor with numbers (m, k) in some columns, where these parameters are active."""
    rows = np.repeat(anchor.numbers[None], len(numbers), axis=0)
    for name, allowed in needed.items():
        column = space.names.index(name)
        if anchor.numbers[column] not in allowed:
            rows[:, column] = allowed[0]
    rows[:, columns] = numbers
    return space.codec.deactivate(rows)


def nearest(space: Space, rows: Array, to: Array, columns: Sequence[int], most: int) -> tuple[Integers, Array]:
    """Return the places of the rows nearest to one row in all but some columns, and how near they are, from 0 to 1."""
    apart = distances(space, rows, to, columns)
    places = np.argsort(apart, kind="stable")[:most]
    return places, np.exp(-0.5 * (apart[places] / REACH) ** 2)


def distances(space: Space, rows: Array, to: Array, columns: Sequence[int]) -> Array:
    """Return how far rows (m, d) are from one row (d,): the root mean square over all but some columns, in [0, 1].

    A number counts by the difference on its scale; a category, and a parameter that is active in one only, counts 1.
    """
    others = [k for k in range(len(space)) if k not in columns]
    if not others:
        return np.zeros(len(rows))
    units, active = space.codec.encode(np.concatenate([to[None], rows]))
    apart = np.abs(units[1:, others] - units[0, others])
    ordered = np.array([space[space.names[k]].ordered for k in others])
    differ = active[1:, others] != active[0, others]
    apart = np.where(differ, 1.0, np.where(ordered, apart, apart > 0))
    return np.asarray(np.sqrt(np.mean(apart**2, axis=1)))


def _ranked(history: History) -> Integers:
    """Return the completed trials, feasible ones first, best first."""
    done = history.measured.numbers
    return done[np.lexsort([history.values[done], ~history.feasible[done]])]


def _distinct(rows: Array) -> list[Array]:
    """Return the first different rows, as many as there are ranks."""
    found: dict[bytes, Array] = {}
    for row in rows:
        found.setdefault(row.tobytes(), row)
        if len(found) == len(RANKS):
            break
    return list(found.values())


def _complete(space: Space, row: Array, ranked: Integers, history: History) -> Array:
    numbers = row.copy()
    for column in np.flatnonzero(np.isnan(row)):
        known = history.rows[ranked, column]
        known = known[~np.isnan(known)]
        numbers[column] = known[0] if len(known) else _centre(space)[column]
    return numbers


def _centre(space: Space) -> Array:
    return np.array([float(axis.from_unit(0.5)) for axis in space.codec.axes])


def _given(space: Space, base: Array, at: Mapping[str, Any]) -> Array:
    """Return numbers with those of a configuration, or a part of one, in their places."""
    if not isinstance(at, Mapping):
        raise OptionError(f"at= takes a dict of parameters such as {{{space.names[0]!r}: ...}}, got {at!r}")
    numbers = base.copy()
    for name, value in at.items():
        if name not in space.names:
            raise OptionError(f"at= names {name!r}; the parameters are {', '.join(space.names)}")
        try:
            numbers[space.names.index(name)] = space[name].number(value)
        except ConfigurationError as error:
            raise OptionError(f"at=, parameter {name!r}: {error}") from None
    inactive = np.isnan(space.codec.deactivate(numbers[None])[0])
    idle = [name for name in at if inactive[space.names.index(name)]]
    if idle:
        raise OptionError(f"at= gives {idle[0]!r}, which is inactive there; give its parents {space[idle[0]].when} too")
    return numbers
