"""Figure 4: Sonde against GPyTorch, in float64, each in a separate process with one thread.

GPyTorch has kernels of values and gradients for RBF, Matern-5/2 and polynomials, and forms the whole n (d + 1) square
matrix. Sonde multiplies by ``ValueGradientGram``. At d = 16, n = 1024 GPyTorch takes a minute and 15 GB. ``--short``
takes a minute.
"""

import sys
from typing import Any

from benchmarks.first_order import one_product
from benchmarks.first_order.plots import legend, lines, panels, save
from benchmarks.machine import use_one_core
from benchmarks.report import report

N = 1024
LARGEST = {"RBF": 16, "Matern-5/2": 8, "polynomial": 8}  # inputs for GPyTorch at n = 1024; the next need 15 GB or more
TARGET = 500  # times faster than GPyTorch, RBF, n = 1024, d = 16


def compare(short: bool) -> list[dict[str, Any]]:
    """Return one row for each kernel and d."""
    n = 256 if short else N
    rows = []
    for name, largest in LARGEST.items():
        for d in (1, 4, 16, 64) if short else (1, 2, 4, 8, 16, 32, 64, 128, 256):
            ours = one_product.run("sonde", name, n, d, rounds=15)
            rounds = 1 if n * d > 2048 else 3
            theirs = one_product.run("gpytorch", name, n, d, rounds=rounds) if d <= largest else None
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


def main() -> None:
    use_one_core()
    short = "--short" in sys.argv
    rows = compare(short)
    path = report("first_order_peers", f"One product with values and gradients, n = {rows[0]['n']}", rows)
    for row in rows:
        if row["kernel"] == "RBF" and row["d"] == 16:
            reached = "yes" if row["ratio"] >= TARGET else "NO"
            print(f"RBF, n = {row['n']}, d = 16: {row['ratio']:.0f} times faster; target {TARGET}; reached: {reached}")
    draw(rows, path)


def draw(rows: list[dict[str, Any]], path: Any) -> None:
    """Draw seconds and memory over d."""
    figure, axes = panels(1, 2, (10.5, 3.6))
    for axis, unit, label in ((axes[0][0], "(s)", "seconds"), (axes[0][1], "(MB)", "MB above the inputs, at the peak")):
        drawn = {}
        for library in ("Sonde", "GPyTorch"):
            for name in dict.fromkeys(row["kernel"] for row in rows):
                own = [row for row in rows if row["kernel"] == name and row[f"{library} {unit}"] != ""]
                drawn[f"{library}, {name}"] = ([row["d"] for row in own], [row[f"{library} {unit}"] for row in own])
        guides = {1: "Sonde, RBF", 2: "GPyTorch, RBF"}
        lines(axis, drawn, title=f"one product, n = {rows[0]['n']}", x="d", y=label, guides=guides)
    legend(axes[0][-1], outside=True)
    save(figure, path)


if __name__ == "__main__":
    main()
