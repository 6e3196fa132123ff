"""Which rows of a table are shown, and in which order: states, a search, expressions such as ``lr<0.01``.

A column is ``number``, ``state``, the objectives by their names (``value`` for the only one), ``error``, ``worker``,
``duration``, or a parameter by its name; ``params_lr`` is the parameter ``lr`` where another column has its name.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sonde.arrays import Array, Integers, Mask
from sonde.errors import OptionError
from sonde.server.web.columns import STATES, Columns
from sonde.space.choices import label

_OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "<=": operator.le, ">=": operator.ge, "!=": operator.ne, "==": operator.eq, "=": operator.eq, "<": operator.lt,
    ">": operator.gt,
}  # fmt: skip
_OPERATOR = re.compile("<=|>=|!=|==|=|<|>")
_REST = re.compile(rf"\s*({_OPERATOR.pattern})\s*(.*)", re.DOTALL)
EXAMPLE = "such as value<0.3, state=failed or lr>=1e-3"


@dataclass(frozen=True)
class Query:
    """What is wanted of a table."""

    sort: str = "number"
    descending: bool = True
    states: Sequence[str] = ()
    search: str = ""
    filters: Sequence[str] = field(default=())

    def numbers(self, columns: Columns) -> Integers:
        """Return the numbers of the trials, in their order."""
        chosen = np.ones(len(columns), dtype=bool)
        for name in self.states:
            if name not in STATES:
                raise OptionError(f"a state is one of {', '.join(STATES)}, got {name[:100]!r}")
        if self.states:
            chosen &= np.isin(columns["state"], [STATES.index(name) for name in self.states])
        if self.search.strip():
            chosen &= _found(columns, self.search.strip().casefold())
        for expression in self.filters:
            chosen &= _meets(columns, expression)
        return self._ordered(columns, np.flatnonzero(chosen))

    def _ordered(self, columns: Columns, numbers: Integers) -> Integers:
        if self.sort == "number":
            return np.asarray(numbers[::-1]) if self.descending else numbers
        keys = _key(columns, self.sort)[numbers]
        known = ~np.isnan(keys)  # trials without the value come last in both orders
        signed = -keys[known] if self.descending else keys[known]
        order = np.argsort(signed, kind="stable")
        return np.asarray(np.concatenate([numbers[known][order], numbers[~known]]))


def names(columns: Columns) -> list[str]:
    """Return the names of all columns."""
    return ["number", "state", *columns.objectives.names, "error", "worker", "duration", *columns.space.names]


def _key(columns: Columns, name: str) -> Array:
    """Return numbers (n,) in the order of a column; NaN where a trial has none."""
    if name == "number":
        return np.arange(len(columns), dtype=float)
    if name == "state":
        return np.asarray(columns["state"].astype(float))
    if name in columns.objectives.names:
        return np.asarray(columns["value"][:, columns.objectives.names.index(name)])
    if name == "duration":
        return columns.durations
    if name in ("error", "worker"):
        return _ranked(columns, name)
    return np.asarray(columns["row"][:, _parameter(columns, name)])


def _ranked(columns: Columns, name: str) -> Array:
    texts = (columns.errors if name == "error" else columns.workers).texts
    ranks = np.empty(len(texts) + 1)
    ranks[np.argsort(np.array(texts, dtype=object), kind="stable")] = np.arange(len(texts))
    ranks[-1] = np.nan  # index -1: none
    return np.asarray(ranks[columns[name]], dtype=float)


def _parameter(columns: Columns, name: str) -> int:
    for known in (name, name.removeprefix("params_")):
        if known in columns.space.names:
            return columns.space.names.index(known)
    shown = ", ".join(names(columns))
    raise OptionError(f"there is no column {name[:100]!r}; the columns are {shown[:1000]}")


def _found(columns: Columns, text: str) -> Mask:
    """Return which trials have a text: in their error, worker, state, a category, or as their number."""
    found = np.zeros(len(columns), dtype=bool)
    for name, texts in (("error", columns.errors.texts), ("worker", columns.workers.texts), ("state", STATES)):
        found |= np.isin(columns[name], [i for i, own in enumerate(texts) if text in own.casefold()])
    if text.isdecimal() and len(text) < 10 and int(text) < len(columns):
        found[int(text)] = True
    for place, parameter in enumerate(columns.space.values()):
        choices = getattr(parameter, "choices", None)
        if choices is not None:
            found |= np.isin(
                columns["row"][:, place], [i for i, own in enumerate(choices) if text in _text(own).casefold()]
            )
    return found


def _meets(columns: Columns, expression: str) -> Mask:
    """Return which trials meet an expression."""
    known = [*names(columns), *(f"params_{name}" for name in columns.space.names)]
    for name in sorted(known, key=len, reverse=True):  # the name of a column may itself have a sign of comparison
        found = _REST.fullmatch(expression.strip().removeprefix(name)) if expression.strip().startswith(name) else None
        if found is not None:
            return _compared(columns, name, found[1], found[2])
    if (sign := _OPERATOR.search(expression)) is not None:
        _parameter(columns, expression[: sign.start()].strip())  # raises
    raise OptionError(f"a filter is a column, a comparison and a value, {EXAMPLE}; got {expression[:200]!r}")


def _compared(columns: Columns, name: str, sign: str, value: str) -> Mask:
    texts = _texts(columns, name)
    compare = _OPERATORS[sign]
    if texts is None:
        number = _number(name, value)
        keys = _key(columns, name)
        return np.asarray(compare(keys, number) & ~np.isnan(keys))
    if sign not in ("=", "==", "!="):
        raise OptionError(f"{name[:100]!r} has no order; compare it with = or !=, such as {name[:100]}={texts[:1]}")
    keys = columns[name].astype(float) if name in ("state", "error", "worker") else _key(columns, name)
    equal = np.isin(keys, [i for i, own in enumerate(texts) if own.casefold() == value.casefold()])
    known = ~np.isnan(keys) & (keys >= 0)
    return np.asarray((equal if compare is operator.eq else ~equal) & known)


def _texts(columns: Columns, name: str) -> Sequence[str] | None:
    """Return the texts that a column's numbers stand for; None for a column of numbers."""
    if name in columns.objectives.names or name in ("number", "duration"):
        return None
    shared = {"state": STATES, "error": columns.errors.texts, "worker": columns.workers.texts}
    if name in shared:
        return shared[name]
    parameter = list(columns.space.values())[_parameter(columns, name)]
    if type(parameter).__name__ == "Bool":
        return ("false", "true")
    choices = getattr(parameter, "choices", None)
    return None if choices is None else [_text(own) for own in choices]


def _text(choice: Any) -> str:
    return choice if isinstance(choice, str) else label(choice)


def _number(name: str, value: str) -> float:
    try:
        return float(value)
    except ValueError:
        raise OptionError(f"{name[:100]!r} is compared with a number, got {value[:100]!r}; {EXAMPLE}") from None
