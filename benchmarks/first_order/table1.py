"""Table 1: every kernel family of the paper, the path that Sonde takes, and how its time grows with d and n.

The paper's table has three kernels: RBF, spectral mixture (SM) and neural network (NN). The others are from its section
3.2 and figure 1. ``--short`` takes a minute.
"""

import sys

import jax
import jax.numpy as jnp

from benchmarks.first_order.data import points
from benchmarks.first_order.plots import legend, lines, panels, save
from benchmarks.first_order.problems import families
from benchmarks.first_order.timing import seconds, slope
from benchmarks.machine import use_one_core
from benchmarks.report import report
from sonde.kernels import GradientGram, Kernel

N, D = 64, 16  # the number of points while d grows, and of inputs while n grows
GPYTORCH = {"RBF": "O(n^2 d^2)", "Matern-5/2": "O(n^2 d^2)", "polynomial": "O(n^2 d^2)"}
DIRECT = ("direct sum", "direct product")  # a kernel for each input: fewer inputs, or compiling takes long


def time_of(kernel: Kernel, n: int, d: int) -> float:
    """Return the seconds of one product."""
    x, v = jnp.asarray(points(n, d)), jnp.asarray(points(n, d, 1))
    product = jax.jit(lambda x, v: GradientGram(kernel, x).mv(v))
    return seconds(lambda: product(x, v))


def sizes(name: str, short: bool) -> tuple[list[int], list[int]]:
    """Return the d and the n to run."""
    ds = [16, 64, 256] if name in DIRECT else [256, 1024, 4096]
    if not short:
        ds = [2**power for power in (range(3, 9) if name in DIRECT else range(8, 14))]
    return ds, [64, 256, 512] if short else [256, 512, 1024, 2048]


def main() -> None:
    use_one_core()
    jax.config.update("jax_enable_x64", True)
    short = "--short" in sys.argv
    rows, drawn = [], {}
    for name, kernel in families(D).items():
        if short and name not in ("RBF", "spectral mixture (SM)", "neural network (NN)", "direct product"):
            continue
        ds, ns = sizes(name, short)
        by_d = [time_of(families(d)[name], N, d) for d in ds]
        by_n = [time_of(kernel, n, D) for n in ns]
        drawn[name] = (ds, by_d)
        rows.append(
            {
                "kernel": name,
                "path": ", ".join(GradientGram(kernel, points(2, D)).paths),
                "slope in d": slope(ds, by_d),
                "slope in n": slope(ns, by_n),
                "seconds": by_n[-1],
                "paper": "O(n^2 d)",
                "GPyTorch": GPYTORCH.get(name, "no"),
            }
        )
    title = f"Table 1: products with gradient matrices; seconds at n = {ns[-1]}, d = {D}"
    path = report("first_order_table1", title, rows)
    figure, axes = panels(1, 1, (8, 4.5))
    lines(axes[0][0], drawn, title=f"one product, n = {N}", x="d", y="seconds", guides={1: "RBF"})
    legend(axes[0][0], outside=True)
    save(figure, path)


if __name__ == "__main__":
    main()
