"""Tables and figures of first hitting times: medians and quartiles of the runs of an algorithm at each n.

A run that was stopped counts as longer than any that was not. A quartile that falls on such runs is written as
"> calls", and drawn open at the calls where they were stopped.
"""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from matplotlib.axes import Axes

from benchmarks.first_order.plots import COLOURS, GREY, legend, panels, save
from benchmarks.igo.hitting import ALPHAS, COMPARED, FUNCTIONS
from benchmarks.records import machine, table

Row = dict[str, str]
Key = tuple[str, int, str]  # function, n, algorithm

TITLES = {"onemax": "OneMax", "leadingones": "LeadingOnes"}
LABELS = {  # by figure, of its algorithms
    1: dict(zip(COMPARED, (r"PBIL-$\lambda$", r"PBIL-$\epsilon$", "cGA, $n^{-1}$", "cGA, $n^{-1/2}$"), strict=True)),
    4: {name: rf"$\alpha = {alpha:g}$" for alpha, name in ALPHAS.items()},
}


class Quartiles(NamedTuple):
    """Calls that a quarter, half and three quarters of the runs needed; ``known`` says which ones were reached."""

    calls: tuple[float, float, float]
    known: tuple[bool, bool, bool]

    def shown(self, unit: float = 1.0, digits: int = 4) -> list[str]:
        """Return them in multiples of a unit."""
        pairs = zip(self.calls, self.known, strict=True)
        return [f"{'' if known else '> '}{_rounded(calls / unit, digits)}" for calls, known in pairs]


def draw(file: Path, path: Path, rows: Sequence[Row], figures: Sequence[int]) -> None:
    """Print and write the tables of the runs in a file, and plot the figures, under a path without suffix."""
    groups: dict[Key, list[Row]] = {}
    for row in sorted(rows, key=lambda row: int(row["n"])):
        groups.setdefault((row["function"], int(row["n"]), row["algorithm"]), []).append(row)
    for figure in figures:
        own = {
            key: groups[key]
            for function in FUNCTIONS
            for n in sorted({n for _, n, _ in groups})
            for algorithm in LABELS[figure]
            if (key := (function, n, algorithm)) in groups
        }
        if own:
            target, title = path.with_name(f"{path.name}_figure{figure}.csv"), f"Figure {figure}: first hitting times"
            table(target, title, hitting_lines(own) if figure == 1 else relative_lines(own), machine(file))
            paint(target, {key: quartiles(group) for key, group in own.items()}, figure)


def quartiles(group: Sequence[Row]) -> Quartiles:
    """Return the quartiles of the calls of runs, where stopped ones are longer than all others."""
    ends = sorted((row["found"] != "1", int(row["calls"])) for row in group)
    calls, found = np.array([calls for _, calls in ends]), sum(not stopped for stopped, _ in ends)
    positions = [share * (len(calls) - 1) for share in (0.25, 0.5, 0.75)]
    known = [math.ceil(position) < found for position in positions]
    reached = np.interp(positions, np.arange(len(calls)), calls)
    bound = calls[found:].min() if found < len(calls) else np.inf  # where the first of them was stopped
    values = [float(value) if sure else float(bound) for value, sure in zip(reached, known, strict=True)]
    return Quartiles((values[0], values[1], values[2]), (known[0], known[1], known[2]))


def hitting_lines(groups: dict[Key, list[Row]]) -> list[Row]:
    """Return the rows of figure 1."""
    return [
        described(key, group)
        | dict(zip(("lower quartile", "median", "upper quartile"), quartiles(group).shown(), strict=True))
        | {"largest generation": f"{np.median([int(row['samples']) for row in group]):.0f}"}
        | {"seconds a run": f"{np.median([float(row['seconds']) for row in group]):.2g}"}
        for key, group in groups.items()
    ]


def relative_lines(groups: dict[Key, list[Row]]) -> list[Row]:
    """Return the rows of figure 4: quartiles over the best median."""
    all_quartiles = {key: quartiles(group) for key, group in groups.items()}
    names = {name: f"{alpha:g}" for alpha, name in ALPHAS.items()}
    rows = []
    for key, group in groups.items():
        shown = all_quartiles[key].shown(best(all_quartiles, key), 3)
        row = described(key, group) | {"alpha": names[key[2]], "median calls": all_quartiles[key].shown()[1]}
        rows.append(row | dict(zip(("lower quartile", "median / best", "upper quartile"), shown, strict=True)))
    return rows


def described(key: Key, group: Sequence[Row]) -> Row:
    """Return the first cells of a row."""
    function, n, algorithm = key
    row = {"function": function, "n": str(n), "algorithm": algorithm, "runs": str(len(group))}
    return row | {"found": str(sum(row["found"] == "1" for row in group))}


def best(all_quartiles: dict[Key, Quartiles], key: Key) -> float:
    """Return the best median of all algorithms for the same function and n."""
    return min(each.calls[1] for other, each in all_quartiles.items() if other[:2] == key[:2] and each.known[1])


def paint(path: Path, all_quartiles: dict[Key, Quartiles], figure: int) -> None:
    """Plot figure 1, calls, or figure 4, calls over the best median, next to its table."""
    picture, axes = panels(1, len(FUNCTIONS), (9.5, 3.6))
    units = {key: best(all_quartiles, key) if figure == 4 else 1.0 for key in all_quartiles}
    for axis, function in zip(axes[0], FUNCTIONS, strict=True):
        for (name, label), colour, marker in zip(LABELS[figure].items(), COLOURS, "o^sDvP", strict=False):
            own = {key: each for key, each in all_quartiles.items() if (key[0], key[2]) == (function, name)}
            if own:
                _line(axis, own, np.array([units[key] for key in own]), color=colour, marker=marker, label=label)
        axis.set(xscale="log", yscale="log", xlabel="n", ylabel="calls / best median" if figure == 4 else "calls")
        axis.set_title(TITLES[function], fontsize=10)
        axis.grid(alpha=0.25, color=GREY)
    legend(axes[0][-1], outside=True)
    save(picture, path)


def _line(axis: Axes, own: dict[Key, Quartiles], units: np.ndarray, *, color: str, marker: str, label: str) -> None:
    sizes = np.array([n for _, n, _ in own])
    low, middle, high = np.array([each.calls for each in own.values()]).T / units
    open_ = ~np.array([each.known[1] for each in own.values()])
    look = {"color": color, "marker": marker, "markersize": 4}
    axis.fill_between(sizes, low, high, color=color, alpha=0.15, linewidth=0)
    axis.plot(sizes, middle, linewidth=1.3, label=label, **look)
    axis.plot(sizes[open_], middle[open_], linestyle="", markerfacecolor="white", **look)


def _rounded(value: float, digits: int) -> str:
    return f"{value:.0f}" if value >= 10 ** (digits - 1) else f"{value:.{digits}g}"
