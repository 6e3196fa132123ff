"""The number of results from which on ``auto`` should use ``igo``: it, ``gp`` and ``dngo`` continue one history.

    python -m benchmarks.igo.switch                                          # after 300 results, 60 more trials
    python -m benchmarks.igo.switch --after 300,1000,2000 --more 200 --runs 3

The first results are those of ``igo``. The table has for each problem the best value before and after as many more
trials, higher is better, and the seconds of a suggestion; below it, how often each strategy was best or tied.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from benchmarks.machine import use_one_core

if TYPE_CHECKING:
    from sonde import Space, Study

PROBLEMS = (2, 7, 9, 18, 19, 22, 24, 25)  # one of each kind of IOH's
STRATEGIES = ("igo", "gp", "dngo")


def main() -> None:
    options = arguments()
    use_one_core(options.core)
    from benchmarks.report import report
    from sonde import Bool, Space

    space = Space({f"bit{i}": Bool() for i in range(options.n)})
    rows = [
        compare(space, number, seed, after, options)
        for after in options.after
        for number in options.problems
        for seed in range(options.runs)
    ]
    report("igo_switch", f"Best values of {options.n} bits after {options.more} more trials", rows)
    for after in options.after:
        here = [[float(row[name]) for name in options.strategies] for row in rows if row["results"] == after]
        wins = [sum(row[i] >= max(row) for row in here) for i in range(len(options.strategies))]
        won = ", ".join(f"{name} {count}" for name, count in zip(options.strategies, wins, strict=True))
        print(f"after {after} results, best or tied of {len(here)}: {won}")


def compare(space: Space, number: int, seed: int, after: int, options: argparse.Namespace) -> dict[str, Any]:
    """Return a row: the best values of all strategies after the same first results."""
    from benchmarks.igo.problems import NAMES, problem
    from sonde import Study

    value = problem(number, options.n, seed)
    first = Study(space, direction="maximize", seed=seed, strategy="igo")
    spend(first, value, after)
    known = [{"params": dict(trial), "value": trial.value} for trial in first.trials]
    row: dict[str, Any] = {"results": after, "problem": NAMES[number], "seed": seed, "before": first.best_value}
    for strategy in options.strategies:
        study = Study(space, direction="maximize", seed=seed, strategy=strategy)
        study.add_trials(known)
        started = time.perf_counter()
        spend(study, value, options.more)
        row |= {strategy: study.best_value, f"{strategy} s": (time.perf_counter() - started) / options.more}
    print(row, flush=True)
    return row


def spend(study: Study, value: Callable[[Any], float], count: int) -> None:
    """Ask for and tell ``count`` trials."""
    import numpy as np

    for _ in range(count):
        trial = study.ask()
        study.tell(trial, value(np.array(list(trial.values()))))


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--after", type=numbers, default=[300], metavar="N,N", help="results before")
    parser.add_argument("--more", type=int, default=60, metavar="N", help="trials after them")
    parser.add_argument("--runs", type=int, default=1, help="of each problem")
    parser.add_argument("--n", type=int, default=64, help="bits")
    parser.add_argument("--problems", type=numbers, default=list(PROBLEMS), metavar="A,B", help="IOH's numbers")
    parser.add_argument("--strategies", type=lambda text: text.split(","), default=list(STRATEGIES), metavar="A,B")
    parser.add_argument("--core", type=int, help="the core to use; by default the first allowed one")
    return parser.parse_args()


def numbers(text: str) -> list[int]:
    return [int(part) for part in text.split(",")]


if __name__ == "__main__":
    main()
