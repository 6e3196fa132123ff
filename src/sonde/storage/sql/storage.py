"""The port in SQL. Statements are built once, here; the methods read as the contract does."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import sqlalchemy as sa

from sonde.storage import rules
from sonde.storage.port import Asker, AskTurn, Storage, StudyHeader, StudySummary
from sonde.storage.sql import catalogue
from sonde.storage.sql import statements as sql
from sonde.storage.sql.database import Database
from sonde.storage.sql.rows import attributes_text, outcome_columns, to_changes, to_record
from sonde.trials import Changes, Outcome, State, TrialRecord

Rows = list[dict[str, Any]]


class SqlStorage(Storage):
    """Keeps studies in SQLite or PostgreSQL."""

    def __init__(self, database: Database, url: str) -> None:
        self._database = database
        self.url = url

    @classmethod
    def open(cls, url: str) -> SqlStorage:
        """Open a database, creating or upgrading its tables where needed."""
        return cls(Database(url), url)

    def __reduce__(self) -> tuple[Any, ...]:
        return SqlStorage.open, (self.url,)

    def now(self) -> float:
        """Return the time by the database's clock."""
        return self._database.now()

    def close(self) -> None:
        """Close the connections."""
        self._database.close()

    # studies

    def create_study(self, header: StudyHeader) -> StudyHeader:
        """Create a study."""
        dated = replace(header, created=self.now())
        key = self._database.write(lambda connection: catalogue.create(connection, dated), durable=True)
        return replace(dated, key=key)

    def find_study(self, name: str) -> StudyHeader:
        """Return the header of a study."""
        return self._database.read(lambda connection: catalogue.find(connection, name))

    def studies(self) -> list[StudySummary]:
        """Return all studies."""
        return self._database.read(catalogue.summaries)

    def delete_study(self, name: str) -> None:
        """Delete a study."""
        self._database.write(lambda connection: catalogue.delete(connection, name), durable=True)

    # reading

    def changes(self, study: int, since: int) -> Changes:
        """Return changed columns."""

        def work(connection: sa.Connection) -> Changes:
            revision = self._revision(connection, study)
            if revision == since:
                return Changes(revision, ())
            found = connection.execute(sql.SELECT_CHANGED, {"study": study, "since": since}).all()
            return to_changes(revision, found)

        return self._database.read(work)

    def records(self, study: int, since: int) -> tuple[int, list[TrialRecord]]:
        """Return changed records."""

        def work(connection: sa.Connection) -> tuple[int, list[TrialRecord]]:
            revision = self._revision(connection, study)
            if revision == since:
                return revision, []
            return revision, [
                to_record(row) for row in connection.execute(sql.SELECT_RECORDS, {"study": study, "since": since})
            ]

        return self._database.read(work)

    def record(self, study: int, number: int) -> TrialRecord:
        """Return one record."""
        return self._database.read(lambda connection: self._record(connection, study, number))

    # asking

    def begin_ask(self, study: int, count: int, asker: Asker, *, since: int = 0, limit: int | None = None) -> AskTurn:
        """Expire, claim, take the turn."""

        def work(connection: sa.Connection) -> AskTurn:
            now = self.now()
            taking = {"study": study, "who": asker.name, "now": now, "ends": now + asker.turn}
            revision, next_number, holder = self._study_row(connection, sql.TAKE_TURN, taking)
            waiting, next_number = self._queue(connection, study, now, revision, next_number)
            wanted = count
            if limit is not None:
                spent = connection.execute(sql.COUNT_SPENT, {"study": study}).scalar_one()
                wanted = max(0, min(count, limit - spent))
            claimed = self._claim(connection, study, waiting[:wanted], asker, revision)
            missing = wanted - len(claimed)
            if missing == 0:
                connection.execute(sql.LEAVE_TURN, {"study": study, "who": asker.name})
                return AskTurn(claimed)
            if holder != asker.name:
                return AskTurn(claimed, missing, holder=holder)
            changed = connection.execute(sql.SELECT_CHANGED, {"study": study, "since": since}).all()
            return AskTurn(claimed, missing, True, next_number, to_changes(revision, changed))

        return self._database.write(work, durable=False)

    def turn_holder(self, study: int, asker: Asker) -> str | None:
        """Return who keeps an asker waiting."""
        values = {"study": study, "who": asker.name, "now": self.now()}
        return self._database.read(lambda connection: connection.execute(sql.SELECT_HOLDER, values).scalar())

    def renew_turn(self, study: int, asker: Asker) -> bool:
        """Extend the turn."""
        values = {"study": study, "who": asker.name, "ends": self.now() + asker.turn}
        renewed = self._database.write(lambda connection: connection.execute(sql.RENEW_TURN, values), durable=False)
        return renewed.rowcount == 1

    def end_turn(self, study: int, holder: str) -> None:
        """End a turn."""
        values = {"study": study, "who": holder}
        self._database.write(lambda connection: connection.execute(sql.LEAVE_TURN, values), durable=False)

    def finish_ask(self, study: int, rows: Sequence[bytes], asker: Asker) -> list[TrialRecord] | None:
        """Insert suggestions and end the turn."""

        def work(connection: sa.Connection) -> list[TrialRecord] | None:
            now = self.now()
            finishing = {"study": study, "who": asker.name, "count": len(rows)}
            finished = connection.execute(sql.FINISH_TURN, finishing).one_or_none()
            if finished is None:
                self._revision(connection, study)  # raises where the study was deleted
                return None
            revision, first = finished[0], finished[1] - len(rows)
            common = {"state": State.RUNNING.value, "revision": revision, "worker": asker.name, "created": now,
                      "started": now, "lease": _ends(now, asker)}  # fmt: skip
            self._insert(connection, study, first, [{"row": row, **common} for row in rows])
            return [
                TrialRecord(number, State.RUNNING, row, worker=asker.name, created=now, started=now)
                for number, row in enumerate(rows, first)
            ]

        return self._database.write(work, durable=False)

    def enqueue(self, study: int, rows: Sequence[bytes], attributes: Mapping[str, Any]) -> list[int]:
        """Insert waiting trials."""
        text = attributes_text(attributes)

        def work(connection: sa.Connection) -> list[int]:
            revision, next_number = self._raise_revision(connection, study)
            common = {
                "state": State.WAITING.value,
                "revision": revision,
                "created": self.now(),
                "attributes": text,
            }
            self._append(connection, study, next_number, [{"row": row, **common} for row in rows])
            return list(range(next_number, next_number + len(rows)))

        return self._database.write(work, durable=True)

    def add(self, study: int, trials: Iterable[tuple[bytes, Outcome, Mapping[str, Any]]]) -> list[int]:
        """Insert finished trials."""
        now = self.now()
        rows = [
            {"row": row, **outcome_columns(outcome), "created": now, "finished": now,
             "attributes": attributes_text(attributes)}
            for row, outcome, attributes in trials
        ]  # fmt: skip

        def work(connection: sa.Connection) -> list[int]:
            revision, next_number = self._raise_revision(connection, study)
            self._append(connection, study, next_number, [{**row, "revision": revision} for row in rows])
            return list(range(next_number, next_number + len(rows)))

        return self._database.write(work, durable=True)

    # finishing

    def tell(self, study: int, number: int, outcome: Outcome, attributes: Mapping[str, Any]) -> TrialRecord:
        """Record a result."""
        rules.attributes_json(attributes)

        def work(connection: sa.Connection) -> TrialRecord:
            revision, _ = self._raise_revision(connection, study)
            record = self._record(connection, study, number)
            if not rules.is_news(record, outcome):
                return record
            now, merged = self.now(), {**record.attributes, **attributes}
            if record.state is State.LOST:
                connection.execute(sql.CANCEL_RETRY, {"study": study, "one": number, "rev": revision, "now": now})
            columns = {**outcome_columns(outcome), "revision": revision, "finished": now,
                       "attributes": attributes_text(merged)}  # fmt: skip
            values = {"new_" + name: value for name, value in columns.items()}
            connection.execute(sql.FINISH, {"study": study, "one": number, **values})
            return replace(record, state=outcome.state, outcome=outcome, finished=now, attributes=merged)

        return self._database.write(work, durable=True)

    def heartbeat(self, study: int, numbers: Sequence[int], lease: float) -> None:
        """Extend leases."""
        values = {"study": study, "numbers": list(numbers), "ends": self.now() + lease}
        self._database.write(lambda connection: connection.execute(sql.HEARTBEAT, values), durable=False)

    def release(self, study: int, numbers: Sequence[int]) -> None:
        """Give trials back."""

        def work(connection: sa.Connection) -> None:
            revision, next_number = self._raise_revision(connection, study)
            found = connection.execute(sql.SELECT_THESE, {"study": study, "numbers": list(numbers)})
            running = [row.number for row in found if row.state == State.RUNNING.value]
            if running:
                self._lose(connection, study, running, revision, next_number, retries_too=True)

        self._database.write(work, durable=True)

    def cancel(self, study: int, numbers: Sequence[int]) -> None:
        """Cancel trials."""

        def work(connection: sa.Connection) -> None:
            revision, _ = self._raise_revision(connection, study)
            for number in numbers:
                record = self._record(connection, study, number)
                rules.require_transition(number, record.state, State.CANCELLED)
            self._end(connection, study, numbers, State.CANCELLED, revision)

        self._database.write(work, durable=True)

    # steps of a transaction

    def _revision(self, connection: sa.Connection, study: int) -> int:
        revision = connection.execute(sql.SELECT_REVISION, {"study": study}).scalar()
        if revision is None:
            raise rules.study_not_found(f"#{study}", [])
        return int(revision)

    def _raise_revision(self, connection: sa.Connection, study: int) -> Any:
        """Lock the study; return its new revision and next number."""
        return self._study_row(connection, sql.RAISE_REVISION, {"study": study})

    def _study_row(self, connection: sa.Connection, statement: sa.UpdateBase, values: dict[str, Any]) -> Any:
        found = connection.execute(statement, values).one_or_none()
        if found is None:
            raise rules.study_not_found(f"#{values['study']}", [])
        return found

    def _record(self, connection: sa.Connection, study: int, number: int) -> TrialRecord:
        found = connection.execute(sql.SELECT_RECORD, {"study": study, "one": number}).one_or_none()
        if found is None:
            raise rules.unknown_trial(study, number)
        return to_record(found)

    def _queue(
        self, connection: sa.Connection, study: int, now: float, revision: int, next_number: int
    ) -> tuple[list[int], int]:
        """Lose trials whose lease has ended; return the numbers that wait and the next free number."""
        due = connection.execute(sql.SELECT_DUE, {"study": study, "now": now}).all()
        waiting = [number for number, state in due if state == State.WAITING.value]
        expired = [number for number, state in due if state == State.RUNNING.value]
        if not expired:
            return waiting, next_number
        after = self._lose(connection, study, expired, revision, next_number)
        return [*waiting, *range(next_number, after)], after

    def _claim(
        self, connection: sa.Connection, study: int, numbers: list[int], asker: Asker, revision: int
    ) -> list[TrialRecord]:
        if not numbers:
            return []
        now = self.now()
        values = {"numbers": numbers, "rev": revision, "who": asker.name, "now": now, "ends": _ends(now, asker)}
        connection.execute(sql.START, {"study": study, **values})
        return [to_record(row) for row in connection.execute(sql.SELECT_THESE, {"study": study, "numbers": numbers})]

    def _lose(
        self,
        connection: sa.Connection,
        study: int,
        numbers: Sequence[int],
        revision: int,
        next_number: int,
        *,
        retries_too: bool = False,
    ) -> int:
        """Make trials lost and queue them again, retries only where that is asked; return the next free number."""
        self._end(connection, study, numbers, State.LOST, revision)
        lost = connection.execute(sql.SELECT_THESE, {"study": study, "numbers": list(numbers)}).all()
        retries = [
            {"row": row.row, "state": State.WAITING.value, "revision": revision, "created": self.now(),
             "retry_of": row.number, "attributes": row.attributes}
            for row in lost if retries_too or row.retry_of is None
        ]  # fmt: skip
        return self._append(connection, study, next_number, retries)

    def _end(self, connection: sa.Connection, study: int, numbers: Sequence[int], state: State, revision: int) -> None:
        values = {
            "study": study,
            "numbers": list(numbers),
            "to": state.value,
            "rev": revision,
            "now": self.now(),
        }
        connection.execute(sql.END, values)

    def _append(self, connection: sa.Connection, study: int, first: int, rows: Rows) -> int:
        """Insert trials numbered from ``first``; return the next free number."""
        self._insert(connection, study, first, rows)
        connection.execute(sql.SET_NEXT_NUMBER, {"study": study, "next": first + len(rows)})
        return first + len(rows)

    def _insert(self, connection: sa.Connection, study: int, first: int, rows: Rows) -> None:
        if rows:
            numbered = [{"study_id": study, "number": number, **row} for number, row in enumerate(rows, first)]
            connection.execute(sql.INSERT, numbered)


def _ends(now: float, asker: Asker) -> float | None:
    return None if asker.lease is None else now + asker.lease
