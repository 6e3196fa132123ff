"""Tables and picture of the finished runs: regret over evaluations, and seconds per suggestion next to the paper's.

Simple regret is the maximum of the task minus the best value so far. Its logarithm (base 10) is averaged over tasks,
with standard errors. For each acquisition function only tasks count that all optimizers have finished.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.acquisition.files import ACQUISITIONS, OPTIMIZERS, Files
from benchmarks.acquisition.searches import BATCH
from benchmarks.acquisition.trials import NAMES
from benchmarks.records import machine, read, table

PICTURE = Path(__file__).parents[2] / "docs" / "figures" / "acquisition-optimizers.png"
LABELS = {
    "random": "random search",
    "direct": "DIRECT",
    "bfgs": "GD (BFGS)",
    "adam": "SGD (Adam)",
    "nearby": "control: nearby",
}
COLOURS = {"random": "#999999", "direct": "#b8963e", "bfgs": "#2c8a4b", "adam": "#d6348f", "nearby": "#555555"}
SHADES = {"ei": "#3b6ea5", "ucb": "#c4603c", "pi": "#5a9367", "sr": "#8a6bb1", "es": "#4f9da6"}
WITHOUT_GRADIENTS, WITH_GRADIENTS = ("random", "direct"), ("bfgs", "adam")
LEAST = 1e-8  # smaller regrets count as this
PAPER = {  # table 2: mean and standard deviation of seconds
    "random": {"ei": (23.9, 2.3), "ucb": (17.8, 1.6), "pi": (20.1, 1.9), "sr": (20.4, 1.9)},
    "direct": {"ei": (19.8, 1.5), "ucb": (21.5, 1.9), "pi": (21.0, 1.7), "sr": (20.2, 1.5)},
    "bfgs": {"ei": (19.9, 9.0), "ucb": (18.2, 1.4), "pi": (17.6, 7.8), "sr": (13.7, 1.2)},
    "adam": {"ei": (17.6, 9.2), "ucb": (13.6, 5.8), "pi": (15.6, 6.0), "sr": (15.4, 5.9)},
    "nearby": {},
}

Curves = dict[str, dict[str, np.ndarray]]  # acquisition -> optimizer -> log10 regret (tasks, suggestions + 1)


def summarise(files: Files, ending: str) -> None:
    """Print and write both tables and the verdict, and draw figure 2."""
    rows = read(files.trials)
    if not rows:
        raise SystemExit(f"{files.trials} has no runs yet: run without --draw first")
    measured_on, folder = machine(files.trials), files.trials.parent
    regrets = curves(rows, {int(row["task"]): float(row["maximum"]) for row in read(files.tasks)})
    note = "seconds of a core per suggested batch; the paper's, of about 20 s, in brackets"
    table(folder / f"acquisition_table2{ending}.csv", f"Table 2: {note}", times(rows), measured_on)
    if not regrets:
        raise SystemExit("no acquisition function has a task that all optimizers have finished")
    title = "Figure 2: log10 regret at the end, mean over tasks and standard error"
    table(folder / f"acquisition_optimizers{ending}.csv", title, ends(regrets), measured_on)
    print("\nExpected: both gradient methods end below random search and DIRECT.")
    print(*(verdict(name, of) for name, of in regrets.items()), sep="\n")
    draw(regrets, folder / "acquisition_optimizers_short.png" if ending else PICTURE)


def curves(rows: list[dict[str, str]], maxima: Mapping[int, float]) -> Curves:
    """Return the regrets of tasks that all optimizers have finished."""
    best = {(row["acquisition"], row["optimizer"], int(row["task"])): _cells(row["best"]) for row in rows}
    tops = {
        task: max(top, *(each[-1] for (*_, other), each in best.items() if other == task))
        for task, top in maxima.items()
    }
    found: Curves = {}
    for name in ACQUISITIONS:
        tasks = [task for task in sorted(maxima) if all((name, kind, task) in best for kind in OPTIMIZERS)]
        if tasks:
            found[name] = {
                kind: np.log10(np.maximum([tops[task] - best[name, kind, task] for task in tasks], LEAST))
                for kind in OPTIMIZERS
            }
    return found


def times(rows: list[dict[str, str]]) -> list[dict[str, str]]:
    """Return table 2."""
    lines = []
    for kind in OPTIMIZERS:
        line = {"optimizer": LABELS[kind]}
        for name in ACQUISITIONS:
            of = [row for row in rows if (row["acquisition"], row["optimizer"]) == (name, kind)]
            taken = np.concatenate([_cells(row["seconds"]) for row in of]) if of else np.array([np.nan])
            mean, deviation = PAPER[kind].get(name, (np.nan, np.nan))
            paper = f" ({mean:.1f} +- {deviation:.1f})" if name in PAPER[kind] else ""
            line[NAMES[name]] = f"{taken.mean():.2f} +- {taken.std():.2f}{paper}" if of else "-"
        lines.append(line)
    return lines


def ends(regrets: Curves) -> list[dict[str, str]]:
    """Return the final log10 regret of each acquisition function and optimizer."""
    lines = []
    for name, of in regrets.items():
        line = {"acquisition": NAMES[name], "tasks": str(len(of["random"])), "at the start": _mean(of["random"][:, 0])}
        lines.append(line | {LABELS[kind]: _mean(of[kind][:, -1]) for kind in OPTIMIZERS})
    return lines


def verdict(name: str, of: Mapping[str, np.ndarray]) -> str:
    """Return whether both gradient methods end below both others, the smallest margin, and that of the control."""
    final = {kind: values[:, -1] for kind, values in of.items()}
    pairs = [(gradient, other) for gradient in WITH_GRADIENTS for other in WITHOUT_GRADIENTS]
    failing = [pair for pair in pairs if not final[pair[0]].mean() < final[pair[1]].mean()]
    closest = max(pairs, key=lambda pair: (final[pair[0]] - final[pair[1]]).mean())
    lines = [f"{NAMES[name]}: {'DOES NOT HOLD' if failing else 'holds'}"]
    for a, b in [*(failing or [closest]), *((gradient, "nearby") for gradient in WITH_GRADIENTS)]:
        lines.append(f"    {LABELS[a]} minus {LABELS[b]}: {_mean(final[a] - final[b])}, paired over tasks")
    return "\n".join(lines)


def draw(regrets: Curves, path: Path) -> None:
    """Draw each acquisition function with its best optimizer, then all optimizers of each."""
    from benchmarks.first_order.plots import panels, save

    figure, axes = panels(2, 3, (12, 7))
    flat = axes.ravel()
    for name, of in regrets.items():
        kind = min(OPTIMIZERS[:4], key=lambda kind: of[kind][:, -1].mean())
        _line(flat[0], of[kind], f"{NAMES[name]}, {LABELS[kind]}", SHADES[name])
    flat[0].set_title("each acquisition with its best optimizer", fontsize=10.5)
    for axis, (name, of) in zip(flat[1:], regrets.items(), strict=False):
        for kind in OPTIMIZERS:
            _line(axis, of[kind], LABELS[kind], COLOURS[kind], ":" if kind == "nearby" else "-")
        axis.set_title(f"{NAMES[name]}, {len(of['random'])} tasks", fontsize=10.5)
    used = flat[: 1 + len(regrets)]
    bottom = min(axis.get_ylim()[0] for axis in used)
    top = max(axis.get_ylim()[1] for axis in used)
    for axis in used:
        axis.set(xlabel="evaluations", ylim=(bottom, top))
        axis.grid(alpha=0.25)
        axis.legend(fontsize=8, frameon=False, loc="lower left")
    for axis in axes[:, 0]:
        axis.set_ylabel("log$_{10}$ regret, mean and standard error")
    for axis in flat[len(used) :]:
        axis.set_axis_off()
    path.parent.mkdir(exist_ok=True)
    save(figure, path)


def _line(axis: Any, values: np.ndarray, label: str, colour: str, style: str = "-") -> None:
    mean, error = values.mean(axis=0), _error(values)
    evaluations = BATCH * np.arange(1, len(mean) + 1)
    if style == "-":
        axis.fill_between(evaluations, mean - error, mean + error, color=colour, alpha=0.2, linewidth=0)
    axis.plot(evaluations, mean, style, color=colour, linewidth=1.7, label=label)


def _mean(values: np.ndarray) -> str:
    return f"{values.mean():.2f} +- {float(_error(values)):.2f}"


def _error(values: np.ndarray) -> np.ndarray:
    return np.asarray(
        values.std(axis=0, ddof=1) / np.sqrt(len(values)) if len(values) > 1 else np.full_like(values[0], np.nan)
    )


def _cells(cell: str) -> np.ndarray:
    return np.array(cell.split(), dtype=float)
