"""Conditions between parameters, resolved to numbers: which parameter is active under which values of others.

``resolve`` turns the ``when=`` of all parameters into a ``Conditions`` table; ``activity`` applies it to many rows at
once; ``count`` counts configurations.
"""

from __future__ import annotations

import graphlib
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sonde.errors import ConfigurationError, SpaceError
from sonde.space.parameters import Parameter


@dataclass(frozen=True)
class Condition:
    """The column ``parent`` must be active and hold one of ``numbers``."""

    parent: int
    numbers: frozenset[float]


@dataclass(frozen=True)
class Conditions:
    """For each column its conditions (all must hold), and an order in which parents come first."""

    of: tuple[tuple[Condition, ...], ...]
    order: tuple[int, ...]

    @cached_property
    def any(self) -> bool:
        """Whether any parameter is conditional."""
        return any(self.of)

    def activity(self, numbers: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Return which entries of a complete (n, d) table of numbers are active."""
        active = np.ones(numbers.shape, dtype=bool)
        for column in self.order:
            for condition in self.of[column]:
                allowed = np.isin(numbers[:, condition.parent], list(condition.numbers))
                active[:, column] &= active[:, condition.parent] & allowed
        return active

    def count(self, sizes: list[float]) -> float:
        """Return the number of configurations, where column i has sizes[i] values."""
        if math.inf in sizes:
            return math.inf  # a parameter that could never be active is refused by resolve()
        if all(len(conditions) <= 1 for conditions in self.of):
            return math.prod(self._subtree(column, sizes) for column, own in enumerate(self.of) if not own)
        return self._walk(0, {}, sizes)

    def _subtree(self, column: int, sizes: list[float]) -> float:
        """Count the assignments of a column and everything below it, where each column has one parent at most."""
        children = [child for child, own in enumerate(self.of) if own and own[0].parent == column]
        if not children:
            return sizes[column]
        special = frozenset().union(*(self.of[child][0].numbers for child in children))
        total = sizes[column] - len(special)  # values that switch nothing on
        for number in special:
            below = (self._subtree(child, sizes) for child in children if number in self.of[child][0].numbers)
            total += math.prod(below)
        return total

    def _walk(self, depth: int, chosen: dict[int, float | None], sizes: list[float]) -> float:
        """Count by going through the values that conditions mention (several parents may meet in one child)."""
        if depth == len(self.order):
            return 1
        column = self.order[depth]
        if not all(chosen.get(condition.parent) in condition.numbers for condition in self.of[column]):
            return self._walk(depth + 1, chosen, sizes)
        special = self._mentioned(column)
        if not special:
            return sizes[column] * self._walk(depth + 1, chosen, sizes)
        total: float = 0
        if sizes[column] > len(special):
            total += (sizes[column] - len(special)) * self._walk(depth + 1, {**chosen, column: None}, sizes)
        return total + sum(self._walk(depth + 1, {**chosen, column: number}, sizes) for number in special)

    def _mentioned(self, column: int) -> frozenset[float]:
        every = (condition for own in self.of for condition in own if condition.parent == column)
        return frozenset().union(*(condition.numbers for condition in every))


def resolve(parameters: Mapping[str, Parameter]) -> Conditions:
    """Check every ``when=`` and turn it into numbers."""
    position = {name: column for column, name in enumerate(parameters)}
    table = tuple(
        tuple(_condition(name, parent, wanted, parameters, position) for parent, wanted in (own.when or {}).items())
        for name, own in parameters.items()
    )
    graph = {column: {condition.parent for condition in own} for column, own in enumerate(table)}
    try:
        order = tuple(graphlib.TopologicalSorter(graph).static_order())
    except graphlib.CycleError as error:
        cycle = " -> ".join(list(parameters)[column] for column in error.args[1])
        raise SpaceError(f"the conditions form a circle: {cycle}") from None
    return Conditions(table, order)


def _condition(
    name: str, parent: str, wanted: Any, parameters: Mapping[str, Parameter], position: Mapping[str, int]
) -> Condition:
    if parent not in parameters:
        raise SpaceError(f"parameter {name!r}: when= names {parent!r}, which is not in the space")
    if parameters[parent].axis.continuous:
        raise SpaceError(
            f"parameter {name!r}: when= depends on {parent!r}, a continuous Float, which hardly ever has one exact "
            "value; give it a step, or use a Bool or Categorical to switch"
        )
    values = _alternatives(wanted, parameters[parent])
    if not values:
        raise SpaceError(f"parameter {name!r}: when= has no value of {parent!r}; it would never be active")
    try:
        return Condition(position[parent], frozenset(parameters[parent].number(value) for value in values))
    except ConfigurationError as error:
        raise SpaceError(f"parameter {name!r}: when= on {parent!r} {error}") from None


def _alternatives(wanted: Any, parent: Parameter) -> list[Any]:
    """A value of the parent is one value, even if it is a list; any other collection is a set of values."""
    if wanted in parent or isinstance(wanted, str | bytes | Mapping) or not isinstance(wanted, Iterable):
        return [wanted]
    return list(wanted)
