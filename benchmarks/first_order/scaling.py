"""Figures 2 and 3: seconds of one product with the matrices of gradients and Hessians, over d and n.

"Fast" is the structured product; "naive" forms the whole matrix by plain automatic differentiation and multiplies.
Both are compiled beforehand, in float64, on one core. ``--short`` takes a minute.
"""

import sys
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array

from benchmarks.first_order.data import points
from benchmarks.first_order.plots import heat_map, legend, lines, panels, save
from benchmarks.first_order.problems import SCALED, without_structure
from benchmarks.first_order.timing import seconds, slope
from benchmarks.machine import use_one_core
from benchmarks.report import report, write
from sonde.kernels import GradientGram, HessianGram, Kernel

Make = Callable[[Kernel], Callable[[Array, Array, Array], Array]]
Times = dict[int, float]

NAIVE_ENTRIES = 2**24  # of the matrix that the naive product forms; some five arrays of that size live at once


def fast_gradients(kernel: Kernel) -> Callable[[Array, Array, Array], Array]:
    """Return the structured product."""
    return lambda x, y, v: GradientGram(kernel, x, y).mv(v)


def naive_gradients(kernel: Kernel) -> Callable[[Array, Array, Array], Array]:
    """Return the product with the n d by n d matrix of all second mixed derivatives."""
    block = jax.jacfwd(jax.grad(kernel, argnums=0), argnums=1)

    def product(x: Array, y: Array, v: Array) -> Array:
        blocks = jax.vmap(lambda x: jax.vmap(lambda y: block(x, y))(y))(x)
        return jnp.einsum("ijab,jb->ia", blocks, v)

    return product


def fast_hessians(kernel: Kernel) -> Callable[[Array, Array, Array], Array]:
    """Return the structured product."""
    return lambda x, y, v: HessianGram(kernel, x, y).mv(v)


def naive_hessians(kernel: Kernel) -> Callable[[Array, Array, Array], Array]:
    """Return the product with the whole matrix of all fourth mixed derivatives."""
    return lambda x, y, v: (HessianGram(without_structure(kernel), x, y).as_matrix() @ v.reshape(-1)).reshape(v.shape)


def entries(d: int, order: int) -> int:
    """Return the entries of a point: its gradient, or the upper triangle of its Hessian."""
    return d if order == 1 else d * (d + 1) // 2


def time_of(make: Make, kernel: Kernel, n: int, d: int, order: int = 1) -> float:
    """Return the seconds of one product."""
    x, y, v = (jnp.asarray(points(n, size, seed)) for seed, size in enumerate((d, d, entries(d, order))))
    product = jax.jit(make(kernel))
    return seconds(lambda: product(x, y, v))


def over_d(make: Make, kernel: Kernel, n: int, sizes: list[int], order: int = 1) -> Times:
    """Return the seconds for each d."""
    return {d: time_of(make, kernel, n, d, order) for d in sizes}


def powers(first: int, last: int, step: int = 1) -> list[int]:
    """Return powers of two."""
    return [2**power for power in range(first, last + 1, step)]


def affordable(n: int, sizes: list[int], order: int = 1) -> list[int]:
    """Return the sizes whose whole matrix fits."""
    return [d for d in sizes if (n * entries(d, order)) ** 2 <= NAIVE_ENTRIES]


def measure(short: bool) -> tuple[dict[tuple[str, str], tuple[Times, Times]], dict[str, tuple[Any, Any]]]:
    """Return fast and naive times over d, by kernel and setting, and the maps over n and d."""
    step = 2 if short else 1
    plans = {
        "gradient, n = 1": (1, 1, powers(4, 20 if short else 22, 2 * step), powers(4, 12, 2)),
        "gradient, n = 64": (64, 1, powers(3, 11 if short else 13, step), powers(1, 6)),
        "Hessian, n = 1": (1, 2, powers(2, 10 if short else 11, step), powers(2, 6)),
    }
    found = {}
    for setting, (n, order, sizes, naive_sizes) in plans.items():
        fast, naive = (fast_gradients, naive_gradients) if order == 1 else (fast_hessians, naive_hessians)
        for name, kernel in SCALED.items():
            if short and name != "rational quadratic":
                continue
            found[name, setting] = (
                over_d(fast, kernel, n, sizes, order),
                over_d(naive, kernel, n, affordable(n, naive_sizes, order), order),
            )
    grids = {} if short else {name: maps(kernel, 1) for name, kernel in SCALED.items()}
    if not short:
        grids["rational quadratic, Hessian"] = maps(SCALED["rational quadratic"], 2)
    return found, grids


def axes_of(order: int) -> tuple[list[int], list[int]]:
    """Return n and d of the maps."""
    return (powers(0, 10, 2), powers(2, 12, 2)) if order == 1 else (powers(0, 8, 2), powers(2, 8))


def maps(kernel: Kernel, order: int) -> tuple[dict[tuple[int, int], float], dict[tuple[int, int], float]]:
    """Return fast and naive seconds over n and d."""
    ns, ds = axes_of(order)
    fast, naive = (fast_gradients, naive_gradients) if order == 1 else (fast_hessians, naive_hessians)
    limit = 2**32 if order == 1 else 2**24
    return (
        {(n, d): time_of(fast, kernel, n, d, order) for n in ns for d in ds if n * n * entries(d, order) <= limit},
        {(n, d): time_of(naive, kernel, n, d, order) for n in ns for d in affordable(n, ds, order)},
    )


def main() -> None:
    use_one_core()
    jax.config.update("jax_enable_x64", True)
    short = "--short" in sys.argv
    found, grids = measure(short)
    path = report(
        "first_order_scaling", "Products over d, fitted slopes (upper half of d)", [_row(*one) for one in found.items()]
    )
    cells = [
        {"map": name, "algorithm": kind, "n": n, "d": d, "seconds": value}
        for name, both in grids.items()
        for kind, times in zip(("fast", "naive"), both, strict=True)
        for (n, d), value in times.items()
    ]
    times = [
        {"kernel": name, "setting": setting, "algorithm": kind, "d": d, "seconds": value}
        for (name, setting), both in found.items()
        for kind, own in zip(("fast", "naive"), both, strict=True)
        for d, value in own.items()
    ]
    write("first_order_scaling_times", times)
    draw_lines(found, path)
    if cells:
        write("first_order_scaling_map", cells)
        draw_maps(grids, path.with_name(path.name + "_map"))


def _row(key: tuple[str, str], both: tuple[Times, Times]) -> dict[str, object]:
    (name, setting), (fast, naive) = key, both
    common = max(set(fast) & set(naive))
    order = 2 if setting.startswith("Hessian") else 1
    return {
        "kernel": name,
        "matrix": setting,
        "fast: largest d": max(fast),
        "seconds": fast[max(fast)],
        "slope": slope(list(fast), list(fast.values())),
        "paper": f"{order}",
        "naive: slope": slope(list(naive), list(naive.values())),
        "naive/fast": f"{naive[common] / fast[common]:.0f} at d = {common}",
    }


def draw_lines(found: dict[tuple[str, str], tuple[Times, Times]], path: Any) -> None:
    """Draw seconds over d: one panel a setting."""
    settings = list(dict.fromkeys(setting for _, setting in found))
    figure, axes = panels(1, len(settings), (3.9 * len(settings) + 1.8, 3.6))
    for axis, setting in zip(axes[0], settings, strict=True):
        drawn = {
            f"{kind}, {name}": (list(both[index]), list(both[index].values()))
            for index, kind in enumerate(("fast", "naive"))
            for (name, own), both in found.items()
            if own == setting
        }
        order = 2 if setting.startswith("Hessian") else 1
        guides = {order: "fast, rational quadratic", 2 * order: "naive, rational quadratic"}
        lines(axis, drawn, title=setting, x="d", y="seconds", guides=guides)
    legend(axes[0][-1], outside=True)
    save(figure, path)


def draw_maps(grids: dict[str, tuple[Any, Any]], path: Any) -> None:
    """Draw seconds over n and d: fast next to naive, one row per kernel."""
    figure, axes = panels(len(grids), 2, (9, 2.9 * len(grids)))
    for row, (name, both) in zip(axes, grids.items(), strict=True):
        ns, ds = axes_of(2 if "Hessian" in name else 1)
        for axis, kind, cells in zip(row, ("naive", "fast"), both[::-1], strict=True):
            image = heat_map(axis, cells, ns, ds, f"{name}, {kind}")
    figure.colorbar(image, ax=axes, label="seconds", shrink=0.4)
    save(figure, path)


if __name__ == "__main__":
    main()
