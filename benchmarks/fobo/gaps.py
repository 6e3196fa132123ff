"""Tables and a figure of best values so far: a panel is a function in one number of dimensions.

The optimum is 0, so the best value is the optimality gap. Gaps below ``SOLVED`` are equal in ranks and comparisons:
how far a method refines a minimum that it has found depends on its tolerances.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata, wilcoxon

from benchmarks.first_order.plots import COLOURS, GREY, legend, panels, save
from benchmarks.fobo.functions import FUNCTIONS, OTHERS
from benchmarks.records import machine, table

Array = NDArray[np.float64]
Row = dict[str, str]
Panel = tuple[str, int]  # function, d
Curves = dict[int, Array]  # by seed, best values so far

SOLVED = 1e-8
SHOWN = (25, 50, 100)  # evaluations in the table
SURE = 0.05  # a smaller p of the test says that there is a difference
FEWEST = 6  # pairs, with which it can be so small
OURS = "fobo"
# colour, line and width: the paper's own are as in its figure, ours stand out
LOOKS = {
    "random": ("#222222", "-", 1.1),
    "lbfgs": (COLOURS[0], "-", 1.1),
    "lbfgs-r": (COLOURS[3], "-", 1.1),
    "bo": (COLOURS[1], ":", 1.4),
    "bo-q": (COLOURS[1], "-", 1.2),
    "fobo-paper": (COLOURS[2], ":", 1.4),
    "fobo-q-paper": (COLOURS[2], "-", 1.2),
    "gp": (COLOURS[6], "--", 1.2),
    "fobo": (COLOURS[6], "-", 2.2),
}
PAPER = {  # which line of the paper's figure ends lowest
    **{(name, 4): "fobo-q-paper" for name in FUNCTIONS},
    ("griewank", 16): "lbfgs", ("ackley", 16): "fobo-paper", ("rastrigin", 16): "fobo-paper",
}  # fmt: skip


def draw(file: Path, path: Path, runs: Sequence[Row]) -> None:
    """Print and write the tables of runs in a file, and draw the figure, under a path without suffix."""
    groups: dict[Panel, dict[str, list[Row]]] = {}
    for d in sorted({int(run["d"]) for run in runs}):
        for name in FUNCTIONS | OTHERS:
            own = [run for run in runs if (run["problem"], int(run["d"])) == (name, d)]
            for method in LOOKS:
                if group := [run for run in own if run["method"] == method]:
                    groups.setdefault((name, d), {})[method] = group
    all_curves = {panel: {name: curves(group) for name, group in own.items()} for panel, own in groups.items()}
    rows = [row for panel, own in groups.items() for row in lines(panel, own, all_curves[panel])]
    table(path.with_suffix(".csv"), "Mean optimality gap ± standard error", rows, machine(file))
    firsts = [first(panel, own) for panel, own in all_curves.items()]
    title = f"Who is first by the mean final gap, and {OURS} beside the best other one, run by run"
    table(path.with_name(f"{path.name}_first.csv"), title, firsts, machine(file))
    paint(path, all_curves)


def curves(group: Sequence[Row]) -> Curves:
    """Return the best values so far of the runs of a method."""
    return {int(run["seed"]): np.array([float(value) for value in run["best"].split()]) for run in group}


def lines(panel: Panel, groups: Mapping[str, Sequence[Row]], own: Mapping[str, Curves]) -> list[Row]:
    """Return the rows of a panel."""
    ranks = mean_ranks(own)
    rows = []
    for method, group in groups.items():
        values = np.array(list(own[method].values()))
        row = {"function": panel[0], "d": str(panel[1]), "method": method, "runs": str(len(group))}
        row |= {f"gap at {n}": shown(values[:, n - 1]) if n <= values.shape[1] else "" for n in SHOWN}
        row["mean rank"] = f"{ranks[method]:.2f}" if method in ranks else ""
        seconds = sum(float(run["seconds"]) for run in group) / sum(int(run["evaluations"]) for run in group)
        rows.append(row | {"seconds per suggestion": f"{seconds:.2g}"})
    return rows


def shown(gaps: Array) -> str:
    """Return the mean and its standard error."""
    error = np.std(gaps, ddof=1) / np.sqrt(len(gaps)) if len(gaps) > 1 else np.nan
    return f"{gaps.mean():.3g} ± {error:.1g}"


def mean_ranks(own: Mapping[str, Curves]) -> dict[str, float]:
    """Return the mean rank of each method's final gap among all, over the seeds that all have; none without any."""
    seeds = set.intersection(*(set(each) for each in own.values()))
    if not seeds:
        return {}
    final = np.array([[max(each[seed][-1], SOLVED) for each in own.values()] for seed in sorted(seeds)])
    return dict(zip(own, rankdata(final, axis=1).mean(axis=0).tolist(), strict=True))


def first(panel: Panel, own: Mapping[str, Curves]) -> Row:
    """Return who is first in a panel, and a paired comparison of ours with the best other method."""
    ends = {method: float(np.mean([curve[-1] for curve in each.values()])) for method, each in own.items()}
    winner = min(ends, key=lambda method: ends[method])
    row = {"function": panel[0], "d": str(panel[1]), "first": winner, "gap": f"{ends[winner]:.3g}"}
    row |= {"paper's first": PAPER.get(panel, ""), "best other": "", "its gap": "", f"{OURS}'s gap": ""}
    row |= {"lower, equal, higher": "", "Wilcoxon p": "", OURS: ""}
    if OURS not in own or len(own) == 1:
        return row
    other = min(ends.keys() - {OURS}, key=lambda method: ends[method])
    row |= {"best other": other, "its gap": f"{ends[other]:.3g}", f"{OURS}'s gap": f"{ends[OURS]:.3g}"}
    return row | compared(own[OURS], own[other])


def compared(ours: Curves, other: Curves) -> Row:
    """Return how often ours ends lower, and the two-sided signed-rank test on the logarithms of final gaps."""
    pairs = [(ours[seed][-1], other[seed][-1]) for seed in sorted(ours.keys() & other.keys())]
    if not pairs:
        return {}
    logs = np.log10(np.maximum(pairs, SOLVED))
    apart = logs[:, 0] - logs[:, 1]
    p = float(wilcoxon(apart).pvalue) if apart.any() else 1.0
    verdict = "tied" if p >= SURE else "ahead" if np.median(apart) < 0 else "behind"
    verdict = verdict if len(pairs) >= FEWEST else "too few runs"
    counts = [int(np.sum(np.sign(apart) == sign)) for sign in (-1, 0, 1)]
    return {"lower, equal, higher": " ".join(map(str, counts)), "Wilcoxon p": f"{p:.2g}", OURS: verdict}


def paint(path: Path, all_curves: Mapping[Panel, Mapping[str, Curves]]) -> None:
    """Paint mean gaps, a panel for each function and dimension."""
    dimensions = sorted({d for _, d in all_curves})
    names = list(dict.fromkeys(name for name, _ in all_curves))
    figure, axes = panels(len(dimensions), len(names), (4 * len(names), 3.2 * len(dimensions)))
    for (name, d), own in all_curves.items():
        axis = axes[dimensions.index(d)][names.index(name)]
        for method, each in own.items():
            mean = np.mean(list(each.values()), axis=0)
            colour, line, width = LOOKS[method]
            axis.plot(range(1, len(mean) + 1), mean, line, color=colour, linewidth=width, label=method)
        axis.set(yscale="log", xlabel="evaluations", ylabel="mean optimality gap")
        axis.set_ylim(bottom=max(SOLVED, axis.get_ylim()[0]))
        axis.set_title(f"{name.capitalize()}, d = {d}", fontsize=10)
        axis.grid(alpha=0.25, color=GREY)
    legend(axes[0][-1], outside=True)
    save(figure, path)
