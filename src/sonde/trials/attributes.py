"""Attributes: JSON data that a user stores with a trial.

Arrays and scalars of NumPy (JAX, PyTorch), tuples and sets become lists and numbers. An attribute that JSON cannot
hold, or that is nested too deep, is refused by name.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from sonde.errors import OptionError
from sonde.space.choices import in_order

MAX_DEPTH = 100


def plain_attributes(attributes: Mapping[str, Any]) -> dict[str, Any]:
    """Return attributes as plain JSON data, or raise ``OptionError`` naming the one that is not."""
    result = {}
    for name, value in attributes.items():
        try:
            result[name] = plain_attribute(name, value)
        except (TypeError, ValueError) as error:
            raise OptionError(f"attribute {name!r} must be JSON-able, got {short(value)} ({error})") from None
    return result


def plain_attribute(name: str, value: Any) -> Any:
    """Return one attribute as plain JSON data, or raise TypeError or ValueError with what is wrong."""
    if not isinstance(name, str):
        raise TypeError(f"its name must be a string, got {type(name).__name__}")
    return json.loads(json.dumps(_plain(value, MAX_DEPTH)))


def _plain(value: Any, depth: int) -> Any:
    if isinstance(value, str | int | float | None) and not hasattr(value, "dtype"):
        return value
    if depth == 0:
        raise ValueError(f"nested more than {MAX_DEPTH} deep")
    if isinstance(value, Mapping):
        return {_plain(key, depth - 1): _plain(item, depth - 1) for key, item in value.items()}
    if isinstance(value, set | frozenset):
        return [_plain(item, depth - 1) for item in in_order(value)]
    if isinstance(value, list | tuple):
        return [_plain(item, depth - 1) for item in value]
    if hasattr(value, "dtype") and callable(getattr(value, "tolist", None)):
        return _plain(value.tolist(), depth - 1)
    return value  # json refuses it if it cannot hold it


def short(value: Any) -> str:
    """Return the repr of a value, at most 80 characters of it."""
    try:
        text = repr(value)
    except Exception:  # nested too deep for a repr, or one that fails
        text = f"a {type(value).__name__}"
    return text if len(text) <= 80 else text[:77] + "..."
