"""The suites, and how each is split into halves.

On the development half anything may be tried. The report half has other functions (tables, data sets) in other
instances; it is run once for a version of Sonde, and what follows from it is tried on the development half. Of COCO's
suites the seed chooses the instance, seed + 1. The halves of bbob-noisy have the same functions of bbob under other
noise.

Runs from before the split belong to the report half. They have the odd functions, too, in instances that the
development half does not have.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import NamedTuple

from benchmarks.arena import adapters, limits, models, noisy
from benchmarks.arena.problems import Problem, coco

Maker = Callable[[str, int, int, int], Problem]  # of suite, function, dimension and seed
DEVELOPMENT, REPORT = "development", "report"


class Half(NamedTuple):
    """Functions, and the seed from which runs count."""

    functions: Sequence[int]
    first: int


@dataclass(frozen=True)
class Suite:
    """Where the problems come from, how many evaluations they get, and which ones are in which half."""

    make: Maker
    budgets: Mapping[int, int]  # by dimension; that is 0 where problems have their own
    development: Half
    report: Half

    def half(self, name: str) -> Half:
        """Return the half of a name."""
        return self.report if name == REPORT else self.development


ODD, EVEN = Half(range(1, 25, 2), 100), Half(range(2, 25, 2), 0)


def _every_other(functions: Sequence[int]) -> tuple[Half, Half]:
    return Half(functions[::2], 100), Half(functions[1::2], 0)


# of the constrained functions every other one, with its numbers of constraints
_BASES = [limits.FUNCTIONS[i : i + 2] for i in range(0, len(limits.FUNCTIONS), 2)]
_CONSTRAINED = Half([*chain(*_BASES[::2])], 100), Half([*chain(*_BASES[1::2])], 0)

SUITES: dict[str, Suite] = {
    "bbob": Suite(coco, {2: 50, 5: 100, 10: 100, 20: 200}, ODD, EVEN),
    "bbob-mixint": Suite(coco, {5: 100, 10: 100, 20: 200}, ODD, EVEN),
    "bbob-noisy": Suite(noisy.noisy, {2: 50, 5: 100, 10: 100, 20: 200}, *_every_other(noisy.FUNCTIONS)),
    "bbob-by-8": Suite(adapters.by(8), {5: 96, 20: 240}, ODD, EVEN),
    "bbob-by-64": Suite(adapters.by(64), {5: 320, 20: 640}, ODD, EVEN),
    "bbob-gradients": Suite(adapters.gradients, {5: 50, 20: 100}, ODD, EVEN),
    "failing": Suite(limits.failing, {2: 50, 5: 100, 10: 100}, ODD, EVEN),
    "measured": Suite(limits.constrained, {2: 50, 5: 100, 10: 100}, *_CONSTRAINED),
    "allowed": Suite(limits.constrained, {2: 50, 5: 100, 10: 100}, *_CONSTRAINED),
    "sklearn": Suite(models.models, {0: 50}, Half(range(1, 6), 100), Half(range(6, 11), 0)),
    "factorials": Suite(adapters.factorial, {0: 50}, Half(range(1, 13), 100), Half(range(13, 25), 0)),
    "hpolib": Suite(adapters.grid, {0: 100}, Half((1,), 100), Half((2, 3), 0)),
    "ioh-200": Suite(adapters.bits, {adapters.BITS: 200}, *_every_other(range(1, 26))),
    "ioh-5000": Suite(adapters.bits, {adapters.BITS: 5000}, *_every_other(range(1, 26))),
}


def problem(suite: str, function: int, dimension: int, seed: int) -> Problem:
    """Return a problem of a suite."""
    return SUITES[suite].make(suite, function, dimension, seed)
