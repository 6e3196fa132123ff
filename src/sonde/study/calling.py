"""How an objective is called, decided once from its signature.

::

    f(trial)            one argument: the trial, a Mapping of its parameters
    f(x)                one argument, and the space was given as bounds: an array; if it is named trial, the trial
    f(lr, layers)       the parameters by name; one more argument named trial is the trial
    f(**params)         the parameters by name
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from sonde.errors import OptionError
from sonde.space import Space
from sonde.trials import Trial

Objective = Callable[[Trial], Any]
TRIAL = "trial"


class Called(NamedTuple):
    """A function of the trial that calls the user's, and how it does that, in words."""

    objective: Objective
    how: str


class Arguments(NamedTuple):
    """The arguments of a function: those that must be given, those that may be, and whether it takes any others."""

    required: list[inspect.Parameter]
    optional: list[inspect.Parameter]
    any_more: bool  # *args
    any_named: bool  # **params

    @property
    def names(self) -> set[str]:
        """The names of the arguments."""
        return {each.name for each in (*self.required, *self.optional)}


def called(function: Any, space: Space, what: str = "the objective") -> Called:
    """Return a user's function as a function of the trial."""
    if not callable(function):
        raise OptionError(f"{what} must be a function, such as def objective(trial), got {function!r}")
    label = getattr(function, "__name__", type(function).__name__).replace("<lambda>", "lambda")
    arguments = _arguments(function)
    if arguments is None or _takes_trial(arguments, space):
        return Called(function, f"{label}(trial)")
    if _takes_array(arguments, space):
        return Called(partial(_with_array, function, space.names), f"{label}(x), x an array of {len(space)} numbers")
    _check_names(arguments, space, what)
    given = [
        name for name in (*space.names, TRIAL) if name in arguments.names or (arguments.any_named and name != TRIAL)
    ]
    return Called(partial(_by_name, function, frozenset(given)), f"{label}({', '.join(given)}), by name")


def _arguments(function: Callable[..., Any]) -> Arguments | None:
    """Return the arguments of a function; None where Python does not know them."""
    try:
        every = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return None
    own = [each for each in every if each.kind not in (each.VAR_POSITIONAL, each.VAR_KEYWORD)]
    required = [each for each in own if each.default is each.empty]
    kinds = {each.kind for each in every}
    more, named = inspect.Parameter.VAR_POSITIONAL in kinds, inspect.Parameter.VAR_KEYWORD in kinds
    return Arguments(required, [each for each in own if each not in required], more, named)


def _takes_trial(arguments: Arguments, space: Space) -> bool:
    """Whether a function takes the trial alone."""
    required, optional = arguments.required, arguments.optional
    if not required:
        return arguments.any_more or (bool(optional) and not _takes_all(arguments, space))
    only = required[0]
    if len(required) > 1 or only.kind is only.KEYWORD_ONLY or _by_its_name(only, arguments, space):
        return False
    return not space.is_vector or only.name == TRIAL or "Trial" in str(only.annotation)


def _takes_array(arguments: Arguments, space: Space) -> bool:
    """Whether a function, which does not take the trial alone, takes an array."""
    if not space.is_vector or len(arguments.required) != 1:
        return False
    only = arguments.required[0]
    return only.kind is not only.KEYWORD_ONLY and not _by_its_name(only, arguments, space)


def _by_its_name(only: inspect.Parameter, arguments: Arguments, space: Space) -> bool:
    """Whether the only required argument is a parameter: it is named like one, and the others have theirs, too."""
    return only.name in space.names and only.kind is not only.POSITIONAL_ONLY and _takes_all(arguments, space)


def _takes_all(arguments: Arguments, space: Space) -> bool:
    """Whether a function takes every parameter by its name."""
    return arguments.any_named or arguments.names >= set(space.names)


def _check_names(arguments: Arguments, space: Space, what: str) -> None:
    """Raise if a function cannot be called by name."""
    known = ", ".join(space.names)
    wanted = {each.name: each for each in arguments.required}
    if not arguments.names and not arguments.any_named:
        raise OptionError(f"{what} takes no argument; write def objective(trial): or def objective({known}):")
    strange = [
        name for name, each in wanted.items() if name not in (*space.names, TRIAL) or each.kind is each.POSITIONAL_ONLY
    ]
    if strange:
        raise OptionError(
            f"{what} takes {', '.join(wanted)}, but the space has {known}; its arguments must be the parameters' "
            f"names, or one argument, the trial: lambda trial: f(**trial, {strange[0]}=...)"
        )
    unused = [] if arguments.any_named else [name for name in space.names if name not in arguments.names]
    if unused:
        raise OptionError(
            f"{what} takes {', '.join(wanted)}, but not {unused[0]!r}, which the space has; add it or **others"
        )
    missing = [name for name in wanted if name != TRIAL and space[name].when]
    if missing:
        raise OptionError(
            f"{what} needs {missing[0]!r}, which is conditional: give the argument a default for where it is inactive"
        )


def _by_name(function: Callable[..., Any], names: frozenset[str], trial: Trial) -> Any:
    """Call a function with the active parameters that it takes, and with the trial if it takes that."""
    given = {name: value for name, value in trial.params.items() if name in names}
    if TRIAL in names and TRIAL not in given:
        given[TRIAL] = trial
    return function(**given)


def _with_array(function: Callable[..., Any], names: tuple[str, ...], trial: Trial) -> Any:
    """Call a function with the parameters as an array, in their order."""
    return function(np.array([trial.params[name] for name in names]))
