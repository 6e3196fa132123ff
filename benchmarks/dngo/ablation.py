"""Ablation of the surrogate: how well each variant predicts unseen values.

    python -m benchmarks.dngo.ablation [--full] [--core K]

Histories look like those of a run: half of the points spread evenly, half near the optimum. Scores are the mean log
density of 400 unseen standardised values, half of them near the optimum (higher is better), and the coverage of the 90%
predictive interval. A restarted run continues where it stopped.
"""

import argparse
import csv
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.machine import use_one_core

Array = NDArray[np.float64]

UNSEEN = 200
INTERVAL = 1.6449  # standard deviations to either side: the 90% interval


def main() -> None:
    options = arguments()
    use_one_core(options.core)
    from benchmarks.report import report, write
    from sonde.surrogates.basis.adaptive import Recipe

    recipes: dict[str, Any] = {
        "Sonde: 3 tanh networks, evidence, SOAP": Recipe(),
        "1 network": Recipe(members=1),
        "10 networks": Recipe(members=10),
        "squared errors": Recipe(loss="squares"),
        "squared errors, SGD": Recipe(loss="squares", optimizer="sgd"),
        "ReLU + tanh": Recipe(activation="relu+tanh"),
        "ReLU": Recipe(activation="relu"),
        "20 units a layer": Recipe(width=20),
        "100 units a layer": Recipe(width=100),
        "quadratic mean": Recipe(quadratic=True),
        "paper": Recipe(members=1, loss="squares", optimizer="sgd", draws=10, quadratic=True),
        "paper, without the quadratic mean": Recipe(members=1, loss="squares", optimizer="sgd", draws=10),
        "radial units": None,
    }
    sizes, seeds = ((128, 512, 2048), 1) if options.full else ((128, 512), 1)
    name = "dngo_ablation" + ("" if options.full else "_short")
    rows = known(name)
    for model, recipe in recipes.items():
        if model in {row["model"] for row in rows}:
            continue
        row: dict[str, Any] = {"model": model}
        for size in sizes:
            scores = [score_model(recipe, make, dimension, size, seed)
                      for make, dimension in PROBLEMS.values() for seed in range(seeds)]  # fmt: skip
            row[f"log density, n = {size}"] = float(np.mean([score for score, _ in scores]))
            row[f"in the band, n = {size}"] = float(np.mean([share for _, share in scores]))
        rows.append(row)
        write(name, rows)
    report(name, "Ablation of the surrogate", rows)


def known(name: str) -> list[dict[str, Any]]:
    """Return the rows of earlier runs."""
    from benchmarks.report import RESULTS

    path = RESULTS / f"{name}.csv"
    if not path.exists():
        return []
    with path.open() as file:
        return list(csv.DictReader(line for line in file if not line.startswith("#")))


def score_model(
    recipe: Any, make: Callable[[Array], Array], dimension: int, size: int, seed: int
) -> tuple[float, float]:
    """Return the mean log density of unseen values and the coverage of the 90% interval."""
    from sonde.surrogates.basis.adaptive import AdaptiveBasis
    from sonde.surrogates.basis.data import Table
    from sonde.surrogates.basis.radial import RadialBasis
    from sonde.surrogates.exact.warm_starts import PLAIN_FORMS, Data, WarmStartedFits
    from sonde.surrogates.features import Features

    rng = np.random.default_rng([seed, size])
    optimum = rng.uniform(0.2, 0.8, dimension)
    x, unseen = (_points(count, optimum, rng) for count in (size, 2 * UNSEEN))
    values, truth = (make(points - optimum) for points in (x, unseen))
    centre, deviation = values.mean(), values.std()
    y, truth = (values - centre) / deviation, (truth - centre) / deviation
    features = Features((0,) * dimension)
    table = Table(features(x), y, np.zeros(size))
    if recipe is None:
        covariance = WarmStartedFits(PLAIN_FORMS).fit(features, Data(x, -y, np.full(size, np.nan))).covariance
        posteriors: Any = (RadialBasis().learn(covariance, table, size),)
    else:
        posteriors = AdaptiveBasis(recipe).learn(table, size, rng)
    predictions = [(posterior.marginals(features(unseen)), posterior.noise) for posterior in posteriors]
    means = np.array([at.mean[:, 0] for at, _ in predictions])
    variances = np.array([at.variance + noise for at, noise in predictions])
    mean, variance = means.mean(axis=0), variances.mean(axis=0) + means.var(axis=0)
    errors = truth - mean
    densities = -0.5 * (np.log(2 * np.pi * variance) + errors**2 / variance)
    return float(np.mean(np.maximum(densities, -50.0))), float(np.mean(np.abs(errors) < INTERVAL * np.sqrt(variance)))


def _points(count: int, optimum: Array, rng: np.random.Generator) -> Array:
    near = np.clip(optimum + 0.1 * rng.standard_normal((count // 2, len(optimum))), 0.0, 1.0)
    points = np.concatenate([rng.random((count - len(near), len(optimum))), near])
    return points[rng.permutation(count)]


def _peaks(z: Array) -> Array:
    """Four bumps of different widths, like Hartmann's."""
    rng = np.random.default_rng(1)
    places, widths = 0.35 * rng.standard_normal((3, z.shape[1])), rng.uniform(1, 12, (3, z.shape[1]))
    bumps = [np.exp(-np.sum(w * (z - c) ** 2, axis=1)) for c, w in zip(places, widths, strict=True)]
    return np.exp(-np.sum(4 * z**2, axis=1)) + 0.7 * sum(bumps)


def _rugged(z: Array) -> Array:
    """A quadratic with cosine waves, on a logarithmic scale."""
    return -np.log1p(np.sum((5 * z) ** 2 + 3 * (1 - np.cos(15 * z)), axis=1))


def _valley(z: Array) -> Array:
    """Rosenbrock's valley, on a logarithmic scale."""
    u = 1 + 2 * z
    return -np.log1p(np.sum(100 * (u[:, 1:] - u[:, :-1] ** 2) ** 2 + (1 - u[:, :-1]) ** 2, axis=1))


def _kinks(z: Array) -> Array:
    """Non-smooth edges and a step: no stationary process models them well."""
    return -np.sum(np.abs(z), axis=1) - 1.5 * (z[:, 0] > 0.15) - 2 * np.abs(z[:, 1] - z[:, 2])


PROBLEMS: dict[str, tuple[Callable[[Array], Array], int]] = {
    "peaks": (_peaks, 6), "rugged": (_rugged, 8), "valley": (_valley, 5), "kinks": (_kinks, 10),
}  # fmt: skip


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--full", action="store_true")
    parser.add_argument("--core", type=int, default=None)
    return parser.parse_args()


if __name__ == "__main__":
    main()
