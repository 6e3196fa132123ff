"""Conditions between parameters, as numbers: which parameter is active for which values of its parents.

``resolve`` turns the ``when=`` of all parameters into a ``Conditions`` table; ``activity`` applies it to many rows at
once; ``count`` counts configurations.
"""

from __future__ import annotations

import graphlib
import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from sonde.arrays import Array, Mask
from sonde.errors import ConfigurationError, SpaceError
from sonde.space.parameters import Parameter


@dataclass(frozen=True)
class Condition:
    """The column ``parent`` must be active and hold one of ``numbers``."""

    parent: int
    numbers: frozenset[float]

    @cached_property
    def listed(self) -> Array:
        """The numbers as an array."""
        return np.array(sorted(self.numbers))


@dataclass(frozen=True)
class Conditions:
    """For each column its conditions (all must hold), and an order: parents first, children soon after."""

    of: tuple[tuple[Condition, ...], ...]
    order: tuple[int, ...]

    @cached_property
    def any(self) -> bool:
        """Whether any parameter is conditional."""
        return any(self.of)

    def activity(self, numbers: Array) -> Mask:
        """Return which entries of a complete (n, d) table of numbers are active."""
        active = np.ones(numbers.shape, dtype=bool)
        for column in self.order:
            for condition in self.of[column]:
                allowed = np.isin(numbers[:, condition.parent], condition.listed)
                active[:, column] &= active[:, condition.parent] & allowed
        return active

    def count(self, sizes: list[float]) -> float:
        """Return the number of configurations, where column i has sizes[i] values.

        Dynamic programming over the columns. ``tally`` counts configurations of the columns so far by the set of later
        columns that are already inactive.
        """
        if math.inf in sizes:
            return math.inf  # resolve() has refused parameters that are never active
        tally: dict[frozenset[int], float] = {frozenset(): 1}
        for column in self.order:
            grown: defaultdict[frozenset[int], float] = defaultdict(int)
            ways = self._ways(column, sizes[column])
            for inactive, count in tally.items():
                if column in inactive:
                    grown[frozenset(inactive - {column}).union(self._children[column])] += count
                else:
                    for refused, times in ways.items():
                        grown[inactive | refused] += count * times
            tally = grown
        return sum(tally.values())

    def _ways(self, column: int, size: float) -> Mapping[frozenset[int], float]:
        """Return how many values of a column make which of its children inactive."""
        children = self._children[column]
        asked = set().union(*children.values())
        ways: defaultdict[frozenset[int], float] = defaultdict(int)
        for number in asked:
            ways[frozenset(child for child, numbers in children.items() if number not in numbers)] += 1
        if size > len(asked):
            ways[frozenset(children)] += size - len(asked)
        return ways

    @cached_property
    def _children(self) -> list[dict[int, frozenset[float]]]:
        """For each column its children, and under which numbers they are active."""
        children: list[dict[int, frozenset[float]]] = [{} for _ in self.of]
        for child, own in enumerate(self.of):
            for rule in own:
                children[rule.parent][child] = rule.numbers
        return children


def resolve(parameters: Mapping[str, Parameter]) -> Conditions:
    """Check every ``when=`` and turn it into numbers."""
    position = {name: column for column, name in enumerate(parameters)}
    table = tuple(
        tuple(_condition(name, parent, wanted, parameters, position) for parent, wanted in _when(name, own).items())
        for name, own in parameters.items()
    )
    graph = {column: {condition.parent for condition in own} for column, own in enumerate(table)}
    try:
        conditions = Conditions(table, tuple(_depth_first(graph)))
    except graphlib.CycleError as error:
        cycle = " -> ".join(list(parameters)[column] for column in error.args[1])
        raise SpaceError(f"the conditions form a circle: {cycle}") from None
    _check_reachable(conditions, list(parameters))
    return conditions


def _depth_first(graph: Mapping[int, set[int]]) -> Iterator[int]:
    """Go through the columns, each after its parents and as soon after them as possible."""
    sorter = graphlib.TopologicalSorter(graph)
    sorter.prepare()
    ready: list[int] = []
    while sorter:
        ready.extend(reversed(sorter.get_ready()))
        column = ready.pop()
        sorter.done(column)
        yield column


def _check_reachable(conditions: Conditions, names: list[str]) -> None:
    """Refuse a parameter that is never active because its conditions contradict each other."""
    for column, own in enumerate(conditions.of):
        above = list(own) if len(own) > 1 else []  # with one parent nothing can contradict
        left: dict[int, frozenset[float]] = {}
        while above:
            rule = above.pop()
            if rule.parent not in left:
                above.extend(conditions.of[rule.parent])
            left[rule.parent] = left.get(rule.parent, rule.numbers) & rule.numbers
            if not left[rule.parent]:
                raise SpaceError(
                    f"parameter {names[column]!r}: its conditions, with those of its parents, require different values "
                    f"of {names[rule.parent]!r}; it would never be active"
                )


def _when(name: str, parameter: Parameter) -> Mapping[str, Any]:
    if parameter.when is not None and not isinstance(parameter.when, Mapping):
        raise SpaceError(f"parameter {name!r}: when= must be a dict such as {{'model': 'svm'}}, got {parameter.when!r}")
    return parameter.when or {}


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
    values = alternatives(wanted, parameters[parent])
    if not values:
        raise SpaceError(f"parameter {name!r}: when= has no value of {parent!r}; it would never be active")
    try:
        return Condition(position[parent], frozenset(parameters[parent].number(value) for value in values))
    except ConfigurationError as error:
        raise SpaceError(f"parameter {name!r}: when= on {parent!r} {error}") from None


def alternatives(wanted: Any, parent: Parameter) -> list[Any]:
    """Return the values that a condition names.

    A value of the parent is one value, even if it is a list; any other collection is several values.
    """
    if wanted in parent or isinstance(wanted, str | bytes | Mapping) or not isinstance(wanted, Iterable):
        return [wanted]
    return list(wanted)
