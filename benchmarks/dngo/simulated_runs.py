"""Runs of the simulated cluster: the jobs of each, when workers were available, and the files they are kept in."""

import csv
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import numpy as np

from benchmarks.machine import describe_machine
from benchmarks.records import machine


class Scale(NamedTuple):
    """The size of a run."""

    name: str
    evaluations: int
    fewest: int  # workers
    most: int
    every: float = 0.0  # hours between two looks for free workers; 0: at once


@dataclass
class Job:
    """A row: a job and the incumbent when it ended. Times are simulated hours; asking and telling are real seconds."""

    number: int  # in order of starting
    start: float
    end: float
    value: float | None  # None: it failed
    error: str
    true: float | None  # the value without noise
    asking: float  # its share of the seconds of asking
    telling: float = 0.0
    best: float | None = None  # the highest value so far
    best_true: float | None = None  # that one without noise


class Workers:
    """The number of workers over time, piecewise constant."""

    def __init__(self, scale: Scale, seed: int) -> None:
        rng = Random(f"workers {seed}")
        self.changes = np.cumsum([0.0, *(rng.expovariate(1 / 6) for _ in range(999))])
        self.levels = np.array([rng.randint(scale.fewest, scale.most) for _ in self.changes])

    def at(self, hours: Any) -> Any:
        """Return the number at a time, or at times."""
        return self.levels[np.searchsorted(self.changes, hours, side="right") - 1]

    def next_change(self, hours: float) -> float:
        """Return the first time after this one at which the number changes."""
        later = self.changes[self.changes > hours]
        return float(later[0]) if len(later) else np.inf


@dataclass(frozen=True)
class Run:
    """The rows of a run, in order of ending."""

    contender: str
    seed: int
    scale: Scale
    jobs: Sequence[Job]

    def column(self, name: str) -> np.ndarray:
        """Return a field of all jobs; nan where there is none."""
        return np.array([getattr(job, name) for job in self.jobs], dtype=float)

    def occupation(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return times from the start until the last job is started, and busy and available workers from each on."""
        starts, ends = np.sort(self.column("start")), np.sort(self.column("end"))
        workers = Workers(self.scale, self.seed)
        times = np.unique(np.concatenate([starts, ends, workers.changes]))
        times = times[times <= starts[-1]]
        busy = np.searchsorted(starts, times, side="right") - np.searchsorted(ends, times, side="right")
        return times, busy, np.maximum(workers.at(times), busy)  # removed workers count until their job ends

    def utilisation(self) -> float:
        """Return busy over available worker-hours."""
        times, busy, available = self.occupation()
        hours = np.diff(times)
        return float(hours @ busy[:-1] / (hours @ available[:-1]))

    def failures(self) -> list[float]:
        """Return the share of failures in each quarter of the run, in order of starting, because failures end early."""
        failed = np.isnan(self.column("value"))[np.argsort(self.column("number"))]
        return [float(quarter.mean()) for quarter in np.array_split(failed, 4)]


def path_of(folder: Path, scale: Scale, contender: str, seed: int) -> Path:
    """Return the file of a run."""
    return folder / scale.name / contender / f"{seed}.csv"


def write(path: Path, jobs: Iterable[Job]) -> None:
    """Write jobs as they end; the file gets its final name when the run is complete."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix(".part")
    with part.open("w", newline="", buffering=1) as file:
        file.write(f"# {describe_machine()}\n")
        writer = csv.DictWriter(file, fieldnames=[field.name for field in fields(Job)], lineterminator="\n")
        writer.writeheader()
        for job in jobs:
            writer.writerow({name: _cell(cell) for name, cell in asdict(job).items()})
    part.rename(path)


def _cell(value: Any) -> Any:
    return f"{value:.10g}" if isinstance(value, float) else value


def read(folder: Path, scale: Scale) -> list[Run]:
    """Return all complete runs of a scale, by contender and seed."""
    files = sorted((folder / scale.name).glob("*/*.csv"))
    return [Run(file.parent.name, int(file.stem), scale, _jobs(file)) for file in files]


def measured_on(folder: Path, runs: Iterable[Run]) -> str:
    """Return the machines that made runs."""
    files = [path_of(folder, run.scale, run.contender, run.seed) for run in runs]
    return "; ".join(dict.fromkeys(map(machine, files)))


def _jobs(path: Path) -> list[Job]:
    with path.open(newline="") as file:
        rows = list(csv.DictReader(line for line in file if not line.startswith("#")))
    return [
        Job(int(row.pop("number")), error=row.pop("error"), **{k: _number(v) for k, v in row.items()}) for row in rows
    ]


def _number(cell: str) -> Any:
    return float(cell) if cell else None
