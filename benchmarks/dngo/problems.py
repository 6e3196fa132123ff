"""The tasks of table 1: two standard test functions, two tables of measurements, and a model that is trained.

The parameters of a table (grid) are the indexes of its sorted values, as in HPOlib. ``logistic-grid`` is not in the
paper: it is the logistic regression measured on a grid by others, a cheap substitute for the training. Its batch sizes
and epochs are powers of two times a first value, and have a wider range than the training's.
"""

import csv
import math
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from benchmarks.arena.problems import Problem, Variable
from benchmarks.functions import HARTMANN6_MINIMUM, hartmann6

BRANIN_MINIMUM = 0.397887


@dataclass(frozen=True, eq=False)
class Task:
    """A row of the table; all values are minimized."""

    name: str
    title: str
    budget: int
    optimum: float | None  # None: unknown
    precision: float  # one unit of the last printed digit of the paper
    paper: dict[str, str]  # mean and deviation of the final best, by method
    problem: Callable[[], Problem] = field(repr=False)  # reads data where there are any
    worst: float = math.inf  # value of a failed evaluation, for optimizers without failures

    @property
    def goal(self) -> float:
        """The value that counts as the optimum: within one unit of the paper's last digit."""
        best = (
            min(float(printed.split()[0]) for printed in self.paper.values()) if self.optimum is None else self.optimum
        )
        return best + self.precision * (1 + 1e-6)  # decimals are not exact


def branin(x: Sequence[float]) -> float:
    """Return Branin's function on [-5, 10] x [0, 15] (Dixon & Szego 1978)."""
    u, v = x
    bow = v - 5.1 / (4 * math.pi**2) * u**2 + 5 / math.pi * u - 6
    return bow**2 + 10 * (1 - 1 / (8 * math.pi)) * math.cos(u) + 10


def data(*parts: str) -> Path:
    """Return the path of a data file: under ``SONDE_DATA`` if that is set, else in ``../shared/data``."""
    beside = Path(__file__).parents[3] / "shared" / "data"
    path = Path(os.environ.get("SONDE_DATA", beside)).joinpath(*parts)
    if not path.exists():
        raise FileNotFoundError(f"{path} is missing; set SONDE_DATA to the folder that holds {Path(*parts)}")
    return path


def grid(file: str, column: str, scale: float = 1.0) -> Problem:
    """Return a table as a problem: its coordinates are the columns before ``column``, which has the values."""
    with data("hpolib_grids", file).open(newline="") as lines:
        rows = list(csv.DictReader(lines))
    names = list(rows[0])[: list(rows[0]).index(column)]
    ticks = [sorted({float(row[name]) for row in rows}) for name in names]
    values = np.full([len(tick) for tick in ticks], math.nan)
    for row in rows:  # the last row of duplicates counts, as in HPOlib
        cell = tuple(tick.index(float(row[name])) for name, tick in zip(names, ticks, strict=True))
        values[cell] = scale * float(row[column])
    variables = tuple(Variable("int", 0, len(tick) - 1) for tick in ticks)
    return Problem(file, 0, 0, variables, lambda x: values[tuple(int(i) for i in x)])


def _branin() -> Problem:
    return Problem("branin", 0, 0, (Variable("float", -5, 10), Variable("float", 0, 15)), branin)


def _hartmann6() -> Problem:
    return Problem("hartmann6", 0, 0, (Variable("float", 0, 1),) * 6, hartmann6)


def _logistic() -> Problem:
    from benchmarks.dngo.logistic import RANGES, error

    return Problem("logistic", 0, 0, RANGES, error(data("mnist", "mnist.npz")))


def _paper(smac: str, tpe: str, spearmint: str, dngo: str) -> dict[str, str]:
    return {"SMAC": smac, "TPE": tpe, "Spearmint": spearmint, "DNGO": dngo}


_LOGISTIC = _paper("8.6 ± 0.9", "8.2 ± 0.6", "6.88 ± 0.0", "6.89 ± 0.04")

TASKS = {
    task.name: task
    for task in (
        Task(
            "branin", "Branin", 200, BRANIN_MINIMUM, 1e-3,
            _paper("0.655 ± 0.27", "0.526 ± 0.13", "0.398 ± 0.00", "0.398 ± 0.00"), _branin,
        ),
        Task(
            "hartmann6", "Hartmann6", 200, HARTMANN6_MINIMUM, 1e-3,
            _paper("-2.977 ± 0.11", "-2.823 ± 0.18", "-3.3166 ± 0.02", "-3.319 ± 0.00"), _hartmann6,
        ),
        Task("logistic", "Logistic regression", 100, None, 1e-2, _LOGISTIC, _logistic, worst=100.0),
        Task(
            "lda", "LDA (on grid)", 50, 1266.167382, 0.1,
            _paper("1269.6 ± 2.9", "1271.5 ± 3.5", "1266.2 ± 0.1", "1266.2 ± 0.0"),
            lambda: grid("lda_on_grid.csv", "perplexity"),
        ),
        Task(
            "svm", "SVM (on grid)", 100, 24.11, 0.1,
            _paper("24.1 ± 0.1", "24.2 ± 0.0", "24.1 ± 0.1", "24.1 ± 0.1"),
            lambda: grid("svm_on_grid.csv", "error", 100.0),
        ),
        Task(
            "logistic-grid", "Logistic regression (stand-in, on grid)", 100, 6.85, 1e-2,
            dict.fromkeys(_LOGISTIC, ""), lambda: grid("logreg_on_grid.csv", "valid_error", 100.0),
        ),
    )
}  # fmt: skip
