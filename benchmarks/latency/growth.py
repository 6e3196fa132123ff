"""Seconds per suggestion of ``auto`` over the number of results, 1 to 20,000, warm and in a new process.

    python -m benchmarks.latency.growth                          # everything: some minutes
    python -m benchmarks.latency.growth --short                  # a few sizes
    python -m benchmarks.latency.growth --failures 0.3           # with a third of the results failures
    python -m benchmarks.latency.growth --categories             # 64 bits: ``igo`` beyond 1000 results
    PYTHONPATH=../old/src python -m benchmarks.latency.growth --suffix _before   # another version of Sonde

Seconds are of the processor, on one core and one thread. Warm: the study grows in one process; between the sizes that
are measured results are added, and a suggestion is asked for at each checkpoint, so that what is measured is the step
there. New process: a fresh interpreter that loads the study from SQLite, imports included, and asks once.
The function is Hartmann6; the points are Sobol's.
"""

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.machine import use_one_core
from benchmarks.report import RESULTS, report, write

SIZES = (1, 8, 32, 100, 256, 257, 500, 512, 900, 1000, 1001, 1024, 1500, 2047, 2048, 4095, 4096, 8192, 12288, 16383,
         16384, 20_000)  # fmt: skip
SHORT = (8, 256, 1001, 1024, 2000, 16_384)
LIMIT = 5.0
STEPS = 3  # suggestions after the first at a size, of which the median is told


def trials(start: int, count: int, failures: float, categories: bool) -> list[dict[str, Any]]:
    """Return results ``start`` to ``start + count``."""
    from benchmarks.functions import hartmann6
    from sonde.sampling import sobol

    units = sobol(start, count, 64 if categories else 6, seed=0)
    made = []
    for unit in units:
        params: dict[str, Any] = {f"x{i}": bool(u < 0.5) if categories else float(u) for i, u in enumerate(unit)}
        value = float(np.sum(unit < 0.5) % 7) if categories else hartmann6(unit)
        made.append({"params": params} | ({"failed": "outside"} if unit[0] < failures else {"value": value}))
    return made


def study_of(storage: Any, categories: bool) -> Any:
    """Return an empty study."""
    import sonde

    names = {f"x{i}": sonde.Bool() for i in range(64)} if categories else {f"x{i}": sonde.Float(0, 1) for i in range(6)}
    return sonde.Study(sonde.Space(names), storage=storage, name="growth", seed=0, strategy="auto")


def warm(sizes: Sequence[int], failures: float, categories: bool) -> list[dict[str, Any]]:
    """Return the seconds of the first suggestion at each size, and of those after it."""
    study, rows, count = study_of(None, categories), [], 0
    for size in sizes:
        study.add_trials(trials(count, size - count, failures, categories))
        count, taken = size, []
        for _ in range(STEPS + 1):
            started = time.process_time()
            trial = study.ask()
            taken.append(time.process_time() - started)
            study.cancel(trial)
        rows.append({"n": size, "first (s)": taken[0], "next (s)": float(np.median(taken[1:]))})
        print(rows[-1], flush=True)
    return rows


def opened(size: int, failures: float, categories: bool) -> float:
    """Return the seconds of a new process that opens a study of this size and asks."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "study.db"
        study = study_of(path, categories)
        study.add_trials(trials(0, size, failures, categories))
        study.close()
        code = f"import sonde, time; sonde.load({str(path)!r}, 'growth').ask(); print(time.process_time())"
        run = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
        return float(run.stdout.split()[-1])


def draw(rows: Sequence[dict[str, Any]], path: Path) -> None:
    """Draw the seconds over n."""
    from benchmarks.first_order.plots import legend, panels, save

    figure, axes = panels(1, 1, (7, 4))
    axis = axes[0][0]
    for name, style in (("new process (s)", "s-"), ("first (s)", "o-"), ("next (s)", ".:")):
        axis.plot([row["n"] for row in rows], [row[name] for row in rows], style, markersize=4, label=name)
    axis.axhline(LIMIT, color="grey", linewidth=1)
    axis.set(xscale="log", yscale="log", xlabel="results", ylabel="processor seconds of one core")
    legend(axis)
    save(figure, path)


def main() -> None:
    options = arguments()
    use_one_core(options.core)
    sizes = SHORT if options.short else SIZES
    kind = ("_categories" if options.categories else "") + (
        f"_failures{round(100 * options.failures)}" if options.failures else ""
    )
    name = f"latency_growth{kind}{'_short' if options.short else ''}{options.suffix}"
    rows = warm(sizes, options.failures, options.categories)
    for row in rows:
        row["new process (s)"] = opened(row["n"], options.failures, options.categories)
        row["under 5 s"] = "yes" if max(row["first (s)"], row["new process (s)"]) < LIMIT else "NO"
        write(name, [{key: each.get(key, "") for key in rows[0]} for each in rows])
    report(name, "Seconds per suggestion of auto", rows)
    draw(rows, RESULTS / name)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--short", action="store_true")
    parser.add_argument("--core", type=int, default=None)
    parser.add_argument("--failures", type=float, default=0.0)
    parser.add_argument("--categories", action="store_true")
    parser.add_argument("--suffix", default="", help="ends the names of the files")
    return parser.parse_args()


if __name__ == "__main__":
    main()
