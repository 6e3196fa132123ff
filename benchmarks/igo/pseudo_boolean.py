"""IOH's 25 pseudo-Boolean problems in 5000 calls: which search reaches the highest value.

    python -m benchmarks.igo.pseudo_boolean                                 # 6 problems of 64 bits, 3 runs
    python -m benchmarks.igo.pseudo_boolean --full --core 1                 # all 25 of 64 and 100 bits, 5 runs
    python -m benchmarks.igo.pseudo_boolean --full --problems 1,2 --dimensions 64 --contenders pbil,ga --runs 2
    python -m benchmarks.igo.pseudo_boolean --full --draw                   # the tables and the picture of what has run

Every run is added to ``igo_pseudo_boolean_runs.csv`` (``igo_pseudo_boolean_short_runs.csv``) as it ends, and is not
repeated: killing the script loses the current run only. The tables and the figure are of the
contenders asked for, on the cases that all of them have run.
"""

from __future__ import annotations

import argparse
import time
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.machine import use_one_core
from benchmarks.records import read
from benchmarks.resumed import attempt, missing, parser, refuse_unknown, say_failed, whole_numbers, words

CALLS = 5000


class Size(NamedTuple):
    """The extent of the comparison."""

    name: str
    problems: list[int]
    dimensions: list[int]
    runs: int


FULL = Size("igo_pseudo_boolean", list(range(1, 26)), [64, 100], 5)
SHORT = Size("igo_pseudo_boolean_short", [1, 2, 18, 19, 23, 25], [64], 3)


class Case(NamedTuple):
    """A problem of n bits with a seed; every contender runs it."""

    problem: int
    n: int
    seed: int


class Planned(NamedTuple):
    """A run."""

    case: Case
    contender: str


def main() -> None:
    options = arguments()
    use_one_core(options.core)
    from benchmarks.igo.contenders import CONTENDERS
    from benchmarks.igo.problems import NAMES
    from benchmarks.igo.ranks import draw

    refuse_unknown("problems", options.problems, NAMES)
    refuse_unknown("contenders", options.contenders, CONTENDERS)
    size = FULL if options.full else SHORT
    file = options.out / f"{size.name}_runs.csv"
    failed = 0 if options.draw else add_missing(file, size, options)
    if runs := [run for run in read(file) if run["contender"] in (options.contenders or CONTENDERS)]:
        draw(file, options.out / size.name, runs)
    say_failed(failed)


def add_missing(file: Path, size: Size, options: argparse.Namespace) -> int:
    """Make the missing runs; return how many failed."""
    from benchmarks.igo.contenders import CONTENDERS
    from benchmarks.igo.problems import NAMES

    plan = [
        Planned(Case(number, n, seed), name)
        for seed in range(options.runs or size.runs)
        for n in options.dimensions or size.dimensions
        for number in options.problems or size.problems
        for name in options.contenders or CONTENDERS
    ]

    def made(row: dict[str, str]) -> Planned:
        return Planned(Case(int(row["problem"]), int(row["n"]), int(row["seed"])), row["contender"])

    return sum(
        not attempt(file, f"{label} {NAMES[case.problem]} n = {case.n} {name} seed {case.seed}",
                    partial(make, case, name))
        for label, (case, name) in missing(file, plan, made)
    )  # fmt: skip


def make(case: Case, name: str) -> tuple[dict[str, Any], float]:
    """Return the row of a run, and its best value."""
    from benchmarks.igo.contenders import CONTENDERS
    from benchmarks.igo.problems import problem
    from benchmarks.igo.ranks import improvements

    started = time.process_time()  # processor time: the machine may be shared
    values = CONTENDERS[name](problem(*case), case.n, CALLS, key(case))
    seconds = time.process_time() - started
    row = case._asdict() | {"contender": name, "calls": len(values), "seconds": f"{seconds:.3g}"}
    return row | {"best": improvements(values)}, max(values)


def key(case: Case) -> int:
    """Return the seed of a case's runs, another one for each problem and size."""
    return case.seed + 100 * case.problem + 10_000 * case.n


def arguments() -> argparse.Namespace:
    options = parser(__doc__, "all 25 problems of 64 and 100 bits, 5 runs")
    options.add_argument("--problems", type=whole_numbers, metavar="1,2", help="only these, by IOH's numbers")
    options.add_argument("--dimensions", type=whole_numbers, metavar="N,N", help="only these numbers of bits")
    options.add_argument("--contenders", type=words, metavar="A,B", help="only these")
    return options.parse_args()


if __name__ == "__main__":
    main()
