"""Mixed spaces: many floats with gradients, and a few parameters that have none.

    python -m benchmarks.fobo.mixed [--full] [--core K]

A rippled bowl over d floats, whose depth and level depend on three categories of four choices each; an integer adds a
parabola. The minimum is 0. Gradients are told of the floats. Contenders: fobo with gradients; without them, at the same
number of evaluations, Sonde's gp, Optuna's TPE and random draws. With more than 40 parameters fobo has no model of
everything.
"""

import argparse
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from benchmarks.machine import use_one_core

CHOICES = ("a", "b", "c", "d")
KINDS = ("kind0", "kind1", "kind2")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--full", action="store_true", help="100 evaluations and 5 seeds instead of 40 and 2")
    parser.add_argument("--core", type=int, help="the core to use; by default the first allowed one")
    options = parser.parse_args()
    use_one_core(options.core)
    import warnings

    from benchmarks.fobo.contenders import compare
    from benchmarks.report import report

    warnings.filterwarnings("ignore")
    evaluations, seeds = (100, 5) if options.full else (40, 2)
    rows = []
    for d in (6, 60):
        rows += [{"floats": d} | row for row in compare(objective(d), space_of(d), evaluations, seeds)]
    title = "Mixed spaces: best value, mean ± standard deviation over seeds"
    report("fobo_mixed" + ("" if options.full else "_short"), title, rows)


def space_of(d: int) -> Any:
    """Return the space of so many floats."""
    import sonde

    floats = {f"x{i}": sonde.Float(-1, 1) for i in range(d)}
    return sonde.Space(floats | {kind: sonde.Categorical(CHOICES) for kind in KINDS} | {"count": sonde.Int(0, 10)})


def objective(d: int) -> Callable[[Mapping[str, Any]], Any]:
    """Return a function of a configuration: its value and the slopes of its floats."""
    import sonde

    rng = np.random.default_rng(d)
    bottom, right, count = rng.uniform(-0.6, 0.6, d), rng.choice(CHOICES, 3), int(rng.integers(2, 9))

    def evaluate(p: Mapping[str, Any]) -> Any:
        u = np.array([p[f"x{i}"] for i in range(d)]) - bottom
        wrong = sum(p[kind] != choice for kind, choice in zip(KINDS, right, strict=True))
        depth = 1 + 0.3 * wrong
        value = depth * np.mean(4 * u**2 + 0.3 * (1 - np.cos(4 * np.pi * u))) + 0.3 * wrong
        slopes = depth * (8 * u + 1.2 * np.pi * np.sin(4 * np.pi * u)) / d
        gradient = {f"x{i}": float(slope) for i, slope in enumerate(slopes)}
        return sonde.Evaluation(float(value + 0.02 * (p["count"] - count) ** 2), gradient=gradient)

    return evaluate


if __name__ == "__main__":
    main()
