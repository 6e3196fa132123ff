"""When ``auto`` should leave ``gp`` for ``igo`` where a trial takes no time: ``gp`` first and then ``igo``.

    python -m benchmarks.igo.waiting                               # 25 bits: 0, 50, 100 and 200 trials of gp, then igo
    python -m benchmarks.igo.waiting --full                        # 100 bits as well: half an hour
    python -m benchmarks.igo.waiting --n 25 --after 500 --runs 1   # one more change, later

A run is the first trials of ``gp`` and then those of ``igo`` up to ``CALLS``. Runs of one case share the trials of
``gp``: they are kept in a study under ``out`` with the processor seconds that each took, and go on from there. Every
run is added to ``igo_waiting_runs.csv`` as it ends, and is not repeated. ``python -m benchmarks.pages`` then makes the
table.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from functools import partial
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from benchmarks.machine import use_one_core
from benchmarks.report import RESULTS
from benchmarks.resumed import complete, refuse_unknown, say_failed, whole_numbers

if TYPE_CHECKING:
    from benchmarks.igo.problems import Problem
    from sonde import Study, Trial

PROBLEMS = (2, 7, 18, 24, 25)  # of IOH's kinds; in benchmarks/igo/pseudo_boolean igo is behind others on 7 and 24
AFTER = {25: (0, 50, 100, 200), 100: (0, 50, 100)}  # by bits: trials of gp, each a second with 100 bits
CALLS = 2000


class Run(NamedTuple):
    """A problem of n bits with a seed, and the number of trials after which ``igo`` takes over."""

    n: int
    problem: int
    seed: int
    after: int


def main() -> None:
    options = arguments()
    use_one_core(options.core)
    from benchmarks.igo.problems import NAMES

    refuse_unknown("problems", options.problems, NAMES)
    plan = [
        Run(n, problem, seed, after)
        for seed in range(options.runs)
        for n in options.n or (AFTER if options.full else [25])
        for problem in options.problems
        for after in options.after or AFTER.get(n, AFTER[100])
    ]
    file = options.out / "igo_waiting_runs.csv"
    say_failed(complete(file, plan, partial(make, options.kept)))


def make(kept: Path, run: Run) -> tuple[dict[str, Any], float]:
    """Return the row of a run, and its best value."""
    from benchmarks.igo.problems import problem
    from benchmarks.igo.ranks import improvements

    value = problem(run.problem, run.n, run.seed)
    first = waited_for(kept, run, value) if run.after else []
    study, started = study_of(run, "igo"), time.process_time()
    study.add_trials([{"params": dict(trial), "value": trial.value} for trial in first])
    spend(study, value, CALLS)
    seconds = time.process_time() - started
    took = list(accumulate(trial.attributes["seconds"] for trial in first))
    row: dict[str, Any] = run._asdict() | {"gp seconds": f"{took[-1] if took else 0:.3g}"}
    row |= {"gp seconds by trial": " ".join(f"{total:.4g}" for total in took[9::10]), "igo seconds": f"{seconds:.3g}"}
    values = [trial.value for trial in study.trials]
    return row | {"best": improvements(values)}, max(values)


def waited_for(kept: Path, run: Run, value: Problem) -> Sequence[Trial]:
    """Return the first trials of ``gp``; those that are missing are made."""
    kept.mkdir(parents=True, exist_ok=True)
    study = study_of(run, "gp", storage=kept / "igo_waiting.db", name=f"{run.n} {run.problem} {run.seed}")
    spend(study, value, run.after)
    return study.trials[: run.after]


def study_of(run: Run, strategy: str, **kept: Any) -> Study:
    """Return a study of the bits, kept or in memory."""
    from sonde import Bool, Space, Study

    space = Space({f"bit{i}": Bool() for i in range(run.n)})
    return Study(space, direction="maximize", seed=run.seed, strategy=strategy, **kept)


def spend(study: Study, value: Problem, until: int) -> None:
    """Ask for and tell trials until there are so many."""
    import numpy as np

    for _ in range(until - len(study.trials)):
        started = time.process_time()  # processor time: the machine may be shared
        trial = study.ask()
        trial.attributes["seconds"] = time.process_time() - started
        study.tell(trial, value(np.array(list(trial.values()))))


def arguments() -> argparse.Namespace:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--full", action="store_true", help="25 and 100 bits")
    options.add_argument("--runs", type=int, default=3, metavar="N", help="of each problem, with seeds from 0 on")
    options.add_argument("--core", type=int, help="the core to use; by default the first allowed one")
    options.add_argument("--out", type=Path, default=RESULTS, metavar="DIR", help="the folder of the rows")
    options.add_argument("--n", type=whole_numbers, metavar="N,N", help="only these numbers of bits")
    options.add_argument("--after", type=whole_numbers, metavar="N,N", help="only these numbers of trials of gp")
    options.add_argument("--problems", type=whole_numbers, default=list(PROBLEMS), metavar="A,B", help="IOH's numbers")
    options.add_argument("--kept", type=Path, default=Path("out"), metavar="DIR", help="where the studies of gp are")
    return options.parse_args()


if __name__ == "__main__":
    main()
