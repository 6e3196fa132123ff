"""Benchmarks that are resumed: a run is kept as it ends and is not repeated, so that killing one loses only its last.

Such a benchmark plans runs, makes those that its file of rows does not have, and draws what is there.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, TypeVar, get_type_hints

from benchmarks.records import append, read
from benchmarks.report import RESULTS

Run = TypeVar("Run")
Row = Mapping[str, Any]


def parser(description: str | None, full: str) -> argparse.ArgumentParser:
    """Return the options that all have; ``full`` says what the whole benchmark is."""
    options = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--full", action="store_true", help=full)
    options.add_argument("--runs", type=int, help="how many of each, with seeds from 0 on")
    options.add_argument("--core", type=int, help="the core to use; by default the first allowed one")
    options.add_argument("--out", type=Path, default=RESULTS, metavar="DIR", help="the folder of runs and results")
    options.add_argument("--draw", action="store_true", help="run nothing")
    return options


def words(text: str) -> list[str]:
    """Read an option that is a list of names."""
    return text.split(",")


def whole_numbers(text: str) -> list[int]:
    """Read an option that is a list of numbers."""
    return [int(number) for number in text.split(",")]


def refuse_unknown(kind: str, asked: Iterable[Any] | None, known: Collection[Any]) -> None:
    """Stop with a message where something is asked for that there is not."""
    if unknown := set(asked or ()) - set(known):
        raise SystemExit(f"{kind} are {', '.join(map(str, known))}, got {', '.join(map(str, sorted(unknown)))}")


def missing(file: Path, plan: Sequence[Run], made: Callable[[dict[str, str]], Run]) -> list[tuple[str, Run]]:
    """Return the runs of a plan that no row of a file was ``made`` of, each with a label that counts them."""
    done = {made(row) for row in read(file)}
    waiting = [run for run in plan if run not in done]
    print(f"{file}: {len(plan) - len(waiting)} of {len(plan)} runs done", flush=True)
    return [(f"{i}/{len(waiting)}", run) for i, run in enumerate(waiting, 1)]


def attempt(file: Path, title: str, make: Callable[[], tuple[Row, float]]) -> bool:
    """Make a run and keep its row, and say its best value; one that raises leaves its reason and no row."""
    started = time.perf_counter()
    try:
        row, best = make()
    except Exception as error:
        print(f"{title} FAILED: {type(error).__name__}: {error}", flush=True)
        return False
    append(file, row)
    print(f"{title}: {best:.6g} after {time.perf_counter() - started:.1f} s", flush=True)
    return True


def complete(file: Path, plan: Sequence[NamedTuple], make: Callable[[Any], tuple[Row, float]]) -> int:
    """Make the runs of a plan that no row of a file is of; return how many failed.

    A run is a named tuple, and its row has its fields.
    """
    if not plan:
        raise SystemExit("nothing to run: no run has all that is asked for")
    kind = type(plan[0])
    fields = get_type_hints(kind)

    def made(row: dict[str, str]) -> Any:
        return kind(**{name: convert(row[name]) for name, convert in fields.items()})

    return sum(
        not attempt(file, f"{label} {' '.join(map(str, run))}", partial(make, run))  # type: ignore[call-overload]
        for label, run in missing(file, plan, made)
    )


def say_failed(failed: int) -> None:
    """Stop with a message where runs failed."""
    if failed:
        raise SystemExit(f"{failed} runs failed; they are tried again next time")
