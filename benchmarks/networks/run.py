"""Section 4.3 of paper 001 on CIFAR-10: validation error over evaluations, by method, with trainings side by side.

    python -m benchmarks.networks.run --methods dngo,tpe --seeds 0,1 --evaluations 200 --workers 4   # needs a GPU
    python -m benchmarks.networks.run --longer 60    # the best configuration of each run, on all images: test error
    python -m benchmarks.networks.run --draw         # the tables and the figure of all runs so far

Every training is added to ``networks_runs.csv`` as it ends. A configuration that diverges has failed: Sonde learns from
the failure, Optuna's TPE is told the error of chance, as its users would do.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, wait
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from benchmarks.records import append, read
from benchmarks.report import RESULTS
from benchmarks.resumed import whole_numbers, words

CHANCE = 90.0  # percent
EPOCHS = 3


class Asked(NamedTuple):
    """A configuration, and what its method knows it by."""

    handle: Any
    parameters: Mapping[str, Any]


class Method(Protocol):
    """A method that is asked and told."""

    def ask(self) -> Asked:
        """Return a configuration to train."""

    def tell(self, handle: Any, error: float | None) -> None:
        """Take the error of a configuration, or None if it diverged."""


class Sonde:
    """A strategy of Sonde."""

    def __init__(self, strategy: str, seed: int) -> None:
        import sonde
        from benchmarks.networks.training import SPACE

        self.study = sonde.Study(SPACE, strategy=strategy, seed=seed)

    def ask(self) -> Asked:
        """Return a configuration to train."""
        trial = self.study.ask()
        return Asked(trial, dict(trial))

    def tell(self, handle: Any, error: float | None) -> None:
        """Take its error."""
        self.study.tell(handle, error, failed=None if error is not None else "diverged")


class TPE:
    """Optuna's TPE, with the settings its documentation recommends for parallel trials."""

    def __init__(self, seed: int) -> None:
        import optuna

        optuna.logging.set_verbosity(optuna.logging.WARNING)
        sampler = optuna.samplers.TPESampler(seed=seed, multivariate=True, constant_liar=True)
        self.study = optuna.create_study(sampler=sampler)

    def ask(self) -> Asked:
        """Return a configuration to train."""
        from benchmarks.networks.training import SPACE
        from benchmarks.optuna_space import suggested

        trial = self.study.ask()
        return Asked(trial, suggested(trial, SPACE))

    def tell(self, handle: Any, error: float | None) -> None:
        """Take its error."""
        self.study.tell(handle, CHANCE if error is None else error)


def method(name: str, seed: int) -> Method:
    """Return a method by its name."""
    return TPE(seed) if name == "tpe" else Sonde(name, seed)


class Trained(NamedTuple):
    """What a worker returns."""

    error: float | None  # None: it diverged
    seconds: float


def evaluate(parameters: Mapping[str, Any], seed: int, epochs: int, testing: bool = False) -> Trained:
    """Train a configuration in a worker process."""
    from benchmarks.networks.training import Diverged, train

    started = time.perf_counter()
    try:
        error = train(parameters, seed, epochs, testing)
    except Diverged:
        error = None
    return Trained(error, time.perf_counter() - started)


def trials(by: Method, seed: int, evaluations: int, workers: int) -> Iterator[dict[str, Any]]:
    """Yield a row for each training as it ends; a free worker gets the next configuration at once."""
    from loky import ProcessPoolExecutor

    started, asked, running = time.perf_counter(), 0, {}
    with ProcessPoolExecutor(workers) as pool:
        while asked < evaluations or running:
            while asked < evaluations and len(running) < workers:
                before = time.perf_counter()
                chosen = by.ask()
                asking = time.perf_counter() - before
                call = pool.submit(evaluate, dict(chosen.parameters), 1000 * seed + asked, EPOCHS)
                running[call], asked = (chosen, asking), asked + 1
            for call in wait(running, return_when=FIRST_COMPLETED).done:
                (chosen, asking), done = running.pop(call), call.result()
                by.tell(chosen.handle, done.error)
                yield {
                    "at": f"{time.perf_counter() - started:.1f}", "error": "" if done.error is None else done.error,
                    "training": f"{done.seconds:.2f}", "asking": f"{asking:.3f}",
                    "parameters": json.dumps(chosen.parameters),
                }  # fmt: skip


def main() -> None:
    options = arguments()
    file = options.out / "networks_runs.csv"
    if options.longer:
        longer(file, options.longer)
    elif not options.draw:
        for seed in options.seeds:
            for name in options.methods:
                add(file, name, seed, options.evaluations, options.workers)
    if read(file):
        from benchmarks.networks.picture import draw

        draw(file)


def add(file: Path, name: str, seed: int, evaluations: int, workers: int) -> None:
    """Make a run and keep its trainings."""
    best = CHANCE
    for number, row in enumerate(trials(method(name, seed), seed, evaluations, workers), 1):
        append(file, {"method": name, "seed": seed, "workers": workers, "epochs": EPOCHS, "number": number} | row)
        best = min(best, row["error"] or CHANCE)
        if number % 20 == 0:
            print(f"{name} {seed}: {number} trainings, best {best:.2f}%, {row['at']} s", flush=True)


def longer(file: Path, epochs: int) -> None:
    """Train the best configuration of each run longer, on all images."""
    from loky import ProcessPoolExecutor

    best: dict[tuple[str, str], dict[str, str]] = {}
    for row in read(file):
        run = row["method"], row["seed"]
        if row["error"] and (run not in best or float(row["error"]) < float(best[run]["error"])):
            best[run] = row
    with ProcessPoolExecutor(len(best)) as pool:
        calls = {
            run: pool.submit(evaluate, json.loads(row["parameters"]), 0, epochs, True) for run, row in best.items()
        }
        for (name, seed), call in calls.items():
            done, row = call.result(), best[name, seed]
            append(file.with_name("networks_longer.csv"), {
                "method": name, "seed": seed, "epochs": epochs, "validation": row["error"],
                "test": "" if done.error is None else f"{done.error:.2f}", "training": f"{done.seconds:.0f}",
                "parameters": row["parameters"],
            })  # fmt: skip


def arguments() -> argparse.Namespace:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--methods", type=words, default=["dngo", "auto", "tpe", "random"], metavar="A,B")
    options.add_argument("--seeds", type=whole_numbers, default=[0], metavar="0,1")
    options.add_argument("--evaluations", type=int, default=200)
    options.add_argument("--workers", type=int, default=4, help="trainings side by side")
    options.add_argument("--out", type=Path, default=RESULTS, metavar="DIR", help="the folder of runs and results")
    options.add_argument("--draw", action="store_true", help="run nothing")
    options.add_argument("--longer", type=int, metavar="EPOCHS", help="train the best of each run for EPOCHS epochs")
    return options.parse_args()


if __name__ == "__main__":
    main()
