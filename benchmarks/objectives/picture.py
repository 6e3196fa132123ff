"""The picture of ``docs/objectives.md``: a run on two objectives, its Pareto front, and the region that it dominates.

    python -m benchmarks.objectives.picture

The problem is BoTorch's BraninCurrin, in two parameters (Belakaria et al. 2019), with BoTorch's reference point. Beside
one run of ``auto`` are quartiles of random searches. The table has the trials and the hypervolumes after every one.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import sonde
from benchmarks.first_order.plots import COLOURS, GREY, panels
from benchmarks.machine import use_one_core
from benchmarks.report import RESULTS, report
from sonde.pareto.fronts import non_dominated
from sonde.pareto.hypervolume import hypervolume

Array = NDArray[np.float64]

TRIALS = 40
SEED = 0
NAMES = ("branin", "currin")
REFERENCE = (18.0, 6.0)  # BoTorch's
RANDOM = 50  # random searches
BLUE, RED = COLOURS[:2]
FIGURE = RESULTS.parents[1] / "docs" / "figures" / "objectives"

SPACE = sonde.Space(x=sonde.Float(0, 1), y=sonde.Float(0, 1))


def branin_currin(trial: sonde.Trial) -> tuple[float, float]:
    """Return both functions of the unit square."""
    x, y = trial["x"], trial["y"]
    u, v = 15 * x - 5, 15 * y
    branin = (v - 5.1 / (4 * math.pi**2) * u**2 + 5 / math.pi * u - 6) ** 2
    branin += 10 * (1 - 1 / (8 * math.pi)) * math.cos(u) + 10
    below = 1 - math.exp(-1 / (2 * y)) if y > 0 else 1.0
    currin = below * (2300 * x**3 + 1900 * x**2 + 2092 * x + 60) / (100 * x**3 + 500 * x**2 + 4 * x + 20)
    return branin, currin


def main() -> None:
    use_one_core()
    y = run("auto", SEED)
    ours = volumes(y)
    quartiles = np.quantile([volumes(run("random", seed)) for seed in range(RANDOM)], (0.25, 0.5, 0.75), axis=0)
    rows = [
        {"trial": i, "branin": y[i, 0], "currin": y[i, 1], "hypervolume": ours[i],
         "random 25%": quartiles[0, i], "random median": quartiles[1, i], "random 75%": quartiles[2, i]}
        for i in range(TRIALS)
    ]  # fmt: skip
    report("objectives_picture", f"BraninCurrin, {TRIALS} trials, seed {SEED}; {RANDOM} random searches", rows)
    draw(y, ours, quartiles, FIGURE)


def run(strategy: str, seed: int) -> Array:
    """Return the values (n, 2) of a run."""
    result = sonde.minimize(
        branin_currin, SPACE, TRIALS, objectives=dict.fromkeys(NAMES, "minimize"),
        thresholds=dict(zip(NAMES, REFERENCE, strict=True)), strategy=strategy, seed=seed, progress=False,
    )  # fmt: skip
    return np.array([[trial.value[name] for name in NAMES] for trial in result.trials])


def volumes(y: Array) -> Array:
    """Return the hypervolumes (n,) after each of the trials, whose values are to be minimized."""
    return np.array([hypervolume(-y[: i + 1], -np.array(REFERENCE)) for i in range(len(y))])


def draw(y: Array, ours: Array, quartiles: Array, path: Path) -> None:
    """Draw the trials of one run with their front, and the hypervolumes."""
    figure, axes = panels(1, 2, (10, 3.8))
    _trials(axes[0][0], y)
    trials = np.arange(1, len(y) + 1)
    axes[0][1].step(trials, ours, where="post", color=BLUE, label="this run (auto)")
    axes[0][1].step(trials, quartiles[1], where="post", color=RED, label=f"random search, median of {RANDOM}")
    axes[0][1].fill_between(trials, quartiles[0], quartiles[2], step="post", color=RED, alpha=0.15, linewidth=0)
    axes[0][1].set(xlabel="trials", ylabel="hypervolume")
    axes[0][1].set_title("the hypervolume so far", fontsize=10)
    for axis in axes[0]:
        axis.grid(alpha=0.25)
        axis.legend(fontsize=8, frameon=False)
    path.parent.mkdir(exist_ok=True)
    figure.savefig(path.with_suffix(".png"), dpi=120)


def _trials(axis: Any, y: Array) -> None:
    kept = non_dominated(-y)
    front = y[kept][np.argsort(y[kept][:, 0])]
    front = front[np.all(front < REFERENCE, axis=1)]
    low = np.concatenate([front[:1, 0], front[:, 0], [REFERENCE[0]]])
    heights = np.concatenate([[REFERENCE[1]], front[:, 1], front[-1:, 1]])
    axis.fill_between(low, heights, REFERENCE[1], step="post", color=BLUE, alpha=0.15, linewidth=0,
                      label="dominated region: its area is the hypervolume")  # fmt: skip
    axis.step(low, heights, where="post", color=BLUE, linewidth=1)
    axis.plot(*y[~kept].T, "o", color=GREY, markersize=3.5, label="dominated trials")
    axis.plot(*front.T, "o", color=BLUE, markersize=5, label="Pareto front")
    axis.plot(*REFERENCE, "k*", markersize=9, label="reference point")
    axis.set(xlim=(0, 1.3 * REFERENCE[0]), ylim=(1, 9.5), xlabel="branin", ylabel="currin")
    axis.set_title("trials of one run near its Pareto front", fontsize=10)


if __name__ == "__main__":
    main()
