"""Figure 4 and table 1: beside GPyTorch, in the same run, in float64, each in a process of its own with one thread.

GPyTorch has kernels of values and gradients for RBF, Matern-5/2 and polynomials, and forms the whole n (d + 1) square
matrix; we multiply by ``ValueGradientGram``. Then every kernel family of the paper: the path that Sonde takes, how its
time grows with d and n, and whether GPyTorch has it. The full run needs about 12 GB of memory for GPyTorch at d = 16;
``--short`` takes a minute.
"""

import sys
from typing import Any

import jax
import jax.numpy as jnp

from benchmarks.first_order import one_product
from benchmarks.first_order.data import points
from benchmarks.first_order.plots import lines, panels, save
from benchmarks.first_order.problems import families
from benchmarks.first_order.timing import seconds, slope
from benchmarks.machine import use_one_core
from benchmarks.report import report
from sonde.kernels import GradientGram

N = 1024
LARGEST = 16  # inputs for GPyTorch: 2.4 GB of matrix, and several of that size at once
TARGET = 500  # times faster than GPyTorch, RBF, n = 1024, d = 16

GPYTORCH = {"RBF": "yes", "Matern-5/2": "yes", "polynomial": "yes"}


def compare(short: bool) -> list[dict[str, Any]]:
    """Return one row for each kernel and d."""
    n = 256 if short else N
    rows = []
    for name in ("RBF", "Matern-5/2", "polynomial"):
        for d in (1, 4, 16, 64) if short else (1, 2, 4, 8, 16, 32, 64, 128, 256):
            ours = one_product.run("sonde", name, n, d, rounds=15)
            rounds = 1 if n * d > 2048 else 3
            theirs = one_product.run("gpytorch", name, n, d, rounds=rounds) if d <= LARGEST else None
            rows.append(_row(name, n, d, ours, theirs))
    return rows


def _row(name: str, n: int, d: int, ours: dict[str, Any], theirs: dict[str, Any] | None) -> dict[str, Any]:
    row = {"kernel": name, "n": n, "d": d, "Sonde (s)": ours["seconds"], "Sonde (MB)": ours["memory"] / 1e6}
    if theirs is None:
        return {**row, "GPyTorch (s)": "", "GPyTorch (MB)": "", "ratio": "", "difference": ""}
    scale = max(abs(value) for value in theirs["sample"])
    apart_by = max(abs(a - b) for a, b in zip(ours["sample"], theirs["sample"], strict=True)) / scale
    return {
        **row,
        "GPyTorch (s)": theirs["seconds"],
        "GPyTorch (MB)": theirs["memory"] / 1e6,
        "ratio": theirs["seconds"] / ours["seconds"],
        "difference": apart_by,
    }


def table(short: bool) -> list[dict[str, Any]]:
    """Return one row for each kernel family: its path and the slopes of its time in d and n."""
    n, sizes = (32, [16, 64, 256]) if short else (64, [16, 32, 64, 128, 256, 512, 1024])
    counts = [16, 64, 256] if short else [32, 64, 128, 256, 512]
    over_d = {d: families(d) for d in sizes}
    at_16 = families(16)
    rows = []
    for name in at_16:
        by_d = [_seconds(over_d[d][name], n, d) for d in sizes]
        by_n = [_seconds(at_16[name], own, 16) for own in counts]
        rows.append(
            {
                "kernel": name,
                "path": ", ".join(GradientGram(at_16[name], points(2, 16)).paths),
                "slope in d": slope(sizes, by_d),
                "slope in n": slope(counts, by_n),
                f"seconds, n = {n}, d = {sizes[-1]}": by_d[-1],
                "paper": "O(n^2 d)",
                "GPyTorch": GPYTORCH.get(name, "no"),
            }
        )
    return rows


def _seconds(kernel: Any, n: int, d: int) -> float:
    x, v = jnp.asarray(points(n, d)), jnp.asarray(points(n, d, 1))
    operator = GradientGram(kernel, x)
    return seconds(lambda: operator.mv(v))


def main() -> None:
    use_one_core()
    jax.config.update("jax_enable_x64", True)
    short = "--short" in sys.argv
    rows = compare(short)
    path = report("first_order_peers", f"One product with values and gradients, n = {rows[0]['n']}", rows)
    for row in rows:
        if row["kernel"] == "RBF" and row["d"] == 16:
            reached = "yes" if row["ratio"] >= TARGET else "NO"
            print(f"RBF, n = {row['n']}, d = 16: {row['ratio']:.0f} times faster; target {TARGET}; reached: {reached}")
    draw(rows, path)
    report("first_order_table1", "Table 1: products with gradient matrices", table(short))


def draw(rows: list[dict[str, Any]], path: Any) -> None:
    """Draw seconds and memory over d."""
    figure, axes = panels(1, 2, (9, 3.6))
    for axis, unit, label in ((axes[0][0], "(s)", "seconds"), (axes[0][1], "(MB)", "MB above the inputs, at the peak")):
        drawn = {}
        for library in ("Sonde", "GPyTorch"):
            for name in dict.fromkeys(row["kernel"] for row in rows):
                own = [row for row in rows if row["kernel"] == name and row[f"{library} {unit}"] != ""]
                drawn[f"{library}, {name}"] = ([row["d"] for row in own], [row[f"{library} {unit}"] for row in own])
        guides = {1: "Sonde, RBF", 2: "GPyTorch, RBF"}
        lines(axis, drawn, title=f"one product, n = {rows[0]['n']}", x="d", y=label, guides=guides)
    save(figure, path)


if __name__ == "__main__":
    main()
