"""The picture of what has been measured so far: seconds over n, one by one and in batches, and whole runs."""

import csv
from pathlib import Path
from typing import Any

from benchmarks.first_order.plots import panels, save
from benchmarks.report import RESULTS

STYLES = {
    "Sonde": ("#3b6ea5", "o-"), "Sonde joint": ("#3b6ea5", "o-"), "Sonde greedy": ("#3b6ea5", "o:"),
    "Optuna": ("#c4603c", "s--"), "BoTorch": ("#5a9367", "^--"),
}  # fmt: skip


def draw(suffix: str, paths: list[Path]) -> None:
    """Draw the tables that are there, to each of the paths."""
    figure, axes = panels(1, 3, (12, 3.6))
    short, long, batches, whole = (read(f"latency_{name}{suffix}") for name in ("one", "large", "batch", "run"))
    _over_n(axes[0][0], short + long, ("Sonde", "Optuna", "BoTorch"), "one suggestion, q = 1")
    _over_n(axes[0][1], batches, ("Sonde joint", "Sonde greedy", "BoTorch"), "a batch, q = 8")
    _bars(axes[0][2], whole)
    for path in paths:
        path.parent.mkdir(exist_ok=True)
        figure.savefig(path.with_suffix(".png"), dpi=120)
    save(figure, paths[0])


def read(name: str) -> list[dict[str, str]]:
    """Return the rows of a table; none where it was not measured."""
    path = RESULTS / f"{name}.csv"
    if not path.exists():
        return []
    with path.open(newline="") as file:
        return list(csv.DictReader(line for line in file if not line.startswith("#")))


def _over_n(axis: Any, rows: list[dict[str, str]], names: tuple[str, ...], title: str) -> None:
    for name in names:
        measured = [(int(row["n"]), float(row[f"{name} (s)"])) for row in rows if row.get(f"{name} (s)")]
        if measured:
            colour, style = STYLES[name]
            axis.plot(*zip(*measured, strict=True), style, color=colour, markersize=4, linewidth=1.5, label=name)
    axis.set(xscale="log", yscale="log", xlabel="n", ylabel="seconds")
    axis.set_title(title, fontsize=10)
    axis.grid(alpha=0.25)
    if rows:
        ticks = sorted({int(row["n"]) for row in rows})
        axis.set_xticks(ticks, [str(n) for n in ticks], fontsize=8)
        axis.minorticks_off()
        axis.legend(fontsize=8, frameon=False)


def _bars(axis: Any, rows: list[dict[str, str]]) -> None:
    axis.set_title(f"a run of {rows[0]['trials']} trials, imports included" if rows else "a run", fontsize=10)
    names = ("Sonde", "Sonde again", "Optuna")
    means = [sum(float(row[f"{name} (s)"]) for row in rows) / len(rows) if rows else 0.0 for name in names]
    colours = [STYLES[name.split()[0]][0] for name in names]
    bars = axis.barh(names, means, color=colours)
    axis.bar_label(bars, fmt="%.3g s", padding=3)
    axis.invert_yaxis()
    axis.margins(x=0.2)
    axis.set_xlabel("seconds, mean over seeds")
