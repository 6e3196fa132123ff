"""IOH's 25 pseudo-Boolean problems in 5000 calls: who ends highest.

    python -m benchmarks.igo.pseudo_boolean                                 # 6 problems of 64 bits, 3 runs
    python -m benchmarks.igo.pseudo_boolean --full --core 1                 # all 25 of 64 and 100 bits, 5 runs
    python -m benchmarks.igo.pseudo_boolean --full --problems 1,2 --dimensions 64 --contenders pbil,ga --runs 2
    python -m benchmarks.igo.pseudo_boolean --full --draw                   # the tables and the picture of what has run

Every run is added to ``igo_pseudo_boolean_runs.csv`` (``igo_pseudo_boolean_short_runs.csv``) as it ends, and is not
repeated: killing it loses the run it was in. The tables and the picture are of the contenders asked for, on what all
of them have run.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import NamedTuple

from benchmarks.machine import use_one_core

CALLS = 5000


class Size(NamedTuple):
    """How much is run."""

    name: str
    problems: list[int]
    dimensions: list[int]
    runs: int


FULL = Size("igo_pseudo_boolean", list(range(1, 26)), [64, 100], 5)
SHORT = Size("igo_pseudo_boolean_short", [1, 2, 18, 19, 23, 25], [64], 3)


class Case(NamedTuple):
    """What all contenders meet: a problem of n bits with a seed."""

    problem: int
    n: int
    seed: int


def main() -> None:
    options = arguments()
    use_one_core(options.core)
    from benchmarks.acquisition.records import read
    from benchmarks.igo.contenders import CONTENDERS
    from benchmarks.igo.problems import NAMES
    from benchmarks.igo.ranks import draw

    for kind, asked, known in (("problems", options.problems, NAMES), ("contenders", options.contenders, CONTENDERS)):
        if unknown := set(asked or ()) - set(known):
            raise SystemExit(f"{kind} are {', '.join(map(str, known))}, got {', '.join(map(str, sorted(unknown)))}")
    size = FULL if options.full else SHORT
    file = options.out / f"{size.name}_runs.csv"
    failed = 0 if options.draw else add_missing(file, size, options)
    if runs := [run for run in read(file) if run["contender"] in (options.contenders or CONTENDERS)]:
        draw(file, options.out / size.name, runs)
    if failed:
        raise SystemExit(f"{failed} runs failed; they are tried again next time")


def add_missing(file: Path, size: Size, options: argparse.Namespace) -> int:
    """Make the runs that are asked for and not there; return how many failed."""
    from benchmarks.acquisition.records import read
    from benchmarks.igo.contenders import CONTENDERS

    plan = [
        (Case(number, n, seed), name)
        for seed in range(options.runs or size.runs)
        for n in options.dimensions or size.dimensions
        for number in options.problems or size.problems
        for name in options.contenders or CONTENDERS
    ]
    done = {(Case(int(row["problem"]), int(row["n"]), int(row["seed"])), row["contender"]) for row in read(file)}
    waiting = [run for run in plan if run not in done]
    print(f"{file}: {len(plan) - len(waiting)} of {len(plan)} runs done", flush=True)
    return sum(not attempt(file, *run, label=f"{i}/{len(waiting)}") for i, run in enumerate(waiting, 1))


def attempt(file: Path, case: Case, name: str, *, label: str) -> bool:
    """Make one run and keep it; a contender that raises leaves its reason and no row."""
    from benchmarks.acquisition.records import append
    from benchmarks.igo.contenders import CONTENDERS
    from benchmarks.igo.problems import NAMES, problem
    from benchmarks.igo.ranks import improvements

    title, started = f"{label} {NAMES[case.problem]} n = {case.n} {name} seed {case.seed}", time.process_time()
    try:
        values = CONTENDERS[name](problem(*case), case.n, CALLS, key(case))
    except Exception as error:
        print(f"{title} FAILED: {type(error).__name__}: {error}", flush=True)
        return False
    seconds = time.process_time() - started  # of the processor: others may be using it
    row = {**case._asdict(), "contender": name, "calls": len(values), "seconds": f"{seconds:.3g}"}
    append(file, row | {"best": improvements(values)})
    print(f"{title}: {max(values):.6g} after {seconds:.1f} s", flush=True)
    return True


def key(case: Case) -> int:
    """Return the seed of a case's runs, another one for each problem and size."""
    return case.seed + 100 * case.problem + 10_000 * case.n


def arguments() -> argparse.Namespace:
    from benchmarks.report import RESULTS

    def whole(text: str) -> list[int]:
        return [int(number) for number in text.split(",")]

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--full", action="store_true", help="all 25 problems of 64 and 100 bits, 5 runs")
    parser.add_argument("--problems", type=whole, metavar="1,2", help="only these, by IOH's numbers")
    parser.add_argument("--dimensions", type=whole, metavar="N,N", help="only these numbers of bits")
    parser.add_argument("--contenders", type=lambda text: text.split(","), metavar="A,B", help="only these")
    parser.add_argument("--runs", type=int, help="how many of each, with seeds from 0 on")
    parser.add_argument("--core", type=int, help="the core to use; by default the first allowed one")
    parser.add_argument("--out", type=Path, default=RESULTS, metavar="DIR", help="the folder of runs and results")
    parser.add_argument("--draw", action="store_true", help="run nothing")
    return parser.parse_args()


if __name__ == "__main__":
    main()
