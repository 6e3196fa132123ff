"""Textbook functions in 2 to 1,000 dimensions without gradients: 10 d evaluations up to 20-D, 5 d up to 100-D, then d.

    python -m benchmarks.dimensions.run                                   # a few functions in 5-D, one run each
    python -m benchmarks.dimensions.run --full --core 1                   # all of them
    python -m benchmarks.dimensions.run --full --dimensions 10 --methods sonde,cobyla --runs 3
    python -m benchmarks.dimensions.run --full --groups few,edges         # only these groups of functions
    python -m benchmarks.dimensions.run --full --draw                     # the tables of what has run

Functions and their groups are in ``functions``, methods in ``methods``. ``sonde-all`` is ``gp`` with the surrogate of
all results, as in 0.1.0, but for its initial design. ``sonde-0.1.0`` is 0.1.0 itself, whose source is to be first on
the path: ``git archive 739224c src | tar x -C DIR``, then ``PYTHONPATH=DIR/src``. Methods "by 8" ask for batches. The
local methods start from the centre. Under noise the end of a run is the value without noise where the lowest value was.
Pairs are runs of one function and seed; two ends are equal where both are within 1e-8 of the best known value, in units
of the distance from it to the value at the centre. Every run is kept as it ends and is not repeated.

The model of ``gp`` was developed on seeds 0 and from 100 on, other rotations and shifts of the same functions among
them, and on the functions of ``--groups development``, which run only where they are named; COCO's bbob was not used.
``LOG.md`` has what was tried.
"""

from __future__ import annotations

import argparse
import time
from contextlib import suppress
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.dimensions.functions import COCO_DIMENSIONS, SHORT, SUITE, TEXTBOOK, function_of, noise_of
from benchmarks.dimensions.methods import METHODS, VARIANTS
from benchmarks.machine import use_one_core
from benchmarks.records import machine, numbers, read, table
from benchmarks.resumed import complete, parser, refuse_unknown, say_failed, whole_numbers, words

Array = NDArray[np.float64]
Pair = tuple[str, ...]  # dimension, group, function and seed

SUITES = {"textbook": TEXTBOOK, "bbob": ("bbob",), "development": ("development",)}
SOLVED = 1e-8
EVALUATIONS = {2: 20, 5: 50, 10: 100, 20: 200, 40: 200, 100: 500, 1000: 1000}  # by dimension


class Case(NamedTuple):
    """A run."""

    group: str
    function: str
    d: int
    method: str
    seed: int


def main() -> None:
    options = arguments()
    use_one_core(options.core)
    refuse_unknown("methods", options.methods, METHODS)
    refuse_unknown("dimensions", options.dimensions, EVALUATIONS)
    suite = SUITE if options.full else SHORT
    refuse_unknown("groups", options.groups, suite)
    file = options.out / f"dimensions{'' if options.full else '_short'}_runs.csv"
    plan = [
        Case(group, function, d, method, seed)
        for seed in options.seeds or range(options.runs or 1)
        for d in options.dimensions or (EVALUATIONS if options.full else (5,))
        for group in options.groups or [name for name in suite if name != "development"]
        for function in suite[group]
        if not options.functions or function in options.functions
        for method in options.methods or [name for name in METHODS if name not in VARIANTS]
        if (group != "bbob" or d in COCO_DIMENSIONS) and (group != "failing" or method.startswith("sonde"))
    ]
    failed = 0 if options.draw else complete(file, plan, make)
    if rows := read(file):
        draw(file, rows)
    say_failed(failed)


def arguments() -> argparse.Namespace:
    options = parser(__doc__, "all functions and dimensions")
    options.add_argument("--methods", type=words, metavar="A,B", help="only these")
    options.add_argument("--dimensions", type=whole_numbers, metavar="A,B", help="only these")
    options.add_argument("--seeds", type=whole_numbers, metavar="A,B", help="only these, instead of --runs")
    options.add_argument("--groups", type=words, metavar="A,B", help="only these")
    options.add_argument("--functions", type=words, metavar="A,B", help="only these, of every group")
    return options.parse_args()


def make(case: Case) -> tuple[dict[str, Any], float]:
    """Return the row of a run, and its best value."""
    named = case.group, case.function, case.d, case.seed
    function, budget = function_of(*named), EVALUATIONS[case.d]
    noise = noise_of(case.group, function, case.d, case.seed)
    values: list[float] = []
    told: list[float] = []

    def objective(u: Array) -> float:
        if len(values) == budget:
            raise _SpentError
        value = function(np.clip(u, 0.0, 1.0))
        values.append(np.nan_to_num(value, nan=np.inf))
        told.append(values[-1] + noise())
        return told[-1] if np.isfinite(value) else value

    started = time.process_time()
    with suppress(_SpentError):
        METHODS[case.method](objective, case.d, budget, case.seed)
    seconds = (time.process_time() - started) / budget
    lowest = [int(np.argmin(told[: n + 1])) for n in range(len(told))]
    best = np.array(values)[lowest]
    best = np.append(best, np.full(budget - len(best), best[-1]))  # a method that stops by itself
    row = case._asdict() | {"centre": f"{function(np.full(case.d, 0.5)):.10g}", "seconds": f"{seconds:.3g}"}
    return row | {"best": numbers([float(best[n - 1]) for n in (budget // 2, budget)], 12)}, float(best[-1])


class _SpentError(Exception):
    pass


def draw(file: Path, rows: list[dict[str, str]]) -> None:
    """Print and write how often Sonde is below each other method, and mean regrets, by suite and dimension.

    Batches of 8 are compared with batches of 8.
    """
    runs: dict[str, dict[Pair, list[float]]] = {}  # the best values at half the budget and at its end
    centre: dict[Pair, float] = {}
    for row in rows:
        key = row["d"], row["group"], row["function"], row["seed"]
        runs.setdefault(row["method"], {})[key] = [float(each) for each in row["best"].split()]
        centre[key] = float(row["centre"])
    # all of these functions have the lowest value 0 but some of ``few``, ``edges`` and Styblinski-Tang
    lowest = {key: min(0.0, *(each[key][-1] for each in runs.values() if key in each)) for key in centre}

    def regrets(method: str, keys: list[Pair], at: int = -1) -> Array:
        best = np.array([runs[method][key][at] for key in keys])
        low, high = np.array([lowest[key] for key in keys]), np.array([centre[key] for key in keys])
        return np.maximum((best - low) / np.maximum(high - low, 1e-300), SOLVED)

    def ahead(method: str, ours: str, keys: list[Pair], at: int) -> str:
        signs = np.sign(regrets(method, keys, at) - regrets(ours, keys, at))
        return "" if method == ours else f"{50 * (1 + float(np.mean(signs))):.0f}%"

    lines, groups = [], []
    for d, suite in product(sorted({key[0] for key in centre}, key=int), SUITES):
        for method in (name for name in METHODS if name in runs):
            ours = "sonde by 8" if method.endswith("by 8") else "sonde"
            keys = [
                key for key in runs[method]
                if key[0] == d and key[1] in SUITES[suite] and key in runs.get(ours, {})
            ]  # fmt: skip
            if not keys:
                continue
            lines.append({
                "d": d, "suite": suite, "method": method, "pairs": str(len(keys)),
                "sonde ahead at half": ahead(method, ours, keys, 0), "sonde ahead": ahead(method, ours, keys, -1),
                "mean log10 regret": f"{np.mean(np.log10(regrets(method, keys))):.2f}",
                "mean regret": f"{np.mean(regrets(method, keys)):.3f}",
            })  # fmt: skip
            if method != ours and suite == "textbook":
                own = {name: [key for key in keys if key[1] == name] for name in TEXTBOOK}
                shares = {name: ahead(method, ours, each, -1) if each else "" for name, each in own.items()}
                groups.append({"d": d, "against": method} | shares)
    if lines:
        base = file.name.replace("_runs", "")
        table(file.with_name(base), "Sonde beside others, by dimension", lines, machine(file))
        title = "Share of pairs in which Sonde is ahead at the end, by group"
    if groups:
        table(file.with_name(base.replace(".csv", "_groups.csv")), title, groups, machine(file))


if __name__ == "__main__":
    main()
