"""Figure 1: acquisition values of a batch of two points (x1, x2), and the paths of two gradient methods on them.

Top left: the posterior of a function of one variable after three observations. Other panels: each acquisition function
at q = 2, with the paths of BFGS on fixed base samples ("GD") and of Adam with 64 new ones at every step ("SGD") from
one start. A batch has no order, so each surface is symmetric about the diagonal. It takes half a minute.
"""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.first_order.plots import panels, save
from benchmarks.machine import use_one_core
from benchmarks.report import report
from sonde.acquisition.entropy import Entropy
from sonde.acquisition.montecarlo import MonteCarlo
from sonde.acquisition.utilities import UTILITIES
from sonde.optimizers import adam, bfgs
from sonde.surrogates.features import Features
from sonde.surrogates.gaussian_process.covariance import Covariance
from sonde.surrogates.gaussian_process.posterior import ExactPosterior

PICTURE = Path(__file__).parents[2] / "docs" / "figures" / "acquisition-surfaces.png"
FEATURES = Features((0,))
OBSERVATIONS = np.array([[0.1], [0.47], [0.9]]), np.array([-0.4, 0.5, -0.1])
THETA = np.log([0.17, 0.6, 1e-6])  # lengthscale, variance, noise
START = np.array([[0.2, 0.56]])
STEPS, RATE = 160, 0.02
NAMES = {"ei": "q-EI", "pi": "q-PI", "ucb": "q-UCB", "sr": "q-SR", "es": "q-ES"}
TEMPERATURE = 0.05  # of q-ES
GREEN, PINK, YELLOW, ORANGE, BLUE = "#2c8a4b", "#d6348f", "#ffd21f", "#e8862e", "#3b6ea5"

Surface = MonteCarlo | Entropy


class Panel(NamedTuple):
    """A surface over ``grid`` x ``grid``, its maximum (2,), and the paths (steps, 2) of the two ascents."""

    grid: np.ndarray
    values: np.ndarray
    top: np.ndarray
    height: float
    ascents: dict[str, np.ndarray]
    reached: dict[str, float]


def posterior_after_three() -> ExactPosterior:
    """Return the posterior after three observations."""
    return ExactPosterior.of(Covariance(FEATURES.groups, THETA), FEATURES(OBSERVATIONS[0]), OBSERVATIONS[1])


def surfaces(posterior: ExactPosterior) -> Iterator[tuple[str, Surface, int]]:
    """Yield each acquisition function and the number of grid cells per side, smaller where it is expensive."""
    nothing, best = np.empty((0, 1)), float(OBSERVATIONS[1].max())
    for name in ("ei", "pi", "ucb", "sr"):
        yield name, MonteCarlo(UTILITIES[name], posterior, FEATURES, best, nothing, 2, samples=1024), 129
    representers = np.linspace(0, 1, 33)[:, None]
    entropy = Entropy(posterior, FEATURES, representers, 2, nothing, 32, 128, temperature=TEMPERATURE)
    yield "es", entropy, 65


def panel(acquisition: Surface, cells: int) -> Panel:
    """Return the surface and the ascents on it."""
    grid = np.linspace(0, 1, cells)
    lower = np.tril_indices(cells)
    batches = np.stack([grid[lower[0]], grid[lower[1]]], axis=1)
    values = np.zeros((cells, cells))
    values[lower] = np.concatenate(
        [acquisition.values(batches[i : i + 64, :, None]) for i in range(0, len(batches), 64)]
    )
    values += np.tril(values, -1).T  # a batch has no order
    best = batches[np.argsort(-values[lower])[:8]]
    tops, heights = bfgs(_gradients(acquisition), best, np.zeros(2), np.ones(2))
    ascents = {"GD": bfgs_path(acquisition), "SGD": adam_path(acquisition)}
    reached = {name: float(acquisition.values(path[-1:, :, None])[0]) for name, path in ascents.items()}
    return Panel(grid, values, tops[np.argmax(heights)], float(heights.max()), ascents, reached)


def bfgs_path(acquisition: Surface) -> np.ndarray:
    """Return the path of BFGS: the points that it evaluated and that improved on all before them."""
    path, heights = [], [-np.inf]

    def function(points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        values, gradients = _gradients(acquisition)(points)
        if values[0] > heights[-1]:
            path.append(points[0])
            heights.append(values[0])
        return values, gradients

    bfgs(function, START, np.zeros(2), np.ones(2))
    return np.array(path)


def adam_path(acquisition: Surface) -> np.ndarray:
    """Return the path of Adam: the points at which it asked for a gradient, and its end."""
    small, path = replace(acquisition, samples=64), []

    def function(step: int, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        path.append(points[0])
        return _gradients(small.fresh(step))(points)

    end = adam(function, START, np.zeros(2), np.ones(2), steps=STEPS, rate=RATE)
    return np.array([*path, end[0]])


def _gradients(acquisition: Surface) -> Any:
    def function(points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        values, gradients = acquisition.gradients(points[:, :, None])
        return values, gradients[:, :, 0]

    return function


def rows(drawn: dict[str, Panel]) -> list[dict[str, Any]]:
    """Return where the ascents ended, next to the maximum."""
    return [
        {
            "acquisition": NAMES[name],
            "maximum": each.height,
            "at": _shown(each.top),
            "GD reached": each.reached["GD"],
            "at ": _shown(each.ascents["GD"][-1]),
            "SGD reached": each.reached["SGD"],
            "at  ": _shown(each.ascents["SGD"][-1]),
        }
        for name, each in drawn.items()
    ]


def _shown(point: np.ndarray) -> str:
    return f"({point[0]:.3f}, {point[1]:.3f})"


def draw(posterior: ExactPosterior, drawn: dict[str, Panel]) -> None:
    """Draw the posterior and the five surfaces."""
    figure, axes = panels(2, 3, (10.5, 7))
    flat = axes.ravel()
    _draw_posterior(flat[0], posterior)
    for axis, (name, each) in zip(flat[1:], drawn.items(), strict=True):
        _draw_surface(axis, NAMES[name], each)
    figure.legend(*flat[1].get_legend_handles_labels(), loc="outside lower center", ncols=5, fontsize=9, frameon=False)
    PICTURE.parent.mkdir(exist_ok=True)
    save(figure, PICTURE)


def _draw_posterior(axis: Any, posterior: ExactPosterior) -> None:
    x = np.linspace(0, 1, 400)
    at = FEATURES(x[:, None])
    marginals = posterior.marginals(at)
    mean, deviation = marginals.mean[:, 0], np.sqrt(marginals.variance)
    joint = posterior.joint(at[None])
    factor = np.linalg.cholesky(joint.covariance[0] + 1e-8 * np.eye(len(x)))
    paths = joint.mean[0] + np.random.default_rng(3).normal(size=(4, len(x))) @ factor.T
    axis.fill_between(x, mean - 2 * deviation, mean + 2 * deviation, color=BLUE, alpha=0.16, linewidth=0)
    axis.fill_between(x, mean - deviation, mean + deviation, color=BLUE, alpha=0.16, linewidth=0)
    axis.plot(x, paths.T, color=BLUE, alpha=0.35, linewidth=0.8)
    axis.plot(x, mean, color=BLUE, linewidth=2)
    axis.plot(
        OBSERVATIONS[0][:, 0], OBSERVATIONS[1], "o", color=ORANGE, markersize=8, markeredgecolor="white", zorder=5
    )
    axis.set(xlim=(0, 1), xlabel="$x$", ylabel="$f(x)$")
    axis.set_title("posterior after three observations", fontsize=11)


def _draw_surface(axis: Any, name: str, each: Panel) -> None:
    axis.contourf(each.grid, each.grid, each.values.T, levels=24, cmap="Blues_r")
    axis.contour(each.grid, each.grid, each.values.T, levels=12, colors="white", linewidths=0.4, linestyles="solid")
    axis.plot([0, 1], [0, 1], "--", color="white", linewidth=0.9, alpha=0.8)
    for colour, (kind, label) in zip(
        (PINK, GREEN), (("SGD", "SGD: Adam, fresh samples"), ("GD", "GD: BFGS, fixed samples")), strict=True
    ):
        path = each.ascents[kind]
        marker = {"marker": "o", "markersize": 2.5} if kind == "GD" else {}
        axis.plot(*path.T, color="white", linewidth=3.2, solid_capstyle="round", alpha=0.75)
        axis.plot(*path.T, color=colour, linewidth=1.7, label=label, **marker)
    star = {"marker": "*", "linestyle": "none", "markeredgewidth": 0.8}
    both = np.array([each.top, each.top[::-1]])
    axis.plot(*both.T, color=YELLOW, markersize=19, markeredgecolor="#7a5c00", label="maximum", **star)
    for colour, kind in ((PINK, "SGD"), (GREEN, "GD")):
        axis.plot(*each.ascents[kind][-1], color=colour, markersize=10, markeredgecolor="white", **star)
    axis.plot(*START[0], "X", color="black", markersize=8, markeredgecolor="white", label="start", linestyle="none")
    axis.set(xlim=(0, 1), ylim=(0, 1), xlabel="$x_1$", ylabel="$x_2$", aspect="equal")
    axis.set_xticks([0, 0.5, 1])
    axis.set_yticks([0, 0.5, 1])
    axis.set_title(name, fontsize=11)


def main() -> None:
    use_one_core()
    posterior = posterior_after_three()
    drawn = {name: panel(acquisition, cells) for name, acquisition, cells in surfaces(posterior)}
    report("acquisition_surfaces", "Figure 1: where two ascents from one start end, q = 2", rows(drawn))
    draw(posterior, drawn)


if __name__ == "__main__":
    main()
