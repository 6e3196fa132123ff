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
class Found:
    """A study in a transaction."""

    connection: sa.Connection
    id: int
    revision: int

    def execute(self, statement: sa.Executable, **values: Any) -> sa.CursorResult[Any]:
        """Execute a statement about this study."""
        return self.connection.execute(statement, {"study": self.id, **values})


@dataclass
class Locked(Found):
    """A study locked by this transaction. ``now`` measures leases; ``stamp`` is a time for people."""

    name: str
    next_number: int
    now: float
    stamp: float
    suggester: str | None
    process: str
    suggesting_since: float
    suggester_lease_ends: float
    last: LastSuggestion
    anybody_waits: bool
    paused: bool


def find_study(connection: sa.Connection, study: str) -> Found:
    """Return a study that is only read; raise ``StudyNotFound`` where it was deleted."""
    row = connection.execute(sql.SELECT_REVISION, {"key": study}).one_or_none()
    if row is None:
        raise rules.study_deleted()
    return Found(connection, row.id, row.revision)


def lock(connection: sa.Connection, database: Database, study: str) -> Locked:
    """Lock a study and raise its revision; raise ``StudyNotFound`` where it was deleted."""
    row = connection.execute(sql.LOCK_STUDY, {"key": study}).one_or_none()
    if row is None:
        raise rules.study_deleted()
    now = database.clock(connection, row.clock)
    return Locked(
        connection, row.id, row.revision, row.name, row.next_number, now, time.time() if database.sqlite else now,
        row.suggester, row.process or "", row.suggesting_since or now, row.suggester_lease_ends or 0.0,
        last_suggestion(row), bool(row.anybody_waits), bool(row.paused),
    )  # fmt: skip


def last_suggestion(row: Any) -> LastSuggestion:
    """Return the last batch of suggestions from the columns ``round_*``."""
    return LastSuggestion(row.round_served or 0, row.round_ended or 0.0, row.round_took or 0.0, row.round_suggester)


def find(own: Found, trial: TrialKey) -> TrialRecord | None:
    """Return the trial of a key, or None."""
    if trial.token is None:
        number = trial.number if abs(trial.number) < 2**63 else -1
        found = own.execute(sql.SELECT_RECORD, one=number).one_or_none()
    else:
        found = own.execute(sql.SELECT_TOKEN, first=trial.token).one_or_none()
    return None if found is None else to_record(found)


def known(own: Locked, trial: TrialKey) -> TrialRecord:
    """Return the trial of a key; raise ``UnknownTrial``."""
    record = find(own, trial)
    if record is None:
        raise rules.unknown_trial(own.name, trial)
    return record


def under(own: Found, tokens: Sequence[str]) -> list[TrialRecord]:
    """Return the trials that have these tokens, by number."""
    return [to_record(row) for row in own.execute(sql.SELECT_UNDER, tokens=list(tokens))]


def queue(own: Locked, tokens: Sequence[str], most: int) -> tuple[list[int], bool]:
    """Mark trials whose lease has ended as lost; shorten leases that end too late.

    Return the numbers of the first waiting trials, at least ``most`` if there are as many, and whether there is a trial
    with one of the tokens.
    """
    due = own.execute(sql.SELECT_DUE, now=own.now, tokens=list(tokens), most=most).all()
    given = [row for row in due if row.token in tokens]
    due = [row for row in due if row.token not in tokens]
    waiting = sorted(row.number for row in due if row.state == State.WAITING.value)
    leases = {row.number: row.lease for row in due if row.state == State.RUNNING.value}
    if any(lease > own.now for lease in leases.values()):
        own.execute(sql.CUT_LEASES, now=own.now)
    expired = [number for number, lease in leases.items() if lease < own.now]
    return waiting + (lose(own, expired) if expired else []), bool(given)


def lose(own: Locked, numbers: Sequence[int], *, given_back: bool = False) -> list[int]:
    """Mark trials as lost and queue retries; retries fail unless given back. Return the numbers of the new retries."""
    rows = own.execute(sql.SELECT_THESE, numbers=list(numbers)).all()
    again = [row for row in rows if given_back or row.retry_of is None]
    end(own, [row.number for row in again], State.LOST)
    end(own, [row.number for row in rows if row not in again], State.FAILED, rules.ENDED_TWICE.error)
    return append(own, [
        {"row": row.row, "state": State.WAITING.value, "created": own.stamp, "retry_of": row.number,
         "attributes": row.attributes}
        for row in again
    ])  # fmt: skip


def end(own: Locked, numbers: Sequence[int], state: State, why: str | None = None) -> None:
    """Set the last state of trials that have no result."""
    if numbers:
        own.execute(sql.END, numbers=list(numbers), to=state.value, rev=own.revision, stamp=own.stamp, why=why)


def append(own: Locked, rows: Rows) -> list[int]:
    """Insert trials under the next numbers, and return the numbers."""
    numbers = insert(own, rows)
    if numbers:
        own.execute(sql.SET_NEXT_NUMBER, next=own.next_number)
    return numbers


def insert(own: Locked, rows: Rows) -> list[int]:
    """Insert trials under the next numbers; the caller stores the next number."""
    numbers = list(range(own.next_number, own.next_number + len(rows)))
    if rows:
        common = {"study_id": own.id, "revision": own.revision}
        numbered = [{**common, "number": number, **row} for number, row in zip(numbers, rows, strict=True)]
        own.connection.execute(sql.INSERT, numbered)
    own.next_number += len(rows)
    return numbers


def finish(own: Locked, record: TrialRecord, outcome: Any, attributes: str | None) -> None:
    """Write a result."""
    if record.state is State.LOST:
        own.execute(sql.CANCEL_RETRY, one=record.number, rev=own.revision, stamp=own.stamp)
    columns = {**outcome_columns(outcome), "revision": own.revision, "finished": own.stamp, "attributes": attributes}
    own.execute(sql.FINISH, one=record.number, **{"new_" + name: value for name, value in columns.items()})
