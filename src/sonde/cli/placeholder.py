"""One placeholder, ``{name:spec}``, as the data of a parameter in the layout of ``sonde.space.schema``.

::

    {lr:float:1e-5..1e-1:log}      {drop:float:0..0.5:step=0.1}      {layers:int:1..8}
    {opt:sgd|adam}                 {k:1|2|4}                         {bias:bool}
"""

from __future__ import annotations

import re
from typing import Any

from sonde.errors import OptionError

_NAME = re.compile(r"[A-Za-z_][\w.-]*")
_KINDS = ("float", "int", "bool")
_EXAMPLES = {
    "float": "{lr:float:1e-5..1e-1:log} or {drop:float:0..0.5:step=0.1}",
    "int": "{layers:int:1..8} or {width:int:16..1024:log}",
    "bool": "{bias:bool}",
    "choices": "{opt:sgd|adam}",
}
# Numbers as JSON writes them: "007" and "1_000" stay text, because a number would be printed differently.
_NUMBER = re.compile(r"-?(?:(?:0|[1-9]\d*)(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?")
_WHOLE = re.compile(r"-?(?:0|[1-9]\d*)")


def parameter(name: str, spec: str) -> dict[str, Any]:
    """Return the data of the parameter that a placeholder defines."""
    shown = f"{{{name}:{spec}}}"
    if not _NAME.fullmatch(name):
        raise OptionError(
            f"placeholder {shown}: the name {name!r} must begin with a letter and go on with letters, digits, "
            f"'_', '-' or '.', e.g. {_EXAMPLES['int']}"
        )
    kind, colon, rest = spec.partition(":")
    if "|" in spec:
        return _choices(shown, name, spec)
    if kind in ("float", "int"):
        return _range(shown, kind, rest)
    if kind == "bool" and not colon:
        return {"type": "bool"}
    raise OptionError(_unknown(shown, kind))


def _unknown(shown: str, kind: str) -> str:
    if kind == "bool":
        return f"placeholder {shown}: bool takes no options, e.g. {_EXAMPLES['bool']}"
    examples = ", ".join(_EXAMPLES.values())
    return f"placeholder {shown}: expected float, int, bool or choices with '|' after the name, e.g. {examples}"


def _choices(shown: str, name: str, spec: str) -> dict[str, Any]:
    kind, colon, rest = spec.partition(":")
    if colon and kind in (*_KINDS, "categorical", "choice", "choices"):
        raise OptionError(f"placeholder {shown}: choices have no type before them; write {{{name}:{rest}}}")
    texts = spec.split("|")
    if not all(texts):
        raise OptionError(f"placeholder {shown}: a choice is empty; expected values with '|' between, "
                          f"e.g. {_EXAMPLES['choices']}")  # fmt: skip
    return {"type": "categorical", "choices": _numbers(texts) or texts}


def _numbers(texts: list[str]) -> list[Any] | None:
    """Return the choices as ints or floats, if all of them are numbers; else None."""
    if all(_WHOLE.fullmatch(text) for text in texts):
        return [int(text) for text in texts]
    if all(_NUMBER.fullmatch(text) for text in texts):
        return [float(text) for text in texts]
    return None


def _range(shown: str, kind: str, rest: str) -> dict[str, Any]:
    bounds, *flags = rest.split(":")
    low, dots, high = bounds.partition("..")
    if not (low and dots and high):
        raise OptionError(f"placeholder {shown}: expected LOW..HIGH after {kind}, got {bounds!r}; "
                          f"e.g. {_EXAMPLES[kind]}")  # fmt: skip
    data: dict[str, Any] = {"type": kind, "low": _bound(shown, kind, low), "high": _bound(shown, kind, high)}
    for flag in flags:
        data |= _flag(shown, kind, flag)
    return data


def _flag(shown: str, kind: str, flag: str) -> dict[str, Any]:
    word, equals, number = flag.partition("=")
    if flag == "log":
        return {"log": True}
    if word == "step" and equals:
        return {"step": _bound(shown, kind, number)}
    raise OptionError(f"placeholder {shown}: expected log or step=NUMBER after the range, got {flag!r}; "
                      f"e.g. {_EXAMPLES[kind]}")  # fmt: skip


def _bound(shown: str, kind: str, text: str) -> float:
    """Return a number; a whole one may be written 1e4."""
    try:
        number = float(text)
        if kind == "float":
            return number
        if number.is_integer():
            return int(text) if _WHOLE.fullmatch(text) else int(number)
    except ValueError:
        pass
    what = "a number" if kind == "float" else "a whole number"
    raise OptionError(f"placeholder {shown}: expected {what}, got {text!r}; e.g. {_EXAMPLES[kind]}")
