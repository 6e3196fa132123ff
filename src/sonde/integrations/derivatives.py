"""What a differentiating library hands over, and what is said of a function that returns no number."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from sonde.errors import EvaluationError

Function = Callable[[Any], Any]  # of a dict of the parameters, whatever type the author gave its values


class Derivatives(NamedTuple):
    """A value, its slopes and its bends by name; a name that is not there has no known derivative."""

    value: float
    gradient: dict[str, float] | None = None
    hessian: dict[str, dict[str, float]] | None = None


def no_number(result: Any, expected: str) -> EvaluationError:
    """Return the error of a function whose return value is not one real number."""
    shape = getattr(result, "shape", None)
    got = type(result).__name__ + (f" of shape {tuple(shape)}" if shape else "")
    return EvaluationError(f"a function under sonde.autograd must return {expected}, got {got}")


def symmetric(rows: Mapping[str, Mapping[str, Any]], names: Sequence[str]) -> dict[str, dict[str, float]]:
    """Return a Hessian whose two halves, equal up to rounding, are equal."""
    return {one: {other: (float(rows[one][other]) + float(rows[other][one])) / 2 for other in names} for one in names}
