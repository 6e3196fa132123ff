"""Whole studies of real models that stop trials early, beside whole peers: the best error after a third of the steps.

    python -m benchmarks.curves.studies                                      # one problem, one run each
    python -m benchmarks.curves.studies --full --core 1                      # all problems, three runs each
    python -m benchmarks.curves.studies --full --methods sonde,tpe-halving --seeds 0,1
    python -m benchmarks.curves.studies --full --draw                        # the table of what has run

Problems are in ``models``, methods in ``searches``: Sonde with both defaults, without stopping (``sonde-none``), and
with random suggestions without stopping; Optuna's TPE without a pruner and with each of three. Models are trained while
the study runs, and a run ends after the steps of 30 whole trainings. What counts is the lowest final error of the
trials that ran to their end. Regret is that less the lowest one of all runs of the problem and seed, as a share of the
distance from there to the median of the random trials (1: no better trial has run to its end yet). Regrets below 1e-3
count as equal. Pairs are runs of one problem and seed; p is that of a Wilcoxon signed-rank test on log regrets at the
end, Holm-corrected. Seconds are of the processor, for a whole run without its trainings.

Every run is kept as it ends and is not repeated. None of it was used in the development of the rule.
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from benchmarks.machine import use_one_core
from benchmarks.records import machine, read, table
from benchmarks.resumed import complete, parser, refuse_unknown, say_failed, whole_numbers, words

if TYPE_CHECKING:
    from benchmarks.arena.ranking import Group

Rows = Sequence[Mapping[str, str]]
Unit = tuple[str, str]  # problem and seed
Ends = list[tuple[int, float]]  # of trials that ran to their end: the steps of the run by then, and the error

TRAININGS, RUNS = 30, 3
LEAST = 1e-3  # regret
OURS, REFERENCE = "sonde", "random"


class Case(NamedTuple):
    """A run."""

    problem: str
    method: str
    seed: int


def main() -> None:
    options = arguments()
    use_one_core(options.core)
    from benchmarks.curves.models import PROBLEMS
    from benchmarks.curves.searches import SEARCHES

    refuse_unknown("methods", options.methods, SEARCHES)
    refuse_unknown("problems", options.problems, PROBLEMS)
    plan = [
        Case(problem, method, seed)
        for seed in options.seeds or range(options.runs or (RUNS if options.full else 1))
        for problem in options.problems or (PROBLEMS if options.full else ("perceptron",))
        for method in options.methods or SEARCHES
    ]
    name = f"curve_studies{'' if options.full else '_short'}"
    file = options.out / f"{name}_runs.csv"
    failed = 0 if options.draw else complete(file, plan, make)
    if lines := summary(read(file)):
        table(options.out / f"{name}.csv", f"Whole studies, {TRAININGS} trainings", lines, machine(file))
    say_failed(failed)


def arguments() -> argparse.Namespace:
    options = parser(__doc__, "all problems, three runs")
    options.add_argument("--methods", type=words, metavar="A,B", help="only these")
    options.add_argument("--problems", type=words, metavar="A,B", help="only these")
    options.add_argument("--seeds", type=whole_numbers, metavar="A,B", help="only these, instead of --runs")
    return options.parse_args()


def make(case: Case) -> tuple[dict[str, Any], float]:
    """Return the row of a run, and its lowest final error."""
    import time

    from benchmarks.curves.models import PROBLEMS
    from benchmarks.curves.searches import search

    problem = PROBLEMS[case.problem](case.seed)
    began = time.process_time()
    run = search(case.method, problem, TRAININGS * problem.steps, case.seed)
    seconds = time.process_time() - began - run.seconds
    row = case._asdict() | {"steps": run.steps, "started": run.started, "stopped": run.stopped}
    ends = " ".join(f"{spent}:{error:.8g}" for spent, error in run.ends)
    return row | {"seconds": f"{seconds:.3g}", "ends": ends}, best_after(run.ends, run.steps)


def best_after(ends: Ends, steps: float) -> float:
    """Return the lowest final error after so many steps; inf if there was none."""
    return min((error for spent, error in ends if spent <= steps), default=float("inf"))


def summary(rows: Rows) -> list[dict[str, str]]:
    """Return the lines of each problem and of all together, on the runs that all methods have made."""
    regrets = _regrets(rows)
    units = set.intersection(*(set(own) for own in regrets.values())) if regrets else set()
    problems = dict.fromkeys(problem for problem, _ in sorted(units))
    groups = [*problems, "all"] if len(problems) > 1 else [*problems]
    lines = []
    for group in groups:
        chosen = {unit for unit in units if group in ("all", unit[0])}
        own = [row for row in rows if _unit(row) in chosen]
        kept = {method: {unit: each[unit] for unit in chosen} for method, each in regrets.items()}
        lines += _lines(group, own, kept)
    return lines


def _regrets(rows: Rows) -> dict[str, dict[Unit, tuple[float, float]]]:
    """Return the regrets after a third of the steps and after all of them, by method."""
    regrets: dict[str, dict[Unit, tuple[float, float]]] = {}
    for unit in {_unit(row): None for row in rows}:
        ends = {row["method"]: _ends(row) for row in rows if _unit(row) == unit}
        if REFERENCE not in ends:
            continue
        steps = next(int(row["steps"]) for row in rows if _unit(row) == unit)
        lowest = min(best_after(each, steps) for each in ends.values())
        median = statistics.median(error for _, error in ends[REFERENCE])
        for method, own in ends.items():
            early, late = (min(best_after(own, part), median) for part in (steps / 3, steps))
            scaled = [max((best - lowest) / (median - lowest), LEAST) for best in (early, late)]
            regrets.setdefault(method, {})[unit] = (scaled[0], scaled[1])
    return regrets


def _lines(group: str, rows: Rows, regrets: dict[str, dict[Unit, tuple[float, float]]]) -> list[dict[str, str]]:
    """Return a line for each method, the best first."""
    from benchmarks.arena.ranking import holm

    third, end = _group(regrets, 0), _group(regrets, 1)
    peers = [name for name in regrets if OURS in regrets and name != OURS]
    duels = {name: (third.duel(OURS, name), end.duel(OURS, name)) for name in peers}
    p = dict(zip(duels, holm([late.p for _, late in duels.values()]), strict=True))
    lines = []
    for i, name in enumerate(regrets):
        own = [row for row in rows if row["method"] == name]
        line = {"problem": group, "runs": str(len(own)), "method": name}
        for label, each in (("at a third", third), ("at the end", end)):
            line[f"rank {label}"] = f"{each.ranks[i, 0]:.2f}"
            line[f"regret {label}"] = f"{each.excess[:, i, 0].mean():.3f}"
        for label, place in (("at a third", 0), ("at the end", 1)):
            duel = duels[name][place] if name in duels else None
            line[f"{OURS} wins:ties:losses {label}"] = f"{duel.wins}:{duel.ties}:{duel.losses}" if duel else ""
        line["p"] = f"{p[name]:.2g}" if name in p else ""
        for key in ("started", "stopped", "seconds"):
            line[key] = f"{statistics.mean(float(row[key]) for row in own):.1f}"
        lines.append(line)
    return sorted(lines, key=lambda line: float(line["rank at the end"]))


def _group(regrets: dict[str, dict[Unit, tuple[float, float]]], place: int) -> Group:
    import numpy as np

    from benchmarks.arena.ranking import Group

    curves: dict[str, dict[Any, Any]] = {
        method: {unit: np.array([each[place]]) for unit, each in own.items()} for method, own in regrets.items()
    }
    return Group("curves", None, curves, True, {}, ())


def _unit(row: Mapping[str, str]) -> Unit:
    return row["problem"], row["seed"]


def _ends(row: Mapping[str, str]) -> Ends:
    return [(int(spent), float(error)) for spent, error in (cell.split(":") for cell in row["ends"].split())]


if __name__ == "__main__":
    main()
