"""Many dimensions: the gap, the seconds and the memory of a suggestion, ``fobo`` beside restarted L-BFGS, over d.

    python -m benchmarks.fobo.high_dimension                                         # d = 100 and 1000, 200 evaluations
    python -m benchmarks.fobo.high_dimension --dimensions 20 --budget 20 --out out   # seconds

Each run is a process of its own, so that its peak of memory is its own; the bytes that are held when it starts, its
libraries', are taken off. A run that takes longer than ``--minutes`` stops, and the table says after how many
evaluations; seconds per suggestion, of CPU, are of those it made. Nothing is kept from run to run.
"""

import argparse
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

from benchmarks.machine import describe_machine, use_one_core
from benchmarks.report import RESULTS

DIMENSIONS, BUDGET, METHODS = [100, 1000], 200, ["lbfgs-r", "fobo"]

Row = dict[str, str]


def main() -> None:
    options = arguments()
    use_one_core(options.core)
    from benchmarks.records import table

    rows = []
    for d in options.dimensions:
        for function in options.functions:
            for method in options.methods:
                for seed in range(options.runs):
                    rows.append(apart(method, function, d, seed, options.budget, 60 * options.minutes))
                    print(", ".join(f"{key} {value}" for key, value in rows[-1].items()), flush=True)
    title = f"Up to {options.budget} evaluations"
    options.out.mkdir(parents=True, exist_ok=True)
    path = options.out / "fobo_high_dimension.csv"
    table(path, title, rows, describe_machine())
    paint(path, rows)


def apart(*case: object) -> Row:
    """Measure a run in a process of its own."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(measure, *case).result()  # type: ignore[arg-type]


def measure(method: str, function: str, d: int, seed: int, budget: int, seconds: float) -> Row:
    """Return a row: the run, and the most memory that it had taken."""
    from benchmarks.first_order.one_product import forget_peak, status
    from benchmarks.fobo.functions import FUNCTIONS
    from benchmarks.fobo.methods import play

    play(method, FUNCTIONS[function], 2, seed, 6)  # what is imported on first use
    forget_peak()
    held = status("VmRSS")
    run = play(method, FUNCTIONS[function], d, seed, budget, seconds)
    return {
        "d": str(d),
        "function": function,
        "method": method,
        "seed": str(seed),
        "evaluations": str(run.evaluations),
        "gap": f"{run.best[-1]:.3g}",
        "seconds per suggestion": f"{run.seconds / run.evaluations:.3g}",
        "peak memory (MB)": f"{(status('VmHWM') - held) / 1e6:.1f}",
    }


def paint(path: Path, rows: Sequence[Row]) -> None:
    """Paint seconds and memory over d, means over functions and runs."""
    from statistics import mean

    from benchmarks.first_order.plots import legend, lines, panels, save

    figure, axes = panels(1, 2, (8, 3.2))
    for axis, column in zip(axes[0], ("seconds per suggestion", "peak memory (MB)"), strict=True):
        drawn = {}
        for method in dict.fromkeys(row["method"] for row in rows):
            own = [row for row in rows if row["method"] == method]
            sizes = sorted({int(row["d"]) for row in own})
            means = [mean(float(row[column]) for row in own if int(row["d"]) == d) for d in sizes]
            drawn[method] = (sizes, means)
        lines(axis, drawn, title=column, x="d", y=column)
        legend(axis)
    save(figure, path)


def arguments() -> argparse.Namespace:
    def listed(text: str) -> list[str]:
        return text.split(",")

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dimensions", type=lambda text: [int(d) for d in listed(text)], default=DIMENSIONS)
    parser.add_argument("--functions", type=listed, default=["griewank", "ackley", "rastrigin"], metavar="A,B")
    parser.add_argument("--methods", type=listed, default=METHODS, metavar="A,B")
    parser.add_argument("--runs", type=int, default=1, help="how many of each, with seeds from 0 on")
    parser.add_argument("--budget", type=int, default=BUDGET, help="evaluations")
    parser.add_argument("--minutes", type=float, default=30.0, help="the longest that a run may take")
    parser.add_argument("--core", type=int, help="the core to use; by default the first allowed one")
    parser.add_argument("--out", type=Path, default=RESULTS, metavar="DIR", help="the folder of results")
    return parser.parse_args()


if __name__ == "__main__":
    main()
