"""Categories as JSON, whatever they are.

JSON's own scalars stand for themselves; lists, tuples and dicts are tagged; anything else is written as a label.
A label read back is an ``Opaque``: the study can be shown and continued, and a space given by the user that has
the same labels brings the real objects back.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Opaque:
    """Stands for a category that JSON cannot hold."""

    label: str

    def __repr__(self) -> str:
        return self.label


def distinct(choices: Sequence[Any]) -> list[Any]:
    """Return the choices, those that would read the same in JSON as numbered labels: <lambda>, <lambda> #2."""
    seen: Counter[str] = Counter()
    result = []
    for choice in choices:
        text = json.dumps(to_json(choice))
        seen[text] += 1
        result.append(choice if seen[text] == 1 else Opaque(f"{label(choice)} #{seen[text]}"))
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


def same(left: Any, right: Any) -> bool:
    """Whether two choices are the same one: 1, 1.0 and True are three."""
    try:
        return type(left) is type(right) and bool(left == right)
    except (TypeError, ValueError):  # arrays and the like compare elementwise
        return left is right
