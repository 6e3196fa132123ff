"""Failures and constraints: half-spaces that fail, and bbob-constrained with its constraints measured or known.

- ``failing``: functions of bbob that fail in a half-space, which has neither the optimum nor the centre.
- ``measured``: functions of bbob-constrained; the value comes with those of the constraints.
- ``allowed``: the same, their constraints known; a point that violates one is not evaluated.

Of each function bbob-constrained has six numbers of constraints; here are the first two, which are 1 and 3.

References
----------
Dufosse, Hansen, Brockhoff, Sampaio, Atamna, Auger: Building scalable test problems for benchmarking constrained
optimizers, 2022.
"""

import math
from dataclasses import replace
from typing import Any

import numpy as np

from benchmarks.arena.problems import Point, Problem, Told, best_place, coco, coco_source

BEYOND = 0.1  # distance of the failing half-space from the nearer of optimum and centre, as a share of the range
DRAWN = 100  # points, the highest value of which is told of a failure to those that know none
SUITE, EACH = "bbob-constrained", 6  # numbers of constraints of a function
FUNCTIONS = [function for function in range(1, 55) if (function - 1) % EACH < 2]


def failing(suite: str, function: int, dimension: int, seed: int) -> Problem:
    """Return a function of bbob that is NaN in a half-space."""
    source = coco("bbob", function, dimension, seed)
    rng = np.random.default_rng([function, dimension, seed])
    direction = rng.standard_normal(dimension)
    direction /= np.linalg.norm(direction)
    low, high = _box(source)
    works = [np.array(best_place(coco_source("bbob", function, dimension, seed))), (low + high) / 2]
    edge = max(float(direction @ x) for x in works) + BEYOND * float((high - low)[0])

    def evaluate(x: Point) -> float:
        return source(x) if direction @ np.asarray(x, dtype=float) < edge else math.nan

    return replace(source, suite=suite, evaluate=evaluate, worst=_highest(source, rng))


def constrained(suite: str, function: int, dimension: int, seed: int) -> Problem:
    """Return a function of bbob-constrained in the instance that belongs to the seed."""
    problem, source = coco(SUITE, function, dimension, seed), coco_source(SUITE, function, dimension, seed)

    def violations(x: Point) -> list[float]:
        return [float(each) for each in source.constraint(np.asarray(x, dtype=float))]

    worst = _highest(problem, np.random.default_rng([function, dimension, seed]))
    if suite == "allowed":
        return replace(problem, suite=suite, allowed=lambda x: max(violations(x)) <= 0, worst=worst)
    count: dict[str, Any] = {"constraints": source.number_of_constraints, "worst": worst}
    return replace(problem, suite=suite, evaluate=lambda x: Told(problem(x), constraints=violations(x)), **count)


def _box(problem: Problem) -> tuple[Any, Any]:
    return np.array([each.low for each in problem.variables]), np.array([each.high for each in problem.variables])


def _highest(problem: Problem, rng: np.random.Generator) -> float:
    return max(problem(x) for x in rng.uniform(*_box(problem), (DRAWN, problem.dimension)))
