"""Regret over steps where trials are stopped early, on real and synthetic learning curves, for the same configurations.

    python -m benchmarks.curves.run                                  # two tasks, one worker, one run each
    python -m benchmarks.curves.run --full --core 1                  # all tasks, one worker and eight, ten runs
    python -m benchmarks.curves.run --full --groups report --workers 1 --runs 3
    python -m benchmarks.curves.run --full --draw                    # the tables and the picture of what has run

``problems`` has the tasks, ``methods`` the methods, ``simulation`` the workers. A task has 1,000 configurations of 51
steps, in an order of the seed; a run ends after the steps of 100 whole trials (5,100), and that without stopping also
goes on to those of 300. Regret is the lowest final value less the lowest of the task, as a share of the distance from
there to the median (1: no trial has run to its end yet). "best stopped" is how often the trial that would have ended
lowest, of those started, was stopped. A method that has started all 1,000 configurations stops there.

Every run is kept as it ends and is not repeated.
"""

from __future__ import annotations

import argparse
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from benchmarks.machine import use_one_core
from benchmarks.records import machine, read, table
from benchmarks.resumed import complete, parser, refuse_unknown, say_failed, whole_numbers, words

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np

Rows = list[dict[str, str]]

METHODS = ("none", "sonde", "median", "halving", "hyperband")
STEPS = (850, 1700, 3400, 5100, 10_200, 15_300)  # regrets are kept after so many
BUDGET, LARGEST = 5100, 15_300
WORKERS, RUNS = (1, 8), 10


class Case(NamedTuple):
    """A run."""

    group: str
    task: str
    workers: int
    method: str
    seed: int


def main() -> None:
    options = arguments()
    use_one_core(options.core)
    from benchmarks.curves.problems import GROUPS

    refuse_unknown("groups", options.groups, GROUPS)
    refuse_unknown("methods", options.methods, METHODS)
    tasks = GROUPS if options.full else {name: GROUPS[name][:1] for name in ("development", "synthetic")}
    plan = [
        Case(group, task, workers, method, seed)
        for workers in options.workers or (WORKERS if options.full else (1,))
        for seed in range(options.runs or (RUNS if options.full else 1))
        for group in tasks
        if group in (options.groups or tasks)
        for task in tasks[group]
        for method in options.methods or METHODS
    ]
    file = options.out / f"curves{'' if options.full else '_short'}_runs.csv"
    failed = 0 if options.draw else complete(file, plan, make)
    if rows := read(file):
        draw(file, rows)
    say_failed(failed)


def arguments() -> argparse.Namespace:
    options = parser(__doc__, "all tasks, one worker and eight, ten runs")
    options.add_argument("--groups", type=words, metavar="A,B", help="only these")
    options.add_argument("--methods", type=words, metavar="A,B", help="only these")
    options.add_argument("--workers", type=whole_numbers, metavar="A,B", help="only these numbers of workers")
    return options.parse_args()


def make(case: Case) -> tuple[dict[str, Any], float]:
    """Return the row of a run, and its last regret."""
    import numpy as np

    from benchmarks.curves.methods import METHODS as KNOWN
    from benchmarks.curves.problems import curves_of
    from benchmarks.curves.simulation import simulate

    curves = curves_of(case.task)
    lowest, median = curves[:, -1].min(), np.median(curves[:, -1])
    budget = LARGEST if case.method == "none" else BUDGET
    run = simulate(curves, KNOWN[case.method](case.seed), budget=budget, workers=case.workers, seed=case.seed)
    steps = [step for step in STEPS if step <= budget]
    regrets = [(min(run.best_after(step), median) - lowest) / (median - lowest) for step in steps]
    row = case._asdict() | {"started": run.started, "stopped": run.stopped, "best_stopped": int(run.best_stopped)}
    return row | {"regrets": " ".join(f"{regret:.6f}" for regret in regrets)}, regrets[-1]


def draw(file: Path, rows: Rows) -> None:
    """Write a table of groups, a table of tasks and a picture."""
    for by, name in (("group", ""), ("task", "_tasks")):
        path = file.with_name(file.name.replace("_runs", name))
        table(path, f"stopping early, by {by}", _lines(rows, by), machine(file))
    _picture(file.with_name(file.name.replace("_runs.csv", ".png")), rows)


def _lines(rows: Rows, by: str) -> Rows:
    lines = []
    for (group, unit), workers, method in product(_units(rows, by), _values(rows, "workers"), METHODS):
        chosen = [row for row in rows if (row[by], row["workers"], row["method"]) == (unit, workers, method)]
        if chosen:
            named = {"group": group} if by == "group" else {"group": group, "task": unit}
            lines.append(named | {"workers": workers, "method": method, "runs": str(len(chosen))} | _summary(chosen))
    return lines


def _summary(rows: Rows) -> dict[str, str]:
    """Return the cells of a method: mean regrets with standard errors, and what was started and stopped."""
    import numpy as np

    regrets = _regrets(rows)
    cells = {f"regret after {step}": "" for step in (1700, 5100, 15_300)}
    for step, column in zip(STEPS, regrets.T, strict=False):
        if f"regret after {step}" in cells:
            error = column.std() / max(len(column) - 1, 1) ** 0.5
            cells[f"regret after {step}"] = f"{column.mean():.3f} ± {error:.3f}"
    means = {
        name: float(np.mean([float(row[name]) for row in rows])) for name in ("started", "stopped", "best_stopped")
    }
    return cells | {
        "started": f"{means['started']:.0f}",
        "stopped": f"{means['stopped']:.0f}",
        "best stopped": f"{100 * means['best_stopped']:.0f}%",
    }


def _picture(path: Path, rows: Rows) -> None:
    """Draw mean regrets over steps, a panel for each group and number of workers."""
    from benchmarks.first_order.plots import COLOURS, legend, panels, save

    groups, workers = [group for group, _ in _units(rows, "group")], _values(rows, "workers")
    figure, axes = panels(len(workers), len(groups), (4 * len(groups), 3.2 * len(workers)))
    for (i, count), (j, group) in product(enumerate(workers), enumerate(groups)):
        axis = axes[i, j]
        for method, colour in zip(METHODS, COLOURS, strict=False):
            chosen = [row for row in rows if (row["group"], row["workers"], row["method"]) == (group, count, method)]
            if chosen:
                means = _regrets(chosen).mean(axis=0)
                axis.plot(STEPS[: len(means)], means, "o-", color=colour, markersize=3.5, linewidth=1.3, label=method)
        axis.set(xscale="log", xlabel="steps of all trials", ylabel="mean regret")
        axis.set_title(f"{group}, {count} worker{'s' * (count != '1')}", fontsize=10)
        axis.grid(alpha=0.25)
    legend(axes[0, -1])
    save(figure, path)


def _regrets(rows: Rows) -> np.ndarray:
    import numpy as np

    return np.array([[float(cell) for cell in row["regrets"].split()] for row in rows])


def _units(rows: Rows, by: str) -> list[tuple[str, str]]:
    return sorted({(row["group"], row[by]) for row in rows})


def _values(rows: Rows, name: str) -> Sequence[str]:
    return sorted({row[name] for row in rows})


if __name__ == "__main__":
    main()
