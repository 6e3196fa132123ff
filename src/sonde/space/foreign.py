"""Parameters and spaces of other libraries: SciPy's distributions, Optuna, Ray Tune, scikit-optimize, ConfigSpace.

They are told apart by the names of their classes, so that none of the libraries is imported here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from sonde.errors import SpaceError
from sonde.space.parameters import Bool, Categorical, Float, Int, Parameter


def parameter(given: Any) -> Parameter | None:
    """Return the parameter of another library's; None if it is none that is known here."""
    if hasattr(given, "dist") and callable(getattr(given, "support", None)):
        return _of_scipy(given)
    if callable(getattr(given, "freeze", None)) and hasattr(given, "shapes"):
        raise SpaceError(f"{given.name} of SciPy has no range yet; call it, as in scipy.stats.uniform(0, 1)")
    library = type(given).__module__.partition(".")[0]
    make = _LIBRARIES.get(library, {}).get(type(given).__name__)
    if make is None:
        if library in _LIBRARIES:
            raise SpaceError(
                f"{type(given).__name__} of {library} has no counterpart; use sonde.Float, Int or Categorical"
            )
        return None
    return make(given)


def listed(given: Any) -> list[Any]:
    """Return a number, a list or an array as a list of plain values."""
    plain = given.tolist() if hasattr(given, "tolist") else given
    return list(plain) if isinstance(plain, list | tuple) else [plain]


# SciPy

_CONTINUOUS = {"uniform": False, "loguniform": True, "reciprocal": True}  # name: whether on a log scale


def _of_scipy(given: Any) -> Parameter:
    """Return the range of ``uniform``, ``loguniform`` or ``randint``."""
    name = given.dist.name
    low, high = given.support()
    if name in _CONTINUOUS:
        return Float(float(low), float(high), log=_CONTINUOUS[name])
    if name == "randint":
        return Int(int(low), int(high))
    low, high = given.ppf([0.005, 0.995])
    kind = "Int" if hasattr(given.dist, "pmf") else "Float"
    raise SpaceError(
        f"the search has no prior density, and so no {name}; write its range: sonde.{kind}({low:.4g}, {high:.4g})"
    )


# Optuna, Ray Tune, scikit-optimize


def _of_optuna(kind: type[Float] | type[Int]) -> Callable[[Any], Parameter]:
    return lambda given: kind(
        given.low, given.high, log=given.log, **({} if given.step is None else {"step": given.step})
    )


def _of_ray(given: Any) -> Parameter:
    """Return the range of ``tune.uniform``, ``loguniform``, ``quniform``, ``randint``, ``lograndint`` and the like."""
    whole = type(given).__name__ == "Integer"
    sampler, step = given.get_sampler(), None
    if hasattr(sampler, "q"):
        sampler, step = sampler.get_sampler(), sampler.q
    if not type(sampler).__name__.endswith(("Uniform", "LogUniform")):
        raise SpaceError(
            "a normal distribution has no bounds; use tune.uniform, tune.randint or sonde.Float(low, high)"
        )
    log = type(sampler).__name__.endswith("LogUniform")
    if whole:  # Ray leaves the upper bound out, except where there is a step
        return Int(given.lower, given.upper - (step is None or step == 1), log=log, step=step or 1)
    return Float(given.lower, given.upper, log=log, step=step)


def _of_skopt(kind: type[Float] | type[Int]) -> Callable[[Any], Parameter]:
    return lambda given: kind(given.low, given.high, log=given.prior == "log-uniform")


# ConfigSpace


def _of_configspace(kind: type[Float] | type[Int]) -> Callable[[Any], Parameter]:
    return lambda given: kind(given.lower, given.upper, log=given.log)


_LIBRARIES: Mapping[str, Mapping[str, Callable[[Any], Parameter]]] = {
    "optuna": {
        "FloatDistribution": _of_optuna(Float),
        "IntDistribution": _of_optuna(Int),
        "CategoricalDistribution": lambda given: Categorical(given.choices),
    },
    "ray": {"Float": _of_ray, "Integer": _of_ray, "Categorical": lambda given: Categorical(given.categories)},
    "skopt": {
        "Real": _of_skopt(Float),
        "Integer": _of_skopt(Int),
        "Categorical": lambda given: Categorical(given.categories),
    },
    "ConfigSpace": {
        "UniformFloatHyperparameter": _of_configspace(Float),
        "UniformIntegerHyperparameter": _of_configspace(Int),
        "CategoricalHyperparameter": lambda given: Categorical(given.choices),
        "OrdinalHyperparameter": lambda given: Categorical(given.sequence),
        "Constant": lambda given: Categorical([given.value]),
    },
}


def is_configuration_space(given: Any) -> bool:
    """Whether it is a space of ConfigSpace."""
    return type(given).__name__ == "ConfigurationSpace" and type(given).__module__.startswith("ConfigSpace")


def configuration_space(given: Any) -> tuple[dict[str, Parameter], list[Callable[[Mapping[str, Any]], bool]]]:
    """Return the parameters, conditional ones with ``when``, and what is forbidden as predicates for ``where``."""
    parameters = {name: _named(name, one) for name, one in given.items()}
    for condition in given.conditions:
        _add_condition(parameters, condition)
    return parameters, [Forbidden(clause) for clause in given.forbidden_clauses]


def _named(name: str, given: Any) -> Parameter:
    found = parameter(given)
    if found is None:
        raise SpaceError(f"parameter {name!r}: {type(given).__name__} is not known")
    return found


def _add_condition(parameters: dict[str, Parameter], condition: Any) -> None:
    """Add a condition of ConfigSpace to the parameter that depends on it."""
    kind = type(condition).__name__
    if kind == "AndConjunction":
        for part in condition.components:
            _add_condition(parameters, part)
        return
    child, parent = condition.child.name, getattr(getattr(condition, "parent", None), "name", None)
    wanted = _values(kind, condition, parameters[parent]) if parent in parameters else None
    if wanted is None:
        raise SpaceError(
            f"the condition {condition} has no counterpart; sonde has when={{'parent': [values]}}, joined by and"
        )
    own: Any = parameters[child]
    parameters[child] = replace(own, when={**(own.when or {}), parent: wanted})


def _values(kind: str, condition: Any, parent: Parameter) -> list[Any] | None:
    """Return the values of the parent for which a condition holds; None where they cannot be listed."""
    if kind == "EqualsCondition":
        return [condition.value]
    if kind == "InCondition":
        return list(condition.values)
    if kind == "NotEqualsCondition" and isinstance(parent, Categorical | Bool | Int) and parent.size <= 1000:
        return [value for value in _every_value(parent) if value != condition.value]
    return None


def _every_value(parent: Parameter) -> list[Any]:
    """Return all values of a finite parameter."""
    return [parent.value(parent.axis.point(index)) for index in range(int(parent.size))]


class Forbidden:
    """A predicate for ``where``: whether a configuration is none of those that a clause of ConfigSpace forbids."""

    def __init__(self, clause: Any) -> None:
        self.clause = clause

    def __repr__(self) -> str:
        return f"not ({self.clause})"

    def __call__(self, configuration: Mapping[str, Any]) -> bool:
        """Whether it is not forbidden."""
        return not self.clause.is_forbidden_value(dict(configuration))
