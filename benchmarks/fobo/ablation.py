"""``fobo`` with and without its parts, beside L-BFGS-B, on five groups of functions with gradients.

    python -m benchmarks.fobo.ablation                                # a few functions, one run each
    python -m benchmarks.fobo.ablation --full --core 1                # all of them
    python -m benchmarks.fobo.ablation --full --methods fobo,lbfgs-r --groups valleys --runs 3
    python -m benchmarks.fobo.ablation --full --draw                  # the tables of what has run

60 evaluations. Pairs are runs of one function and seed; two ends are equal where both are within 1e-8 of the best known
value, in units of the distance from it to the value at the centre. ``lbfgs-r`` restarts L-BFGS-B from random points,
``lbfgs-c`` from the centre first. Every run is kept as it ends and is not repeated.

Seeds from 100 on were for development, with the functions of ``DEVELOPED`` in some dimensions; COCO's were not used.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

import numpy as np

from benchmarks.machine import use_one_core
from benchmarks.records import machine, numbers, read, table
from benchmarks.resumed import complete, parser, refuse_unknown, say_failed, words

EVALUATIONS = 60
SHOWN = (10, 20, 40, 60)
SOLVED = 1e-8
DEVELOPED = ("quadratics", "valleys", "likelihoods")
SUITE: dict[str, dict[str, tuple[int, ...]]] = {  # dimensions of every function
    "quadratics": {"condition 1e2": (2, 10, 40), "condition 1e3": (20,), "condition 1e4": (5, 20, 100),
                   "condition 1e6": (10, 40)},
    "valleys": {"rosenbrock": (2, 8, 20, 50), "dixon-price": (5, 20), "powell": (4, 12), "trid": (10, 50),
                "powers": (5, 20)},
    "multimodal": {"schwefel": (2, 5), "drop-wave": (2,), "shekel": (4,), "hartmann": (3, 6), "levy": (5, 20),
                   "styblinski-tang": (4, 10), "rastrigin": (3, 10), "griewank": (5, 20), "ackley": (4, 20)},
    "likelihoods": {"logistic": (10, 30), "poisson": (6, 16), "softmax": (40,), "gaussian process": (5, 12)},
    "bbob": {f"f{number}": (10,) for number in range(1, 25)},
}  # fmt: skip
SHORT = {"quadratics": {"condition 1e4": (5,)}, "valleys": {"rosenbrock": (8,)}, "multimodal": {"levy": (5,)}}


class Case(NamedTuple):
    """A run."""

    group: str
    function: str
    d: int
    method: str
    seed: int


def main() -> None:
    options = arguments()
    use_one_core(options.core)
    refuse_unknown("methods", options.methods, METHODS)
    suite = SUITE if options.full else SHORT
    refuse_unknown("groups", options.groups, suite)
    file = options.out / f"fobo_ablation{'' if options.full else '_short'}_runs.csv"
    plan = [
        Case(group, function, d, method, seed)
        for seed in range(options.runs or 1)
        for group in options.groups or suite
        for function, dimensions in suite[group].items()
        for d in dimensions
        for method in options.methods or METHODS
    ]
    failed = 0 if options.draw else complete(file, plan, make)
    if rows := read(file):
        draw(file, rows)
    say_failed(failed)


def arguments() -> argparse.Namespace:
    options = parser(__doc__, "all functions and dimensions")
    options.add_argument("--methods", type=words, metavar="A,B", help="only these, in this order")
    options.add_argument("--groups", type=words, metavar="A,B", help="only these")
    return options.parse_args()


def make(case: Case) -> tuple[dict[str, Any], float]:
    """Return the row of a run, and its best value."""
    import time

    from benchmarks.fobo.problems import Problem

    function = Problem(case.group, case.function, case.d, case.seed).objective()
    values: list[float] = []

    def objective(u: np.ndarray) -> tuple[float, np.ndarray]:
        if len(values) == EVALUATIONS:
            raise _SpentError
        value, gradient = function(np.clip(u, 0.0, 1.0))
        values.append(value)
        return value, gradient

    started = time.process_time()
    with suppress(_SpentError):
        METHODS[case.method](objective, case.d, case.seed)
    seconds = (time.process_time() - started) / EVALUATIONS
    best = np.minimum.accumulate(values)
    row = case._asdict() | {"centre": f"{function(np.full(case.d, 0.5))[0]:.10g}", "seconds": f"{seconds:.3g}"}
    return row | {"best": numbers([float(best[n - 1]) for n in SHOWN], 12)}, float(best[-1])


class _SpentError(Exception):
    pass


def lbfgs(objective: Callable[[np.ndarray], Any], d: int, seed: int, *, centre: bool) -> None:
    """Run L-BFGS-B from one point after another."""
    from scipy.optimize import minimize

    rng = np.random.default_rng(seed)
    start = np.full(d, 0.5) if centre else rng.random(d)
    while True:
        minimize(objective, start, jac=True, method="L-BFGS-B", bounds=[(0, 1)] * d)
        start = rng.random(d)


def fobo(objective: Callable[[np.ndarray], Any], d: int, seed: int, *, variant: str = "") -> None:
    """Ask a study with gradients, of ``fobo`` as it is or of one of its variants."""
    import sonde

    space = sonde.Space({f"x{i}": sonde.Float(0, 1) for i in range(d)})
    with changed(variant):
        study = sonde.Study(space, seed=seed, strategy="fobo")
        while True:
            trial = study.ask()
            value, gradient = objective(np.array([trial[name] for name in space.names]))
            study.tell(trial, value, gradient=gradient)


@contextmanager
def changed(variant: str) -> Iterator[None]:
    """Leave out a part of ``fobo``."""
    from sonde.strategies.first_order import active_searches, local_search
    from sonde.strategies.first_order.gradient_model import GradientModel
    from sonde.strategies.sobol import CentreFirst, Sobol
    from sonde.surrogates.gradient import global_trend, region
    from sonde.surrogates.gradient.global_trend import GlobalTrends

    changes: dict[str, tuple[Any, str, Any]] = {
        "no misfits": (region, "BOUNDS", np.array([*region.BOUNDS.T[:3], (-60.0, -59.0)]).T),
        "misfits always": (region, "BOUNDS", np.array([*region.BOUNDS.T[:3], (-9.0, -1.0)]).T),
        "no caution": (local_search, "MOST_CAUTION", 0.0),
        "global from the start": (GradientModel, "in_any_dimension", True),
        "no centre": (CentreFirst, "_points", Sobol._points),
        "converges at 1e-3": (local_search, "COARSE", 1e-3),
        "starts anywhere": (GlobalTrends, "sample_minimizer", _anywhere),
        "single starts": (active_searches, "STARTS", 1),
        "quadratic trend": (global_trend, "WARPS", (0.0,)),
        "normal gradients": (global_trend, "DEGREES", 1e6),
        "one grid": (global_trend, "REFINEMENTS", 0),
        "basins again": (local_search, "BASIN", (np.inf, 0.0)),
    }
    if not variant:
        yield
        return
    with mock.patch.object(*changes[variant]):
        yield


def _anywhere(trends: Any, rng: np.random.Generator) -> np.ndarray:
    return rng.random(len(trends.components[0].mean) - 2) - 0.5


VARIANTS = ("no misfits", "misfits always", "no caution", "global from the start", "no centre", "converges at 1e-3",
            "starts anywhere", "single starts", "quadratic trend", "normal gradients", "one grid",
            "basins again")  # fmt: skip
METHODS: dict[str, Callable[[Any, int, int], None]] = {
    "lbfgs-r": partial(lbfgs, centre=False), "lbfgs-c": partial(lbfgs, centre=True), "fobo": fobo,
    **{variant: partial(fobo, variant=variant) for variant in VARIANTS},
}  # fmt: skip


def ahead(ours: float, theirs: float, lowest: float, centre: float) -> float:
    """Return 1 where our value is below theirs, 1/2 where both are equal, else 0."""
    margin = SOLVED * max(centre - lowest, 1e-300)
    own, other = (max(value - lowest, margin) for value in (ours, theirs))
    return 0.5 if own == other else float(own < other)


def draw(file: Path, rows: list[dict[str, str]]) -> None:
    """Print and write how often ``fobo`` ends below each other method, by group."""
    ends: dict[str, dict[tuple[str, str, str, str], np.ndarray]] = {}
    centre: dict[tuple[str, str, str, str], float] = {}
    for row in rows:
        key = row["group"], row["function"], row["d"], row["seed"]
        ends.setdefault(row["method"], {})[key] = np.array([float(each) for each in row["best"].split()])
        centre[key] = float(row["centre"])
    lowest = {key: min(runs[key][-1] for runs in ends.values() if key in runs) for key in centre}

    def score(key: tuple[str, str, str, str], other: str, at: int) -> float:
        return ahead(ends["fobo"][key][at], ends[other][key][at], lowest[key], centre[key])

    lines = []
    for other in (name for name in METHODS if name in ends and name != "fobo"):
        keys = [key for key in ends.get("fobo", {}) if key in ends[other]]
        for group in (*dict.fromkeys(key[0] for key in keys), "all"):
            own = [key for key in keys if group in ("all", key[0])]
            line = {"fobo against": other, "group": group, "pairs": str(len(own))}
            for at, n in enumerate(SHOWN):
                line[f"ahead at {n}"] = f"{100 * np.mean([score(key, other, at) for key in own]):.0f}%"
            lines.append(line)
    if lines:
        table(
            file.with_name(file.name.replace("_runs", "")),
            "Share of pairs in which fobo is ahead",
            lines,
            machine(file),
        )


if __name__ == "__main__":
    main()
