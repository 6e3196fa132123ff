"""Tables of experiments: factors with a few levels each, and a value for every combination of them.

Values come from simulators and public formulas (``development``, ``report``). A factor is declared as a user would:
evenly spaced levels as numbers with a step, all others as categories, numbers among them. Noise multiplies the value.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sonde import Categorical, Float, Int, Space

Level = float | str
TABLES: dict[str, dict[str, Table]] = {"development": {}, "report": {}}


class Steps(NamedTuple):
    """Evenly spaced levels, both ends among them."""

    low: float
    high: float
    step: float

    @property
    def levels(self) -> list[float]:
        """All levels."""
        return [self.low + i * self.step for i in range(round((self.high - self.low) / self.step) + 1)]

    @property
    def whole(self) -> bool:
        """Whether all levels are whole numbers."""
        return all(isinstance(each, int) for each in self)


Factor = Steps | Sequence[Level]


@dataclass(frozen=True)
class Table:
    """A full factorial."""

    factors: Mapping[str, Factor]
    formula: Callable[..., float]  # of the levels, in the order of the factors
    noise: float  # standard deviation of the factor that multiplies a value
    sign: float  # -1 where the highest value is wanted

    @property
    def space(self) -> Space:
        """The table as Sonde states it."""
        return Space({name: _parameter(factor) for name, factor in self.factors.items()})

    def value(self, levels: Sequence[Level]) -> float:
        """Return a value without its noise; the lowest one is wanted."""
        return self.sign * float(self.formula(*levels))

    @cached_property
    def values(self) -> NDArray[np.float64]:
        """The values of all cells, sorted."""
        levels = (each.levels if isinstance(each, Steps) else each for each in self.factors.values())
        return np.sort([self.value(each) for each in product(*levels)])

    def better(self, value: float) -> int:
        """Return how many cells are better than a value."""
        return int(np.searchsorted(self.values, value - 1e-9 * (self.values[-1] - self.values[0])))


def table(
    half: str, *, noise: float = 0.0, highest: bool = False, **factors: Factor
) -> Callable[[Callable[..., float]], Callable[..., float]]:
    """Make a table of a formula."""

    def named(formula: Callable[..., float]) -> Callable[..., float]:
        TABLES[half][formula.__name__] = Table(factors, formula, noise, -1.0 if highest else 1.0)
        return formula

    return named


def _parameter(factor: Factor) -> Any:
    if not isinstance(factor, Steps):
        return Categorical(list(factor))
    if factor.whole:
        return Int(int(factor.low), int(factor.high), step=int(factor.step))
    return Float(factor.low, factor.high, step=factor.step)
