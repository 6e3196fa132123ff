"""Several objectives: hypervolume after half of the evaluations and after all, by group of problems.

    python -m benchmarks.objectives.run                                    # the selection, one run each
    python -m benchmarks.objectives.run --methods sonde,botorch --groups engineering --seeds 0,1 --core 1
    python -m benchmarks.objectives.run --full --runs 3                    # all 55 functions of bbob-biobj
    python -m benchmarks.objectives.run --evaluations 300
    python -m benchmarks.objectives.run --draw                             # the table of what has run

Problems and their groups are in ``problems``, methods in ``methods``. A run's hypervolume is that of its feasible
non-dominated values; its regret is what is missing of the largest known one, as a share. That is the one of the front
of all runs of a problem together; where BoTorch knows a larger one, or there are more than two objectives, it is the
larger of what BoTorch knows and of what the best run has. Regrets below 1e-4 count as equal. Pairs are runs of one
problem and seed; p is that of a Wilcoxon signed-rank test on log regrets, Holm-corrected within the group. Seconds are
of the processor for a suggestion. Every run is kept as it ends, with its front, and is not repeated.
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Sequence
from itertools import groupby
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.machine import use_one_core
from benchmarks.objectives.problems import SHORT, SUITE, instance
from benchmarks.records import machine, numbers, read, table
from benchmarks.resumed import complete, parser, refuse_unknown, say_failed, whole_numbers, words

Array = NDArray[np.float64]
Rows = Sequence[dict[str, str]]

EVALUATIONS = 100
EVERY = 10  # evaluations between the hypervolumes that are kept
LEAST = 1e-4  # regret: the known largest hypervolumes are hardly more accurate
OURS = "sonde"
DEFAULT = ("random", "optuna-nsga2", "optuna-tpe", "optuna-gp", "botorch", OURS)


class Case(NamedTuple):
    """A run."""

    group: str
    problem: str
    method: str
    seed: int
    evaluations: int


def main() -> None:
    options = arguments()
    use_one_core(options.core)
    from benchmarks.objectives.methods import METHODS

    suite = SUITE if options.full else SHORT
    refuse_unknown("methods", options.methods, METHODS)
    refuse_unknown("groups", options.groups, suite)
    refuse_unknown("problems", options.problems, [name for names in suite.values() for name in names])
    file = options.out / "objectives_runs.csv"
    plan = [
        Case(group, name, method, seed, options.evaluations)
        for seed in options.seeds or range(options.runs or 1)
        for group in options.groups or suite
        for name in suite[group]
        for method in options.methods or DEFAULT
        if name in (options.problems or suite[group])
    ]
    failed = 0 if options.draw else complete(file, plan, make)
    rows = [row for row in read(file) if row["evaluations"] == str(options.evaluations)]
    if lines := [line for group in SUITE for line in summary(group, _of(rows, group=group))]:
        suffix = "" if options.evaluations == EVALUATIONS else f"_{options.evaluations}"
        title = f"Several objectives, {options.evaluations} evaluations"
        table(options.out / f"objectives{suffix}.csv", title, lines, machine(file))
    say_failed(failed)


def arguments() -> argparse.Namespace:
    options = parser(__doc__, "all functions of bbob-biobj")
    options.add_argument("--methods", type=words, metavar="A,B", help="only these")
    options.add_argument("--groups", type=words, metavar="A,B", help="only these")
    options.add_argument("--problems", type=words, metavar="A,B", help="only these")
    options.add_argument("--seeds", type=whole_numbers, metavar="A,B", help="only these, instead of --runs")
    options.add_argument("--evaluations", type=int, default=EVALUATIONS, help="of a run")
    return options.parse_args()


def make(case: Case) -> tuple[dict[str, Any], float]:
    """Return the row of a run, and its hypervolume."""
    from benchmarks.objectives.fronts import front, hypervolume, pack
    from benchmarks.objectives.methods import play
    from benchmarks.objectives.problems import problem

    posed = problem(case.group, case.problem, case.seed)
    played = play(posed, case.method, case.evaluations)
    y, feasible = posed.scaled(played.objectives), played.feasible
    volumes = [hypervolume(y[:n][feasible[:n]]) for n in checkpoints(case.evaluations)]
    row = case._asdict() | {
        "objectives": posed.objectives, "known": f"{posed.known or 0:.10g}", "seconds": f"{played.seconds:.3g}",
        "hypervolume": numbers(volumes, 10), "front": pack(front(y[feasible])),
    }  # fmt: skip
    return row, volumes[-1]


def checkpoints(evaluations: int) -> list[int]:
    """Return the numbers of evaluations after which the hypervolume is kept."""
    return sorted({*range(EVERY, evaluations, EVERY), (evaluations + 1) // 2, evaluations})


def summary(group: str, rows: Rows) -> list[dict[str, str]]:
    """Return a row for each method on the problems that all have run, the best first."""
    from benchmarks.arena.ranking import ENOUGH, Group, holm

    regrets: dict[str, dict[Any, Array]] = {}
    for case, own in _by(rows, "problem", "seed").items():
        best = largest([row for row in _of(rows, problem=case[0]) if _instance(row) == _instance(own[0])])
        for row in own:
            missing = 1 - np.array([float(each) for each in row["hypervolume"].split()]) / best
            regrets.setdefault(row["method"], {})[case] = np.maximum(missing, LEAST)
    most = max(map(len, regrets.values()), default=0)
    kept = {name: runs for name, runs in regrets.items() if len(runs) >= ENOUGH * most}
    seconds = {name: statistics.median(float(row["seconds"]) for row in _of(rows, method=name)) for name in kept}
    if not kept or not set.intersection(*(set(runs) for runs in kept.values())):
        return []
    found = Group(group, None, kept, True, seconds, ())
    duels = {name: found.duel(OURS, name) for name in kept if OURS in kept and name != OURS}
    p = dict(zip(duels, holm([duel.p for duel in duels.values()]), strict=True))
    evaluations = int(rows[0]["evaluations"])
    half = checkpoints(evaluations).index((evaluations + 1) // 2)
    lines = [
        {
            "group": group, "cases": str(len(found.cases)), "method": name,
            "rank at half": f"{found.ranks[i, half]:.2f}", "average rank": f"{found.ranks[i, -1]:.2f}",
            "log10 regret at half": f"{found.regret[i, half]:.2f}", "log10 regret": f"{found.regret[i, -1]:.2f}",
            f"{OURS} wins:losses": f"{duels[name].wins}:{duels[name].losses}" if name in duels else "",
            "p": f"{p[name]:.2g}" if name in p else "", "seconds": f"{seconds[name]:.3g}",
        }
        for i, name in enumerate(kept)
    ]  # fmt: skip
    return sorted(lines, key=lambda line: float(line["average rank"]))


def largest(rows: Rows) -> float:
    """Return the largest known hypervolume of an instance, from all of its runs."""
    from benchmarks.objectives.fronts import hypervolume, union

    known = max(float(rows[0]["known"]), *(float(row["hypervolume"].split()[-1]) for row in rows), 1e-300)
    if int(rows[0]["objectives"]) > 2:  # the front of all runs is large, and its volume takes long
        return known
    return max(known, hypervolume(union(row["front"] for row in rows)))


def _instance(row: dict[str, str]) -> int:
    return instance(row["group"], int(row["seed"]))


def _of(rows: Rows, **wanted: str) -> list[dict[str, str]]:
    return [row for row in rows if all(row[key] == value for key, value in wanted.items())]


def _by(rows: Rows, *keys: str) -> dict[tuple[str, ...], list[dict[str, str]]]:
    def key(row: dict[str, str]) -> tuple[str, ...]:
        return tuple(row[name] for name in keys)

    return {name: list(own) for name, own in groupby(sorted(rows, key=key), key)}


if __name__ == "__main__":
    main()
