"""How long the figures of large studies take: ``python -m benchmarks.figures [--trials 100000]``.

``--pictures`` draws those of ``docs/plots.md`` and of the README instead.

Each figure is timed in a process that has the study open, as a dashboard has it: once for what it reads first, then for
the figure and its JSON, which a browser gets. Figures of the model have times of their own, those of its fit, and are
not here.
"""

from __future__ import annotations

import argparse
import math
import sqlite3
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from PIL import Image

import sonde
from benchmarks.machine import describe_machine
from benchmarks.records import table
from sonde.plots.figure import Figure

RESULTS = Path(__file__).parent / "results" / "figures.csv"
PICTURES = Path(__file__).parents[1] / "docs" / "figures"
FIGURES = ("history", "parallel", "front", "curves", "timeline", "seconds", "distribution", "compare")
WORKERS = 100
CURVES = 1_000  # trials with a curve
BITS = 5_000  # trials of the study of bits, which its strategy suggests one by one
OPTIONS = {"front": {"model": False}}  # no fit to so many results


def main() -> None:
    """Measure all figures of three studies, print and keep the times."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=100_000)
    parser.add_argument("--pictures", action="store_true", help="draw the pictures of the documentation")
    chosen = parser.parse_args()
    if chosen.pictures:
        draw_pictures()
        return
    trials, rows = chosen.trials, []
    with TemporaryDirectory() as folder:
        for kind, make in (("one objective", one), ("two objectives", two), ("bits", bits)):
            with make(Path(folder) / f"{kind}.db", trials) as study:
                rows += measured(study)
            print(f"{kind}: done")
    table(RESULTS, "seconds of figures", rows, describe_machine())


def draw_pictures() -> None:
    """Draw the figures of small studies for the documentation."""
    shown = {"training": ("history", "parallel", "curves", "slices", "importance"), "tradeoff": ("front",)}
    for kind, names in shown.items():
        study = {"training": training, "tradeoff": tradeoff}[kind]()
        for name in names:
            draw_picture(getattr(study.plot, name)(), PICTURES / f"plots-{name}.png", width=640)
    draw_picture(digits().plot.slices(), PICTURES / "digits.png", width=900)


def draw_picture(figure: Figure, path: Path, width: int) -> None:
    """Draw a figure with few colours."""
    figure.save(path, width=width, height=figure.layout.height or 380)
    Image.open(path).convert("P", palette=Image.Palette.ADAPTIVE, colors=128).save(path, optimize=True)


def digits() -> sonde.Study:
    """Run the first script of the README."""
    from sklearn.datasets import load_digits
    from sklearn.model_selection import cross_val_score
    from sklearn.svm import SVC

    x, y = load_digits(return_X_y=True)

    def error(C: float, gamma: float, shrinking: bool) -> float:  # noqa: N803 - scikit-learn's name
        return 1 - float(cross_val_score(SVC(C=C, gamma=gamma, shrinking=shrinking), x, y, cv=3).mean())

    space = {"C": (1e-2, 1e3, "log"), "gamma": (1e-6, 1e-1, "log"), "shrinking": [True, False]}
    return sonde.minimize(error, space, n_trials=25, seed=0, progress=False).study


def training() -> sonde.Study:
    """Run a study whose trials report, of which some fail and some are stopped."""
    space = sonde.Space(
        lr=sonde.Float(1e-5, 1e-1, log=True), layers=sonde.Int(1, 8), optimizer=sonde.Categorical(["sgd", "adam"]),
        momentum=sonde.Float(0, 0.99, when={"optimizer": "sgd"}),
    )  # fmt: skip

    def train(trial: sonde.Trial) -> float | None:
        if trial["layers"] == 8:
            raise MemoryError("out of memory")
        end = 0.1 + (math.log10(trial["lr"]) + 3) ** 2 / 10 + abs(trial["layers"] - 3) / 20
        end += 0.1 * abs(trial.get("momentum", 0.5) - 0.9)
        for epoch in range(1, 28):
            trial.report(epoch, end + math.exp(-epoch * (0.1 + end)))  # bad ones are quick: curves cross
            if trial.should_stop():
                return None
        return end

    return sonde.minimize(train, space, n_trials=60, seed=0, progress=False).study


def tradeoff() -> sonde.Study:
    """Run a study of two noisy objectives."""
    space = sonde.Space(x=sonde.Float(0, 1), y=sonde.Float(0, 1))
    study = sonde.Study(space, objectives={"error": "minimize", "speed": "maximize"}, seed=0)
    rng = np.random.default_rng(0)

    def measure(trial: sonde.Trial) -> list[float]:
        x, y = trial["x"], trial["y"]
        return [(x - 0.2) ** 2 + y**2 + rng.normal(0.1, 0.03), rng.normal(2, 0.03) - (1 - x) ** 2 - y / 2]

    study.optimize(measure, 40, progress=False)
    return study


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
    """Return the processor seconds of a call: it has one thread, and other programs may use the machine, too."""
    began = time.process_time()
    function()
    return time.process_time() - began


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
    for number, row in enumerate(space.codec.decode(rng.random((trials, len(space))))):
        params = space.codec.configuration(row)
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
            "update trials set worker = ?, started = ?, finished = ?, suggested_in = ? "
            "where study_id = (select id from studies) and number = ?",
            ((f"node{i % WORKERS:03}", 1.8e9 + begun, 1.8e9 + begun + seconds, seconds / 100, i)
             for i, (begun, seconds) in enumerate(zip(started.tolist(), lasted.tolist(), strict=True))),
        )  # fmt: skip
    database.close()


if __name__ == "__main__":
    main()
