"""``fobo`` told values, gradients and Hessians, beside ``fobo`` told values and gradients, at equal evaluations.

    python -m benchmarks.fobo.hessians                        # 4-D, one run each
    python -m benchmarks.fobo.hessians --full --core 1        # 4-D and 10-D, five seeds
    python -m benchmarks.fobo.hessians --full --draw          # the table of what has run

40 evaluations of five of the functions of ``problems``. Hessians are central differences of exact gradients; what they
take is not counted. Pairs are runs of one function and seed, and ends are equal as in ``ablation``. The paper leaves
this comparison to future work (its appendix D).
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.fobo.ablation import Case, ahead
from benchmarks.machine import use_one_core
from benchmarks.records import machine, numbers, read, table
from benchmarks.resumed import complete, parser, refuse_unknown, say_failed, whole_numbers, words

EVALUATIONS = 40
SHOWN = (5, 10, 20, 40)
FUNCTIONS = {
    "condition 1e4": "quadratics", "rosenbrock": "valleys", "logistic": "likelihoods", "levy": "multimodal",
    "rastrigin": "multimodal",
}  # fmt: skip
METHODS = ("gradients", "hessians")


def main() -> None:
    options = parser(__doc__, "4-D and 10-D, five seeds")
    options.add_argument("--dimensions", type=whole_numbers, metavar="D,D", help="only these")
    options.add_argument("--functions", type=words, metavar="A,B", help="only these")
    chosen = options.parse_args()
    use_one_core(chosen.core)
    refuse_unknown("functions", chosen.functions, FUNCTIONS)
    file = chosen.out / f"fobo_hessians{'' if chosen.full else '_short'}_runs.csv"
    plan = [
        Case(FUNCTIONS[name], name, d, method, seed)
        for seed in range(chosen.runs or (5 if chosen.full else 1))
        for d in chosen.dimensions or ((4, 10) if chosen.full else (4,))
        for name in chosen.functions or FUNCTIONS
        for method in METHODS
    ]
    failed = 0 if chosen.draw else complete(file, plan, make)
    if rows := read(file):
        draw(file, rows)
    say_failed(failed)


def make(case: Case) -> tuple[dict[str, Any], float]:
    """Return the row of a run, and its best value."""
    import sonde
    from benchmarks.fobo.problems import Problem, hessian

    function = Problem(case.group, case.function, case.d, case.seed).objective()
    space = sonde.Space({f"x{i}": sonde.Float(0, 1) for i in range(case.d)})
    study, values, seconds = sonde.Study(space, seed=case.seed, strategy="fobo"), [], 0.0
    for _ in range(EVALUATIONS):
        started = time.process_time()
        trial = study.ask()
        seconds += time.process_time() - started
        u = np.array([trial[name] for name in space.names])
        value, gradient = function(u)
        values.append(value)
        study.tell(trial, value, gradient=gradient, hessian=hessian(function, u) if case.method == "hessians" else None)
    best = np.minimum.accumulate(values)
    row = case._asdict() | {"centre": f"{function(np.full(case.d, 0.5))[0]:.10g}"}
    row |= {"seconds": f"{seconds / EVALUATIONS:.3g}"}
    return row | {"best": numbers([float(best[n - 1]) for n in SHOWN], 12)}, float(best[-1])


def draw(file: Path, rows: list[dict[str, str]]) -> None:
    """Print and write how often Hessians are ahead, by function, and the seconds of a suggestion."""
    runs = {(row["d"], row["function"], row["seed"], row["method"]): row for row in rows}
    pairs: dict[tuple[str, str], list[tuple[dict[str, str], dict[str, str]]]] = {}
    for (d, function, seed, method), row in runs.items():
        if method == "hessians" and (own := runs.get((d, function, seed, "gradients"))):
            pairs.setdefault((d, function), []).append((own, row))
    if pairs:
        lines = [
            line(d, function, own) for (d, function), own in sorted(pairs.items(), key=lambda pair: int(pair[0][0]))
        ]
        table(file.with_name(file.name.replace("_runs", "")), "Pairs in which Hessians are ahead", lines, machine(file))


def line(d: str, function: str, pairs: list[tuple[dict[str, str], dict[str, str]]]) -> dict[str, str]:
    """Return the row of a function in one dimension."""
    best = np.array([[row["best"].split() for row in pair] for pair in pairs], dtype=float)  # (pairs, 2, SHOWN)
    centre = [float(row["centre"]) for row, _ in pairs]
    shown = {"function": function, "d": d, "pairs": str(len(pairs))}
    for at, n in enumerate(SHOWN):
        scores = [ahead(own[1, at], own[0, at], own.min(), middle) for own, middle in zip(best, centre, strict=True)]
        shown[f"ahead at {n}"] = f"{np.sum(scores):g}"
    for which, method in enumerate(METHODS):
        shown[f"median end, {method}"] = f"{np.median(best[:, which, -1]):.3g}"
        shown[f"seconds, {method}"] = f"{np.median([float(pair[which]['seconds']) for pair in pairs]):.2g}"
    return shown


if __name__ == "__main__":
    main()
