"""Parameters of Sonde's spaces as other libraries need them: from [0, 1], as a list of levels, active or not."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import sonde


def active(parameter: Any, chosen: Mapping[str, Any]) -> bool:
    """Return whether a parameter's conditions hold."""
    return all(
        chosen.get(parent) in (wanted if isinstance(wanted, list | tuple) else (wanted,))
        for parent, wanted in (parameter.when or {}).items()
    )


def settled(space: sonde.Space, values: Mapping[str, Any]) -> list[Any]:
    """Return a point from a value for every parameter: None for those that are inactive."""
    chosen: dict[str, Any] = {}
    for name, parameter in space.parameters.items():
        if active(parameter, chosen):
            chosen[name] = values[name]
    return [chosen.get(name) for name in space.names]


def levels(parameter: Any) -> list[Any] | None:
    """Return all values of a parameter, None where there are too many to count."""
    from sonde import Bool, Categorical, Int

    if isinstance(parameter, Categorical):
        return list(parameter.choices)
    if isinstance(parameter, Bool):
        return [False, True]
    if isinstance(parameter, Int):
        return list(range(parameter.low, parameter.high + 1, parameter.step))
    if parameter.step is None:
        return None
    count = round((parameter.high - parameter.low) / parameter.step)
    return [parameter.low + i * parameter.step for i in range(count + 1)]


def drawn(parameter: Any, unit: float) -> Any:
    """Return the value at a place in [0, 1), where every level has the same share."""
    every = levels(parameter)
    return between(parameter, unit) if every is None else every[int(unit * len(every))]


def between(parameter: Any, unit: float) -> float:
    """Return the value of a float at a place in [0, 1] of its range, on its scale."""
    low, high = parameter.low, parameter.high
    if parameter.log:
        return min(max(math.exp(math.log(low) + float(unit) * math.log(high / low)), low), high)
    return min(max(low + float(unit) * (high - low), low), high)
