"""Tables and figures of training curves: medians and quartiles over trials, with the final errors of the paper."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.records import machine, read, table

Array = NDArray[np.float64]
Row = dict[str, str]


def draw(file: Path, title: str, paper: Mapping[str, str]) -> None:
    """Print the table of a file of rows, and plot the figure if Matplotlib is installed."""
    rows = read(file)
    methods = [name for name in paper if any(own["method"] == name for own in rows)]
    curves = {name: {cell: cells(rows, name, cell) for cell in ("error", "lambda_r", "ones")} for name in methods}
    settings = f"{title}; {rows[0]['iterations']} iterations, learning rate {rows[0]['learning rate']}"
    lines = [line(name, curves[name], paper[name]) for name in methods]
    table(file.with_name(f"{file.stem}_summary.csv"), settings, lines, machine(file))
    if find_spec("matplotlib"):
        paint(file.with_suffix(""), cells(rows, methods[0], "after")[0], curves, title, paper)


def cells(rows: Sequence[Row], method: str, name: str) -> Array:
    """Return the numbers of a column for all trials of a method, (trials, test evaluations)."""
    return np.array([[float(value) for value in own[name].split()] for own in rows if own["method"] == method])


def line(method: str, own: dict[str, Array], paper: str) -> Row:
    """Return a method's row of the table."""
    final, reference = own["error"][:, -1], own["lambda_r"]
    adapted = not np.isnan(reference).any()
    return {
        "method": method, "trials": str(len(final)), "test error (%): median (quartiles)": quartiles(final, 3),
        "mean": f"{final.mean():.3f}", "paper, 30 trials": paper, "ones": quartiles(own["ones"][:, -1], 0),
        "lambda_r at the end": quartiles(reference[:, -1], 1) if adapted else "",
        "mean lambda_r at the end": f"{reference[:, -1].mean():.1f}" if adapted else "",
        "greatest median lambda_r": f"{np.median(reference, axis=0).max():.1f}" if adapted else "",
    }  # fmt: skip


def quartiles(values: Array, digits: int) -> str:
    """Return the median and the quartiles."""
    low, middle, high = np.percentile(values, [25, 50, 75])
    return f"{middle:.{digits}f} ({low:.{digits}f}, {high:.{digits}f})"


def paint(path: Path, after: Array, curves: dict[str, dict[str, Array]], title: str, paper: Mapping[str, str]) -> None:
    """Plot the test error and lambda_r over steps: medians, with quartiles as bands."""
    from benchmarks.first_order.plots import COLOURS, GREY, legend, panels, save

    figure, axes = panels(1, 2, (11, 3.8))
    for colour, (method, own) in zip(COLOURS, curves.items(), strict=False):
        for axis, values in zip(axes[0], (own["error"], own["lambda_r"]), strict=True):
            if not np.isnan(values).any():
                low, middle, high = np.percentile(values, [25, 50, 75], axis=0)
                axis.plot(after, middle, color=colour, linewidth=1.4, label=method)
                axis.fill_between(after, low, high, color=colour, alpha=0.2, linewidth=0)
        axes[0][0].plot(after[-1], float(paper[method].split()[0]), "_", color=colour, markersize=12, markeredgewidth=2)
    for axis, name in zip(axes[0], ("test error (%); dashes: the paper's at its end", r"$\lambda_r$"), strict=True):
        axis.set(xscale="log", yscale="log", xlabel="weight updates", ylabel=name)
        axis.grid(alpha=0.25, color=GREY)
    figure.suptitle(title, fontsize=10)
    legend(axes[0][0])
    save(figure, path)
