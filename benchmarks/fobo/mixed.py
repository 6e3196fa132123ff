"""Mixed spaces: many floats with gradients, and a few parameters that have none.

    python -m benchmarks.fobo.mixed [--full] [--core K]

A multimodal function of d floats, a quadratic plus cosines, whose scale and level depend on three categories of four
choices each; an integer adds a parabola. The minimum is 0. The floats have gradients. Contenders: fobo with gradients;
without them, at the same number of evaluations, Sonde's gp, Optuna's TPE and random search. With more than 40
parameters fobo has no global model.
"""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from benchmarks.fobo.contenders import begin, compare

CHOICES = ("a", "b", "c", "d")
KINDS = ("kind0", "kind1", "kind2")


def main() -> None:
    size, rows = begin(__doc__), []
    from benchmarks.report import report

    for d in (6, 60):
        rows += [{"floats": d} | row for row in compare(objective(d), space_of(d), size)]
    report("fobo_mixed" + size.suffix, "Mixed spaces: best value, mean ± standard deviation over seeds", rows)


def space_of(d: int) -> Any:
    """Return the space of so many floats."""
    import sonde

    floats = {f"x{i}": sonde.Float(-1, 1) for i in range(d)}
    return sonde.Space(floats | {kind: sonde.Categorical(CHOICES) for kind in KINDS} | {"count": sonde.Int(0, 10)})


def objective(d: int) -> Callable[[Mapping[str, Any]], Any]:
    """Return a function of a configuration: its value and its gradient in the floats."""
    import sonde

    rng = np.random.default_rng(d)
    minimizer, right, count = rng.uniform(-0.6, 0.6, d), rng.choice(CHOICES, 3), int(rng.integers(2, 9))

    def evaluate(p: Mapping[str, Any]) -> Any:
        u = np.array([p[f"x{i}"] for i in range(d)]) - minimizer
        wrong = sum(p[kind] != choice for kind, choice in zip(KINDS, right, strict=True))
        factor = 1 + 0.3 * wrong
        value = factor * np.mean(4 * u**2 + 0.3 * (1 - np.cos(4 * np.pi * u))) + 0.3 * wrong
        gradients = factor * (8 * u + 1.2 * np.pi * np.sin(4 * np.pi * u)) / d
        gradient = {f"x{i}": float(each) for i, each in enumerate(gradients)}
        return sonde.Evaluation(float(value + 0.02 * (p["count"] - count) ** 2), gradient=gradient)

    return evaluate


if __name__ == "__main__":
    main()
