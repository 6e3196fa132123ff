"""The codec of a space: configuration <-> row of numbers <-> point of the unit cube with an activity mask.

Symbols: d parameters, n rows. ``rows`` is (n, d): numbers on the parameters' axes, NaN where inactive. ``units`` is
(n, d) in [0, 1], with the constant ``IDLE`` where inactive. ``active`` is (n, d) bool.

Derivatives follow the chain rule through the scale x(u): dy/du = y'(x) x'(u), and
d2y/du2 = x'(u)^T y''(x) x'(u) + diag(y'(x) x''(u)).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from sonde.arrays import Array, Mask
from sonde.errors import ConfigurationError
from sonde.space.axis import Axes
from sonde.space.conditions import Conditions
from sonde.space.parameters import Parameter

IDLE = 0.5


class Codec:
    """Translates configurations of one set of parameters."""

    def __init__(self, parameters: Mapping[str, Parameter], conditions: Conditions) -> None:
        self._parameters = dict(parameters)
        self._names = list(parameters)
        self._conditions = conditions
        self.axes = tuple(parameter.axis for parameter in parameters.values())
        self._table = Axes(self.axes)

    # configuration <-> row

    def row(self, configuration: Mapping[str, Any]) -> Array:
        """Check a configuration and return its row; errors name the parameter."""
        for name in configuration:
            if name not in self._parameters:
                known = ", ".join(self._parameters)
                raise ConfigurationError(f"there is no parameter {name!r}; the space has {known}")
        row = [math.nan] * len(self.axes)
        names = self._names
        for column in self._conditions.order:
            name = names[column]
            unmet = [rule for rule in self._conditions.of[column] if row[rule.parent] not in rule.numbers]
            if unmet:
                if name in configuration:
                    raise ConfigurationError(
                        f"parameter {name!r}: got {configuration[name]!r}, but it is inactive because of "
                        f"{names[unmet[0].parent]!r}; leave it out"
                    )
                continue
            if name not in configuration:
                raise ConfigurationError(f"parameter {name!r} is missing; give a value for every active parameter")
            try:
                row[column] = self._parameters[name].number(configuration[name])
            except ConfigurationError as error:
                raise ConfigurationError(f"parameter {name!r}: {error}") from None
        return np.array(row)

    def completed(self, partial: Mapping[str, Any], like: Mapping[str, Any]) -> dict[str, Any]:
        """Return a configuration; what it lacks is as in another one, or else the middle of the range."""
        whole, row = dict(partial), [math.nan] * len(self.axes)
        for column in self._conditions.order:
            name, parameter = self._names[column], self._parameters[self._names[column]]
            if any(row[rule.parent] not in rule.numbers for rule in self._conditions.of[column]):
                continue
            if name not in whole:
                middle = float(self.axes[column].from_unit(0.5))
                whole[name] = like[name] if name in like else parameter.value(middle)
            if whole[name] not in parameter:
                break  # ``row`` says so
            row[column] = parameter.number(whole[name])
        return whole

    def configuration(self, row: Array) -> dict[str, Any]:
        """Return the configuration of a row: the active parameters, in the order of the space."""
        pairs = zip(self._parameters.items(), row.tolist(), strict=True)
        return {name: parameter.value(number) for (name, parameter), number in pairs if number == number}

    # row <-> unit cube

    def encode(self, rows: Array) -> tuple[Array, Mask]:
        """Return units and activity of rows."""
        active = ~np.isnan(rows)
        return np.where(active, self._table.to_unit(rows), IDLE), active

    def decode(self, units: Array) -> Array:
        """Return the rows of points of the unit cube: projected onto lattices, NaN where inactive."""
        return self.deactivate(self._table.from_unit(units))

    def deactivate(self, rows: Array) -> Array:
        """Return rows with NaN in place of inactive entries."""
        return np.where(self._conditions.activity(rows), rows, np.nan) if self._conditions.any else rows

    def project(self, units: Array) -> tuple[Array, Mask]:
        """Return the nearest points of the lattice, and their activity."""
        return self.encode(self.decode(units))

    # derivatives

    def derivatives(self, rows: Array) -> Array:
        """Return dx/du for every entry: NaN where inactive or categorical."""
        return self._scales(rows, "derivative")

    def second_derivatives(self, rows: Array) -> Array:
        """Return d2x/du2 for every entry: NaN where inactive or categorical."""
        return self._scales(rows, "second_derivative")

    def unit_gradients(self, rows: Array, gradients: Array) -> Array:
        """Return gradients (n, d) in units of the cube from gradients in the parameters' own units."""
        return gradients * self.derivatives(rows)

    def unit_hessians(self, rows: Array, gradients: Array, hessians: Array) -> Array:
        """Return Hessians (n, d, d) in units of the cube; on a log scale the gradient contributes."""
        first, second = self.derivatives(rows), self.second_derivatives(rows)
        extra = np.where(second == 0, 0.0, gradients * second)
        diagonal = np.eye(rows.shape[1], dtype=bool)
        return first[:, :, None] * hessians * first[:, None, :] + np.where(diagonal, extra[:, :, None], 0.0)

    def _scales(self, rows: Array, name: str) -> Array:
        result = np.full(rows.shape, np.nan)
        for column, parameter in enumerate(self._parameters.values()):
            if parameter.ordered:
                result[:, column] = getattr(parameter.axis, name)(rows[:, column])
        result[np.isnan(rows)] = np.nan
        return result
