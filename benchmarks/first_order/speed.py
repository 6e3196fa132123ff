"""The speed target on one core: a product against three bare matrix products of n = d = 1024, in float64.

The kernel is the sum of Matern-5/2, quadratic and neural network. Every product needs at least three bare products:
for x.v, for the term in v, and for the term in y. The measurements alternate, so that noise affects all equally.
``--short`` takes half a minute.
"""

import statistics
import sys
from typing import Any

import jax
import jax.numpy as jnp

from benchmarks.first_order.data import points
from benchmarks.first_order.plots import COLOURS, panels, save
from benchmarks.first_order.timing import side_by_side
from benchmarks.machine import use_one_core
from benchmarks.report import report
from sonde.kernels import RBF, GradientGram, Matern52, NeuralNetwork, Polynomial

SIZE = 1024
BARE = "three bare products"
TARGETS = {"coefficients recomputed": 6.0, "coefficients kept": 1.5}


def main() -> None:
    use_one_core()
    jax.config.update("jax_enable_x64", True)
    times = measure(rounds=7 if "--short" in sys.argv else 41)
    bare = times[BARE]
    rows = [_row(name, own, bare) for name, own in times.items()]
    path = report("first_order_speed", f"Matern-5/2 + quadratic + neural network, n = d = {SIZE}, float64", rows)
    draw(times, path)


def measure(rounds: int) -> dict[str, list[float]]:
    """Return the times of each; the measurements alternate."""
    x, v, square = (jnp.asarray(points(SIZE, SIZE, seed)) for seed in range(3))
    kernel = Matern52() + Polynomial(2) + NeuralNetwork()
    three = jax.jit(lambda a, x, v: (x @ v.T, a @ x, a @ v))
    lazy, kept = GradientGram(kernel, x), GradientGram(kernel, x, keep=True)
    rbf, rbf_kept = GradientGram(RBF(), x), GradientGram(RBF(), x, keep=True)
    return side_by_side(
        {
            BARE: lambda: three(square, x, v),
            "coefficients recomputed": lambda: lazy.mv(v),
            "coefficients kept": lambda: kept.mv(v),
            "RBF alone, recomputed": lambda: rbf.mv(v),
            "RBF alone, kept": lambda: rbf_kept.mv(v),
        },
        rounds,
    )


def _row(name: str, times: list[float], bare: list[float]) -> dict[str, Any]:
    ratio = statistics.median(own / other for own, other in zip(times, bare, strict=True))
    target = TARGETS.get(name)
    return {
        "what": name,
        "seconds (median)": statistics.median(times),
        "least": min(times),
        "times three bare products": ratio,
        "of the least times": min(times) / min(bare),
        "target": "" if target is None else target,
        "reached": "" if target is None else "yes" if ratio <= target else "NO",
    }


def draw(times: dict[str, list[float]], path: Any) -> None:
    """Draw the times as boxes, in units of the bare products' median."""
    figure, axes = panels(1, 1, (7, 2.8))
    axis, unit = axes[0][0], statistics.median(times[BARE])
    boxes = axis.boxplot(
        [[one / unit for one in own] for own in times.values()], orientation="horizontal", patch_artist=True, widths=0.6
    )
    for box in boxes["boxes"]:
        box.set(facecolor=COLOURS[0], alpha=0.5)
    axis.set_yticks(range(1, len(times) + 1), list(times), fontsize=8)
    for position, name in enumerate(times, start=1):
        if name in TARGETS:
            axis.plot([TARGETS[name]] * 2, [position - 0.4, position + 0.4], color=COLOURS[1], linewidth=2)
    axis.invert_yaxis()
    axis.set_xlim(left=0)
    axis.set_xlabel(f"seconds / seconds of three bare products (targets in red), n = d = {SIZE}")
    save(figure, path)


if __name__ == "__main__":
    main()
