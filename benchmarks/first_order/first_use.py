"""The first use of ``sonde.kernels``: the example of its page in a fresh process. Most of the time is compilation.

The same with 300 points is beyond the size of Cholesky, so conjugate gradients and Lanczos are compiled. Times are the
medians of ``ROUNDS`` processes, in processor seconds of all threads; the wall clock depends on what else runs.
"""

import json
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any

from benchmarks.report import report

POINTS = (200, 300)
ROUNDS = 5
TARGET = 5.0  # processor seconds of the page's example


def main() -> None:
    report("first_order_first_use", "The first use", [row for points in POINTS for row in measure(points)])


def measure(points: int) -> list[dict[str, Any]]:
    """Return a row for each statement of the example, and one for all."""
    rounds = [one(points) for _ in range(ROUNDS)]
    rows = [{"points": points, "statement": own[0]["statement"], **medians(own)} for own in zip(*rounds, strict=True)]
    sums = [{key: sum(row[key] for row in own) for key in ("cpu", "wall", "programs")} for own in rounds]
    whole: dict[str, Any] = {"points": points, "statement": "all", **medians(sums)}
    target = {"target": TARGET, "reached": "yes" if whole["cpu"] <= TARGET else "NO"} if points == POINTS[0] else {}
    return [row | {"target": "", "reached": ""} for row in rows] + [whole | {"target": "", "reached": ""} | target]


def medians(own: Any) -> dict[str, Any]:
    """Return the medians over processes."""
    seconds = {key: statistics.median(row[key] for row in own) for key in ("cpu", "wall")}
    return seconds | {"programs": max(row["programs"] for row in own)}


def one(points: int) -> list[dict[str, Any]]:
    """Run the example in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.first_order.one_example", str(points)],
        check=True,
        stdout=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parents[2],
    )
    return list(json.loads(done.stdout))


if __name__ == "__main__":
    main()
