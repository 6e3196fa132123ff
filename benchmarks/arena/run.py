"""Run contenders on a suite and add what each found to a file; what is there already is not run again.

    python -m benchmarks.arena.run --suite bbob --dimension 5 --contenders random,optuna-tpe --seeds 2 --budget 100

Killing it loses the run it was in. Two may run at once on two cores (``--core``), into two files.
"""

import argparse
import os
import sys
import time
import traceback
from pathlib import Path

from benchmarks.machine import use_one_core


def main() -> None:
    options = arguments()
    if options.core is not None:
        os.sched_setaffinity(0, {options.core})
    use_one_core()
    from benchmarks.arena import records
    from benchmarks.arena.contenders import contender

    plan = [
        (options.suite, options.dimension, function, seed, name, options.budget)
        for seed in options.seeds
        for function in options.functions
        for name in options.contenders
    ]
    for name in options.contenders:
        contender(name)  # a misspelt name shows before anything has run
    done = {record.key for record in records.read(options.out)}
    waiting = [key for key in plan if key not in done]
    print(f"{options.out}: {len(plan) - len(waiting)} of {len(plan)} runs done", flush=True)
    failed = sum(not attempt(options.out, *key, label=f"{i}/{len(waiting)}") for i, key in enumerate(waiting, 1))
    if failed:
        sys.exit(f"{failed} runs failed; they are tried again next time")


def attempt(
    out: Path, suite: str, dimension: int, function: int, seed: int, name: str, budget: int, *, label: str
) -> bool:
    """Make one run and keep it; a contender that raises leaves its traceback and no record."""
    from benchmarks.arena.contenders import contender, edition
    from benchmarks.arena.problems import coco
    from benchmarks.arena.records import Record, append, curve

    problem = coco(suite, function, dimension, seed)
    title = f"{label} {suite} d{dimension} f{function} seed {seed} {name}"
    started = time.perf_counter()
    try:
        values = contender(name)(problem, budget, problem.key)
    except Exception:
        print(f"{title} FAILED\n{traceback.format_exc()}", flush=True)
        return False
    seconds = round(time.perf_counter() - started, 2)
    found = curve(values, problem.optimum)
    append(out, Record(suite, dimension, function, seed, name, budget, edition(name), seconds, problem.optimum, found))
    print(f"{title}: {found.rpartition(':')[2]} after {seconds:.1f} s", flush=True)
    return True


def arguments() -> argparse.Namespace:
    from benchmarks.arena.problems import FUNCTIONS, SUITES
    from benchmarks.report import RESULTS

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--suite", choices=SUITES, default="bbob")
    parser.add_argument("--dimension", type=int, default=5)
    parser.add_argument("--contenders", type=lambda text: text.split(","), default=["sonde"], metavar="A,B")
    parser.add_argument("--seeds", type=seeds, default=seeds("2"), help="how many, from 0 on; or a range such as 2-4")
    parser.add_argument("--budget", type=int, default=100, help="evaluations of a run")
    parser.add_argument("--functions", type=span, default=list(FUNCTIONS), help="for example 1-24 or 3,8,15-20")
    parser.add_argument("--out", type=Path, default=RESULTS / "arena" / "runs.csv")
    parser.add_argument("--core", type=int, help="the core to use; by default the first allowed one")
    return parser.parse_args()


def seeds(text: str) -> list[int]:
    """Read a count or a range."""
    return span(text) if "-" in text else list(range(int(text)))


def span(text: str) -> list[int]:
    """Read numbers and ranges: ``1-3,8`` is 1, 2, 3, 8."""
    ends = [[int(end) for end in part.split("-")] for part in text.split(",")]
    return [number for pair in ends for number in range(pair[0], pair[-1] + 1)]


if __name__ == "__main__":
    main()
