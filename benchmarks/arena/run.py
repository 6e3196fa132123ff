"""Run contenders on a suite and add what each found to a file; what is there already is not run again.

    python -m benchmarks.arena.run --suite bbob --dimension 5 --contenders random,sonde --seeds 2
    python -m benchmarks.arena.run --suite sklearn --contenders sonde --label wider    # a change that is being tried

Runs are of the development half; ``--half report`` is for ``plan``, once for a version. Killing it loses the run it
was in. Two may run at once on two cores (``--core``), into two files.
"""

import argparse
import os
import sys
import traceback
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from benchmarks.machine import use_one_core
from benchmarks.report import RESULTS

RUNS = RESULTS / "arena"
CHANGELOG = Path(__file__).parents[2] / "CHANGELOG.md"


class Run(NamedTuple):
    """What is to be run."""

    half: str
    suite: str
    dimension: int
    function: int
    seed: int
    contender: str
    label: str = ""  # what is tried, on the development half

    @property
    def budget(self) -> int:
        """The number of evaluations."""
        from benchmarks.arena.suites import SUITES

        return SUITES[self.suite].budgets[self.dimension]

    @property
    def version(self) -> str:
        """The version of Sonde, with what is tried; empty for another library."""
        from benchmarks.arena.contenders import ours

        return (self.label or version()) if ours(self.contender) else ""

    @property
    def key(self) -> tuple[str | int, ...]:
        """The key of its record."""
        return *self[:6], self.budget, self.version


def main() -> None:
    options = arguments()
    if options.core is not None:
        os.sched_setaffinity(0, {options.core})
    use_one_core()
    from benchmarks.arena.suites import REPORT, SUITES

    if options.label and (options.half == REPORT or options.label[0].isdigit()):
        sys.exit("a label names what is tried on the development half, and does not begin with a digit")
    plan = [
        run._replace(label=options.label)
        for dimension in options.dimension or SUITES[options.suite].budgets
        for run in runs(options.half, options.suite, dimension, options.seeds, options.contenders)
        if not options.functions or run.function in options.functions
    ]
    if failed := complete(plan, options.out):
        sys.exit(f"{failed} runs failed; they are tried again next time")


def runs(half: str, suite: str, dimension: int, seeds: Sequence[int], contenders: Sequence[str]) -> list[Run]:
    """Return the runs of a half of a suite; seeds count from the first one of the half."""
    from benchmarks.arena.suites import SUITES

    own = SUITES[suite].half(half)
    return [
        Run(half, suite, dimension, function, own.first + seed, name)
        for seed in seeds
        for function in own.functions
        for name in contenders
    ]


def complete(plan: Sequence[Run], out: Path | None = None) -> int:
    """Make the runs that no file has; return how many failed."""
    from benchmarks.arena import records

    files = {*RUNS.glob("*.csv"), *([out] if out else [])}
    done = {record.key for file in files for record in records.read(file)}
    waiting = [run for run in plan if run.key not in done]
    print(f"{len(plan) - len(waiting)} of {len(plan)} runs done", flush=True)
    return sum(
        not attempt(out or RUNS / f"{run.half}-{run.suite}.csv", run, f"{i}/{len(waiting)}")
        for i, run in enumerate(waiting, 1)
    )


def attempt(out: Path, run: Run, label: str) -> bool:
    """Make one run and keep it; a contender that raises leaves its traceback and no record."""
    from benchmarks.arena.contenders import edition, play
    from benchmarks.arena.records import Record, append, curve
    from benchmarks.arena.suites import problem

    title = f"{label} {run.half} {run.suite} d{run.dimension} f{run.function} seed {run.seed} {run.contender}"
    try:
        posed = problem(run.suite, run.function, run.dimension, run.seed)
        scores, seconds = play(run.contender, posed, run.budget, posed.key)
    except Exception:
        print(f"{title} FAILED\n{traceback.format_exc()}", flush=True)
        return False
    found = curve(scores, posed.optimum)
    today = datetime.now(UTC).date().isoformat()
    kept = (edition(run.contender), run.version, today, round(seconds, 3), posed.optimum, found)
    append(out, Record(*run[:6], run.budget, *kept))
    print(f"{title}: {found.rpartition(':')[2]} after {seconds:.1f} s", flush=True)
    return True


def version() -> str:
    """Return the version of the source, with a + if the changelog has begun the next one."""
    import sonde

    return sonde.__version__ + "+" * CHANGELOG.read_text().partition("\n## ")[2].startswith("Unreleased")


def arguments() -> argparse.Namespace:
    from benchmarks.arena.suites import DEVELOPMENT, REPORT, SUITES

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--suite", choices=SUITES, default="bbob")
    parser.add_argument("--half", choices=(DEVELOPMENT, REPORT), default=DEVELOPMENT)
    parser.add_argument("--dimension", type=span, help="for example 5 or 2,5,10; by default all of the suite")
    parser.add_argument("--contenders", type=lambda text: text.split(","), default=["sonde"], metavar="A,B")
    parser.add_argument("--seeds", type=seeds, default=seeds("1"), help="how many, or a range such as 2-4")
    parser.add_argument("--functions", type=span, help="only these of the half, for example 1-24 or 3,8,15-20")
    parser.add_argument("--label", default="", help="what is tried: another name for the version of Sonde")
    parser.add_argument("--out", type=Path, help="by default results/arena/HALF-SUITE.csv")
    parser.add_argument("--core", type=int, help="the core to use; by default the first allowed one")
    return parser.parse_args()


def seeds(text: str) -> list[int]:
    """Read a count or a range."""
    return span(text) if "-" in text else list(range(int(text)))


def span(text: str) -> list[int]:
    """Read numbers and ranges: ``1-3,8`` is 1, 2, 3, 8."""
    ends = [[int(end) for end in part.split("-")] for part in text.split(",")]
    return [number for pair in ends for number in range(pair[0], pair[-1] + 1)]


if __name__ == "__main__":
    main()
