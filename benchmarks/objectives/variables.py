"""The variables of a problem, and their places in the unit cube for methods that know nothing else."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

Value = float | int | str


class Variable(NamedTuple):
    """One coordinate; both bounds belong to it. A category is an integer that stands for one of two choices."""

    name: str
    kind: Literal["float", "int", "choice"]
    low: float
    high: float
    log: bool = False
    choices: tuple[str, ...] = ()

    def drawn(self, unit: float) -> Value:
        """Return the value at a place in [0, 1), where on a linear scale every integer has the same share."""
        if self.kind == "float":
            return self._number(unit)
        if self.log:
            return round(self._number(unit))
        return self._value(int(self.low + unit * (self.high - self.low + 1) // 1))

    def nearest(self, unit: float) -> Value:
        """Return the value nearest to a place in [0, 1]."""
        number = self._number(unit)
        return number if self.kind == "float" else self._value(round(number))

    def unit(self, value: Any) -> float:
        """Return the place of a value in [0, 1]."""
        number = self.choices.index(value) if self.kind == "choice" else value
        low, high, number = map(math.log, (self.low, self.high, number)) if self.log else (self.low, self.high, number)
        return (number - low) / (high - low)

    @property
    def places(self) -> list[float]:
        """The places of all values; none of a float."""
        whole = [] if self.kind == "float" else range(int(self.low), int(self.high) + 1)
        return [self.unit(self._value(number)) for number in whole]

    def _number(self, unit: float) -> float:
        ratio, width = self.high / self.low if self.log else 1.0, self.high - self.low
        number = self.low * ratio**unit if self.log else self.low + width * unit
        return float(min(max(number, self.low), self.high))

    def _value(self, number: int) -> Value:
        return self.choices[number] if self.kind == "choice" else number


def box(bounds: Sequence[tuple[float, float]]) -> tuple[Variable, ...]:
    """Return floats with these bounds, named x0, x1, ..."""
    return tuple(Variable(f"x{i}", "float", float(low), float(high)) for i, (low, high) in enumerate(bounds))


def choice(name: str, *choices: str) -> Variable:
    """Return a category."""
    return Variable(name, "choice", 0, len(choices) - 1, choices=choices)
