"""The space: named parameters, their conditions, and known constraints."""

from __future__ import annotations

import json
from collections.abc import Callable, ItemsView, Iterable, Iterator, KeysView, Mapping, ValuesView
from functools import cached_property, reduce
from typing import Any, TypeAlias

import numpy as np

from sonde.arrays import Array, Mask
from sonde.errors import ConfigurationError, SpaceError
from sonde.space import foreign, schema
from sonde.space.codec import Codec
from sonde.space.conditions import resolve
from sonde.space.constraints import Constraint
from sonde.space.parameters import Parameter
from sonde.space.short_forms import bounds_of, parameter_of
from sonde.text import is_encodable

Configuration: TypeAlias = dict[str, Any]


class Space:
    """A set of named parameters.

    >>> import sonde
    >>> space = sonde.Space(lr=sonde.Float(1e-5, 1e-1, log=True), layers=sonde.Int(1, 8))
    >>> {"lr": 1e-3, "layers": 2} in space
    True

    Names that are not Python identifiers go in a dict: ``Space({"batch-size": Int(1, 512)})``. A space reads like a
    dict of its parameters (``space["lr"]``, ``list(space)``, ``space.items()``), but ``in`` takes configurations.

    Parameters may be in a short form: ``{"lr": (1e-5, 1e-1, "log"), "layers": range(1, 9), "opt": ["sgd", "adam"],
    "bias": bool}``. ``Study``, ``minimize`` and ``maximize`` take such a dict, or bounds, as the space: see ``of``.
    """

    def __init__(self, parameters: Mapping[str, Any] | None = None, /, **named: Any) -> None:
        if parameters is not None and not isinstance(parameters, Mapping):
            raise SpaceError(f"Space takes a dict of parameters, got {type(parameters).__name__}; see Space.of")
        twice = set(parameters or {}) & set(named)
        if twice:
            raise SpaceError(f"parameter {min(twice)!r} is given twice")
        given = dict(parameters or {}) | named
        self.parameters: Mapping[str, Parameter] = {name: parameter_of(name, one) for name, one in given.items()}
        self.is_vector = False  # whether it was given as bounds, so that objectives take an array
        self.constraints: tuple[Constraint, ...] = ()
        _check_parameters(self.parameters)
        self._conditions = resolve(self.parameters)
        self.codec = Codec(self.parameters, self._conditions)

    @staticmethod
    def of(given: Any) -> Space:
        """Return the space of a dict of parameters, of bounds or of another library's space.

        Bounds are ``[(-5, 5)] * 3``, an array (d, 2) or ``scipy.optimize.Bounds``; their parameters are x0, x1, ...
        Other libraries are ConfigSpace, and dicts of distributions of SciPy, Optuna, Ray Tune or scikit-optimize.
        """
        if isinstance(given, Space):
            return given
        if foreign.is_configuration_space(given):
            return Space._restricted(*foreign.configuration_space(given))
        if isinstance(given, Mapping):
            inside = given.get("parameters")  # of a parsed file
            return Space.from_data(given) if isinstance(inside, Mapping) and "type" not in inside else Space(given)
        bounds = bounds_of(given)
        if bounds is None:
            text = repr(given)
            raise SpaceError(
                'a space is a dict of parameters, such as {"lr": (1e-5, 1e-1, "log"), "layers": range(1, 9)}, a list '
                "of bounds, such as [(-5, 5), (0, 10)], or a sonde.Space; got "
                f"{text if len(text) < 100 else type(given).__name__}"
            )
        space = Space(bounds)
        space.is_vector = True
        return space

    @staticmethod
    def _restricted(parameters: Mapping[str, Any], predicates: Iterable[Callable[[Mapping[str, Any]], Any]]) -> Space:
        return reduce(Space.where, predicates, Space(parameters))

    def where(self, predicate: str | Callable[[Mapping[str, Any]], Any]) -> Space:
        """Return this space restricted to the configurations that meet a predicate.

        ``predicate`` is an expression such as ``"a + b <= 100"`` (stored with a study) or a function of the
        configuration (not stored: pass the space again to continue the study).
        """
        return self._with_constraints((*self.constraints, Constraint.of(predicate, self.names)))

    @property
    def names(self) -> tuple[str, ...]:
        """The parameters' names, in order."""
        return tuple(self.parameters)

    @cached_property
    def declared(self) -> Mapping[str, tuple[Any, ...]]:
        """The kind and the range of each parameter, as ``Parameter.declared`` has them."""
        return {name: parameter.declared for name, parameter in self.parameters.items()}

    @property
    def size(self) -> float:
        """Number of configurations (an int, or ``math.inf``); ``where`` may leave fewer."""
        return self._conditions.count([parameter.size for parameter in self.parameters.values()])

    @property
    def finite(self) -> bool:
        """Whether there are finitely many configurations."""
        return not any(axis.continuous for axis in self.codec.axes)

    def validate(self, configuration: Mapping[str, Any]) -> Configuration:
        """Return the configuration with canonical values, or raise ``ConfigurationError`` naming the parameter."""
        return self.codec.configuration(self.row(configuration))

    def row(self, configuration: Mapping[str, Any]) -> Array:
        """Check a configuration and return its row."""
        if not isinstance(configuration, Mapping):
            raise ConfigurationError(f"expected a dict of parameters, got {configuration!r}")
        row = self.codec.row(configuration)
        if self.constraints:
            checked = self.codec.configuration(row)
            broken = [rule.name for rule in self.constraints if not rule.holds(checked, self.names)]
            if broken:
                raise ConfigurationError(f"{checked} does not meet the constraint {broken[0]}")
        return row

    def feasible(self, configuration: Mapping[str, Any]) -> bool:
        """Whether a valid configuration meets every ``where``."""
        return all(constraint.holds(configuration, self.names) for constraint in self.constraints)

    def feasible_rows(self, rows: Array) -> Mask:
        """Return which rows meet every ``where``."""
        if not self.constraints:
            return np.ones(len(rows), dtype=bool)
        return np.array([self.feasible(self.codec.configuration(row)) for row in rows], dtype=bool)

    def rows(self) -> Iterator[Array]:
        """Iterate over the rows of a finite space, in order."""
        if not self.finite:
            raise SpaceError("the space is continuous; its configurations cannot be listed")
        yield from self._extend(0, np.full(len(self.parameters), np.nan))

    def configurations(self) -> Iterator[Configuration]:
        """Iterate over the configurations of a finite space that meet every ``where``."""
        for row in self.rows():
            configuration = self.codec.configuration(row)
            if self.feasible(configuration):
                yield configuration

    def to_json(self) -> str:
        """Return the space as versioned JSON."""
        data = schema.dump(self.parameters, self.constraints)
        return json.dumps(data | {"vector": True} if self.is_vector else data)

    @staticmethod
    def from_json(text: str) -> Space:
        """Return the space that ``to_json`` wrote."""
        try:
            data = json.loads(text)
        except ValueError as error:
            raise SpaceError(f"the space is not JSON: {error}") from None
        except RecursionError:
            raise SpaceError("the space is nested too deep to be read") from None
        return Space.from_data(data)

    @staticmethod
    def from_data(data: Any) -> Space:
        """Return the space described by JSON-like data, such as a parsed TOML file (see ``sonde.space.schema``)."""
        try:
            parameters, constraints = schema.parse(data)
            space = Space(parameters)._with_constraints(constraints)
            space.is_vector = data.get("vector") is True
            return space
        except RecursionError:
            raise SpaceError("the space is nested too deep to be read") from None

    def _extend(self, depth: int, row: Array) -> Iterator[Array]:
        if depth == len(self._conditions.order):
            yield row.copy()
            return
        column = self._conditions.order[depth]
        if all(row[rule.parent] in rule.numbers for rule in self._conditions.of[column]):
            for index in range(int(self.codec.axes[column].size)):
                row[column] = self.codec.axes[column].point(index)
                yield from self._extend(depth + 1, row)
            row[column] = np.nan
        else:
            yield from self._extend(depth + 1, row)

    def _with_constraints(self, constraints: tuple[Constraint, ...]) -> Space:
        space = Space(self.parameters)
        space.constraints, space.is_vector = constraints, self.is_vector
        return space

    def __getitem__(self, name: str) -> Parameter:
        if name not in self.parameters:
            raise SpaceError(f"there is no parameter {name!r}; the space has {', '.join(self.names)}")
        return self.parameters[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.parameters)

    def keys(self) -> KeysView[str]:
        """Return the parameters' names, as a dict does; ``dict(space)`` is a dict of the parameters."""
        return self.parameters.keys()

    def values(self) -> ValuesView[Parameter]:
        """Return the parameters, as a dict does."""
        return self.parameters.values()

    def items(self) -> ItemsView[str, Parameter]:
        """Return names and parameters, as a dict does."""
        return self.parameters.items()

    def __contains__(self, configuration: object) -> bool:
        """Whether a *configuration* belongs to the space; for a name ask ``name in space.names``."""
        try:
            self.validate(configuration)  # type: ignore[arg-type]
        except ConfigurationError:
            return False
        return True

    def __len__(self) -> int:
        return len(self.parameters)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Space):
            return NotImplemented
        return list(self.parameters.items()) == list(other.parameters.items()) and self.constraints == other.constraints

    def __hash__(self) -> int:
        return hash(self.names)

    def __repr__(self) -> str:
        inside = ", ".join(f"{name}={parameter!r}" for name, parameter in self.parameters.items())
        return f"Space({inside})" + "".join(f".where({constraint.name})" for constraint in self.constraints)


def _check_parameters(parameters: Mapping[str, Parameter]) -> None:
    if not parameters:
        raise SpaceError("the space has no parameters; give at least one, e.g. Space(lr=Float(1e-5, 1e-1, log=True))")
    for name in parameters:
        if not isinstance(name, str) or not name:
            raise SpaceError(f"a parameter's name must be a non-empty string, got {name!r}")
        if not is_encodable(name):
            raise SpaceError(f"a parameter's name has a lone surrogate (half a character), got {name!r}")
