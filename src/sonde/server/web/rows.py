"""What the pages show of a study's columns: rows of the table, CSV, the best so far, failures by their reason."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import numpy as np

from sonde.arrays import Integers
from sonde.server.web.columns import STATES, Columns
from sonde.server.web.query import Query
from sonde.server.wire import to_wire
from sonde.study import export

SPARK = 60  # points of a small curve
PENDING = 50  # running and waiting trials that an overview lists
BRIEF = 10.0  # seconds that say nothing about an hour
REASONS = 20  # reasons of failures that an overview lists
_LAST = ("error", "worker", "started", "finished", "duration")
CHUNK = 2000  # rows of CSV at once


def page(columns: Columns, query: Query, offset: int, limit: int) -> dict[str, Any]:
    """Return some rows of the table, and how many there are."""
    with columns.lock:
        numbers = query.numbers(columns)
        shown = numbers[offset : offset + limit].tolist()
        return {
            "revision": columns.revision, "total": len(columns), "matching": len(numbers),
            "rows": [row(columns, number) for number in shown],
        }  # fmt: skip


def row(columns: Columns, number: int) -> dict[str, Any]:
    """Return one row."""
    told = _facts(columns, number)
    told |= {"values": [_known(value) for value in told["values"]], "params": export.configuration(told["params"])}
    wire: dict[str, Any] = to_wire(told)
    return wire


def _facts(columns: Columns, number: int) -> dict[str, Any]:
    started, finished = float(columns["started"][number]), float(columns["finished"][number])
    return {
        "number": number,
        "state": STATES[columns["state"][number]],
        "values": columns["value"][number].tolist(),
        "broken": bool(columns["broken"][number]),
        "params": columns.space.codec.configuration(columns["row"][number]),
        "error": columns.errors.of(columns["error"][number]),
        "worker": columns.workers.of(columns["worker"][number]),
        "started": _time(started),
        "finished": _time(finished),
        "duration": _known(finished - started),
    }


def csv_text(columns: Columns, query: Query) -> Iterator[bytes]:
    """Yield the rows as CSV, named as ``sonde export`` names them."""
    yield _lines([_head(columns)])
    with columns.lock:
        numbers = query.numbers(columns)
    for begin in range(0, len(numbers), CHUNK):
        with columns.lock:
            chunk = [_cells(columns, number) for number in numbers[begin : begin + CHUNK].tolist()]
        yield _lines(chunk)


def _head(columns: Columns) -> list[str]:
    objectives = columns.objectives
    values = [f"value_{name}" for name in objectives.names] if objectives.several else ["value"]
    return ["number", "state", *values, *(f"params_{name}" for name in columns.space.names), *_LAST]


def _cells(columns: Columns, number: int) -> list[str]:
    facts = _facts(columns, number)
    params, values = facts["params"], [_known(value) for value in facts["values"]]
    return [
        str(number),
        facts["state"],
        *(export.cell("value", value) for value in values),
        *(export.cell("params_", params[name]) if name in params else "" for name in columns.space.names),
        *(export.cell(name, facts[name]) for name in _LAST),
    ]


def _lines(rows: list[list[str]]) -> bytes:
    buffer = io.StringIO()
    csv.writer(buffer).writerows(rows)
    return buffer.getvalue().encode("utf-8", "backslashreplace")  # lone surrogates have no UTF-8


def spark(columns: Columns) -> dict[str, Any]:
    """Return the best so far at some trials, evenly spaced, and the last; several objectives have none."""
    with columns.lock:
        length = 0 if columns.objectives.several else len(columns)
        points: Integers = np.unique(np.linspace(0, length - 1, min(SPARK, length)).round().astype(int))
        best = columns.best_so_far()[points] if length else np.empty(0)
        known = [_known(value) for value in best.tolist()]
        return {"trials": len(columns), "numbers": points.tolist(), "best": to_wire(known)}


def overview(columns: Columns) -> dict[str, Any]:
    """Return the state of a study in short."""
    with columns.lock:
        best, pending = columns.best(), columns.in_state("running", "waiting")
        return {
            "revision": columns.revision,
            "trials": len(columns),
            "counts": columns.counts(),
            "best": None if best is None else row(columns, best),
            "pending": [row(columns, number) for number in pending[:PENDING].tolist()],
            "failures": _failures(columns),
            "per_hour": _per_hour(columns["finished"]),
        }


def _failures(columns: Columns) -> list[dict[str, Any]]:
    """Return the reasons of failures, the most frequent first; those that differ in numbers only are one."""
    failed = columns.in_state("failed")
    kinds = np.array([*columns.errors.kinds, -1])[columns["error"][failed]]  # the index -1 is that of no reason
    known, counts = np.unique(kinds, return_counts=True)
    most = np.argsort(-counts, kind="stable")[:REASONS]
    last = [int(failed[kinds == own][-1]) for own in known[most]]
    return [
        {"reason": columns.errors.of(columns["error"][number]) or "", "count": count, "last": number}
        for number, count in zip(last, counts[most].tolist(), strict=True)
    ]


def _per_hour(finished: Any) -> float | None:
    """Return how many trials end in an hour, by the last hundred."""
    times = np.sort(finished[np.isfinite(finished)])[-100:]
    seconds = float(times[-1] - times[0]) if len(times) > 1 else 0.0
    return 3600 * (len(times) - 1) / seconds if seconds > BRIEF else None


def _known(value: float) -> float | None:
    return None if math.isnan(value) else value


def _time(seconds: float) -> str | None:
    return datetime.fromtimestamp(seconds, UTC).isoformat() if math.isfinite(seconds) else None
