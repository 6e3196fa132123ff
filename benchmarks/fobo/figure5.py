"""Figure 5: the optimality gap over evaluations on Griewank, Ackley and Rastrigin in 4 and 16 dimensions.

    python -m benchmarks.fobo.figure5                                       # d = 4, 50 evaluations, 3 runs
    python -m benchmarks.fobo.figure5 --full --core 1                       # d = 4 and 16, 100 evaluations, 32 runs
    python -m benchmarks.fobo.figure5 --full --dimensions 4 --functions ackley --methods fobo,lbfgs-r --runs 4
    python -m benchmarks.fobo.figure5 --full --draw                         # the tables and the picture of what has run

Methods are the paper's seven, random, lbfgs, lbfgs-r, bo, bo-q, fobo-paper and fobo-q-paper, and Sonde's strategies as
shipped: fobo, told gradients, and gp, without. The paper has 128 runs and gives no numbers: only lines.

Every run is added to ``fobo_figure5_runs.csv`` (``fobo_figure5_short_runs.csv``) as it ends, and is not repeated:
killing it loses the run it was in. Two may run at once on two cores.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import NamedTuple

from benchmarks.machine import use_one_core


class Size(NamedTuple):
    """How large the figure is."""

    name: str
    dimensions: list[int]
    evaluations: int
    runs: int


FULL, SHORT = Size("fobo_figure5", [4, 16], 100, 32), Size("fobo_figure5_short", [4], 50, 3)


def main() -> None:
    options = arguments()
    use_one_core(options.core)
    from benchmarks.acquisition.records import read
    from benchmarks.fobo.functions import FUNCTIONS
    from benchmarks.fobo.gaps import draw
    from benchmarks.fobo.methods import METHODS

    for kind, asked, known in (("functions", options.functions, FUNCTIONS), ("methods", options.methods, METHODS)):
        if unknown := set(asked or ()) - set(known):
            raise SystemExit(f"{kind} are {', '.join(known)}, got {', '.join(sorted(unknown))}")
    size = FULL if options.full else SHORT
    file = options.out / f"{size.name}_runs.csv"
    failed = 0 if options.draw else add_missing(file, size, options)
    if runs := read(file):
        draw(file, options.out / size.name, runs)
    if failed:
        raise SystemExit(f"{failed} runs failed; they are tried again next time")


def add_missing(file: Path, size: Size, options: argparse.Namespace) -> int:
    """Make the runs that are asked for and not there; return how many failed."""
    from benchmarks.acquisition.records import read
    from benchmarks.fobo.functions import FUNCTIONS
    from benchmarks.fobo.methods import METHODS

    plan = [
        (name, d, method, seed)
        for seed in range(options.runs or size.runs)
        for d in options.dimensions or size.dimensions
        for method in options.methods or METHODS
        for name in options.functions or FUNCTIONS
    ]
    done = {(row["problem"], int(row["d"]), row["method"], int(row["seed"])) for row in read(file)}
    waiting = [run for run in plan if run not in done]
    print(f"{file}: {len(plan) - len(waiting)} of {len(plan)} runs done", flush=True)
    budget = size.evaluations
    return sum(not attempt(file, *run, budget, label=f"{i}/{len(waiting)}") for i, run in enumerate(waiting, 1))


def attempt(file: Path, name: str, d: int, method: str, seed: int, budget: int, *, label: str) -> bool:
    """Make one run and keep it; a method that raises leaves its reason and no row."""
    from benchmarks.acquisition.records import append, numbers
    from benchmarks.fobo.functions import FUNCTIONS
    from benchmarks.fobo.methods import play

    title, started = f"{label} {name} d = {d} {method} seed {seed}", time.perf_counter()
    try:
        run = play(method, FUNCTIONS[name], d, seed, budget)
    except Exception as error:
        print(f"{title} FAILED: {type(error).__name__}: {error}", flush=True)
        return False
    row = {"problem": name, "d": d, "method": method, "seed": seed}
    row |= {"evaluations": run.evaluations, "seconds": f"{run.seconds:.4g}"}
    append(file, row | {"best": numbers(run.best.tolist(), 6)})
    print(f"{title}: {run.best[-1]:.3g} after {time.perf_counter() - started:.1f} s", flush=True)
    return True


def arguments() -> argparse.Namespace:
    from benchmarks.report import RESULTS

    def listed(text: str) -> list[str]:
        return text.split(",")

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--full", action="store_true", help="d = 4 and 16, 100 evaluations, 32 runs")
    parser.add_argument("--dimensions", type=lambda text: [int(d) for d in listed(text)], metavar="D,D", help="only")
    parser.add_argument("--functions", type=listed, metavar="A,B", help="only these")
    parser.add_argument("--methods", type=listed, metavar="A,B", help="only these, in this order")
    parser.add_argument("--runs", type=int, help="how many of each, with seeds from 0 on")
    parser.add_argument("--core", type=int, help="the core to use; by default the first allowed one")
    parser.add_argument("--out", type=Path, default=RESULTS, metavar="DIR", help="the folder of runs and results")
    parser.add_argument("--draw", action="store_true", help="run nothing")
    return parser.parse_args()


if __name__ == "__main__":
    main()
