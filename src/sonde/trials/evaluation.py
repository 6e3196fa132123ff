"""The value of an objective with its gradient, noise or constraints."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Evaluation:
    """The result of an objective: a value, with derivatives, noise and constraints where known.

    Parameters
    ----------
    value
        The value of the objective.
    gradient
        Derivatives in the parameters' own units: a dict by name (any subset of the numeric parameters), or a sequence
        in the order of the space.
    hessian
        Second derivatives: a dict of dicts by name, or a square array in the order of the space.
    noise
        Standard deviation of the value, zero or more.
    constraints
        Measured constraints by name; a value of at most zero is feasible.
    """

    value: float
    gradient: Mapping[str, float] | Sequence[float] | None = field(default=None, kw_only=True)
    hessian: Mapping[str, Mapping[str, float]] | Sequence[Sequence[float]] | None = field(default=None, kw_only=True)
    noise: float | None = field(default=None, kw_only=True)
    constraints: Mapping[str, Any] | None = field(default=None, kw_only=True)
