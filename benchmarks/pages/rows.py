"""Rows of the CSV files of ``results``: read, chosen, put side by side, averaged."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Sequence
from statistics import median

from benchmarks.pages.markers import RESULTS
from benchmarks.records import read

NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e[-+]?\d+)?")


class Cell(str):
    """A value of a CSV file. A format is that of every number in it; ``2n`` is two digits without an exponent."""

    __slots__ = ()

    def __format__(self, spec: str) -> str:
        return NUMBER.sub(lambda found: formatted(float(found[0]), spec), self) if spec else str(self)


Row = dict[str, Cell]


def formatted(value: float, spec: str) -> str:
    """Return a number with so many digits, in plain notation unless it is very small or large."""
    if not spec.endswith("n"):
        return format(value, spec)
    digits = int(spec[:-1])
    if not math.isfinite(value) or value == 0:
        return f"{value:g}"
    exponent = int(f"{value:.{digits - 1}e}".partition("e")[2])  # after rounding
    if -5 < exponent < 7:
        return f"{round(value, digits - 1 - exponent):,.{max(0, digits - 1 - exponent)}f}"
    return re.sub(r"e([-+])0*", lambda sign: "e-" if sign[1] == "-" else "e", f"{value:.{digits - 1}e}")


def rows_of(name: str) -> list[Row]:
    """Return the rows of ``results/name.csv``."""
    rows = read(RESULTS / f"{name}.csv")
    if not rows:
        raise FileNotFoundError(f"{name}.csv has no rows")
    return [{key: Cell(value) for key, value in row.items()} for row in rows]


def select(rows: Iterable[Row], **values: str | Sequence[str]) -> list[Row]:
    """Return the rows with these values; an underscore stands for a space in the name of a column."""
    wanted = {
        key.replace("_", " "): (value,) if isinstance(value, str) else tuple(value) for key, value in values.items()
    }
    return [row for row in rows if all(row[key] in own for key, own in wanted.items())]


def beside(keys: Sequence[str], **groups: Sequence[Row]) -> list[Row]:
    """Return rows that have the columns of rows with the same keys, each with the name of its group before it."""
    joined: dict[tuple[str, ...], Row] = {}
    for name, rows in groups.items():
        for row in rows:
            own = joined.setdefault(tuple(row[key] for key in keys), {key: row[key] for key in keys})
            own |= {f"{name} {key}": value for key, value in row.items()}
    every = {column: Cell("") for row in joined.values() for column in row}
    return [every | row for row in joined.values()]


def grouped(
    rows: Iterable[Row], keys: Sequence[str], column: str, of: Callable[[list[float]], float] = median
) -> list[Row]:
    """Return a row for each group of rows with the same keys, with the median of a column."""
    groups: dict[tuple[str, ...], list[float]] = {}
    for row in rows:
        groups.setdefault(tuple(row[key] for key in keys), []).append(float(row[column]))
    return [
        {**{key: Cell(value) for key, value in zip(keys, values, strict=True)}, column: Cell(of(own))}
        for values, own in groups.items()
    ]


def with_end(rows: Iterable[Row], column: str = "best") -> list[Row]:
    """Return the rows with the last number of a column of several as ``end``."""
    return [row | {"end": Cell(row[column].split()[-1])} for row in rows]


def span(values: Iterable[str], spec: str) -> str:
    """Return the least and the greatest of some numbers."""
    numbers = [float(value) for value in values if value]
    ends = dict.fromkeys(formatted(end(numbers), spec) for end in (min, max))
    return " to ".join(ends)
