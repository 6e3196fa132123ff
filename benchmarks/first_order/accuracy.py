"""Figure 6: largest relative error of structured products against plain automatic differentiation in float64.

The error of a product is max |a - b| / max |b| over its entries. float32 products are compared with float64 ones of
the same points. Measured are every kernel family over n and d, RBF at n = 1024 over d as in the paper, and difficult
points: far from the origin, nearly equal, far apart. ``--short`` takes a minute.
"""

import sys
from typing import Any

import numpy as np

from benchmarks.first_order.data import points
from benchmarks.first_order.plots import legend, lines, panels, save
from benchmarks.first_order.problems import SCALED, families, without_structure
from benchmarks.machine import use_one_core
from benchmarks.report import report
from sonde.kernels import RBF, GradientGram, HessianGram, Kernel, Matern52

TARGET = 1e-12
HARD = {
    "points at 1000 from the origin": lambda x: x + 1000 / np.sqrt(x.shape[1]),
    "pairs of points 1e-6 apart": lambda x: np.concatenate(
        [x[: len(x) // 2], x[: len(x) // 2] + 1e-6 * x[len(x) // 2 :]]
    ),
    "points 30 apart": lambda x: 30 * x,
}


def errors(gram: Any, kernel: Kernel, x: np.ndarray) -> tuple[float, float]:
    """Return the relative errors in float64 and in float32."""
    return _error(gram, kernel, x), _error(gram, kernel, x.astype(np.float32))


def _error(gram: Any, kernel: Kernel, x: np.ndarray) -> float:
    operator = gram(kernel, x)
    v = np.random.default_rng(1).normal(size=(len(x), operator.entries)).astype(x.dtype)
    exact = np.asarray(gram(without_structure(kernel), x.astype(float)).mv(v.astype(float)))
    return float(np.max(np.abs(np.asarray(operator.mv(v)) - exact)) / np.max(np.abs(exact)))


def over_sizes(short: bool) -> list[dict[str, Any]]:
    """Return one row for each kernel: its worst case over n and d."""
    ns, ds = ([32], [16]) if short else ([16, 256], [4, 256])
    made = {d: families(d) for d in ds}
    rows = []
    for name in list(made[ds[0]])[: 4 if short else None]:
        found = {(n, d): errors(GradientGram, made[d][name], points(n, d)) for n in ns for d in ds}
        rows.append(_row(name, "gradient", found))
    for name, kernel in SCALED.items():
        found = {
            (n, d): errors(HessianGram, kernel, points(n, d)) for n in ns[:1] for d in ((4,) if short else (2, 4, 8))
        }
        rows.append(_row(name, "Hessian", found))
    return rows


def _row(name: str, matrix: str, found: dict[tuple[int, int], tuple[float, float]]) -> dict[str, Any]:
    worst = max(found, key=lambda size: found[size][0])
    return {
        "kernel": name,
        "matrix": matrix,
        "float64": found[worst][0],
        "at": f"n = {worst[0]}, d = {worst[1]}",
        "float32": max(single for _, single in found.values()),
        "target": TARGET,
        "reached": "yes" if found[worst][0] <= TARGET else "NO",
    }


def hard(short: bool) -> list[dict[str, Any]]:
    """Return one row for each kind of difficult points."""
    n, d = (32, 4) if short else (128, 16)
    kernels = {"RBF": RBF(), "Matern-5/2": Matern52(), "neural network": SCALED["neural network"]}
    return [
        _row(f"{name}: {what}", "gradient", {(n, d): errors(GradientGram, kernel, move(points(n, d)))})
        for what, move in HARD.items()
        for name, kernel in kernels.items()
    ]


def figure_6(short: bool) -> list[dict[str, Any]]:
    """Return the error over d for RBF."""
    n, ds = (128, [4, 16]) if short else (1024, [4, 8, 16, 32, 64, 128, 256, 512])
    rows = []
    for d in ds:
        double, single = errors(GradientGram, RBF(), points(n, d))
        rows.append({"kernel": "RBF", "n": n, "d": d, "float64": double, "float32": single})
    return rows


def main() -> None:
    use_one_core()
    short = "--short" in sys.argv
    rows = over_sizes(short) + hard(short)
    path = report("first_order_accuracy", "Largest relative error against plain autodiff", rows)
    over_d = figure_6(short)
    report("first_order_accuracy_fig6", "Figure 6: RBF over d", over_d)
    draw(rows, over_d, path)


def draw(rows: list[dict[str, Any]], over_d: list[dict[str, Any]], path: Any) -> None:
    """Draw figure 6 and each kernel's worst case."""
    figure, axes = panels(1, 2, (11, 5))
    left, right = axes[0]
    ds = [row["d"] for row in over_d]
    drawn = {kind: (ds, [row[kind] for row in over_d]) for kind in ("float64", "float32")}
    lines(left, drawn, title=f"RBF, n = {over_d[0]['n']} (figure 6)", x="d", y="relative error")
    legend(left)
    positions = range(len(rows))
    for kind, colour in (("float64", "#3b6ea5"), ("float32", "#c4603c")):
        right.plot([max(row[kind], 1e-17) for row in rows], positions, "o", color=colour, markersize=4, label=kind)
    right.axvline(TARGET, color="#999999", linestyle=":", label="target in float64")
    right.set_yticks(positions, [f"{row['kernel']}, {row['matrix']}" for row in rows], fontsize=7)
    right.set(xscale="log", xlabel="largest relative error")
    right.invert_yaxis()
    right.grid(alpha=0.25)
    right.legend(fontsize=7.5, frameon=False)
    save(figure, path)


if __name__ == "__main__":
    main()
