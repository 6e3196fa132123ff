"""Small tables of experiments: 50 evaluations of full factorials of three to six factors.

    python -m benchmarks.factorials.run                              # the development half, one run each
    python -m benchmarks.factorials.run --runs 3 --methods sonde     # more runs of one method
    python -m benchmarks.factorials.run --full                       # three runs each
    python -m benchmarks.factorials.run --full --report              # of the report half, too
    python -m benchmarks.factorials.run --full --draw                # the table of what has run

Tables are in ``development``, on which anything may be tried, and in ``report``, which is run once for a change. A run
ends with the cell of the best value told; its rank is the number of cells that are better without noise. Pairs are runs
of one table and seed; the cell that is better without noise wins, and ties count half.
"""

from __future__ import annotations

import time
import zlib
from collections.abc import Sequence
from contextlib import suppress
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.factorials import development, report
from benchmarks.factorials.methods import METHODS
from benchmarks.factorials.tables import TABLES, Level
from benchmarks.machine import use_one_core
from benchmarks.records import machine, numbers, read, table
from benchmarks.resumed import complete, parser, refuse_unknown, say_failed, whole_numbers, words

HALVES = development.HALF, report.HALF
Key = tuple[str, str, str]  # half, table and seed
BUDGET = 50
AT = (20, 30, 40, 50)  # evaluations after which the rank is kept


class Case(NamedTuple):
    """A run."""

    half: str
    table: str
    method: str
    seed: int


def main() -> None:
    options = parser(__doc__, "three runs each")
    options.add_argument("--report", action="store_true", help="the report half, too")
    options.add_argument("--methods", type=words, metavar="A,B", help="only these")
    options.add_argument("--seeds", type=whole_numbers, metavar="A,B", help="only these, instead of --runs")
    chosen = options.parse_args()
    use_one_core(chosen.core)
    refuse_unknown("methods", chosen.methods, METHODS)
    file = chosen.out / f"factorials{'' if chosen.full else '_short'}_runs.csv"
    plan = [
        Case(half, name, method, seed)
        for seed in chosen.seeds or range(chosen.runs or (3 if chosen.full else 1))
        for half in (HALVES if chosen.report else HALVES[:1])
        for name in TABLES[half]
        for method in chosen.methods or METHODS
    ]
    failed = 0 if chosen.draw else complete(file, plan, make)
    if rows := read(file):
        draw(file, rows)
    say_failed(failed)


def make(case: Case) -> tuple[dict[str, Any], float]:
    """Return the row of a run, and the rank of its cell."""
    experiment = TABLES[case.half][case.table]
    key = zlib.crc32(f"{case.table} {case.seed}".encode()) >> 1  # no lucky first design serves all tables
    rng = np.random.default_rng(key)
    values: list[float] = []
    told: list[float] = []

    def objective(levels: Sequence[Level]) -> float:
        if len(values) == BUDGET:
            raise _SpentError
        values.append(experiment.value(levels))
        told.append(values[-1] * (1 + experiment.noise * float(rng.standard_normal())))
        return told[-1]

    started = time.process_time()
    with suppress(_SpentError):
        METHODS[case.method](objective, experiment, key)
    seconds = (time.process_time() - started) / BUDGET
    ranks = [experiment.better(values[int(np.argmin(told[:n]))]) for n in AT]
    found = next((n for n, value in enumerate(values, 1) if not experiment.better(value)), 0)  # 0: never
    row = {"cells": len(experiment.values), "ranks": numbers(ranks, 6), "found": found, "seconds": f"{seconds:.3g}"}
    return case._asdict() | row, float(ranks[-1])


class _SpentError(Exception):
    pass


def draw(file: Path, rows: list[dict[str, str]]) -> None:
    """Print and write the ranks of each method, and how often Sonde ends at a better cell."""
    runs: dict[str, dict[Key, dict[str, str]]] = {}
    for row in rows:
        runs.setdefault(row["method"], {})[row["half"], row["table"], row["seed"]] = row
    lines = [
        {"half": half, "noise": "with" if noisy else "without", "method": method} | _summary(own, runs["sonde"], keys)
        for half, noisy in product(HALVES, (False, True))
        for method, own in runs.items()
        if (keys := [key for key in own if key in runs.get("sonde", {}) and _is(key, half, noisy)])
    ]
    if lines:
        table(file.with_name(file.name.replace("_runs", "")), f"{BUDGET} evaluations", lines, machine(file))


def _is(key: Key, half: str, noisy: bool) -> bool:
    return key[0] == half and (TABLES[half][key[1]].noise > 0) == noisy


def _summary(own: dict[Key, dict[str, str]], ours: dict[Key, dict[str, str]], keys: list[Key]) -> dict[str, str]:
    """Return what a line says of the runs of a method, beside those of Sonde."""
    ranks = np.array([_ranks(own[key]) for key in keys])
    ahead = 50 * (1 + np.mean(np.sign(ranks - [_ranks(ours[key]) for key in keys]), axis=0))
    cells, seconds = np.array([[float(own[key][name]) for key in keys] for name in ("cells", "seconds")])
    return {
        "runs": str(len(keys)),
        "sonde ahead at 30": "" if own is ours else f"{ahead[AT.index(30)]:.0f}%",
        "sonde ahead": "" if own is ours else f"{ahead[-1]:.0f}%",
        "best cell": f"{100 * np.mean(ranks[:, -1] == 0):.0f}%",
        "median rank": f"{np.median(ranks[:, -1]):g}",
        "mean share better": f"{100 * np.mean(ranks[:, -1] / cells):.2f}%",
        "seconds": f"{np.median(seconds):.2g}",
    }


def _ranks(row: dict[str, str]) -> list[float]:
    return [float(each) for each in row["ranks"].split()]


if __name__ == "__main__":
    main()
