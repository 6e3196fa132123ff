"""The result of an objective (``Evaluation``) and the form that is stored (``Outcome``): checked, derivatives packed.

``to_outcome`` is the entry point. A value that is not finite gives a failed outcome with the reason; a value that is
not a number raises ``EvaluationError``.

Packed derivatives are float64 in the order of the space, NaN where unknown: d numbers for a gradient, the
d (d + 1) / 2 of the upper triangle, row by row, for a Hessian. Of several objectives the values are packed, too: K
values, then K standard deviations; and the derivatives of all objectives follow each other.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sonde.arrays import Array
from sonde.errors import EvaluationError
from sonde.space import Space
from sonde.space.parameters import as_float
from sonde.trials.attributes import short
from sonde.trials.objectives import ONE, Objectives
from sonde.trials.state import State

SEVERAL = "several objectives are declared: Study(space, objectives={...})"
MAX_ERROR_CHARACTERS = 20_000


@dataclass(frozen=True)
class Evaluation:
    """The result of an objective: a value, with derivatives, noise and constraints where known.

    Parameters
    ----------
    value
        The value of the objective; of several, a dict by name or a sequence in their order.
    gradient
        Derivatives in the parameters' own units: a dict by name (any subset of the numeric parameters), or a sequence
        in the order of the space. Of several objectives, a dict of these by objective; so are Hessian and noise.
    hessian
        Second derivatives: a dict of dicts by name, or a square array in the order of the space.
    noise
        Standard deviation of the value, zero or more.
    constraints
        Measured constraints by name; a value of at most zero is feasible.
    """

    value: float | Mapping[str, float] | Sequence[float]
    gradient: Mapping[str, Any] | Sequence[float] | None = field(default=None, kw_only=True)
    hessian: Mapping[str, Any] | Sequence[Sequence[float]] | None = field(default=None, kw_only=True)
    noise: float | Mapping[str, float] | None = field(default=None, kw_only=True)
    constraints: Mapping[str, Any] | None = field(default=None, kw_only=True)


@dataclass(frozen=True)
class Outcome:
    """A checked result. Two tells give the same result if their outcomes are equal."""

    state: State
    value: float | None = None
    noise: float | None = None
    gradient: bytes | None = None
    hessian: bytes | None = None
    constraints: Mapping[str, float] | None = None
    error: str | None = None
    objectives: bytes | None = None  # values and noise of several objectives, packed


def failure(reason: Any) -> Outcome:
    """Return a failed outcome; only the end of a long reason (a traceback) is kept."""
    try:
        said = str(reason)
    except Exception:
        said = describe(reason)
    text = said.encode("utf-8", "replace").decode().replace("\0", "").strip() or "failed without a reason"
    return Outcome(State.FAILED, error=text[-MAX_ERROR_CHARACTERS:])


def stopped(mean: float | None = None, deviation: float | None = None) -> Outcome:
    """Return the outcome of a trial that was stopped early: its predicted final value, None where it is unknown."""
    return Outcome(State.STOPPED, mean, deviation)


def describe(error: object) -> str:
    """Return type and message of an exception, even of one whose ``str`` fails."""
    try:
        message = str(error).strip()
    except BaseException:  # whatever a broken __str__ does, the trial has failed of something else
        message = "(its message cannot be read)"
    return f"{type(error).__name__}: {message}" if message else type(error).__name__


def to_outcome(result: Any, space: Space, objectives: Objectives = ONE) -> Outcome:
    """Return the outcome of a number, of the numbers of several objectives, or of an ``Evaluation``."""
    evaluation = result if isinstance(result, Evaluation) else Evaluation(result)
    values = _values(evaluation.value, objectives)
    for name, value in values.items():
        if not math.isfinite(value):
            return failure(f"{_called('value', name, objectives)} is {value}")
    noise = {
        name: _deviation(own, _called("noise", name, objectives))
        for name, own in _by_objective(evaluation.noise, "noise", objectives).items()
    }
    constraints = _constraints(evaluation.constraints)
    broken = [name for name, level in (constraints or {}).items() if not math.isfinite(level)]
    if broken:
        return failure(f"the constraint {broken[0]!r} is {constraints[broken[0]]}")  # type: ignore[index]
    gradient = _joined(evaluation.gradient, "gradient", _gradient, space, objectives)
    hessian = _joined(evaluation.hessian, "hessian", _hessian, space, objectives)
    if objectives.several:
        packed = [*values.values(), *(noise.get(name, math.nan) for name in objectives.names)]
        told = np.array(packed, dtype="<f8").tobytes()
        return Outcome(State.COMPLETED, None, None, gradient, hessian, constraints, objectives=told)
    (only,) = objectives.names
    return Outcome(State.COMPLETED, values[only], noise.get(only), gradient, hessian, constraints)


def unpack_objectives(packed: bytes) -> tuple[Array, Array]:
    """Return values (K,) and standard deviations (K,) of several objectives, NaN where unknown."""
    numbers = np.frombuffer(packed, dtype="<f8")
    return numbers[: len(numbers) // 2], numbers[len(numbers) // 2 :]


def _called(what: str, name: str, objectives: Objectives) -> str:
    """Return what a number is called in a message."""
    return f"the {what} of {name!r}" if objectives.several else "the value" if what == "value" else what


def _values(told: Any, objectives: Objectives) -> dict[str, float]:
    """Return the value of every objective by name, in their order."""
    if not objectives.several:
        if isinstance(told, Mapping | tuple | list):
            hint = "(value, gradient) needs jac=True; " if isinstance(told, tuple) and len(told) == 2 else ""
            kind = type(told).__name__
            raise EvaluationError(f"the value must be a number, got {kind} {short(told)}; {hint}{SEVERAL}")
        return {objectives.names[0]: real(told, "the value")}
    if isinstance(told, Mapping):
        given = dict(told)
    else:
        given = dict(zip(objectives.names, _sequence(told, objectives), strict=True))
    missing = [name for name in objectives.names if name not in given]
    unknown = [str(name) for name in given if name not in objectives.names]
    if missing or unknown:
        wrong = "; ".join(
            f"{', '.join(names)} {what}" for names, what in ((missing, "missing"), (unknown, "unknown")) if names
        )
        raise EvaluationError(f"a value is needed for each of {', '.join(objectives.names)}: {wrong}")
    return {name: real(given[name], _called("value", name, objectives)) for name in objectives.names}


def _sequence(told: Any, objectives: Objectives) -> list[Any]:
    try:
        listed = None if isinstance(told, str | bytes | Set) else list(told)
    except TypeError:
        listed = None
    if listed is None or len(listed) != len(objectives):
        raise EvaluationError(
            f"this study has {len(objectives)} objectives; tell a dict by name ({', '.join(objectives.names)}) or "
            f"{len(objectives)} numbers in that order, got {short(told)}"
        )
    return listed


def _by_objective(told: Any, what: str, objectives: Objectives) -> dict[str, Any]:
    """Return noise or derivatives by objective; those of the only objective are given as they are."""
    if told is None:
        return {}
    if not objectives.several:
        return {objectives.names[0]: told}
    if not isinstance(told, Mapping):
        raise EvaluationError(f"{what} must be a dict by objective ({', '.join(objectives.names)}), got {short(told)}")
    for name in told:
        if name not in objectives.names:
            raise EvaluationError(f"{what} names {name!r}; the objectives are {', '.join(objectives.names)}")
    return {name: own for name, own in told.items() if own is not None}


def _deviation(told: Any, what: str) -> float:
    noise = real(told, what)
    if not (math.isfinite(noise) and noise >= 0):
        raise EvaluationError(f"{what} is a standard deviation, zero or more, got {noise}")
    return noise


def _joined(
    told: Any, what: str, packed: Callable[[Any, Space], bytes], space: Space, objectives: Objectives
) -> bytes | None:
    """Return the packed derivatives of all objectives, NaN where unknown; None if there are none."""
    given = {name: packed(own, space) for name, own in _by_objective(told, what, objectives).items()}
    if not given:
        return None
    missing = np.full(len(next(iter(given.values()))) // 8, np.nan).astype("<f8").tobytes()
    return b"".join(given.get(name, missing) for name in objectives.names)


def real(value: Any, what: str) -> float:
    """Return one real number (a Python, NumPy, JAX or PyTorch scalar) as a float."""
    number = as_float(value)
    if number is None:
        raise EvaluationError(f"{what} must be a number, got {type(value).__name__} {short(value)}")
    return number


def unpack_gradient(packed: bytes | None) -> Array | None:
    """Return the d numbers of a packed gradient."""
    return None if packed is None else np.frombuffer(packed, dtype="<f8")


def unpack_hessian(packed: bytes | None, dimension: int) -> Array | None:
    """Return the symmetric (d, d) matrix of a packed Hessian."""
    if packed is None:
        return None
    matrix = np.empty((dimension, dimension))
    upper = np.triu_indices(dimension)
    matrix[upper] = np.frombuffer(packed, dtype="<f8")
    matrix.T[upper] = matrix[upper]
    return matrix


def _gradient(gradient: Any, space: Space) -> bytes:
    return _finite_or_missing(_by_name(gradient, space, "gradient")).astype("<f8").tobytes()


def _hessian(hessian: Any, space: Space) -> bytes:
    size = len(space)
    if isinstance(hessian, Mapping):
        matrix = np.full((size, size), np.nan)
        for name, line in hessian.items():
            matrix[_column(name, space, "hessian")] = _by_name(line, space, f"hessian[{name!r}]")
    else:
        matrix = _array(hessian, (size, size), "hessian")
    matrix = _finite_or_missing(matrix)
    matrix = np.where(np.isnan(matrix), matrix.T, matrix)  # one half is enough
    scale = np.nanmax(np.abs(matrix), initial=0.0)
    if not np.allclose(matrix, matrix.T, rtol=1e-6, atol=1e-9 * scale, equal_nan=True):
        raise EvaluationError("hessian must be symmetric")
    return matrix[np.triu_indices(size)].astype("<f8").tobytes()


def _by_name(numbers: Any, space: Space, what: str) -> Array:
    if not isinstance(numbers, Mapping):
        return _array(numbers, (len(space),), what)
    row = np.full(len(space), np.nan)
    for name, number in numbers.items():
        row[_column(name, space, what)] = real(number, f"{what}[{name!r}]")
    return row


def _array(numbers: Any, shape: tuple[int, ...], what: str) -> Array:
    try:
        array = np.asarray(numbers)
        array = array.astype(float, casting="unsafe" if array.dtype == object else "same_kind")
    except Exception:  # ragged, complex, text, on another device, ...
        raise EvaluationError(f"{what} must be numbers by parameter name, got {short(numbers)}") from None
    if array.size == math.prod(shape) == 1:
        array = array.reshape(shape)  # a space of one parameter: a plain number is allowed
    if array.shape != shape:
        raise EvaluationError(f"{what} has shape {array.shape}, expected {shape}: one number for each parameter")
    return array


def _column(name: str, space: Space, what: str) -> int:
    if name not in space.names:
        raise EvaluationError(f"{what} names {name!r}; the parameters are {', '.join(space.names)}")
    if not space[name].ordered:
        raise EvaluationError(f"{what} names {name!r}, a parameter without order; leave it out")
    return space.names.index(name)


def _finite_or_missing(array: Array) -> Array:
    return np.where(np.isfinite(array), array, np.nan)


def _constraints(constraints: Any) -> dict[str, float] | None:
    if constraints is None:
        return None
    if not isinstance(constraints, Mapping):
        raise EvaluationError(f"constraints must be a dict of numbers by name, got {short(constraints)}")
    return {str(name): real(level, f"constraints[{name!r}]") for name, level in constraints.items()}
