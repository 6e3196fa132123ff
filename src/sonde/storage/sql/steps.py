"""Steps of transactions. Every transaction begins by finding its study."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from sonde.storage import rules
from sonde.storage.rules import LastSuggestion
from sonde.storage.sql import statements as sql
from sonde.storage.sql.database import Database
from sonde.storage.sql.rows import outcome_columns, to_record
from sonde.trials import State, TrialKey, TrialRecord

Rows = list[dict[str, Any]]


@dataclass
class Locked:
    """A study locked by this transaction. ``now`` measures leases; ``stamp`` is a time for people."""

    id: int
    name: str
    revision: int
    next_number: int
    now: float
    stamp: float
    suggester: str | None
    process: str
    suggesting_since: float
    suggester_lease_ends: float
    last: LastSuggestion
    anybody_waits: bool


def lock(connection: sa.Connection, database: Database, study: str) -> Locked:
    """Lock a study and raise its revision; raise ``StudyNotFound`` where it was deleted."""
    row = connection.execute(sql.LOCK_STUDY, {"key": study}).one_or_none()
    if row is None:
        raise rules.study_deleted()
    now = database.clock(connection, row.clock)
    return Locked(
        row.id, row.name, row.revision, row.next_number, now, time.time() if database.sqlite else now, row.suggester,
        row.process or "", row.suggesting_since or now, row.suggester_lease_ends or 0.0,
        last_suggestion(row), bool(row.anybody_waits),
    )  # fmt: skip


def last_suggestion(row: Any) -> LastSuggestion:
    """Return the last batch of suggestions from the columns ``round_*``."""
    return LastSuggestion(row.round_served or 0, row.round_ended or 0.0, row.round_took or 0.0, row.round_suggester)


def revision(connection: sa.Connection, study: str) -> tuple[int, int]:
    """Return the id and the revision of a study that is only read."""
    found = connection.execute(sql.SELECT_REVISION, {"key": study}).one_or_none()
    if found is None:
        raise rules.study_deleted()
    return int(found.id), int(found.revision)


def find(connection: sa.Connection, study: int, trial: TrialKey) -> TrialRecord | None:
    """Return the trial of a key, or None."""
    if trial.token is None:
        number = trial.number if abs(trial.number) < 2**63 else -1
        found = connection.execute(sql.SELECT_RECORD, {"study": study, "one": number}).one_or_none()
    else:
        found = connection.execute(sql.SELECT_TOKEN, {"study": study, "first": trial.token}).one_or_none()
    return None if found is None else to_record(found)


def known(connection: sa.Connection, own: Locked, trial: TrialKey) -> TrialRecord:
    """Return the trial of a key; raise ``UnknownTrial``."""
    record = find(connection, own.id, trial)
    if record is None:
        raise rules.unknown_trial(own.name, trial)
    return record


def under(connection: sa.Connection, study: int, tokens: Sequence[str]) -> list[TrialRecord]:
    """Return the trials that have these tokens, by number."""
    rows = connection.execute(sql.SELECT_UNDER, {"study": study, "tokens": list(tokens)})
    return [to_record(row) for row in rows]


def queue(connection: sa.Connection, own: Locked, token: str) -> tuple[list[int], bool]:
    """Mark trials whose lease has ended as lost; shorten leases that end too late.

    Return the numbers of the waiting trials, and whether there is a trial with the token.
    """
    due = connection.execute(sql.SELECT_DUE, {"study": own.id, "now": own.now, "first": token}).all()
    given = [row for row in due if row.token == token]
    due = [row for row in due if row.token != token]
    waiting = [row.number for row in due if row.state == State.WAITING.value]
    leases = {row.number: row.lease for row in due if row.state == State.RUNNING.value}
    if any(lease > own.now for lease in leases.values()):
        connection.execute(sql.CUT_LEASES, {"study": own.id, "now": own.now})
    expired = [number for number, lease in leases.items() if lease < own.now]
    return waiting + (lose(connection, own, expired) if expired else []), bool(given)


def lose(connection: sa.Connection, own: Locked, numbers: Sequence[int], *, given_back: bool = False) -> list[int]:
    """Mark trials as lost and queue retries; retries fail unless given back. Return the numbers of the new retries."""
    rows = connection.execute(sql.SELECT_THESE, {"study": own.id, "numbers": list(numbers)}).all()
    again = [row for row in rows if given_back or row.retry_of is None]
    end(connection, own, [row.number for row in again], State.LOST)
    end(connection, own, [row.number for row in rows if row not in again], State.FAILED, rules.ENDED_TWICE.error)
    return append(connection, own, [
        {"row": row.row, "state": State.WAITING.value, "created": own.stamp, "retry_of": row.number,
         "attributes": row.attributes}
        for row in again
    ])  # fmt: skip


def end(connection: sa.Connection, own: Locked, numbers: Sequence[int], state: State, why: str | None = None) -> None:
    """Set the last state of trials that have no result."""
    if numbers:
        values = {"numbers": list(numbers), "to": state.value, "rev": own.revision, "stamp": own.stamp, "why": why}
        connection.execute(sql.END, {"study": own.id, **values})


def append(connection: sa.Connection, own: Locked, rows: Rows) -> list[int]:
    """Insert trials under the next numbers, and return the numbers."""
    numbers = insert(connection, own, rows)
    if numbers:
        connection.execute(sql.SET_NEXT_NUMBER, {"study": own.id, "next": own.next_number})
    return numbers


def insert(connection: sa.Connection, own: Locked, rows: Rows) -> list[int]:
    """Insert trials under the next numbers; the caller stores the next number."""
    numbers = list(range(own.next_number, own.next_number + len(rows)))
    if rows:
        common = {"study_id": own.id, "revision": own.revision}
        numbered = [{**common, "number": number, **row} for number, row in zip(numbers, rows, strict=True)]
        connection.execute(sql.INSERT, numbered)
    own.next_number += len(rows)
    return numbers


def finish(connection: sa.Connection, own: Locked, record: TrialRecord, outcome: Any, attributes: str | None) -> None:
    """Write a result."""
    if record.state is State.LOST:
        values = {"study": own.id, "one": record.number, "rev": own.revision, "stamp": own.stamp}
        connection.execute(sql.CANCEL_RETRY, values)
    columns = {**outcome_columns(outcome), "revision": own.revision, "finished": own.stamp, "attributes": attributes}
    values = {"new_" + name: value for name, value in columns.items()}
    connection.execute(sql.FINISH, {"study": own.id, "one": record.number, **values})
