"""Figure 2 and table 2: gain from maximizing an acquisition function by gradients, at equal run time.

    python -m benchmarks.acquisition.inner_optimizers --full --jobs 16 --minutes 9
    python -m benchmarks.acquisition.inner_optimizers --full --draw

The objectives are 16 functions of 8 variables drawn from the prior of the model. A run goes from 8 random observations
to 256, in batches ("pools") of 8 points. Each acquisition function runs with each of four inner optimizers and a
control (``searches``). Without ``--full`` there are 4 tasks of 96 evaluations and half the time: minutes on one core.

A suggestion takes about 0.3 s here (q-ES 0.6 s), 20 s in the paper: random search gets 2^12 batches instead of 2^15,
and the others get the same time. Rows are appended as runs finish, task after task, q-ES last. Start it again to
continue. ``--draw`` makes tables and picture of the finished runs, on any machine.
"""

import argparse
import multiprocessing
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import cycle, islice
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.acquisition.files import ACQUISITIONS, OPTIMIZERS, RESULTS, Files
from benchmarks.machine import use_one_core


class Size(NamedTuple):
    """How much to run; q-ES gets an eighth of the batches of random search."""

    tasks: int
    evaluations: int
    pools: int

    def pools_of(self, acquisition: str) -> int:
        """Return the number of batches of random search."""
        return self.pools // 8 if acquisition == "es" else self.pools


FULL, SHORT = Size(16, 256, 4096), Size(4, 96, 2048)


def prepare(job: int | str, size: Size) -> list[dict[str, Any]]:
    """Return the maximum of a task, or the budgets of an acquisition function: rows of the first two files."""
    from benchmarks.acquisition.draws import draw, maximum, mismatch
    from benchmarks.acquisition.trials import budgets

    if isinstance(job, int):
        return [{"task": job, "maximum": f"{maximum(draw(job)):.9g}", "mismatch": f"{mismatch(job):.2g}"}]
    found = budgets(job, size.pools_of(job), size.evaluations)
    return [
        {"acquisition": job, "optimizer": kind, "budget": budget, "seconds": f"{seconds:.3g}"}
        for kind, (budget, seconds) in found.items()
    ]


def attempt(job: tuple[str, str, int, int, int]) -> dict[str, Any]:
    """Return the result of one run: a row of the third file."""
    from benchmarks.acquisition.trials import Run, execute
    from benchmarks.records import numbers

    run, found = execute(Run(*job))
    return {**run._asdict(), "best": numbers(found.best, 9), "seconds": numbers(found.seconds, 3)}


def finished(function: Callable[[Any], Any], jobs: Sequence[Any], workers: int, end: float) -> Iterator[Any]:
    """Yield results as they come, from ``workers`` processes with one core each, until the time ``end``."""
    if workers == 1:
        yield from (function(job) for job in jobs if time.monotonic() < end)
        return
    context = multiprocessing.get_context("spawn")
    cores = context.SimpleQueue()
    for core in islice(cycle(sorted(os.sched_getaffinity(0))), workers):
        cores.put(core)
    with context.Pool(workers, _pin, (cores,)) as pool:
        results = pool.imap_unordered(function, jobs)
        for _ in jobs:
            try:
                yield results.next(max(end - time.monotonic(), 0.0))
            except multiprocessing.TimeoutError:
                return


def _pin(cores: Any) -> None:
    os.sched_setaffinity(0, {cores.get()})


def measure(files: Files, size: Size, acquisitions: Sequence[str], workers: int, end: float) -> None:
    """Run everything that is not in the files yet."""
    from benchmarks.records import append, read

    there: set[int | str] = {int(row["task"]) for row in read(files.tasks)}
    there |= {row["acquisition"] for row in read(files.budgets)}
    wanted = [*reversed(acquisitions), *range(size.tasks)]  # q-ES takes longest, so it comes first
    for rows in finished(partial(prepare, size=size), [job for job in wanted if job not in there], workers, end):
        for row in rows:
            append(files.tasks if "task" in row else files.budgets, row)
            print(*row.values(), flush=True)

    budgets = _budgets(files.budgets, size, acquisitions)
    done = {(row["acquisition"], row["optimizer"], int(row["task"])) for row in read(files.trials)}
    order = [
        (name, kind, task, budgets[name, kind], size.evaluations)
        for late in (False, True)
        for task in range(size.tasks)
        for name in acquisitions
        for kind in OPTIMIZERS
        if (name == "es") == late and (name, kind, task) not in done and (name, kind) in budgets
    ]
    print(f"{files.trials}: {len(done)} runs done, {len(order)} to do", flush=True)
    started = time.monotonic()
    for count, row in enumerate(finished(attempt, order, workers, end), 1):
        append(files.trials, row)
        name = f"{row['acquisition']} {row['optimizer']} task {row['task']}"
        print(f"{count}/{len(order)} after {time.monotonic() - started:.0f} s: {name}", flush=True)


def _budgets(path: Path, size: Size, acquisitions: Sequence[str]) -> dict[tuple[str, str], int]:
    from benchmarks.records import read

    found = {(row["acquisition"], row["optimizer"]): int(row["budget"]) for row in read(path)}
    for name in acquisitions:
        if found.get((name, "random"), size.pools_of(name)) != size.pools_of(name):
            sys.exit(
                f"{path} has budgets for another number of batches: use the same --pools, or another folder (--out)"
            )
    return found


def main() -> None:
    options = arguments()
    cores = os.sched_getaffinity(0)
    use_one_core()
    if options.jobs > 1:
        os.sched_setaffinity(0, cores)  # one thread each stays; workers take a core each
    size = FULL if options.full else SHORT
    size = size._replace(tasks=options.tasks or size.tasks, pools=options.pools or size.pools)
    ending = "" if options.full else "_short"
    files = Files(*(options.out / f"acquisition_{name}{ending}.csv" for name in ("tasks", "budgets", "trials")))
    if not options.draw:
        measure(files, size, options.acquisitions, options.jobs, time.monotonic() + 60 * options.minutes)
        return
    from benchmarks.acquisition.summary import summarise

    summarise(files, ending)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--full", action="store_true", help="the size of the paper")
    parser.add_argument("--jobs", type=int, default=1, help="processes, with a core each")
    parser.add_argument("--minutes", type=float, default=1e6, help="stop after these; finished runs are kept")
    parser.add_argument("--tasks", type=int, help="how many functions")
    parser.add_argument("--pools", type=int, help="batches of random search, which set the time of a suggestion")
    parser.add_argument("--acquisitions", type=lambda text: text.split(","), default=list(ACQUISITIONS), metavar="A,B")
    parser.add_argument("--out", type=Path, default=RESULTS, help="folder of the results")
    parser.add_argument("--draw", action="store_true", help="make tables and picture of the finished runs")
    return parser.parse_args()


if __name__ == "__main__":
    main()
