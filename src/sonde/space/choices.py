"""Categories of any type as JSON.

JSON's own scalars are written as they are; lists, tuples and dicts are tagged; other objects are written as a label. A
label is read back as an ``Opaque``: the study can be shown and continued. If the user passes a space with the same
labels, trials have the real objects again.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from sonde.errors import SpaceError


@dataclass(frozen=True)
class Opaque:
    """A category that JSON cannot hold, known by its label only."""

    label: str

    def __repr__(self) -> str:
        return self.label


def distinct(choices: Sequence[Any]) -> list[Any]:
    """Return the choices; those with the same JSON become numbered labels: <lambda>, <lambda> #2."""
    counts: Counter[str] = Counter()
    result = []
    for choice in choices:
        text = json.dumps(to_json(choice))
        counts[text] += 1
        result.append(choice if counts[text] == 1 else Opaque(f"{label(choice)} #{counts[text]}"))
    return result


def to_json(choice: Any) -> Any:
    """Return the choice as JSON."""
    match choice:
        case None | bool() | int() | str():
            return choice
        case float():
            return choice if math.isfinite(choice) else {"float": str(choice)}
        case list():
            return {"list": [to_json(item) for item in choice]}
        case tuple():
            return {"tuple": [to_json(item) for item in choice]}
        case dict():
            return {"dict": [[to_json(key), to_json(item)] for key, item in choice.items()]}
        case _:
            return {"opaque": label(choice)}


def plain(choice: Any) -> Any:
    """Return the choice as readable JSON: tuples and lists are lists; an object that JSON cannot hold is its label."""
    if isinstance(choice, list | tuple):
        return [plain(item) for item in choice]
    if isinstance(choice, dict):
        return {str(key): plain(item) for key, item in choice.items()}
    encoded = to_json(choice)
    return next(iter(encoded.values())) if isinstance(encoded, dict) else encoded


def plain_text(choice: Any) -> str:
    """Return the text of a choice as readable JSON."""
    return json.dumps(plain(choice), sort_keys=True)


def from_json(data: Any) -> Any:
    """Return what ``to_json`` wrote; a plain list is a list, so that files written by hand read well."""
    match data:
        case {"float": text}:
            return float(text)
        case {"list": items}:
            return [from_json(item) for item in items]
        case {"tuple": items}:
            return tuple(from_json(item) for item in items)
        case {"dict": pairs}:
            return {from_json(key): from_json(item) for key, item in pairs}
        case {"opaque": text}:
            return Opaque(text)
        case list():
            return [from_json(item) for item in data]
        case _:
            return data


def label(choice: Any) -> str:
    """Return a name that is the same in every process: no memory addresses."""
    if isinstance(choice, Opaque):
        return choice.label
    if hasattr(choice, "__qualname__") and hasattr(choice, "__module__"):
        return f"{choice.__module__}.{choice.__qualname__}"
    if isinstance(choice, set | frozenset):  # their order depends on the process
        return f"{type(choice).__name__}({', '.join(sorted(map(label, choice)))})"
    return re.sub(r" at 0x[0-9a-fA-F]+", "", repr(choice))


def in_order(choices: Iterable[Any]) -> list[Any]:
    """Return the choices of a set in an order that is the same in every process: by type, then by value or label."""
    kinds: dict[str, list[Any]] = {}
    for choice in choices:
        kinds.setdefault(type(choice).__name__, []).append(choice)
    return [choice for kind in sorted(kinds) for choice in _sorted(kinds[kind])]


def _sorted(choices: list[Any]) -> list[Any]:
    if all(type(choice) in (int, float, str, bool) for choice in choices):
        return sorted(choices)  # 2 before 10
    return sorted(choices, key=label)


def same(left: Any, right: Any) -> bool:
    """Whether two choices are the same: 1, 1.0 and True are three different choices."""
    return type(left) is type(right) and equal(left, right)


def equal(left: Any, right: Any) -> bool:
    """Whether two values are equal; objects that compare elementwise, as arrays, equal only themselves."""
    try:
        return left is right or bool(left == right)
    except (TypeError, ValueError):
        return False


class ChoiceIndex:
    """Finds the position of a choice by its hash; unhashable choices are compared one by one."""

    def __init__(self, choices: Sequence[Any]) -> None:
        self._choices = choices
        self._exact: dict[tuple[type, Any], int] = {}
        self._equal: dict[Any, int] = {}
        self._unhashable: list[int] = []
        for position, choice in enumerate(choices):
            if self.exact(choice) is not None:
                raise SpaceError(f"Categorical: the choice {choice!r} appears twice")
            key = _key(choice)
            if key is None:
                self._unhashable.append(position)
            else:
                self._exact[type(choice), key] = position
                self._equal.setdefault(key, position)

    def exact(self, value: Any) -> int | None:
        """Return the position of an equal choice of the same type, or None."""
        key = _key(value)
        if key is not None:
            return self._exact.get((type(value), key))
        return next((position for position in self._unhashable if same(self._choices[position], value)), None)

    def merely_equal(self, value: Any) -> int | None:
        """Return the first position of an equal choice of any type, or None."""
        key = _key(value)
        if key is not None and key in self._equal:
            return self._equal[key]
        return next((position for position, choice in enumerate(self._choices) if equal(choice, value)), None)


def _key(value: Any) -> Any:
    """Return a hashable key, equal for equal choices; None for an unhashable choice."""
    try:
        return _frozen(value)
    except TypeError:
        return None


def _frozen(value: Any) -> Any:
    kind = type(value)
    if kind is list or kind is tuple:
        return kind, tuple(map(_frozen, value))
    if kind is dict:
        return kind, frozenset((key, _frozen(item)) for key, item in value.items())
    hash(value)
    return ("one", value)
