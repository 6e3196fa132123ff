"""Figure 2 of the paper: predictive uncertainty of several activation functions, on 20 values in one dimension.

    python -m benchmarks.dngo.bands

Top: near the method of the paper, one network trained on squared errors, averaged over ten hyperparameter samples.
Bottom: Sonde's, an ensemble trained on the marginal likelihood with inflated variance. Shades are one and two standard
deviations of the function.
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.first_order.plots import COLOURS, GREY, panels, save
from benchmarks.machine import use_one_core
from benchmarks.report import report
from sonde.surrogates.basis.adaptive import AdaptiveBasis, Recipe
from sonde.surrogates.basis.data import Table

Array = NDArray[np.float64]

POINTS, NOISE = 20, 0.03
FORMS = {
    "one network, squared errors": Recipe(members=1, loss="squares", optimizer="sgd", draws=10, quadratic=True),
    "three networks, evidence": Recipe(),
}
KINDS = {"tanh": "(a) tanh", "relu+tanh": "(b) ReLU, tanh last", "relu": "(c) ReLU"}
GRID = np.linspace(-0.75, 0.75, 401)[:, None]  # the data lie in [-1/2, 1/2]
FIGURE = Path(__file__).parents[2] / "docs" / "figures" / "dngo-bands.png"


def function(x: Array) -> Array:
    """Return a sine wave of increasing frequency."""
    return np.asarray(np.sin(9 * x + 6 * x * np.abs(x)) * (0.8 + x))


def data() -> Table:
    """Return observations that leave a gap."""
    rng = np.random.default_rng(1)
    x = np.concatenate([rng.uniform(-0.5, -0.05, POINTS // 2), rng.uniform(0.15, 0.5, POINTS - POINTS // 2)])
    y = function(x) + NOISE * rng.standard_normal(POINTS)
    return Table(x[:, None], y, np.zeros(POINTS))


def bands(recipe: Recipe, table: Table) -> tuple[Array, Array]:
    """Return the posterior means and standard deviations on the grid."""
    scale, centre = np.std(table.y), np.mean(table.y)
    scaled = table._replace(y=(table.y - centre) / scale)
    posteriors = AdaptiveBasis(recipe).learn(scaled, len(table.y), np.random.default_rng(0))
    parts = [posterior.marginals(GRID) for posterior in posteriors]
    means = np.array([part.mean[:, 0] for part in parts])
    variance = np.mean([part.variance for part in parts], axis=0) + np.var(means, axis=0)
    return centre + scale * means.mean(axis=0), scale * np.sqrt(variance)


def draw(axis: Any, table: Table, mean: Array, deviation: Array) -> None:
    """Draw one panel."""
    x = GRID[:, 0]
    for times, shade in ((2, 0.15), (1, 0.3)):
        axis.fill_between(x, mean - times * deviation, mean + times * deviation, color=COLOURS[0], alpha=shade, lw=0)
    axis.plot(x, function(x), "--", color=GREY, linewidth=1)
    axis.plot(x, mean, color=COLOURS[0], linewidth=1.5)
    axis.plot(table.x[:, 0], table.y, "o", color=COLOURS[1], markersize=4)
    axis.set_ylim(-3, 3)
    axis.grid(alpha=0.25)


def main() -> None:
    use_one_core()
    table, rows = data(), []
    figure, axes = panels(len(FORMS), len(KINDS), (11, 5.6))
    for i, (form, recipe) in enumerate(FORMS.items()):
        for j, (activation, title) in enumerate(KINDS.items()):
            mean, deviation = bands(replace(recipe, activation=activation), table)
            draw(axes[i][j], table, mean, deviation)
            axes[i][j].set_title(f"{title}: {form}", fontsize=9)
            rows.append(_row(form, activation, mean, deviation))
    save(figure, FIGURE)
    report("dngo_bands", f"Figure 2: one standard deviation, {POINTS} values, noise of {NOISE}", rows)


def _row(form: str, activation: str, mean: Array, deviation: Array) -> dict[str, Any]:
    """Return the mean standard deviation and the 2-sigma coverage among the data, in the gap and outside."""
    x, errors = GRID[:, 0], np.abs(function(GRID[:, 0]) - mean)
    where: Sequence[tuple[str, Array]] = (
        ("among data", (np.abs(x) <= 0.5) & ~((x > -0.05) & (x < 0.15))),
        ("in the gap", (x > -0.05) & (x < 0.15)),
        ("outside", np.abs(x) > 0.5),
    )
    row: dict[str, Any] = {"form": form, "activation": activation}
    for name, at in where:
        row[name] = float(np.mean(deviation[at]))
        row[f"{name}, within 2"] = float(np.mean(errors[at] <= 2 * deviation[at]))
    return row


if __name__ == "__main__":
    main()
