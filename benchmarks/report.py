"""A benchmark's result: the same rows on the screen and as CSV, and a picture beside them."""

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks.machine import describe_machine
from benchmarks.pages.markers import update

RESULTS = Path(__file__).parent / "results"


def report(name: str, title: str, rows: Sequence[dict[str, Any]]) -> Path:
    """Print the rows and write them; return the path for pictures, without its ending."""
    table = Table(title=f"{title}\n{describe_machine()}")
    for column in rows[0]:
        table.add_column(column, overflow="fold")
    for row in rows:
        table.add_row(*(_shown(value) for value in row.values()))
    Console(width=120).print(table)
    return write(name, rows)


def write(name: str, rows: Sequence[dict[str, Any]]) -> Path:
    """Write ``results/name.csv``, and pages of the documentation that show it; return its path without the ending."""
    RESULTS.mkdir(exist_ok=True)
    with (RESULTS / f"{name}.csv").open("w", newline="") as file:
        file.write(f"# {describe_machine()}\n")
        writer = csv.DictWriter(file, fieldnames=list(rows[0]))
        writer.writeheader()
        writer.writerows({key: _shown(value) for key, value in row.items()} for row in rows)
    update(RESULTS / f"{name}.csv")
    return RESULTS / name


def _shown(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
