"""Ranks of the final values on the runs that all contenders have, and a paired test of the first against each.

A *case* is a problem of n bits with a seed: there the contenders' best values are ranked, 1 the highest, equal ones
sharing theirs. A *group* is the cases of a problem of n bits. Every case counts once in a mean rank, and every group
once in the test, since seeds of one problem are not independent evidence about searches.
"""

from collections.abc import Mapping, Sequence
from itertools import cycle, product
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata, wilcoxon

from benchmarks.arena.ranking import holm
from benchmarks.first_order.plots import COLOURS, GREY, legend, panels, save
from benchmarks.igo.problems import NAMES
from benchmarks.records import machine, table

Array = NDArray[np.float64]
Row = dict[str, str]
Group = tuple[int, int]  # n, problem

CHECKPOINTS = (100, 200, 500, 1000, 2000, 5000)  # calls
DIGITS = 10  # sums of the same terms in another order are equal


def improvements(values: Sequence[float]) -> str:
    """Return a run as one cell: ``call:value`` wherever the best value so far rose."""
    best, kept = -np.inf, []
    for call, value in enumerate(values, 1):
        if value > best:
            best = value
            kept.append(f"{call}:{value:.{DIGITS}g}")
    return " ".join(kept)


def best_at_checkpoints(cell: str) -> Array:
    """Return the best value of a run after each of ``CHECKPOINTS`` calls."""
    pairs = [pair.split(":") for pair in cell.split()]
    calls, values = np.array([int(call) for call, _ in pairs]), np.array([float(value) for _, value in pairs])
    return values[np.searchsorted(calls, CHECKPOINTS, side="right") - 1]


def shared(runs: Sequence[Row]) -> tuple[list[str], dict[Group, Array]]:
    """Return the contenders and, by group, their best values (seeds, contenders, CHECKPOINTS) on shared cases."""
    names = list(dict.fromkeys(run["contender"] for run in runs))
    cases: dict[tuple[Group, int], dict[str, Array]] = {}
    for run in runs:
        case = (int(run["n"]), int(run["problem"])), int(run["seed"])
        cases.setdefault(case, {})[run["contender"]] = best_at_checkpoints(run["best"])
    groups: dict[Group, list[list[Array]]] = {}
    for (group, _), own in sorted(cases.items(), key=lambda item: item[0]):
        if len(own) == len(names):
            groups.setdefault(group, []).append([own[name] for name in names])
    return names, {group: np.array(values) for group, values in groups.items()}


def draw(file: Path, path: Path, runs: Sequence[Row]) -> None:
    """Print and write the tables of the runs in a file, and plot the figure, under a path without suffix."""
    names, values = shared(runs)
    if not values:
        print(f"no case has been run by all of {', '.join(names)} yet: there is nothing to compare")
        return
    ranks = {group: rankdata(-own, axis=1) for group, own in values.items()}
    counts = sorted({len(own) for own in values.values()})
    title = f"{len(values)} problems and sizes, {' to '.join(map(str, {counts[0]: 0, counts[-1]: 0}))} runs of each"
    seconds = {name: np.median([float(run["seconds"]) for run in runs if run["contender"] == name]) for name in names}
    ranking = standings(names, values, ranks)
    rows = [row | {"processor seconds per run": f"{seconds[row['contender']]:.2g}"} for row in ranking]
    table(path.with_suffix(".csv"), f"Ranks of the best value: {title}", rows, machine(file))
    table(path.with_name(f"{path.name}_values.csv"), "Mean best values", finals(names, values), machine(file))
    paint(path, names, np.concatenate(list(ranks.values())).mean(axis=0))


def standings(names: Sequence[str], values: Mapping[Group, Array], ranks: Mapping[Group, Array]) -> list[Row]:
    """Return the contenders by mean final rank; p is of the first against each, over groups, and with Holm's factor."""
    mean = np.concatenate(list(ranks.values()))[:, :, -1].mean(axis=0)
    by_group = np.array([own[:, :, -1].mean(axis=0) for own in ranks.values()])
    firsts = np.sum([leads(own) for own in values.values()], axis=0)
    order = np.argsort(mean, kind="stable").tolist()
    p = [signed_rank(by_group[:, order[0]] - by_group[:, other]) for other in order[1:]]
    tests = [("", ""), *((f"{raw:.2g}", f"{held:.2g}") for raw, held in zip(p, holm(p), strict=True))]
    return [
        {
            "contender": names[i],
            "mean rank": f"{mean[i]:.2f}",
            "first or tied": f"{firsts[i]} of {len(values)}",
            "Wilcoxon p": raw,
            "Holm": held,
        }
        for i, (raw, held) in zip(order, tests, strict=True)
    ]


def leads(values: Array) -> NDArray[np.bool_]:
    """Return which contenders have the highest mean final value of a group, (contenders,)."""
    final = values[:, :, -1].mean(axis=0)
    return np.isclose(final, final.max(), rtol=10.0**-DIGITS, atol=0.0)


def signed_rank(apart: Array) -> float:
    """Return the p-value of the two-sided signed-rank test."""
    return float(wilcoxon(apart).pvalue) if apart.any() else 1.0


def finals(names: Sequence[str], values: Mapping[Group, Array]) -> list[Row]:
    """Return the mean final values, a row for each group; the highest have a star."""
    rows = []
    for (n, number), own in sorted(values.items()):
        row = {"n": str(n), "problem": f"{number} {NAMES[number]}", "runs": str(len(own))}
        means = zip(names, own[:, :, -1].mean(axis=0), leads(own), strict=True)
        rows.append(row | {name: f"{mean:.5g}{'*' if lead else ''}" for name, mean, lead in means})
    return rows


def paint(path: Path, names: Sequence[str], ranks: Array) -> None:
    """Plot mean ranks (contenders, CHECKPOINTS) over calls."""
    figure, axes = panels(1, 1, (6.5, 3.6))
    axis = axes[0][0]
    looks = cycle(product(("-", "--", ":"), COLOURS))
    styles = dict(zip(names, looks, strict=False))
    for i in np.argsort(ranks[:, -1], kind="stable"):
        line, colour = styles[names[i]]
        axis.plot(CHECKPOINTS, ranks[i], line, marker="o", markersize=3, color=colour, linewidth=1.3, label=names[i])
    axis.set(xscale="log", xlabel="calls", ylabel="mean rank of the best value")
    axis.set_xticks(CHECKPOINTS, [str(calls) for calls in CHECKPOINTS])
    axis.minorticks_off()
    axis.invert_yaxis()
    axis.grid(alpha=0.25, color=GREY)
    legend(axis, outside=True)
    save(figure, path)
