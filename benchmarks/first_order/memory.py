"""Peak memory of products over n at d = 32: with two limits on pairwise arrays, and with kept coefficients.

Every case is a process of its own. ``--short`` takes half a minute.
"""

import sys
from typing import Any

from benchmarks.first_order import one_product
from benchmarks.first_order.plots import legend, lines, panels, save
from benchmarks.first_order.timing import slope
from benchmarks.machine import use_one_core
from benchmarks.report import report

D = 32
CASES: dict[str, dict[str, Any]] = {
    "lazy, memory = 2^24": {"memory": 2**24},
    "lazy, memory = 2^28": {"memory": 2**28},
    "kept": {"keep": True},
}


def main() -> None:
    use_one_core()
    sizes = [512, 1024, 2048] if "--short" in sys.argv else [512, 1024, 2048, 4096, 8192, 16384]
    rows = [_row(name, n) for name in CASES for n in sizes if name != "kept" or n <= 8192]
    path = report("first_order_memory", f"Peak memory of products with values and gradients, Matern-5/2, d = {D}", rows)
    for name in CASES:
        own = [row for row in rows if row["case"] == name]
        grown = slope([row["n"] for row in own], [row["peak (MB)"] for row in own])
        print(f"{name}: memory grows like n^{grown:.2f}")
    draw(rows, path)


def _row(name: str, n: int) -> dict[str, Any]:
    found = one_product.run("sonde", "Matern-5/2", n, D, rounds=3, **CASES[name])
    return {
        "case": name,
        "n": n,
        "peak (MB)": found["memory"] / 1e6,
        "bound (MB)": CASES[name]["memory"] / 1e6 if "memory" in CASES[name] else "",
        "seconds": found["seconds"],
        "one n by n array (MB)": n * n * 8 / 1e6,
        "the whole matrix (MB)": (n * (D + 1)) ** 2 * 8 / 1e6,
    }


def draw(rows: list[dict[str, Any]], path: Any) -> None:
    """Draw memory and seconds over n."""
    figure, axes = panels(1, 2, (9, 3.6))
    for axis, column in zip(axes[0], ("peak (MB)", "seconds"), strict=True):
        drawn = {}
        for name in CASES:
            own = [row for row in rows if row["case"] == name]
            drawn[name] = ([row["n"] for row in own], [row[column] for row in own])
        if column == "peak (MB)":
            lazy = [row for row in rows if row["case"] == next(iter(CASES))]
            for other in ("one n by n array (MB)", "the whole matrix (MB)"):
                drawn["size of " + other.removesuffix(" (MB)")] = (
                    [row["n"] for row in lazy],
                    [row[other] for row in lazy],
                )
        lines(axis, drawn, title=f"one product, d = {D}", x="n", y=column)
        legend(axis)
    save(figure, path)


if __name__ == "__main__":
    main()
