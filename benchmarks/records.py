"""Rows of CSV that are added as they come: what a process that dies leaves behind can be read and gone on from.

The first line names the machine that measured; tables made from the rows elsewhere repeat it.
"""

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.machine import describe_machine
from benchmarks.pages.markers import update


def append(path: Path, row: Mapping[str, Any]) -> None:
    """Add one row, in place of one that was cut off."""
    whole = _whole(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.exists() and whole != path.read_text():
        path.write_text(whole)
    with path.open("a", newline="") as file:
        writer = csv.DictWriter(file, fieldnames=list(row), lineterminator="\n")
        if not whole:
            file.write(f"# {describe_machine()}\n")
            writer.writeheader()
        writer.writerow(row)


def read(path: Path) -> list[dict[str, str]]:
    """Return the rows, up to the last whole one; none if there is no file."""
    return list(csv.DictReader(line for line in _whole(path).splitlines() if not line.startswith("#")))


def _whole(path: Path) -> str:
    text = path.read_text() if path.exists() else ""
    return text[: text.rfind("\n") + 1]


def machine(path: Path) -> str:
    """Return the machine that measured."""
    return path.read_text().partition("\n")[0].removeprefix("# ")


def numbers(values: Sequence[float], digits: int) -> str:
    """Return numbers as one cell."""
    return " ".join(f"{value:.{digits}g}" for value in values)


def table(path: Path, title: str, rows: Sequence[Mapping[str, str]], measured_on: str) -> None:
    """Print rows and write them, in place of what was there; pages of the documentation that show them follow."""
    widths = {key: max(len(key), *(len(row[key]) for row in rows)) for key in rows[0]}
    print(f"\n{title}\n{measured_on}")
    for cells in ({key: key for key in widths}, *rows):
        print("  ".join(f"{cells[key]:<{width}}" for key, width in widths.items()).rstrip())
    with path.open("w", newline="") as file:
        file.write(f"# {measured_on}\n")
        writer = csv.DictWriter(file, fieldnames=list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    update(path)
