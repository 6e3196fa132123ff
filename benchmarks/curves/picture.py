"""The picture of ``docs/curves.md``: learning curves of ``examples/curves.py``, and regret over steps on real curves.

    python -m benchmarks.curves.picture

The regrets are those of ``benchmarks.curves.run`` on the tasks of the report, with one worker. The table has the trials
of the example.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from examples.curves import SPACE, TRIALS, train

import sonde
from benchmarks.curves.run import STEPS
from benchmarks.first_order.plots import COLOURS, GREY, panels
from benchmarks.machine import use_one_core
from benchmarks.records import read
from benchmarks.report import RESULTS, report

FIGURE = RESULTS.parents[1] / "docs" / "figures" / "curves.png"
NAMES = {
    "none": "no stopping", "sonde": "Sonde", "median": "median rule", "halving": "successive halving",
    "hyperband": "Hyperband",
}  # fmt: skip


def main() -> None:
    use_one_core()
    study = sonde.Study(SPACE, seed=0)
    study.optimize(train, TRIALS)
    rows = [
        {"trial": trial.number, "state": str(trial.state), "steps": len(trial.curve), "value": trial.value,
         "mean": trial.mean, "std": trial.std}
        for trial in study.trials
    ]  # fmt: skip
    report("curves_picture", f"examples/curves.py, {TRIALS} trials, seed 0", rows)
    draw(study.trials, read(RESULTS / "curves_runs.csv"), FIGURE)


def draw(trials: list[sonde.Trial], runs: list[dict[str, str]], path: Path) -> None:
    """Draw the curves, whole and stopped, and the mean regrets."""
    figure, ((left, right),) = panels(1, 2, (11, 4))
    best = min((trial for trial in trials if trial.value is not None), key=lambda trial: trial.value)
    for trial in trials:
        curve = np.array(trial.curve)
        stopped = trial.state == "stopped"
        colour, width = (GREY, 0.8) if stopped else (COLOURS[0], 1.0)
        if trial is best:
            colour, width = COLOURS[1], 2.0
        left.plot(*curve.T, color=colour, linewidth=width, zorder=1 if stopped else 2)
        if stopped:
            left.plot(*curve[-1], "x", color=GREY, markersize=4)
    left.set(xlabel="epoch", ylabel="error", yscale="log", title="A network on digits: grey is stopped, red the best")
    for (method, name), colour in zip(NAMES.items(), (GREY, COLOURS[1], *COLOURS[2:]), strict=False):
        right.plot(*regrets(runs, method), "o-", color=colour, markersize=3.5, linewidth=1.5, label=name)
    right.set(xlabel="steps of all trials", ylabel="mean regret", xscale="log", yscale="log")
    right.set_title("Four tasks of TaskSet, 100 whole trainings")
    right.legend(frameon=False, fontsize=8)
    for axis in (left, right):
        axis.grid(alpha=0.25)
    figure.savefig(path, dpi=120)


def regrets(runs: list[dict[str, str]], method: str) -> tuple[list[int], Any]:
    """Return steps and mean regrets of a method with one worker on the tasks of the report."""
    own = [row for row in runs if (row["group"], row["method"], row["workers"]) == ("report", method, "1")]
    means = np.mean([[float(each) for each in row["regrets"].split()] for row in own], axis=0)
    return list(STEPS[: len(means)]), means


if __name__ == "__main__":
    main()
