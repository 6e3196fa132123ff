"""What people write for a parameter or for bounds, instead of ``Float``, ``Int``, ``Categorical`` and ``Bool``.

::

    {"lr": (1e-5, 1e-1, "log"), "layers": range(1, 9), "opt": ["sgd", "adam"], "bias": bool}
    [(-5, 5)] * 3                                             # x0, x1, x2
    scipy.optimize.Bounds([-5, 0], [5, 1])

Parameters of other libraries are read by ``foreign``.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Set
from typing import Any

from sonde.errors import SpaceError
from sonde.space import foreign, schema
from sonde.space.parameters import Bool, Categorical, Float, Int, Parameter, as_float

FORMS = 'sonde.Float(1e-5, 1e-1, log=True), (1e-5, 1e-1, "log"), (0.0, 1.0), range(1, 9), ["sgd", "adam"] or bool'


def parameter_of(name: Any, given: Any) -> Parameter:
    """Return a parameter as it is given, or that of a short form."""
    if isinstance(given, Parameter):
        return given
    if isinstance(given, Mapping):
        return schema.parameter(name, given)
    if getattr(given, "ndim", 0) == 1 and hasattr(given, "tolist"):  # np.logspace(-4, 2, 20)
        given = given.tolist()
    _warn_of_range(name, given)
    try:
        return _short_form(given)
    except SpaceError as error:
        raise SpaceError(f"parameter {name!r}: {error}") from None


def _warn_of_range(name: Any, given: Any) -> None:
    """Warn of a list of two numbers, which many write for a range."""
    if isinstance(given, list) and len(given) == 2 and all(isinstance(number, float) for number in given):
        warnings.warn(
            f"parameter {name!r}: {given!r} is a choice of two values; for all numbers between them write "
            f"{tuple(given)!r}, and sonde.Categorical({given!r}) if only these two are meant",
            stacklevel=2,
        )


def bounds_of(given: Any) -> dict[str, Parameter] | None:
    """Return the parameters x0, x1, ... of a list of pairs, an array (d, 2) or SciPy's ``Bounds``; None of others."""
    if hasattr(given, "lb") and hasattr(given, "ub"):
        pairs = list(zip(foreign.listed(given.lb), foreign.listed(given.ub), strict=True))
    elif isinstance(given, list | tuple) or hasattr(given, "tolist"):
        pairs = [tuple(foreign.listed(pair)) for pair in foreign.listed(given)]
    else:
        return None
    if not pairs or any(len(pair) != 2 for pair in pairs):
        return None
    if any(None in pair and set(map(type, pair)) <= {type(None), int, float} for pair in pairs):
        raise SpaceError(f"bounds must be finite numbers, got {pairs!r}: a search needs to know where it is")
    if any(None in map(as_float, pair) for pair in pairs):
        return None
    return {f"x{k}": parameter_of(f"x{k}", (as_float(low), as_float(high))) for k, (low, high) in enumerate(pairs)}


def _short_form(given: Any) -> Parameter:
    if given is bool or given is Bool:
        return Bool()
    if isinstance(given, range):
        return _of_range(given)
    if isinstance(given, tuple) and len(given) in (2, 3) and None not in map(as_float, given[:2]):
        return _of_bounds(given)
    if isinstance(given, list | tuple | Set):
        return Categorical(given)  # type: ignore[arg-type]
    known = foreign.parameter(given)
    if known is None:
        raise SpaceError(f"a parameter is {FORMS}; got {given!r}")
    return known


def _of_range(given: range) -> Int:
    if not given:
        raise SpaceError(f"{given} is empty; range(1, 9) has the whole numbers from 1 to 8")
    ordered = given if given.step > 0 else given[::-1]
    return Int(ordered[0], ordered[-1], step=ordered.step if len(ordered) > 1 else 1)


def _of_bounds(given: tuple[Any, ...]) -> Float:
    """Return the parameter of (low, high) or (low, high, "log")."""
    low, high, *rest = given
    if rest not in ([], ["log"]):
        raise SpaceError(
            f'{given!r} is neither (low, high) nor (low, high, "log"); choices go in a list: {list(given)!r}'
        )
    if isinstance(low, int) and isinstance(high, int):
        whole = f"sonde.Int({low}, {high}, log=True)" if rest else f"range({low}, {high + 1})"
        real = f'({float(low)}, {float(high)}, "log")' if rest else f"({float(low)}, {float(high)})"
        raise SpaceError(f"{given!r} may mean whole numbers or all numbers; write {whole} or {real}")
    return Float(low, high, log=bool(rest))
