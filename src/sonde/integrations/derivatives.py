"""What the derivatives of both libraries share."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from sonde.errors import EvaluationError

UserFunction = Callable[[Any], Any]  # of a dict of the parameters, however its author typed the values


def not_a_number(result: Any, expected: str) -> EvaluationError:
    """Return the error of a function whose return value is not one real number."""
    shape = getattr(result, "shape", None)
    got = type(result).__name__ + (f" of shape {tuple(shape)}" if shape else "")
    return EvaluationError(f"a function under sonde.autograd must return {expected}, got {got}")


def symmetric(rows: Mapping[str, Mapping[str, Any]], names: Sequence[str]) -> dict[str, dict[str, float]]:
    """Return the Hessian, symmetrized: its two triangles differ by rounding only."""
    return {one: {other: (float(rows[one][other]) + float(rows[other][one])) / 2 for other in names} for one in names}
