"""Calls of a storage with default settings, for the contract suite."""

from __future__ import annotations

import struct
from typing import Any

from sonde.storage import Asker, AskReply, Storage, StudyHeader
from sonde.storage.rules import new_token
from sonde.trials import Outcome, State, TrialKey, TrialRecord

ROW = struct.pack("<2d", 0.25, 3.0)
DONE = Outcome(State.COMPLETED, value=1.5)
FULL = Outcome(State.COMPLETED, -1e300, 0.5, struct.pack("<2d", 1.0, float("nan")), ROW + ROW[:8], {"memory": -2.0})
SEVERAL = Outcome(State.COMPLETED, gradient=ROW, objectives=struct.pack("<4d", 0.3, -1e300, float("nan"), 0.5))
HEADER = StudyHeader("study", '{"any": "text"}', "minimize", 7, "sobol")


def begin(
    storage: Storage, study: str, count: int = 1, *, asker: str = "me", suggester_lease: float = 10.0,
    lease: float | None = None, tokens: list[str] | None = None, **options: Any,
) -> AskReply:  # fmt: skip
    """Begin an ask with default settings."""
    return storage.begin_ask(study, tokens or drawn(count), Asker(asker, suggester_lease, lease), **options)


def finish(storage: Storage, study: str, rows: list[bytes], *, asker: str = "me", lease: float | None = None) -> Any:
    """Finish an ask with default settings, for the suggester alone."""
    tokens = drawn(len(rows))
    return storage.finish_ask(study, AskReply((), len(rows), True, tokens), rows, tokens, Asker(asker, 10.0, lease))


def ask(storage: Storage, study: str, count: int = 1, *, asker: str = "me", lease: float | None = None) -> list[int]:
    """Ask for trials and insert what is missing; return their numbers."""
    reply = begin(storage, study, count, asker=asker, lease=lease)
    inserted = finish(storage, study, [ROW] * reply.missing, asker=asker, lease=lease) if reply.missing else []
    return [record.number for record in [*reply.claimed, *inserted]]


def drawn(count: int) -> list[str]:
    """Return new tokens."""
    return [new_token() for _ in range(count)]


def tell(
    storage: Storage, study: str, number: int, outcome: Outcome, attributes: dict[str, Any] | None = None
) -> TrialRecord:
    """Tell a result by number."""
    return storage.tell(study, TrialKey(number), outcome, attributes or {})


def keys(*numbers: int) -> list[TrialKey]:
    """Return keys of trials by number."""
    return [TrialKey(number) for number in numbers]


def states(storage: Storage, study: str) -> list[State]:
    """Return the states of all trials."""
    return [record.state for record in storage.records(study, 0)[1]]
