"""Table 1: the final best value of each contender on HPOlib's problems, with the numbers of the paper.

    python -m benchmarks.dngo.table1                                    # 3 runs, without the logistic regression
    python -m benchmarks.dngo.table1 --full --core 1                    # 10 runs of everything
    python -m benchmarks.dngo.table1 --problems lda --contenders gp,smac --runs 2 --out out/dngo
    python -m benchmarks.dngo.table1 --problems lda --contenders dngo-paper --seeds 7 --core 3 --out out/7  # a run
    python -m benchmarks.dngo.table1 --draw                             # the table and the figure of all runs so far

Every run is added to ``dngo_table1_runs.csv`` as it ends, and is not repeated: an interruption loses the current run
only. Processes may run side by side where each has its own ``--out``; one that is asked for seeds only makes its runs.
"evaluations" is the median number until a value is within one unit of the paper's last digit of the optimum; "±" is the
standard deviation over runs.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from benchmarks.machine import use_one_core
from benchmarks.records import machine, numbers, read, table
from benchmarks.resumed import complete, parser, refuse_unknown, say_failed, whole_numbers, words

if TYPE_CHECKING:
    import numpy as np

    from benchmarks.dngo.problems import Task

    Group = list[dict[str, str]]  # the runs of a contender on a task

SHORT, FULL = 3, 10  # runs


class Case(NamedTuple):
    """A run."""

    problem: str
    contender: str
    seed: int


def main() -> None:
    options = arguments()
    use_one_core(options.core)
    from benchmarks.dngo.problems import TASKS

    refuse_unknown("problems", options.problems, TASKS)
    file = options.out / "dngo_table1_runs.csv"
    failed = 0 if options.draw else add_missing(file, options)
    if (runs := read(file)) and (options.draw or not options.seeds):
        draw(file, runs)
    say_failed(failed)


def add_missing(file: Path, options: argparse.Namespace) -> int:
    """Make the runs that are missing; return how many failed."""
    from benchmarks.dngo.contenders import CONTENDERS
    from benchmarks.dngo.problems import TASKS

    left_out = {"logistic-grid"} if options.full else {"logistic-grid", "logistic"}
    plan = [
        Case(problem, contender, seed)
        for seed in options.seeds or range(options.runs or (FULL if options.full else SHORT))
        for problem in options.problems or [name for name in TASKS if name not in left_out]
        for contender in options.contenders or CONTENDERS
    ]
    return complete(file, plan, make)


def make(case: Case) -> tuple[dict[str, Any], float]:
    """Return the row of a run, and its best value."""
    from benchmarks.dngo.contenders import edition, play
    from benchmarks.dngo.problems import TASKS

    run = play(case.contender, TASKS[case.problem], case.seed)
    row = case._asdict() | {"edition": edition(case.contender)}
    row |= {"suggesting": f"{run.suggesting:.4g}", "evaluating": f"{run.evaluating:.4g}"}
    return row | {"values": numbers(run.values, 10)}, min(run.values)


def draw(file: Path, runs: Sequence[dict[str, str]]) -> None:
    """Print and write the table; plot best values over evaluations."""
    from benchmarks.dngo.contenders import CONTENDERS
    from benchmarks.dngo.problems import TASKS

    order = [*CONTENDERS, *(run["contender"] for run in runs)]
    groups: dict[Task, dict[str, Group]] = {}
    for name, task in TASKS.items():  # the paper's order
        for run in sorted(runs, key=lambda run: order.index(run["contender"])):
            if run["problem"] == name:
                groups.setdefault(task, {}).setdefault(run["contender"], []).append(run)
    rows = [line(task, name, group) for task, by_name in groups.items() for name, group in by_name.items()]
    path = file.with_name("dngo_table1.csv")
    table(path, "Table 1: final best, mean ± standard deviation over runs", rows, machine(file))
    paint(path, {task: {name: best(group) for name, group in by_name.items()} for task, by_name in groups.items()})


def best(group: Group) -> np.ndarray:
    """Return the best values so far, (runs, evaluations)."""
    import numpy as np

    return np.minimum.accumulate([[float(value) for value in run["values"].split()] for run in group], axis=1)


def line(task: Task, name: str, group: Group) -> dict[str, str]:
    """Return a row of the table."""
    import numpy as np

    from benchmarks.dngo.contenders import counterpart

    curves = best(group)
    needed = np.where(curves[:, -1] <= task.goal, (curves > task.goal).sum(1) + 1, np.inf)
    median = float(np.quantile(needed, 0.5, method="higher"))
    spread = np.std(curves[:, -1], ddof=1) if len(group) > 1 else 0.0
    digits = max(1, 1 - round(np.log10(task.precision)))  # one more than the paper
    method = counterpart(name)
    return {
        "problem": task.title,
        "budget": str(task.budget),
        "contender": name,
        "runs": str(len(group)),
        "best": f"{curves[:, -1].mean():.{digits}f} ± {spread:.{digits}f}",
        "paper": f"{task.paper[method]} ({method})" if method and task.paper[method] else "",
        "evaluations": f"{median:.0f}" if np.isfinite(median) else f">{task.budget}",
        "seconds per suggestion": f"{np.mean([float(run['suggesting']) for run in group]) / task.budget:.2g}",
    }


def paint(path: Path, curves: Mapping[Task, Mapping[str, np.ndarray]]) -> None:
    """Plot the simple regret, medians and quartiles, clipped at a tenth of the paper's last digit."""
    import numpy as np

    from benchmarks.first_order.plots import COLOURS, GREY, legend, panels, save

    names = dict.fromkeys(name for by_name in curves.values() for name in by_name if name != "random")
    colours = {"random": GREY, **dict(zip(names, COLOURS * len(names), strict=False))}
    figure, axes = panels(1, len(curves), (3.6 * len(curves) + 1, 3.2))
    for (task, by_name), axis in zip(curves.items(), axes[0], strict=True):
        optimum = min(bests.min() for bests in by_name.values()) if task.optimum is None else task.optimum
        for name, bests in by_name.items():
            excess = np.maximum(bests - optimum, task.precision / 10)
            low, middle, high = np.quantile(excess, (0.25, 0.5, 0.75), axis=0, method="nearest")  # works with inf
            places = range(1, len(middle) + 1)
            axis.plot(places, middle, color=colours[name], linewidth=1.3, label=name)
            axis.fill_between(places, low, high, color=colours[name], alpha=0.15, linewidth=0)
        axis.axhline(task.precision, color=GREY, linestyle=":", linewidth=1)
        axis.set(yscale="log", xlabel="evaluations", ylabel="best so far - optimum")
        axis.set_title(task.title, fontsize=10)
        axis.grid(alpha=0.25)
    legend(axes[0][-1], outside=True)
    save(figure, path)


def arguments() -> argparse.Namespace:
    options = parser(__doc__, "10 runs, and the logistic regression too")
    options.add_argument("--problems", type=words, metavar="A,B", help="only these")
    options.add_argument("--contenders", type=words, metavar="A,B", help="only these")
    options.add_argument("--seeds", type=whole_numbers, metavar="A,B", help="only these, instead of --runs")
    return options.parse_args()


if __name__ == "__main__":
    main()
