"""Products on a GPU against one bare matrix product, in float64: n = d = 1024 to 8192.

Usage: ``python -m benchmarks.first_order.gpu FOLDER``; FOLDER gets ``first_order_gpu.csv``. Needs JAX, Equinox, Lineax
and NumPy only. Rates count the matrix products alone, 2 n^2 d operations each: four where coefficients are recomputed,
three where they are kept.
"""

import csv
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp

from benchmarks.first_order.data import points
from sonde.kernels import RBF, GradientGram, Kernel, Matern52, NeuralNetwork, Polynomial

SIZES = (1024, 2048, 4096, 8192)
MEMORY = 2**34  # bytes of pairwise arrays: all rows at once
TARGET = 0.75  # of the rate of one bare product, at the largest size
KERNELS: dict[str, Kernel] = {
    "RBF": RBF(),
    "Matern-5/2 + quadratic + neural network": Matern52() + Polynomial(2) + NeuralNetwork(),
}


def seconds(function: Callable[[], Any], budget: float = 0.5) -> float:
    """Return the median time of a call over batches of calls, each waited for once."""
    jax.block_until_ready(function())
    started = time.perf_counter()
    jax.block_until_ready(function())
    batch = max(1, int(budget / 5 / (time.perf_counter() - started)))
    return statistics.median(_batch(function, batch) / batch for _ in range(5))


def _batch(function: Callable[[], Any], count: int) -> float:
    started = time.perf_counter()
    for _ in range(count):
        result = function()
    jax.block_until_ready(result)
    return time.perf_counter() - started


def measure(n: int) -> list[dict[str, Any]]:
    """Return the rows of one size."""
    x, v, square = (jnp.asarray(points(n, n, seed)) for seed in range(3))
    bare = jax.jit(lambda a, b: a @ b)
    alone = seconds(lambda: bare(square, v))
    rows = [_row("one bare product", "", n, 1, alone, alone)]
    for name, kernel in KERNELS.items():
        for way, keep, products in (("recomputed", False, 4), ("kept", True, 3)):
            operator = GradientGram(kernel, x, keep=keep, memory=MEMORY)
            taken = seconds(lambda operator=operator: operator.mv(v))
            rows.append(_row(name, way, n, products, taken, alone))
    return rows


def _row(name: str, way: str, n: int, products: int, taken: float, alone: float) -> dict[str, Any]:
    share = products * alone / taken
    judged = n == max(SIZES) and bool(way)
    return {
        "kernel": name,
        "coefficients": way,
        "n = d": n,
        "seconds": f"{taken:.6f}",
        "matrix products": products,
        "TFLOP/s": f"{products * 2 * n**3 / taken / 1e12:.2f}",
        "of the bare rate": f"{share:.3f}",
        "target": TARGET if judged else "",
        "reached": ("yes" if share >= TARGET else "NO") if judged else "",
    }


def show(row: dict[str, Any]) -> None:
    print(" | ".join(f"{key} {value}" for key, value in row.items() if value != ""), flush=True)


def main() -> None:
    if jax.default_backend() != "gpu":
        print(f"no GPU here: JAX runs on {jax.default_backend()}. Install jax[cuda12] on a machine with an NVIDIA GPU.")
        return
    jax.config.update("jax_enable_x64", True)
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
    folder.mkdir(parents=True, exist_ok=True)
    device = jax.devices()[0].device_kind
    print(f"{device}, JAX {jax.__version__}, float64")
    rows = []
    for n in SIZES:
        for row in measure(n):
            show(row)
            rows.append(row)
    with (folder / "first_order_gpu.csv").open("w", newline="") as file:
        file.write(f"# {device}, JAX {jax.__version__}\n")
        writer = csv.DictWriter(file, fieldnames=list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


if __name__ == "__main__":
    main()
