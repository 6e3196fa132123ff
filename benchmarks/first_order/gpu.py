"""Products with gradient kernel matrices on a GPU, as a share of the rate of one bare matrix product there.

Counted are the matrix products alone: four of 2 n^2 d operations with coefficients recomputed (x.y, x.v, the terms in v
and in y), three with them kept. Needs JAX, Equinox, Lineax and NumPy only.
``python -m benchmarks.first_order.gpu FOLDER`` prints the table and writes FOLDER/first_order_gpu.csv.
"""

import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from sonde.kernels import RBF, GradientGram, Kernel, Matern52, NeuralNetwork, Polynomial

KERNELS: dict[str, Kernel] = {
    "RBF": RBF(),
    "Matern-5/2 + quadratic + neural network": Matern52() + Polynomial(2) + NeuralNetwork(),
}
SIZES = (1024, 2048, 4096, 8192)
TARGET = 0.75


def seconds(function: Callable[[], Any], rounds: int = 7) -> float:
    """Return the median time of a call, the first ones left out."""
    for _ in range(2):
        function().block_until_ready()
    times = []
    for _ in range(rounds):
        started = time.perf_counter()
        function().block_until_ready()
        times.append(time.perf_counter() - started)
    return statistics.median(times)


def measure(n: int, name: str, kernel: Kernel) -> list[dict[str, Any]]:
    """Return the rows of one size and kernel, n = d."""
    rng = np.random.default_rng(0)
    points = jnp.asarray(rng.normal(size=(n, n)) / np.sqrt(n))
    vectors = jnp.asarray(rng.normal(size=(n, n)))
    bare = 2 * n**3 / seconds(lambda: _bare(points, vectors))
    rows = []
    for how, products in (("recomputed", 4), ("kept", 3)):
        operator = GradientGram(kernel, points, keep=how == "kept", memory=2**35)
        spent = seconds(lambda: operator.mv(vectors))  # noqa: B023
        rate = products * 2 * n**3 / spent
        rows.append({
            "n = d": n, "kernel": name, "coefficients": how, "ms": f"{1e3 * spent:.2f}",
            "TFLOP/s": f"{rate / 1e12:.2f}",
            "bare TFLOP/s": f"{bare / 1e12:.2f}", "share": f"{rate / bare:.2f}",
            "reached": "yes" if rate >= TARGET * bare else "NO",
        })  # fmt: skip
    return rows


@jax.jit
def _bare(a: jax.Array, b: jax.Array) -> jax.Array:
    return a @ b


def main() -> None:
    jax.config.update("jax_enable_x64", True)
    device = jax.devices()[0]
    if device.platform != "gpu":
        print(f"JAX finds no GPU here, only {device}; run this on a machine with one")
        return
    rows = [row for n in SIZES for name, kernel in KERNELS.items() for row in measure(n, name, kernel)]
    lines = [f"# {device.device_kind}, JAX {jax.__version__}, float64", ",".join(rows[0])]
    lines += [",".join(str(value) for value in row.values()) for row in rows]
    print("\n".join(lines))
    if len(sys.argv) > 1:
        (Path(sys.argv[1]) / "first_order_gpu.csv").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
