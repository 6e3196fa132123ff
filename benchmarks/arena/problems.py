"""Problems, what an evaluation tells, and COCO's suites bbob and bbob-mixint.

A point is a list of values in the order of the problem's space, None where a parameter is inactive. COCO's instances of
a function move its optimum and turn its axes, so the seed chooses the instance and nothing is shifted here. Functions
of ``bbob`` take floats in [-5, 5]; of five variables of ``bbob-mixint`` four are integers, with 2, 4, 8 and 16 values.

References
----------
Hansen et al., COCO: a platform for comparing continuous optimizers in a black-box setting, 2021.
Tusar, Brockhoff, Hansen: Mixed-integer benchmark problems for single- and bi-objective optimization, 2019.
"""

from __future__ import annotations

import contextlib
import math
import tempfile
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

if TYPE_CHECKING:
    import sonde

Point = Sequence[Any]


class Variable(NamedTuple):
    """One coordinate of a problem; both bounds belong to it."""

    kind: Literal["float", "int"]
    low: float
    high: float

    def nearest(self, unit: float) -> float:
        """Return the value at a place in [0, 1] of the range; on an integer, the nearest one."""
        value = min(max(self.low + float(unit) * (self.high - self.low), self.low), self.high)
        return round(value) if self.kind == "int" else value

    def drawn(self, unit: float) -> float:
        """Return the value at a place in [0, 1), where every integer has the same share."""
        count = self.high - self.low + 1
        return int(self.low + unit * count // 1) if self.kind == "int" else self.nearest(unit)


class Told(float):
    """What an evaluation tells: a value, NaN where it failed, and what else was measured."""

    exact: float
    gradient: Sequence[float] | None
    constraints: tuple[float, ...]  # at most zero is feasible

    def __new__(
        cls,
        value: float,
        *,
        exact: float | None = None,
        gradient: Sequence[float] | None = None,
        constraints: Sequence[float] = (),
    ) -> Told:
        """Keep what the optimizer is told, and what it is not: the value without its noise."""
        told = super().__new__(cls, value)
        told.exact = float(value) if exact is None else exact
        told.gradient = gradient
        told.constraints = tuple(constraints)
        return told

    @property
    def feasible(self) -> bool:
        """Whether it has a value, and meets the measured constraints."""
        return math.isfinite(self) and all(each <= 0 for each in self.constraints)

    @property
    def score(self) -> float:
        """What counts: the value without noise, inf where it is not feasible."""
        return self.exact if self.feasible else math.inf


@dataclass(frozen=True)
class Problem:
    """A function to minimize. Calling it evaluates it."""

    suite: str
    function: int
    seed: int
    variables: tuple[Variable, ...]  # of a box of numbers; none where ``declared`` has the space
    evaluate: Callable[[Point], float] = field(repr=False)
    optimum: float | None = None
    declared: sonde.Space | None = field(default=None, repr=False)
    allowed: Callable[[Point], bool] | None = field(default=None, repr=False)  # what is known before an evaluation
    constraints: int = 0  # how many are measured
    worst: float = math.inf  # what optimizers that know no failures are told of one
    batch: int = 1  # points asked for at once
    noisy: bool = False

    def __call__(self, x: Point) -> Told:
        """Return what is told of a point."""
        value = self.evaluate(x)
        return value if isinstance(value, Told) else Told(value)

    def plain(self, told: float) -> float:
        """Return what optimizers are told that know neither failures nor constraints."""
        feasible = told.feasible if isinstance(told, Told) else math.isfinite(told)
        return float(told) if feasible else self.worst

    @property
    def dimension(self) -> int:
        """The number of variables."""
        return len(self.variables) or len(self.space)

    @property
    def key(self) -> int:
        """A seed for optimizers: another on every problem, so that no lucky first design serves a whole suite."""
        return zlib.crc32(f"{self.suite} {self.function} {self.dimension} {self.seed}".encode()) >> 1

    @cached_property
    def space(self) -> sonde.Space:
        """The space as Sonde states it; the parameters of a box are named x0, x1, ..."""
        import sonde

        return self.declared or sonde.Space(
            {f"x{i}": _parameter(variable) for i, variable in enumerate(self.variables)}
        )


def coco(suite: str, function: int, dimension: int, seed: int) -> Problem:
    """Return a function of a COCO suite in the instance that belongs to the seed."""
    source = coco_source(suite, function, dimension, seed)
    integers = source.number_of_integer_variables  # they come first
    variables = tuple(
        Variable("int" if i < integers else "float", float(low), float(high))
        for i, (low, high) in enumerate(zip(source.lower_bounds, source.upper_bounds, strict=True))
    )
    fresh = coco_source(suite, function, dimension, seed)  # one for each purpose: COCO counts evaluations
    return Problem(suite, function, seed, variables, source, float(fresh(best_place(fresh))))


def coco_source(suite: str, function: int, dimension: int, seed: int) -> Any:
    """Return a function as COCO gives it."""
    import cocoex

    options = f"dimensions: {dimension} function_indices: {function}"
    return cocoex.Suite(suite, f"instances: {seed + 1}", options)[0]


def best_place(source: Any) -> list[float]:
    """Return where a function of COCO is lowest, which it tells through a file in the working directory."""
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        source._best_parameter("print")
        return [float(word) for word in Path("._bbob_problem_best_parameter.txt").read_text().split()]


def _parameter(variable: Variable) -> sonde.Float | sonde.Int:
    import sonde

    if variable.kind == "int":
        return sonde.Int(int(variable.low), int(variable.high))
    return sonde.Float(variable.low, variable.high)
