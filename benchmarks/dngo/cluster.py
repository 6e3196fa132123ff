"""Section 4.2 of the paper as a simulation: 2500 jobs of hours to days on 300 to 800 workers.

    python -m benchmarks.dngo.cluster                                            # 300 evaluations, up to 100 at once
    python -m benchmarks.dngo.cluster --full --every 15                          # 2500 evaluations, up to 800 at once
    python -m benchmarks.dngo.cluster --full --every 15 --contenders dngo --seeds 2 --core 1      # this run alone
    python -m benchmarks.dngo.cluster --full --every 15 --draw                   # the table and the figures of all runs

Contenders are Sonde's strategies by name, and optuna-tpe. Whenever workers are free, a contender is asked for a job for
each, and told each result when its job ends. The real seconds of asking and telling are added to the simulated clock,
so a slow contender leaves workers idle. A full run asks some 1600 times. With ``--every 15`` free workers are looked
for every 15 simulated minutes instead, so that batches are larger. Sonde is told that a job has failed. TPE leaves out
failures when it is told of them, so it is told the worst value instead, as its users would.

A run is a file of rows under ``--out``, with the suffix ``.part`` until it is complete; complete runs are not repeated.
So processes may make different runs side by side, on one machine or on several whose files are put together. Those that
are asked for contenders or seeds only make runs; the table and the figures are of all complete ones.
"""

import argparse
import heapq
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from benchmarks.dngo.simulated_runs import Job, Run, Scale, Workers, measured_on, path_of, read, write
from benchmarks.machine import use_one_core
from benchmarks.records import table
from benchmarks.report import RESULTS
from benchmarks.resumed import parser, whole_numbers, words

CONTENDERS = ["random", "sobol", "optuna-tpe", "dngo"]
RUNS = 3
FULL, SHORT = Scale("full", 2500, 300, 800), Scale("short", 300, 40, 100)


class Contender(Protocol):
    """An optimizer that maximizes; a handle identifies a job."""

    def ask(self, count: int) -> list[tuple[Any, dict[str, Any]]]:
        """Return jobs: handles with their configurations."""
        ...

    def tell(self, handle: Any, value: float | None) -> None:
        """Take a value, or None where the job failed."""
        ...


class Sonde:
    """A study in memory with a strategy by name."""

    def __init__(self, strategy: str, seed: int) -> None:
        from benchmarks.dngo.captions import SPACE
        from sonde import Study

        self.study = Study(SPACE, direction="maximize", seed=seed, strategy=strategy)

    def ask(self, count: int) -> list[tuple[Any, dict[str, Any]]]:
        """Return a batch of trials."""
        return [(trial, dict(trial.params)) for trial in self.study.ask(count)]

    def tell(self, handle: Any, value: float | None) -> None:
        """Record a result or a failure."""
        self.study.tell(handle, value, failed="failed" if value is None else None)


class OptunaTPE:
    """Optuna's TPE with the constant liar for pending trials, so that the points of a batch differ.

    It takes no notice of trials that are told as failed, so a failure is told as the worst value.
    """

    def __init__(self, seed: int) -> None:
        import optuna

        optuna.logging.set_verbosity(optuna.logging.ERROR)
        sampler = optuna.samplers.TPESampler(seed=seed, constant_liar=True)
        self.study = optuna.create_study(sampler=sampler, direction="maximize")

    def ask(self, count: int) -> list[tuple[Any, dict[str, Any]]]:
        """Return trials, each suggested with those before it pending."""
        from benchmarks.dngo.captions import SPACE
        from benchmarks.optuna_space import suggested

        return [(trial, suggested(trial, SPACE)) for trial in (self.study.ask() for _ in range(count))]

    def tell(self, handle: Any, value: float | None) -> None:
        """Record a result, the worst one for a failure."""
        from benchmarks.dngo.captions import WORST

        self.study.tell(handle, WORST if value is None else value)


def contender(name: str, seed: int) -> Contender:
    """Return a new contender."""
    return OptunaTPE(seed) if name == "optuna-tpe" else Sonde(name, seed)


class Cluster:
    """The simulation. A worker finishes its job before it is removed."""

    def __init__(self, contender: Contender, scale: Scale, seed: int, timer: Callable[[], float]) -> None:
        self.contender, self.scale, self.seed, self.timer = contender, scale, seed, timer
        self.workers = Workers(scale, seed)
        self.clock = self.next_look = 0.0
        self.started = self.ended = 0
        self.running: list[tuple[float, int, Any, Job]] = []  # a heap by end
        self.best: float | None = None
        self.best_true: float | None = None

    def run(self) -> Iterator[Job]:
        """Go through all jobs in order of ending."""
        while self.ended < self.scale.evaluations:
            free = int(self.workers.at(self.clock)) - len(self.running)
            wanted = min(free, self.scale.evaluations - self.started)
            if self.running and self.running[0][0] <= self.clock:
                yield self.end_one()
            elif wanted > 0 and self.clock >= self.next_look:
                self.start(wanted)
            else:
                ends = [self.running[0][0]] if self.running else []
                looks = [self.next_look] if wanted > 0 else []
                self.clock = min(*ends, *looks, self.workers.next_change(self.clock))

    def start(self, count: int) -> None:
        """Ask for jobs and start them when the contender has answered."""
        from benchmarks.dngo.captions import evaluate, true_value

        self.next_look = self.clock + self.scale.every
        asked, seconds = self.charged(lambda: self.contender.ask(count))
        for handle, configuration in asked:
            outcome = evaluate(configuration, self.seed)
            end = self.clock + outcome.hours
            true = None if outcome.value is None else true_value(configuration)
            job = Job(self.started, self.clock, end, outcome.value, outcome.error, true, seconds / count)
            heapq.heappush(self.running, (end, job.number, handle, job))
            self.started += 1

    def end_one(self) -> Job:
        """Tell the result of the job that ends first."""
        _, _, handle, job = heapq.heappop(self.running)
        _, job.telling = self.charged(lambda: self.contender.tell(handle, job.value))
        if job.value is not None and (self.best is None or job.value > self.best):
            self.best, self.best_true = job.value, job.true
        job.best, job.best_true = self.best, self.best_true
        self.ended += 1
        return job

    def charged(self, call: Callable[[], Any]) -> tuple[Any, float]:
        """Return a call's result and seconds, which pass on the simulated clock as well."""
        begun = self.timer()
        result = call()
        seconds = self.timer() - begun
        self.clock += seconds / 3600
        return result, seconds


def summary(runs: Sequence[Run]) -> list[dict[str, str]]:
    """Return a row for each contender, with means over its seeds and standard errors, the best first."""
    by_name: dict[str, list[Run]] = {}
    for run in runs:
        by_name.setdefault(run.contender, []).append(run)
    ranked = sorted(by_name, key=lambda name: -np.mean([run.column("best_true")[-1] for run in by_name[name]]))
    return [{"contender": name, "seeds": str(len(by_name[name]))} | _means(by_name[name]) for name in ranked]


def _means(runs: Sequence[Run]) -> dict[str, str]:
    total = runs[0].scale.evaluations
    marks = (total // 10, total // 5, 2 * total // 5, total)  # 250, 500, 1000 and 2500
    failed = np.mean([run.failures() for run in runs], axis=0)
    asking, telling = (np.mean([run.column(name).sum() for run in runs]) for name in ("asking", "telling"))
    return {
        **{f"at {mark}": _spread([run.column("best_true")[mark - 1] for run in runs]) for mark in marks},
        "failed %, by quarter": " ".join(f"{100 * share:.0f}" for share in failed),
        "busy %": f"{100 * np.mean([run.utilisation() for run in runs]):.3f}",
        "days": f"{np.mean([run.column('end').max() / 24 for run in runs]):.4g}",
        "s ask": f"{asking:.4g}",
        "s tell": f"{telling:.4g}",
        "s each": f"{(asking + telling) / total:.4g}",
    }


def _spread(values: Sequence[float]) -> str:
    """Return mean and standard error; "-" if a run has had failures only."""
    if np.isnan(values).any():
        return "-"
    error = f" ± {np.std(values, ddof=1) / len(values) ** 0.5:.2f}" if len(values) > 1 else ""
    return f"{np.mean(values):.2f}{error}"


def main() -> None:
    options = arguments()
    use_one_core(options.core)
    scale = FULL if options.full else SHORT
    if options.every:
        scale = scale._replace(name=f"{scale.name}_every{options.every:g}", every=options.every / 60)
    if not options.draw:
        add_missing(scale, options)
    if options.draw or not (options.contenders or options.seeds):
        draw(scale, options.out)


def add_missing(scale: Scale, options: argparse.Namespace) -> None:
    """Make the runs that are missing."""
    names = options.contenders or CONTENDERS
    for name in names:
        contender(name, 0)  # a misspelt name raises an error before anything has run
    for seed in options.seeds or range(options.runs or RUNS):
        for name in names:
            path = path_of(options.out, scale, name, seed)
            if not path.exists():
                attempt(path, name, scale, seed)


def attempt(path: Path, name: str, scale: Scale, seed: int) -> None:
    """Make one run and write it."""
    begun = time.perf_counter()
    cluster = Cluster(contender(name, seed), scale, seed, time.perf_counter)
    write(path, cluster.run())
    print(f"{scale.name} {name} seed {seed}: {cluster.best_true}, {time.perf_counter() - begun:.0f} s", flush=True)


def draw(scale: Scale, folder: Path) -> None:
    """Print and write the table of all complete runs, and draw the figures."""
    runs = read(folder, scale)
    if not runs:
        raise SystemExit(f"{folder / scale.name} has no complete runs to draw")
    from benchmarks.dngo.planar import draw as draw_lines
    from benchmarks.dngo.planar import draw_histograms

    path = RESULTS / f"dngo_cluster_{scale.name}".replace("_full", "")
    where = f"{scale.evaluations} evaluations on {scale.fewest} to {scale.most} workers"
    title = f"{where}; noiseless BLEU-4 of the best so far"
    table(path.with_suffix(".csv"), title, summary(runs), measured_on(folder, runs))
    draw_lines(runs, path)
    draw_histograms(runs, path.with_name(f"{path.name}_planar"))


def arguments() -> argparse.Namespace:
    options = parser(__doc__, "2500 evaluations instead of 300")
    options.set_defaults(out=Path("out") / "dngo_cluster")
    options.add_argument("--contenders", type=words, metavar="A,B", help="only these")
    options.add_argument("--seeds", type=whole_numbers, metavar="A,B", help="only these, instead of --runs")
    options.add_argument("--every", type=float, default=0.0, metavar="MINUTES", help="between looks for free workers")
    return options.parse_args()


if __name__ == "__main__":
    main()
