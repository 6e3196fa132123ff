"""What a run left: one line of CSV, which a process that dies cannot tear.

The curve of best values so far is stored by its improvements, as ``evaluation:excess`` with evaluations from 1. The
excess is the value less the optimum, so that a small one keeps its digits; where no optimum is known it is the value.
It is inf until a point is feasible.
"""

import csv
import io
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.machine import describe_machine


@dataclass(frozen=True)
class Record:
    """One contender on one problem."""

    half: str
    suite: str
    dimension: int  # 0 where problems have their own
    function: int
    seed: int
    contender: str
    budget: int
    edition: str
    version: str  # of Sonde's, with + for what came after it, or what was tried; empty for others
    date: str
    seconds: float  # the processor's in suggestions; before the split those of the run
    optimum: float | None
    curve: str

    @property
    def key(self) -> tuple[str | int, ...]:
        """What makes a run the same run: that of a peer serves all versions of Sonde."""
        return (
            self.half, self.suite, self.dimension, self.function, self.seed, self.contender, self.budget, self.version
        )  # fmt: skip

    @property
    def excess(self) -> np.ndarray:
        """The best excess after each evaluation, (budget,)."""
        starts, levels = zip(*(step.split(":") for step in self.curve.split()), strict=True)
        lengths = np.diff([*map(int, starts), self.budget + 1])
        return np.repeat(np.array(levels, dtype=float), lengths)


def curve(values: Sequence[float], optimum: float | None) -> str:
    """Return the improvements among values in order of evaluation."""
    excess = np.asarray(values) - (optimum or 0.0)
    best = np.minimum.accumulate(excess)
    improved = [0, *(1 + np.flatnonzero(best[1:] < best[:-1]))]
    return " ".join(f"{i + 1}:{best[i]:.9g}" for i in improved)


def read(path: Path) -> list[Record]:
    """Return the records of a file; none if there is no file."""
    return list(_parsed(_whole(path).splitlines()))


def append(path: Path, record: Record) -> None:
    """Write a record in one piece behind the others."""
    whole = _whole(path) or f"# {describe_machine()}\n" + _line(field.name for field in fields(Record))
    if not path.exists() or whole != path.read_text():  # a new file, or one whose last line was cut off
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(whole)
    with path.open("a") as file:
        file.write(_line(asdict(record).values()))


def _whole(path: Path) -> str:
    """Return a file's text up to its last complete line."""
    text = path.read_text() if path.exists() else ""
    return text[: text.rfind("\n") + 1]


def _line(cells: Iterable[object]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerow("" if cell is None else cell for cell in cells)
    return text.getvalue()


def _parsed(lines: Iterable[str]) -> Iterator[Record]:
    for row in csv.DictReader(line for line in lines if not line.startswith("#")):
        cells: dict[str, Any] = dict(row)
        cells |= {name: int(row[name]) for name in ("dimension", "function", "seed", "budget")}
        cells |= {"seconds": float(row["seconds"]), "optimum": float(row["optimum"]) if row["optimum"] else None}
        yield Record(**cells)
