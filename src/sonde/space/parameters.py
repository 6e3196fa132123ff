"""The four kinds of parameter, and how their values map to an axis.

``when`` makes a parameter conditional: ``when={"model": "svm"}``, ``when={"layers": [2, 3], "bias": True}``. It is
active where every named parameter is active and has that value, or one of those values.
"""

from __future__ import annotations

import math
import numbers
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from sonde.errors import ConfigurationError, SpaceError
from sonde.space import choices as choice_json
from sonde.space.axis import MAX_LOG_POINTS, MAX_POINTS, Axis


class Parameter(ABC):
    """A set of values on one axis. ``number`` and ``value`` are inverse to each other."""

    when: Mapping[str, Any] | None
    ordered: ClassVar[bool]  # whether the values have an order: numbers do, categories do not

    @property
    @abstractmethod
    def axis(self) -> Axis:
        """The numeric axis of the values."""

    @abstractmethod
    def number(self, value: Any) -> float:
        """Return the value's number on the axis, or raise ``ConfigurationError`` saying what was expected."""

    @abstractmethod
    def value(self, number: float) -> Any:
        """Return the value at a number of the axis."""

    @property
    def size(self) -> float:
        """How many values there are (``math.inf`` for a continuous range)."""
        return self.axis.size

    @property
    def declared(self) -> tuple[Any, ...]:
        """Its class's name, and of numbers low, high, log and step: what a trial takes along to other processes."""
        numbers = [getattr(self, name) for name in ("low", "high", "log", "step") if hasattr(self, name)]
        return (type(self).__name__, *numbers)

    def ambiguous(self, value: Any) -> bool:
        """Whether other values read the same as this one in plain JSON."""
        return False

    def __contains__(self, value: Any) -> bool:
        try:
            self.number(value)
        except ConfigurationError:
            return False
        return True


@dataclass(frozen=True)
class Float(Parameter):
    """A real number in [low, high]; ``log=True`` for a logarithmic scale, ``step`` for low, low + step, ..."""

    low: float
    high: float
    log: bool = field(default=False, kw_only=True)
    step: float | None = field(default=None, kw_only=True)
    when: Mapping[str, Any] | None = field(default=None, kw_only=True)
    ordered: ClassVar[bool] = True

    def __post_init__(self) -> None:
        for name in ("low", "high", "step"):
            object.__setattr__(self, name, _real(getattr(self, name), f"Float: {name}", optional=name == "step"))
        _check_range(self)

    @cached_property
    def axis(self) -> Axis:
        return Axis(self.low, self.high, self.log, self.step)

    def number(self, value: Any) -> float:
        number = as_float(value)
        if number is None or not self.axis.contains(number):
            raise ConfigurationError(f"got {value!r}, expected {_describe(self, 'a number')}")
        return number if self.axis.continuous else self.axis.nearest(number)

    def value(self, number: float) -> float:
        return float(number)


@dataclass(frozen=True)
class Int(Parameter):
    """A whole number in [low, high]; ``log=True`` for a logarithmic scale, ``step`` for low, low + step, ..."""

    low: int
    high: int
    log: bool = field(default=False, kw_only=True)
    step: int = field(default=1, kw_only=True)
    when: Mapping[str, Any] | None = field(default=None, kw_only=True)
    ordered: ClassVar[bool] = True

    def __post_init__(self) -> None:
        for name in ("low", "high", "step"):
            object.__setattr__(self, name, _whole(getattr(self, name), f"Int: {name}"))
        _check_range(self)

    @cached_property
    def axis(self) -> Axis:
        return Axis(float(self.low), float(self.high), self.log, float(self.step))

    def number(self, value: Any) -> float:
        """Return the value as a float; 3.0 counts as 3."""
        number = as_float(value)
        if number is not None and number.is_integer():
            index, rest = divmod(int(number) - self.low, self.step)
            if rest == 0 and 0 <= index < self.size:
                return self.axis.point(index)
        raise ConfigurationError(f"got {value!r}, expected {_describe(self, 'a whole number')}")

    def value(self, number: float) -> int:
        return int(number)


@dataclass(frozen=True)
class Categorical(Parameter):
    """One of several choices without order: strings, numbers, tuples, dicts, functions, ...

    The choices of a set are sorted, so that their order is the same in every process.
    """

    choices: Sequence[Any]
    when: Mapping[str, Any] | None = field(default=None, kw_only=True)
    ordered: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if isinstance(self.choices, str) or not hasattr(self.choices, "__iter__"):
            raise SpaceError(f"Categorical: choices must be a list of values, got {self.choices!r}")
        given = choice_json.in_order(self.choices) if isinstance(self.choices, Set) else self.choices
        object.__setattr__(self, "choices", tuple(one.item() if isinstance(one, np.generic) else one for one in given))
        if not self.choices:
            raise SpaceError("Categorical: choices is empty; give at least one value")
        if any(isinstance(choice, float) and math.isnan(choice) for choice in self.choices):
            raise SpaceError("Categorical: nan is not equal to itself and cannot be a choice; use None")
        try:
            _ = self._index
        except RecursionError:
            raise SpaceError("Categorical: a choice is nested too deep; give it a name and use that") from None

    @cached_property
    def _index(self) -> choice_json.ChoiceIndex:
        return choice_json.ChoiceIndex(self.choices)

    @cached_property
    def axis(self) -> Axis:
        return Axis(0.0, float(len(self.choices) - 1), step=1.0)

    def number(self, value: Any) -> float:
        """Return the index of the choice; an equal choice of the same type has priority."""
        found = self._index.exact(value)
        found = self._index.merely_equal(value) if found is None else found
        if found is not None:
            return float(found)
        listed = ", ".join(map(repr, self.choices[:10])) + (", ..." if len(self.choices) > 10 else "")
        raise ConfigurationError(f"got {value!r}, expected one of {listed}")

    def value(self, number: float) -> Any:
        return self.choices[int(number)]

    def ambiguous(self, value: Any) -> bool:
        return bool(self._same) and choice_json.plain_text(value) in self._same

    @cached_property
    def _same(self) -> frozenset[str]:
        """The texts that stand for more than one choice, such as [1, 2] for a list and a tuple."""
        counts = Counter(map(choice_json.plain_text, self.choices))
        return frozenset(text for text, count in counts.items() if count > 1)


@dataclass(frozen=True)
class Bool(Parameter):
    """False or True."""

    when: Mapping[str, Any] | None = field(default=None, kw_only=True)
    ordered: ClassVar[bool] = False

    @cached_property
    def axis(self) -> Axis:
        return Axis(0.0, 1.0, step=1.0)

    def number(self, value: Any) -> float:
        if isinstance(value, bool) or type(value).__name__ in ("bool_", "bool"):
            return float(value)
        if isinstance(value, numbers.Integral) and value in (0, 1):
            return float(value)
        raise ConfigurationError(f"got {value!r}, expected True or False")

    def value(self, number: float) -> bool:
        return bool(number)


def as_float(value: Any) -> float | None:
    """Return one real number (Python, NumPy, JAX, PyTorch) as a float, infinite where it is too large for one.

    None for everything else: bools, strings and complex numbers included, which ``float`` would take.
    """
    if type(value) is float:
        return value
    kind = getattr(getattr(value, "dtype", None), "kind", "")
    if isinstance(value, bool | str | bytes | bytearray) or kind in ("b", "c", "S", "U"):
        return None
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf
    except Exception:  # a type that is no number may raise anything
        return None


def _real(value: Any, what: str, *, optional: bool = False) -> float | None:
    if value is None and optional:
        return None
    number = as_float(value)
    if number is None or not math.isfinite(number):
        raise SpaceError(f"{what} must be a finite number, got {value!r}")
    return number


def _whole(value: Any, what: str) -> int:
    number = as_float(value)
    if number is None or not number.is_integer():
        raise SpaceError(f"{what} must be a whole number, got {value!r}")
    return int(value)


def _check_range(parameter: Float | Int) -> None:
    kind, low, high, step = type(parameter).__name__, parameter.low, parameter.high, parameter.step
    if not isinstance(parameter.log, bool):
        raise SpaceError(f"{kind}: log must be True or False, got {parameter.log!r}")
    if low > high:
        raise SpaceError(f"{kind}: low={low!r} is above high={high!r}; swap them")
    if parameter.log and low <= 0:
        raise SpaceError(f"{kind}: a log scale needs low > 0, got low={low!r}")
    if step is not None and step <= 0:
        raise SpaceError(f"{kind}: step must be positive, got {step!r}")
    if not math.isfinite(parameter.axis.width):
        raise SpaceError(f"{kind}: the range {low!r}..{high!r} is wider than a float can hold; use log=True or less")
    limit = MAX_LOG_POINTS if parameter.log else MAX_POINTS
    grain = 1 if isinstance(parameter, Int) else step
    if grain and (parameter.axis.size > limit or max(abs(low), abs(high)) > limit * grain):
        raise SpaceError(
            f"{kind}: {low!r}..{high!r} in steps of {step!r} are more values than a float can tell apart; "
            "use a larger step, a smaller range, or a Float without step"
        )
    if step is not None and low < high and parameter.axis.size == 1:
        raise SpaceError(
            f"{kind}: step={step!r} is larger than the range {low!r}..{high!r}, which leaves the one value {low!r}; "
            "give a smaller step"
        )


def _describe(parameter: Float | Int, what: str) -> str:
    lattice = "" if parameter.step in (None, 1) else f" in steps of {parameter.step!r}"
    return f"{what} from {parameter.low!r} to {parameter.high!r}{lattice}"
