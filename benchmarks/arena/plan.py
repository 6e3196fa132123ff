"""All runs of the arena, and of the comparison by dimension, the most informative first, and their tables.

    python -m benchmarks.arena.plan                       # what is missing, for many hours; `make arena` calls it
    python -m benchmarks.arena.plan --half report --stages 1-9

It can be killed, and goes on where it stopped. The report half is run once for a version of Sonde; the runs of peers
serve all versions. The development half has what changes are compared with.
"""

import argparse
import os
import subprocess
import sys
from typing import NamedTuple

from benchmarks.arena.run import complete, runs, span
from benchmarks.machine import use_one_core


class Stage(NamedTuple):
    """Runs of a suite."""

    suite: str
    dimensions: tuple[int, ...]
    seeds: int
    contenders: tuple[str, ...]


FIRST = ("random", "optuna-tpe", "sonde")
QUICK = (*FIRST, "cmaes", "catcma", "optuna-cmaes")
MIXED = (*FIRST, "catcma", "nevergrad")  # of those that take categories
BITS = ("random", "one-plus-one", "ga", "bits-catcma", "bits-nevergrad")
GRADIENTS = ("random", "l-bfgs-b", "l-bfgs-b-centre", "sonde")
OWN = (0,)  # dimensions of the problems themselves

STAGES = (
    Stage("bbob-noisy", (5,), 1, QUICK),
    Stage("failing", (5,), 1, QUICK),
    Stage("measured", (5,), 1, FIRST),
    Stage("allowed", (5,), 1, (*FIRST, "cmaes", "catcma")),
    Stage("sklearn", OWN, 1, (*FIRST, "catcma")),
    Stage("bbob-gradients", (5, 20), 1, GRADIENTS),
    Stage("hpolib", OWN, 3, MIXED),
    Stage("bbob-by-8", (5,), 1, QUICK),
    Stage("bbob", (2, 5, 10), 2, QUICK),
    Stage("bbob-mixint", (5, 10), 2, QUICK),
    Stage("ioh-200", (64,), 1, (*FIRST, *BITS[1:])),
    Stage("sklearn", OWN, 2, (*MIXED, "optuna-gp", "smac")),
    Stage("bbob-noisy", (5,), 2, (*QUICK, "nevergrad", "optuna-gp", "smac", "botorch")),
    Stage("failing", (5,), 2, (*QUICK, "nevergrad", "optuna-gp", "smac")),
    Stage("measured", (5,), 2, (*FIRST, "optuna-gp", "nevergrad")),
    Stage("allowed", (5,), 2, (*FIRST, "cmaes", "catcma", "nevergrad")),
    Stage("bbob", (5, 10), 1, ("optuna-gp", "botorch", "nevergrad", "smac")),
    Stage("bbob-mixint", (5, 10), 1, ("optuna-gp", "botorch", "nevergrad", "smac")),
    Stage("hpolib", OWN, 3, ("optuna-gp", "smac")),
    Stage("factorials", OWN, 2, (*MIXED, "optuna-gp", "smac")),
    Stage("bbob-by-8", (5, 20), 1, (*QUICK, "nevergrad", "optuna-gp", "botorch")),
    Stage("bbob-by-64", (5, 20), 1, (*QUICK, "nevergrad")),
    Stage("bbob-noisy", (2, 10, 20), 1, QUICK),
    Stage("failing", (2, 10), 1, QUICK),
    Stage("measured", (2, 10), 1, FIRST),
    Stage("allowed", (2, 10), 1, (*FIRST, "cmaes", "catcma")),
    Stage("bbob", (20,), 1, QUICK),
    Stage("bbob-mixint", (20,), 1, QUICK),
    Stage("ioh-5000", (64,), 1, (*BITS, "sonde")),
)

DIMENSIONS = (  # arguments of the comparison by dimension
    ("2,5,10,20", "1,2,3", "sonde,random,cobyla,cmaes,nevergrad,bobyqa"),
    ("2,5,10", "1", "optuna-gp,turbo"),
    ("40,100", "1", "sonde,random,cobyla,cmaes,nevergrad"),
)


def main() -> None:
    options = arguments()
    use_one_core(options.core)
    stages = [STAGES[number - 1] for number in options.stages]
    for half in options.half:
        plan = [
            run
            for stage in stages
            for dimension in stage.dimensions
            for run in runs(half, stage.suite, dimension, range(stage.seeds), stage.contenders)
        ]
        complete(list(dict.fromkeys(plan)))
    variants = [
        "benchmarks/results/arena/variants-bbob-5.csv",
        "--against",
        "sonde:gp/draw",
        "--name",
        "arena_variants",
    ]
    _call("benchmarks.arena.table")
    _call("benchmarks.arena.table", *variants)
    if not options.arena_only:
        for dimensions, seeds, methods in DIMENSIONS:
            chosen = ["--dimensions", dimensions, "--seeds", seeds, "--methods", methods]
            _call("benchmarks.dimensions.run", "--full", *chosen)


def _call(module: str, *options: str) -> None:
    subprocess.run([sys.executable, "-m", module, *options], check=False)


def arguments() -> argparse.Namespace:
    from benchmarks.arena.suites import DEVELOPMENT, REPORT

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--half", nargs="+", choices=(REPORT, DEVELOPMENT), default=[REPORT, DEVELOPMENT])
    parser.add_argument("--stages", type=span, default=[*range(1, len(STAGES) + 1)], help="numbers, for example 1-9")
    parser.add_argument("--arena-only", action="store_true", help="without the comparison by dimension")
    parser.add_argument("--core", type=int, default=min(os.sched_getaffinity(0)), help="the core to use")
    return parser.parse_args()


if __name__ == "__main__":
    main()
