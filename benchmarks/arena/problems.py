"""Problems with box bounds, and the COCO suites they come from.

COCO's instances of a function move its optimum and turn its axes, so the seed chooses the instance and nothing is
shifted here. Functions of ``bbob`` take floats in [-5, 5]; of five variables of ``bbob-mixint`` four are integers, with
2, 4, 8 and 16 values.

References
----------
Hansen et al., COCO: a platform for comparing continuous optimizers in a black-box setting, 2021.
Tusar, Brockhoff, Hansen: Mixed-integer benchmark problems for single- and bi-objective optimization, 2019.
"""

from __future__ import annotations

import contextlib
import tempfile
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

if TYPE_CHECKING:
    import sonde

SUITES = ("bbob", "bbob-mixint")
FUNCTIONS = range(1, 25)


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


@dataclass(frozen=True)
class Problem:
    """A function to minimize on a box. Calling it evaluates it."""

    suite: str
    function: int
    seed: int
    variables: tuple[Variable, ...]
    evaluate: Callable[[Sequence[float]], float] = field(repr=False)
    optimum: float | None = None

    def __call__(self, x: Sequence[float]) -> float:
        """Return the value at a point."""
        return float(self.evaluate(x))

    @property
    def dimension(self) -> int:
        """The number of variables."""
        return len(self.variables)

    @property
    def key(self) -> int:
        """A seed for optimizers: another on every problem, so that no lucky first design serves a whole suite."""
        return zlib.crc32(f"{self.suite} {self.function} {self.dimension} {self.seed}".encode()) >> 1

    @property
    def space(self) -> sonde.Space:
        """The box as Sonde states it, its parameters named x0, x1, ..."""
        import sonde

        return sonde.Space({f"x{i}": _parameter(variable) for i, variable in enumerate(self.variables)})


def coco(suite: str, function: int, dimension: int, seed: int) -> Problem:
    """Return a function of a COCO suite in the instance that belongs to the seed."""
    source = _source(suite, function, dimension, seed)
    integers = source.number_of_integer_variables  # they come first
    variables = tuple(
        Variable("int" if i < integers else "float", float(low), float(high))
        for i, (low, high) in enumerate(zip(source.lower_bounds, source.upper_bounds, strict=True))
    )
    optimum = _optimum(_source(suite, function, dimension, seed))
    return Problem(suite, function, seed, variables, source, optimum)


def _source(suite: str, function: int, dimension: int, seed: int) -> Any:
    import cocoex

    options = f"dimensions: {dimension} function_indices: {function}"
    return cocoex.Suite(suite, f"instances: {seed + 1}", options)[0]


def _optimum(source: Any) -> float:
    """Return the least value: COCO gives its place only, for mixed problems through a file in the working directory."""
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        source._best_parameter("print")
        place = [float(word) for word in Path("._bbob_problem_best_parameter.txt").read_text().split()]
    return float(source(place))


def _parameter(variable: Variable) -> sonde.Float | sonde.Int:
    import sonde

    if variable.kind == "int":
        return sonde.Int(int(variable.low), int(variable.high))
    return sonde.Float(variable.low, variable.high)
