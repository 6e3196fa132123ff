"""One product measured in a separate process: ``run`` starts ``python -m`` of this file and reads JSON from it.

Memory is the peak resident size during the product, minus the resident size before it. Kernels and points are made and
compiled beforehand. The coefficients that an operator keeps are counted.
"""

import gc
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.first_order.data import points


def run(library: str, kernel: str, n: int, d: int, **options: Any) -> dict[str, Any]:
    """Return ``seconds`` (median), ``first`` (compilation included), ``memory`` in bytes, ``sample`` of the result."""
    given = json.dumps({"library": library, "kernel": kernel, "n": n, "d": d, **options})
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.first_order.one_product", given],
        check=True,
        stdout=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parents[2],
    )
    return dict(json.loads(done.stdout))


def sonde(kernel: str, x: np.ndarray, v: np.ndarray, keep: bool, memory: int) -> Callable[[], Callable[[], Any]]:
    """Return a function that makes the operator and returns its product as a function."""
    import jax

    from sonde.kernels import RBF, Matern52, Polynomial, ValueGradientGram

    own = {"RBF": RBF(), "Matern-5/2": Matern52(), "polynomial": Polynomial(2)}[kernel]

    def make() -> Callable[[], Any]:
        operator = ValueGradientGram(own, x, keep=keep, memory=memory)
        return lambda: jax.block_until_ready(operator.mv(v))

    make()()  # compiles
    return make


def gpytorch(kernel: str, x: np.ndarray, v: np.ndarray, keep: bool, memory: int) -> Callable[[], Callable[[], Any]]:
    """Return the same for GPyTorch, which always forms the whole matrix."""
    import torch
    from gpytorch import kernels

    torch.set_num_threads(1)
    torch.set_default_dtype(torch.float64)
    own = {
        "RBF": kernels.RBFKernelGrad, "Matern-5/2": kernels.Matern52KernelGrad,
        "polynomial": lambda: kernels.PolynomialKernelGrad(power=2),
    }[kernel]()  # fmt: skip
    setattr(own, "offset" if kernel == "polynomial" else "lengthscale", 1.0)
    points, vector = torch.tensor(x), torch.tensor(v)

    def product() -> Any:
        with torch.no_grad():
            return (own(points) @ vector).numpy()

    return lambda: product


def measure(
    library: str, kernel: str, n: int, d: int, rounds: int = 5, keep: bool = False, memory: int = 2**28
) -> None:
    """Measure and print."""
    v = np.random.default_rng(1).normal(size=n * (d + 1))
    started = time.process_time()
    make = {"sonde": sonde, "gpytorch": gpytorch}[library](kernel, points(n, d), v, keep, memory)
    first = time.process_time() - started
    forget_peak()
    held = status("VmRSS")
    product = make()
    times = []
    for _ in range(rounds):
        started = time.process_time()
        result = product()
        times.append(time.process_time() - started)
    sample = np.asarray(result).reshape(-1)[:: max(1, len(v) // 64)]
    print(json.dumps({
        "seconds": statistics.median(times), "first": first, "memory": status("VmHWM") - held, "sample": sample.tolist()
    }))  # fmt: skip


def forget_peak() -> None:
    """Reset the peak."""
    gc.collect()
    Path("/proc/self/clear_refs").write_text("5")


def status(field: str) -> int:
    """Return bytes of this process: ``VmRSS`` held now, ``VmHWM`` at the peak."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith(field)).split()[1]) * 1024


if __name__ == "__main__":
    measure(**json.loads(sys.argv[1]))
