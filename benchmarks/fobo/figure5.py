"""Figure 5: the optimality gap over evaluations on Griewank, Ackley and Rastrigin in 4 and 16 dimensions.

    python -m benchmarks.fobo.figure5                                       # d = 4, 50 evaluations, 3 runs
    python -m benchmarks.fobo.figure5 --full --core 1                       # d = 4 and 16, 100 evaluations, 32 runs
    python -m benchmarks.fobo.figure5 --full --dimensions 4 --functions ackley --methods fobo,lbfgs-r --runs 4
    python -m benchmarks.fobo.figure5 --full --draw                         # the tables and the picture of what has run

Methods are the paper's seven, random, lbfgs, lbfgs-r, bo, bo-q, fobo-paper and fobo-q-paper, and Sonde's strategies as
shipped: fobo, told gradients, and gp, without. The paper has 128 runs and gives no numbers: only lines.

Every run is added to ``fobo_figure5_runs.csv`` (``fobo_figure5_short_runs.csv``) as it ends, and is not repeated:
killing it loses the run it was in. Two may run at once on two cores.
"""

from __future__ import annotations

import argparse
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.machine import use_one_core
from benchmarks.records import numbers, read
from benchmarks.resumed import complete, parser, refuse_unknown, say_failed, whole_numbers, words


class Size(NamedTuple):
    """How large the figure is."""

    name: str
    functions: str  # the table of them in ``benchmarks.fobo.functions``
    dimensions: list[int]
    evaluations: int
    runs: int


class Case(NamedTuple):
    """A run."""

    problem: str
    d: int
    method: str
    seed: int


FULL = Size("fobo_figure5", "FUNCTIONS", [4, 16], 100, 32)
SHORT = Size("fobo_figure5_short", "FUNCTIONS", [4], 50, 3)


def main(full: Size = FULL, short: Size = SHORT, description: str | None = __doc__) -> None:
    options = arguments(description)
    use_one_core(options.core)
    from benchmarks.fobo.gaps import draw
    from benchmarks.fobo.methods import METHODS

    size = full if options.full else short
    refuse_unknown("functions", options.functions, functions_of(size))
    refuse_unknown("methods", options.methods, METHODS)
    file = options.out / f"{size.name}_runs.csv"
    failed = 0 if options.draw else add_missing(file, size, options)
    if runs := read(file):
        draw(file, options.out / size.name, runs)
    say_failed(failed)


def add_missing(file: Path, size: Size, options: argparse.Namespace) -> int:
    """Make the runs that are asked for and not there; return how many failed."""
    from benchmarks.fobo.methods import METHODS

    plan = [
        Case(name, d, method, seed)
        for seed in range(options.runs or size.runs)
        for d in options.dimensions or size.dimensions
        for method in options.methods or METHODS
        for name in options.functions or functions_of(size)
    ]
    return complete(file, plan, partial(make, size=size))


def functions_of(size: Size) -> dict[str, Any]:
    """Return the functions by name; they load NumPy, which reads the number of threads as it is loaded."""
    from benchmarks.fobo import functions

    return dict(getattr(functions, size.functions))


def make(case: Case, *, size: Size) -> tuple[dict[str, Any], float]:
    """Return the row of a run, and its best value."""
    from benchmarks.fobo.methods import play

    run = play(case.method, functions_of(size)[case.problem], case.d, case.seed, size.evaluations)
    row = case._asdict() | {"evaluations": run.evaluations, "seconds": f"{run.seconds:.4g}"}
    return row | {"best": numbers(run.best.tolist(), 6)}, float(run.best[-1])


def arguments(description: str | None) -> argparse.Namespace:
    options = parser(description, "d = 4 and 16, 100 evaluations, 32 runs")
    options.add_argument("--dimensions", type=whole_numbers, metavar="D,D", help="only these")
    options.add_argument("--functions", type=words, metavar="A,B", help="only these")
    options.add_argument("--methods", type=words, metavar="A,B", help="only these, in this order")
    return options.parse_args()


if __name__ == "__main__":
    main()
