"""Spaces as data: the versioned JSON that is stored with a study, which is also the layout of a TOML space file.

::

    {"version": 1,
     "parameters": {"lr": {"type": "float", "low": 1e-05, "high": 0.1, "log": true},
                    "layers": {"type": "int", "low": 1, "high": 8, "when": {"model": ["mlp"]}},
                    "model": {"type": "categorical", "choices": ["mlp", "svm"]},
                    "bias": {"type": "bool"}},
     "where": ["layers <= 4", {"function": "__main__.<lambda>"}]}

``"vector": true`` where the space was given as bounds, and the objective takes an array.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from sonde.errors import SondeError, SpaceError
from sonde.space import choices
from sonde.space.conditions import alternatives
from sonde.space.constraints import Constraint
from sonde.space.parameters import Bool, Categorical, Float, Int, Parameter

VERSION = 1
_TYPES: dict[str, type[Parameter]] = {"float": Float, "int": Int, "categorical": Categorical, "bool": Bool}
_FIELDS = {"float": ("low", "high", "log", "step"), "int": ("low", "high", "log", "step"), "categorical": ("choices",),
           "bool": ()}  # fmt: skip
_DEFAULTS: dict[str, Any] = {"log": False, "step": None}


def dump(parameters: Mapping[str, Parameter], constraints: Iterable[Constraint]) -> dict[str, Any]:
    """Return parameters and constraints as JSON-able data."""
    data: dict[str, Any] = {
        "version": VERSION,
        "parameters": {name: _parameter_data(parameter, parameters) for name, parameter in parameters.items()},
    }
    where = [one.predicate if isinstance(one.predicate, str) else {"function": one.name} for one in constraints]
    return data | {"where": where} if where else data


def parse(data: Any) -> tuple[dict[str, Parameter], tuple[Constraint, ...]]:
    """Return what ``dump`` wrote, or what a person wrote in the same layout."""
    if not isinstance(data, Mapping) or not isinstance(data.get("parameters"), Mapping):
        raise SpaceError("a space file has a table 'parameters' with one entry for each parameter")
    if data.get("version", VERSION) != VERSION:
        raise SpaceError(f"the space has format version {data['version']!r}; this Sonde reads {VERSION}: upgrade it")
    unknown = set(data) - {"version", "parameters", "where", "vector"}
    if unknown:
        raise SpaceError(f"a space file has 'parameters' and 'where', not {min(unknown)!r}")
    stored = "version" in data  # a file written by hand has none
    parameters = {
        name: parameter(name, _one_value(entry) if stored else entry) for name, entry in data["parameters"].items()
    }
    where = _listed(data.get("where", []), "where", '["layers <= 4"]')
    return parameters, tuple(_constraint(entry, tuple(parameters)) for entry in where)


def _one_value(entry: Any) -> Any:
    """Return a stored parameter; version 0.1.0 allowed a step larger than the range, which is one value."""
    try:
        if entry["step"] > entry["high"] - entry["low"] > 0:
            return {**entry, "high": entry["low"], "step": None if entry["type"] == "float" else 1}
    except (KeyError, TypeError):
        pass
    return entry


def _parameter_data(parameter: Parameter, parameters: Mapping[str, Parameter]) -> dict[str, Any]:
    kind = type(parameter).__name__.lower()
    data: dict[str, Any] = {"type": kind}
    for field in _FIELDS[kind]:
        value = getattr(parameter, field)
        if field == "choices":
            value = [choices.to_json(choice) for choice in choices.distinct(value)]
        if field not in _DEFAULTS or value != _DEFAULTS[field]:
            data[field] = value
    if parameter.when:
        data["when"] = {
            parent: choices.to_json(_plain(wanted, parameters[parent])) for parent, wanted in parameter.when.items()
        }
    return data


def parameter(name: str, data: Any) -> Parameter:
    """Return the parameter of one entry."""
    kind = data.get("type") if isinstance(data, Mapping) else None
    if kind is None:
        raise SpaceError(
            f'parameter {name!r}: a dict is one parameter, {{"type": "float", "low": 0.0, "high": 1.0}}, with the type '
            f"{', '.join(_TYPES)}; spaces are not nested: give every parameter a name of its own, such as '{name}.rate'"
        )
    if kind not in _TYPES:
        raise SpaceError(f"parameter {name!r}: type must be one of {', '.join(_TYPES)}, got {kind!r}")
    unknown = set(data) - set(_FIELDS[kind]) - {"type", "when"}
    if unknown:
        raise SpaceError(f"parameter {name!r}: {min(unknown)!r} is not a field of {kind}; known: {_FIELDS[kind]}")
    missing = [field for field in _FIELDS[kind] if field not in _DEFAULTS and field not in data]
    if missing:
        raise SpaceError(f"parameter {name!r}: a parameter of type {kind} needs {' and '.join(missing)}")
    fields = {key: value for key, value in data.items() if key != "type"}
    if "choices" in fields:
        fields["choices"] = [
            choices.from_json(choice)
            for choice in _listed(fields["choices"], f"parameter {name!r}: choices", '["mlp", "svm"]')
        ]
    if isinstance(fields.get("when"), Mapping):
        fields["when"] = {parent: choices.from_json(wanted) for parent, wanted in fields["when"].items()}
    try:
        return _TYPES[kind](**fields)
    except (TypeError, SondeError) as error:
        raise SpaceError(f"parameter {name!r}: {error}") from None


def _plain(wanted: Any, parent: Parameter) -> Any:
    """Return the values of a condition as values of the parent; a collection that JSON cannot hold is a list."""
    numbers = [parent.number(value) for value in alternatives(wanted, parent)]
    if isinstance(wanted, set | frozenset):
        numbers.sort()  # their own order depends on the process
    known = choices.distinct(parent.choices) if isinstance(parent, Categorical) else None
    values = [known[int(number)] if known else parent.value(number) for number in numbers]
    if wanted in parent:
        return values[0]
    return tuple(values) if isinstance(wanted, tuple) else values


def _constraint(data: Any, names: tuple[str, ...]) -> Constraint:
    if isinstance(data, Mapping) and "function" in data:
        return Constraint(None, data["function"])
    return Constraint.of(data, names)


def _listed(value: Any, what: str, example: str) -> list[Any]:
    if not isinstance(value, list | tuple):
        raise SpaceError(f"{what} must be a list, e.g. {example}, got {value!r}")
    return list(value)
