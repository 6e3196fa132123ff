"""Problems of other benchmarks behind the arena's signature, and COCO's with batches and gradients."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from benchmarks.arena.problems import Point, Problem, Told, coco

BITS = 64


def factorial(suite: str, function: int, dimension: int, seed: int) -> Problem:
    """Return a table of experiments; its noise multiplies the value, and the best cell is the optimum."""
    from benchmarks.factorials import development, report
    from benchmarks.factorials.tables import TABLES

    every = [table for half in (development.HALF, report.HALF) for table in TABLES[half].values()]
    own = every[function - 1]
    rng = np.random.default_rng([function, seed])

    def evaluate(x: Point) -> Told:
        exact = own.value(x)
        return Told(exact * (1 + own.noise * float(rng.standard_normal())), exact=exact)

    optimum = float(own.values[0])
    return Problem(suite, function, seed, (), evaluate, optimum, declared=own.space, noisy=bool(own.noise))


GRIDS = (("logreg_on_grid.csv", "valid_error"), ("lda_on_grid.csv", "perplexity"), ("svm_on_grid.csv", "error"))


def grid(suite: str, function: int, dimension: int, seed: int) -> Problem:
    """Return a grid of HPOlib; coordinates are the indexes of its sorted values."""
    from benchmarks.dngo.problems import grid as read

    return replace(read(*GRIDS[function - 1]), suite=suite, function=function, seed=seed)


def bits(suite: str, function: int, dimension: int, seed: int) -> Problem:
    """Return one of IOH's pseudo-Boolean problems, which are to be maximized, with the sign changed."""
    import sonde
    from benchmarks.igo.problems import problem

    value = problem(function, dimension, seed)
    space = sonde.Space({f"bit{i}": sonde.Bool() for i in range(dimension)})
    return Problem(suite, function, seed, (), lambda x: -value(np.array(x, dtype=bool)), declared=space)


def gradients(suite: str, function: int, dimension: int, seed: int) -> Problem:
    """Return a function of bbob that tells its gradient, by central differences whose evaluations are not counted."""
    from benchmarks.fobo.problems import Problem as Source

    problem = coco("bbob", function, dimension, seed)
    evaluate = Source("bbob", f"f{function}", dimension, seed).objective()
    low, high = (np.array(ends) for ends in zip(*((each.low, each.high) for each in problem.variables), strict=True))

    def told(x: Point) -> Told:
        value, gradient = evaluate((np.asarray(x, dtype=float) - low) / (high - low))
        return Told(value, gradient=(gradient / (high - low)).tolist())

    return replace(problem, suite=suite, evaluate=told)


def by(batch: int) -> Callable[[str, int, int, int], Problem]:
    """Return what makes functions of bbob that are asked for in batches."""

    def batched(suite: str, function: int, dimension: int, seed: int) -> Problem:
        return replace(coco("bbob", function, dimension, seed), suite=suite, batch=batch)

    return batched
