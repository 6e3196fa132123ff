"""The tables and the figure of the tuned networks."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib.axes import Axes

from benchmarks.first_order.plots import COLOURS, GREY, legend, panels, save
from benchmarks.records import machine, read, table

Runs = dict[str, np.ndarray]  # by method, validation errors in percent (runs, evaluations), NaN where it diverged
AFTER = (25, 50, 75, 100, 200)  # evaluations


def draw(file: Path) -> None:
    """Print and write the tables; plot errors over evaluations and, of one run, as a planar histogram."""
    runs = errors(read(file))
    rows = [summary(name, own) for name, own in runs.items()]
    table(file.with_name("networks.csv"), "Lowest validation error, mean ± standard error", rows, machine(file))
    figure, axes = panels(1, 3, (13, 3.6))
    colours = dict(zip((name for name in runs if name != "random"), COLOURS, strict=False)) | {"random": GREY}
    for name, own in runs.items():
        best = lowest(own)
        places = np.arange(1, best.shape[1] + 1)
        axes[0, 0].step(places, best.mean(0), where="post", color=colours[name], label=name)
        axes[0, 0].fill_between(places, best.min(0), best.max(0), step="post", color=colours[name], alpha=0.15, lw=0)
        axes[0, 1].plot(
            *by_tenth(np.isnan(own)), color=colours[name], marker="o", markersize=3, linewidth=1.3, label=name
        )
    low = min(np.nanmin(own) for own in runs.values())
    axes[0, 0].set(title="lowest validation error, %", xlabel="evaluations", ylim=(low - 2, 75))
    axes[0, 1].set(title="diverged, % of a tenth of the run", xlabel="evaluations", ylim=(0, None))
    histogram(axes[0, 2], next(iter(runs.values()))[0])
    axes[0, 2].set(title=f"{next(iter(runs))}, one run: validation error, %", xlabel="evaluations, as they ended")
    for axis in axes[0]:
        axis.grid(alpha=0.25)
    legend(axes[0, 0])
    save(figure, file.with_name("networks.png"))


def errors(rows: list[dict[str, str]]) -> Runs:
    """Return the runs by method, all as long as the shortest one."""
    found: dict[str, dict[str, list[float]]] = {}
    for row in rows:
        found.setdefault(row["method"], {}).setdefault(row["seed"], []).append(float(row["error"] or "nan"))
    shortest = min(len(run) for by_seed in found.values() for run in by_seed.values())
    return {name: np.array([run[:shortest] for run in by_seed.values()]) for name, by_seed in found.items()}


def lowest(own: np.ndarray) -> np.ndarray:
    """Return the lowest errors so far."""
    return np.minimum.accumulate(np.where(np.isnan(own), 90, own), axis=1)


def summary(name: str, own: np.ndarray) -> dict[str, str]:
    """Return a row of the table."""
    best, (runs, evaluations) = lowest(own), own.shape
    row = {"method": name, "runs": str(runs)}
    for after in (after for after in AFTER if after <= evaluations):
        spread = f" ± {best[:, after - 1].std(ddof=1) / np.sqrt(runs):.2f}" if runs > 1 else ""
        row[f"after {after}"] = f"{best[:, after - 1].mean():.2f}{spread}"
    quarters = np.array_split(np.isnan(own), 4, axis=1)
    return row | {"diverged, by quarter": ", ".join(f"{100 * part.mean():.0f}" for part in quarters) + "%"}


def by_tenth(flags: np.ndarray) -> tuple[list[float], list[float]]:
    """Return the middle of each tenth of the runs, and the percentage of flags in it."""
    tenths = np.array_split(np.arange(flags.shape[1]), 10)
    return [float(tenth.mean() + 1) for tenth in tenths], [float(100 * flags[:, tenth].mean()) for tenth in tenths]


def histogram(axis: Axes, run: np.ndarray) -> None:
    """Draw errors over the order of arrival as in the paper's figure 4; what diverged has the error of chance."""
    values, numbers = np.where(np.isnan(run), 90, run), np.arange(1, len(run) + 1)
    axis.hist2d(numbers, values, bins=(15, 23), range=((1, len(run)), (0, 92)), cmin=1, cmap="Blues")
    axis.step(numbers, np.minimum.accumulate(values), where="post", color="black", linewidth=1.2)
