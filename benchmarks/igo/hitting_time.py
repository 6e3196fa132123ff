"""Figures 1 and 4: calls until the optimum of OneMax and LeadingOnes is found, over the number n of bits.

    python -m benchmarks.igo.hitting_time                                   # n up to 100, 5 runs
    python -m benchmarks.igo.hitting_time --full --core 1                   # n up to 3000, 10 runs
    python -m benchmarks.igo.hitting_time --full --figure 1 --functions onemax --sizes 100,300 --algorithms cga-n
    python -m benchmarks.igo.hitting_time --full --gpu --sizes 3000         # what draws two samples at a time, on a GPU
    python -m benchmarks.igo.hitting_time --full --draw                     # the tables and pictures of what has run

Figure 1 compares pbil-lambda and pbil-epsilon with the compact genetic algorithm at steps of 1/n (cga-n) and n^-1/2
(cga-root-n). Figure 4 has pbil-lambda at several levels alpha, up to n = 300 (1000 for OneMax). The paper gives no
numbers: only lines.

From 300 bits on the loop is compiled, with the same steps (``compiled``). With ``--gpu`` all seeds of an algorithm run
together on a GPU (``pairs``), but for pbil-lambda, whose generations grow. That one runs until it is done, and first.
Any other run is stopped after ten times the median of its calls for the same function and n, and counts as longer than
that.

Every run is added to ``igo_hitting_time_runs.csv`` (``igo_hitting_time_short_runs.csv``) as it ends, and is not
repeated: killing the script loses the current run only.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, NamedTuple

from benchmarks.machine import use_one_core
from benchmarks.records import append, read
from benchmarks.resumed import missing, parser, refuse_unknown, whole_numbers, words

if TYPE_CHECKING:
    from benchmarks.igo.hitting import Hit


class Size(NamedTuple):
    """The extent of the figures."""

    name: str
    sizes: list[int]
    runs: int


class Case(NamedTuple):
    """One run."""

    function: str
    n: int
    algorithm: str
    seed: int


FULL = Size("igo_hitting_time", [10, 30, 100, 300, 1000, 3000], 10)
SHORT = Size("igo_hitting_time_short", [10, 30, 100], 5)
COMPILED = 300  # bits from which on the loop is compiled
PATIENCE = 10  # times the median of pbil-lambda
REACH = {1: {"onemax": 3000, "leadingones": 3000}, 4: {"onemax": 1000, "leadingones": 300}}  # the largest n


def main() -> None:
    options = arguments()
    use_one_core(options.core)
    from benchmarks.igo.hitting import ALGORITHMS, FUNCTIONS
    from benchmarks.igo.hitting_figures import draw

    refuse_unknown("functions", options.functions, FUNCTIONS)
    refuse_unknown("algorithms", options.algorithms, ALGORITHMS)
    size = FULL if options.full else SHORT
    file = options.out / f"{size.name}_runs.csv"
    if not options.draw:
        cases = plan(size, options)
        add_missing_together(file, cases) if options.gpu else add_missing(file, cases)
    if rows := read(file):
        draw(file, options.out / size.name, rows, [options.figure] if options.figure else list(REACH))


def plan(size: Size, options: argparse.Namespace) -> list[Case]:
    """Return the runs that are asked for, small ones first, and before others those of pbil-lambda."""
    from benchmarks.igo.hitting import ALPHAS, COMPARED, FIRST, FUNCTIONS

    figures = {1: COMPARED, 4: (FIRST, *(name for name in ALPHAS.values() if name != FIRST))}
    cases = [
        Case(function, n, algorithm, seed)
        for n in sorted(options.sizes or size.sizes)
        for function in options.functions or FUNCTIONS
        for figure in ([options.figure] if options.figure else figures)
        if n <= REACH[figure][function]
        for algorithm in figures[figure]
        if algorithm == FIRST or algorithm in (options.algorithms or figures[figure])
        for seed in range(options.runs or size.runs)
    ]
    return list(dict.fromkeys(cases))


def add_missing(file: Path, cases: Sequence[Case]) -> None:
    """Make the missing runs."""
    for label, case in missing(file, cases, made):
        run(file, case, label=label)


def add_missing_together(file: Path, cases: Sequence[Case]) -> None:
    """Make the missing runs of the searches that draw two samples at a time, all seeds together on a GPU."""
    from benchmarks.igo.hitting import ALGORITHMS
    from benchmarks.igo.pairs import hit_together

    pairs = [case for case in cases if ALGORITHMS[case.algorithm](case.n, 0).adapt != "lambda"]
    for _, group in groupby((case for _, case in missing(file, pairs, made)), key=lambda case: case[:3]):
        alike = list(group)
        search = ALGORITHMS[alike[0].algorithm](alike[0].n, 0)
        limit = limit_of(alike[0], read(file))
        ends = hit_together(search, [case.seed for case in alike], alike[0].function, limit)
        for case, end in zip(alike, ends, strict=True):
            keep(file, case, end, label="gpu")


def made(row: dict[str, str]) -> Case:
    """Return the run of a row."""
    return Case(row["function"], int(row["n"]), row["algorithm"], int(row["seed"]))


def run(file: Path, case: Case, *, label: str) -> None:
    """Make one run and append it to the file."""
    from benchmarks.igo.hitting import ALGORITHMS, FIRST, FUNCTIONS, hit

    limit = math.inf if case.algorithm == FIRST else limit_of(case, read(file))
    search = ALGORITHMS[case.algorithm](case.n, case.seed)
    if case.n < COMPILED:
        end = hit(search, FUNCTIONS[case.function], limit)
    else:
        from benchmarks.igo.compiled import Compiled

        end = Compiled(search, case.seed).hit(case.function, limit)
    keep(file, case, end, label=label)


def keep(file: Path, case: Case, end: Hit, *, label: str) -> None:
    """Append a run to the file, and print how it ended."""
    row = case._asdict() | {"calls": end.calls, "found": int(end.found), "samples": end.samples}
    append(file, row | {"seconds": f"{end.seconds:.4g}"})
    calls = f"{end.calls} calls" if end.found else f"not after {end.calls} calls"
    title = f"{label} {case.function} n = {case.n} {case.algorithm} seed {case.seed}"
    print(f"{title}: {calls}, {end.samples} samples at most, {end.seconds:.1f} s", flush=True)


def limit_of(case: Case, rows: Sequence[dict[str, str]]) -> int:
    """Return the most calls of a run: ``PATIENCE`` times the median of pbil-lambda."""
    from benchmarks.igo.hitting import FIRST

    own = [row for row in rows if (row["function"], int(row["n"]), row["algorithm"]) == (*case[:2], FIRST)]
    return math.ceil(PATIENCE * median(int(row["calls"]) for row in own))


def arguments(given: Sequence[str] | None = None) -> argparse.Namespace:
    options = parser(__doc__, "n up to 3000, 10 runs")
    options.add_argument("--figure", type=int, choices=sorted(REACH), help="only this one")
    options.add_argument("--gpu", action="store_true", help="all seeds together, but for pbil-lambda")
    options.add_argument("--functions", type=words, metavar="A,B", help="only these")
    options.add_argument("--sizes", type=whole_numbers, metavar="N,N", help="only these")
    options.add_argument("--algorithms", type=words, metavar="A,B", help="only these, and pbil-lambda")
    return options.parse_args(given)


if __name__ == "__main__":
    main()
