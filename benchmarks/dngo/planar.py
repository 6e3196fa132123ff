"""Figures of simulated runs: the incumbent, the utilization of the workers, and figure 5(a) of the paper.

Figure 5(a) is a two-dimensional histogram: values over the order of arrival, the shade of a bin its count, failures at
zero, the value of the incumbent in black.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LogNorm

from benchmarks.dngo.captions import BEST_KNOWN
from benchmarks.dngo.simulated_runs import Run
from benchmarks.first_order.plots import COLOURS, GREY, legend, panels, save


def draw(runs: Sequence[Run], path: Path) -> None:
    """Draw the incumbent over evaluations and days, and the share of idle workers; a line for each run."""
    figure, axes = panels(1, 3, (13, 3.6))
    named: set[str] = set()
    for run, colour in zip(runs, colours(run.contender for run in runs), strict=True):
        label = None if run.contender in named else run.contender
        named.add(run.contender)
        best, style = run.column("best_true"), {"color": colour, "linewidth": 1.2, "label": label}
        axes[0, 0].step(np.arange(1, len(best) + 1), best, where="post", **style)
        axes[0, 1].step(run.column("end") / 24, best, where="post", **style)
        axes[0, 2].step(*idle_by_hour(run), where="post", **style)
    for axis, title, x in zip(
        axes[0],
        ("best so far, BLEU-4 without noise", "the same, over time", "share of idle workers, by the hour"),
        ("evaluations", "simulated days", "simulated days"),
        strict=True,
    ):
        axis.set_title(title, fontsize=10)
        axis.set_xlabel(x, fontsize=8)
        axis.grid(alpha=0.25)
    for axis in axes[0, :2]:
        axis.axhline(BEST_KNOWN, color="black", linewidth=0.8, linestyle=":")
        axis.set_ylim(BEST_KNOWN - 9, BEST_KNOWN + 0.4)
    axes[0, 2].set(yscale="log", ylim=(1e-7, 1))
    legend(axes[0, 2], outside=True)
    save(figure, path)


def idle_by_hour(run: Run) -> tuple[np.ndarray, np.ndarray]:
    """Return the start of each hour in days, and the share of its worker-hours that was idle."""
    times, busy, available = run.occupation()
    hours = np.arange(int(times[-1]) + 1.0)

    def worked(counts: np.ndarray) -> np.ndarray:
        total = np.concatenate([[0.0], np.cumsum(np.diff(times) * counts[:-1])])
        return np.diff(np.interp([*hours, times[-1]], times, total))

    return hours / 24, worked(available - busy) / np.maximum(worked(available), 1e-9)


def draw_histograms(runs: Sequence[Run], path: Path) -> None:
    """Draw the planar histogram of each contender's first run."""
    first = {run.contender: run for run in reversed(runs)}
    shown = [first[name] for name in sorted(first)]
    figure, axes = panels(1, len(shown), (3.6 * len(shown) + 0.6, 3.6))
    for run, axis in zip(shown, axes[0], strict=True):
        image = histogram(axis, run)
        axis.set_title(run.contender, fontsize=10)
        axis.set_xlabel("evaluations, as they ended", fontsize=8)
    axes[0, 0].set_ylabel("validation BLEU-4; 0: failed", fontsize=8)
    figure.colorbar(image, ax=axes[0, -1], label="count", ticks=[1, 3, 10, 30, 100], format="%d")
    save(figure, path)


def histogram(axis: Axes, run: Run) -> Any:
    """Draw values over the order of arrival."""
    values, best = np.nan_to_num(run.column("value")), run.column("best")
    numbers = np.arange(1, len(values) + 1)
    shades = LogNorm(0.3, len(values) / 30)  # from 0.3, so that a single value is visible
    area = ((1, len(values)), (0, 26))
    *_, image = axis.hist2d(numbers, values, bins=(30, 52), range=area, cmin=1, cmap="Blues", norm=shades)
    axis.step(numbers, best, where="post", color="black", linewidth=1.2)
    return image


def colours(names: Iterable[str]) -> list[str]:
    """Return a colour for each name, the same for the same one; random is grey."""
    listed = list(names)
    others = [name for name in dict.fromkeys(listed) if name != "random"]
    table = dict(zip(others, COLOURS * len(others), strict=False)) | {"random": GREY}
    return [table[name] for name in listed]
