"""How long the figures of large studies take: ``python -m benchmarks.figures [--trials 100000]``.

Each figure is timed in a process that has the study open, as a dashboard has it: once for what it reads first, then for
the figure and its JSON, which a browser gets. Figures of the model have times of their own, those of its fit, and are
not here.
"""

from __future__ import annotations

import argparse
import sqlite3
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

import sonde
from benchmarks.machine import describe_machine
from benchmarks.records import table

RESULTS = Path(__file__).parent / "results" / "figures.csv"
FIGURES = ("history", "parallel", "front", "curves", "timeline", "seconds", "distribution", "compare")
WORKERS = 100
CURVES = 1_000  # trials with a curve
BITS = 5_000  # trials of the study of bits, which its strategy suggests one by one
OPTIONS = {"front": {"model": False}}  # no fit to so many results


def main() -> None:
    """Measure all figures of three studies, print and keep the times."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=100_000)
    trials = parser.parse_args().trials
    rows = []
    with TemporaryDirectory() as folder:
        for kind, make in (("one objective", one), ("two objectives", two), ("bits", bits)):
            with make(Path(folder) / f"{kind}.db", trials) as study:
                rows += measured(study)
            print(f"{kind}: done")
    table(RESULTS, "seconds of figures", rows, describe_machine())


def measured(study: sonde.Study) -> list[dict[str, str]]:
    """Return the seconds of reading a study and of each figure that it can have."""
    reading = {"history": timed(lambda: study.history), "times": timed(lambda: study.times)}
    known = study.name, len(study.history)
    rows = [row(*known, f"reading the {name}", seconds, 0.0) for name, seconds in reading.items()]
    for name in FIGURES:
        if name in study.plot.names() or name == "compare":
            draw = getattr(study.plot, name)
            figure = draw(**OPTIONS.get(name, {}))
            drawing = timed(lambda draw=draw, name=name: draw(**OPTIONS.get(name, {})))
            rows.append(row(*known, name, drawing, timed(figure.to_json), len(figure.to_json())))
    return rows


def row(kind: str, trials: int, what: str, seconds: float, as_json: float, size: int = 0) -> dict[str, str]:
    """Return a row of the results."""
    return {"study": kind, "trials": str(trials), "what": what, "seconds": f"{seconds:.2f}",
            "seconds of JSON": f"{as_json:.2f}", "kilobytes of JSON": f"{size / 1000:.0f}"}  # fmt: skip


def timed(function: Callable[[], Any]) -> float:
    """Return the seconds of a call."""
    began = time.perf_counter()
    function()
    return time.perf_counter() - began


def one(path: Path, trials: int) -> sonde.Study:
    """Make a study with categories, a conditional parameter, failures and learning curves."""
    space = sonde.Space(
        lr=sonde.Float(1e-5, 1e-1, log=True),
        layers=sonde.Int(1, 8),
        depth=sonde.Float(0, 1),
        opt=sonde.Categorical(["sgd", "adam"]),
        momentum=sonde.Float(0, 1, when={"opt": "sgd"}),
    )
    rng = np.random.default_rng(0)
    added = []
    for number, unit in enumerate(rng.random((trials, len(space)))):
        params = space.codec.configuration(space.codec.decode(unit[None])[0])
        value = float(rng.lognormal() / (1 + number / trials))
        curve = [(step, value + 1 / step) for step in range(1, 21)] if number < CURVES else None
        ended = {"failed": "out of memory"} if number % 50 == 7 else {"value": value}
        added.append({"params": params, **ended, **({"curve": curve} if curve else {})})
    with sonde.Study(space, name="one objective", storage=path, seed=0) as study:
        study.add_trials(added)
    run_by_workers(path, rng)
    return sonde.Study.load(path, "one objective")


def two(path: Path, trials: int) -> sonde.Study:
    """Make a study with two objectives, whose front has about a hundred trials."""
    rng = np.random.default_rng(0)
    space = sonde.Space(x=sonde.Float(0, 1), y=sonde.Float(0, 1))
    objectives = {"loss": "min", "latency": "min"}
    with sonde.Study(space, name="two objectives", storage=path, seed=0, objectives=objectives) as study:
        study.add_trials(
            {"params": {"x": x, "y": y}, "value": {"loss": x + y**2, "latency": (1 - x) ** 2 + 3 * y}}
            for x, y in rng.random((trials, 2)).tolist()
        )
    run_by_workers(path, rng)
    return sonde.Study.load(path, "two objectives")


def bits(_: Path, trials: int) -> sonde.Study:
    """Make a study of 64 bits by the strategy igo, in memory."""
    study = sonde.Study(sonde.Space({f"b{i}": sonde.Bool() for i in range(64)}), name="bits", strategy="igo", seed=0)
    study.optimize(lambda trial: -sum(trial.values()), min(trials, BITS), progress=False)
    return study


def run_by_workers(path: Path, rng: np.random.Generator) -> None:
    """Give trials the times and workers that they would have had."""
    with sqlite3.connect(path) as database:
        count = database.execute("select count(*) from trials").fetchone()[0]
        lasted = rng.lognormal(3, 0.5, count)
        started = np.zeros(count)
        for worker in range(WORKERS):
            started[worker::WORKERS] = np.concatenate([[0], np.cumsum(lasted[worker::WORKERS] + 2)[:-1]])
        database.executemany(
            "update trials set worker = ?, started = ?, finished = ?, suggested_in = ? where number = ?",
            ((f"node{i % WORKERS:03}", 1.8e9 + begun, 1.8e9 + begun + seconds, seconds / 100, i)
             for i, (begun, seconds) in enumerate(zip(started.tolist(), lasted.tolist(), strict=True))),
        )  # fmt: skip
    database.close()


if __name__ == "__main__":
    main()
