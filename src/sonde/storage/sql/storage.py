"""The port in SQL. Statements are built once, here; the methods read as the contract does."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import sqlalchemy as sa
from sqlalchemy.exc import IntegrityError

from sonde.storage import rules
from sonde.storage.port import AskTurn, Storage, StudyHeader, StudySummary
from sonde.storage.sql import statements as sql
from sonde.storage.sql.database import Database
from sonde.storage.sql.tables import studies, trials
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
        header = replace(header, created=self.now())
        values = {"name": header.name, "space": header.space, "direction": header.direction, "seed": header.seed,
                  "strategy": header.strategy, "created": header.created, "revision": 0, "next_number": 0}  # fmt: skip

        def work(connection: sa.Connection) -> int:
            taken = connection.execute(sa.select(studies.c.id).where(studies.c.name == header.name)).scalar()
            if taken is not None:
                raise rules.study_exists(header.name)
            try:
                with connection.begin_nested():
                    return int(connection.execute(sa.insert(studies).returning(studies.c.id), values).scalar_one())
            except IntegrityError:
                raise rules.study_exists(header.name) from None

        return replace(header, key=self._database.write(work, durable=True))

    def find_study(self, name: str) -> StudyHeader:
        """Return the header of a study."""

        def work(connection: sa.Connection) -> StudyHeader:
            found = connection.execute(sa.select(*sql.HEADER).where(studies.c.name == name)).one_or_none()
            if found is None:
                known = connection.execute(sa.select(studies.c.name).order_by(studies.c.name).limit(11)).scalars()
                raise rules.study_not_found(name, list(known))
            return StudyHeader(*found)

        return self._database.read(work)

    def studies(self) -> list[StudySummary]:
        """Return all studies."""
        count = sa.select(trials.c.study_id, trials.c.state, sa.func.count()).group_by(
            trials.c.study_id, trials.c.state
        )
        completed = trials.c.state == State.COMPLETED.value
        plain = sa.and_(completed, trials.c.constraints.is_(None))
        extremes = (
            sa.select(trials.c.study_id, sa.func.min(trials.c.value), sa.func.max(trials.c.value))
            .where(plain)
            .group_by(trials.c.study_id)
        )
        constrained = sa.select(trials.c.study_id, trials.c.value, trials.c.constraints).where(
            completed, trials.c.constraints.is_not(None)
        )

        def work(connection: sa.Connection) -> list[StudySummary]:
            counts: dict[int, dict[State, int]] = {}
            for study, state, number in connection.execute(count):
                counts.setdefault(study, {})[State(state)] = number
            values = {study: [low, high] for study, low, high in connection.execute(extremes)}
            for study, value, levels in connection.execute(constrained):
                if max(json.loads(levels).values(), default=0) <= 0:
                    values.setdefault(study, []).append(value)
            headers = [
                StudyHeader(*found) for found in connection.execute(sa.select(*sql.HEADER).order_by(studies.c.name))
            ]
            choose = {"minimize": min, "maximize": max}
            return [
                StudySummary(header, counts.get(header.key, {}),
                             choose[header.direction](values.get(header.key, []), default=None))
                for header in headers
            ]  # fmt: skip

        return self._database.read(work)

    def delete_study(self, name: str) -> None:
        """Delete a study."""
        key = self.find_study(name).key

        def work(connection: sa.Connection) -> None:
            connection.execute(sa.delete(trials).where(trials.c.study_id == key))
            connection.execute(sa.delete(studies).where(studies.c.id == key))

        self._database.write(work, durable=True)

    # reading

    def changes(self, study: int, since: int) -> Changes:
        """Return changed columns."""

        def work(connection: sa.Connection) -> Changes:
            revision = self._revision(connection, study)
            if revision == since:
                return Changes(revision, ())
            found = connection.execute(sql.SELECT_CHANGED, {"study": study, "since": since}).all()
            return Changes(revision, [(*row[:7], row[7] and json.loads(row[7])) for row in found])

        return self._database.read(work)

    def records(self, study: int, since: int) -> tuple[int, list[TrialRecord]]:
        """Return changed records."""

        def work(connection: sa.Connection) -> tuple[int, list[TrialRecord]]:
            revision = self._revision(connection, study)
            if revision == since:
                return revision, []
            return revision, [
                _record(row) for row in connection.execute(sql.SELECT_RECORDS, {"study": study, "since": since})
            ]

        return self._database.read(work)

    def record(self, study: int, number: int) -> TrialRecord:
        """Return one record."""
        return self._database.read(lambda connection: self._record(connection, study, number))

    # asking

    def begin_ask(
        self, study: int, count: int, *, holder: str, turn: float, lease: float | None, limit: int | None
    ) -> AskTurn:
        """Expire, claim, take the turn."""

        def work(connection: sa.Connection) -> AskTurn:
            now = self.now()
            revision, next_number, present, turn_ends = self._raise_revision(connection, study)
            due = connection.execute(sql.SELECT_DUE, {"study": study, "now": now}).all()
            waiting = [number for number, state in due if state == State.WAITING.value]
            expired = [number for number, state in due if state == State.RUNNING.value]
            if expired:
                again = self._lose(connection, study, expired, revision, next_number)
                waiting.extend(range(next_number, again))
                next_number = again
            wanted = count
            if limit is not None:
                spent = connection.execute(sql.COUNT_SPENT, {"study": study}).scalar_one()
                wanted = max(0, min(count, limit - spent))
            ends = None if lease is None else now + lease
            claimed = self._claim(connection, study, waiting[:wanted], holder, revision, ends)
            missing = wanted - len(claimed)
            if missing == 0:
                return AskTurn(claimed)
            if present not in (None, holder) and turn_ends >= now:
                return AskTurn(claimed, missing, holder=present)
            connection.execute(sql.SET_TURN, {"study": study, "who": holder, "ends": now + turn})
            return AskTurn(claimed, missing, granted=True, next_number=next_number)

        return self._database.write(work, durable=False)

    def renew_turn(self, study: int, *, holder: str, turn: float) -> bool:
        """Extend the turn."""
        values = {"study": study, "who": holder, "ends": self.now() + turn}
        return (
            self._database.write(lambda connection: connection.execute(sql.RENEW_TURN, values), durable=False).rowcount
            == 1
        )

    def steal_turn(self, study: int, *, holder: str) -> None:
        """End a dead holder's turn."""
        values = {"study": study, "who": holder, "ends": 0.0}
        self._database.write(lambda connection: connection.execute(sql.RENEW_TURN, values), durable=False)

    def finish_ask(
        self, study: int, rows: Sequence[bytes], *, holder: str, lease: float | None
    ) -> list[TrialRecord] | None:
        """Insert suggestions and end the turn."""

        def work(connection: sa.Connection) -> list[TrialRecord] | None:
            now = self.now()
            ended = connection.execute(sql.END_TURN, {"study": study, "who": holder, "count": len(rows)}).one_or_none()
            if ended is None:
                self._revision(connection, study)  # raises where the study was deleted
                return None
            revision, first = ended[0], ended[1] - len(rows)
            common = {"state": State.RUNNING.value, "revision": revision, "worker": holder, "created": now,
                      "started": now, "lease": None if lease is None else now + lease}  # fmt: skip
            numbered = enumerate(rows, first)
            self._insert(
                connection,
                [{"study_id": study, "number": number, "row": row, **common} for number, row in numbered],
            )
            return [
                TrialRecord(number, State.RUNNING, row, worker=holder, created=now, started=now)
                for number, row in enumerate(rows, first)
            ]

        return self._database.write(work, durable=False)

    def enqueue(self, study: int, rows: Sequence[bytes], attributes: Mapping[str, Any]) -> list[int]:
        """Insert waiting trials."""
        text = _attributes(attributes)

        def work(connection: sa.Connection) -> list[int]:
            revision, next_number, _, _ = self._raise_revision(connection, study)
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
            {"row": row, **_outcome_columns(outcome), "created": now, "finished": now,
             "attributes": _attributes(attributes)}
            for row, outcome, attributes in trials
        ]  # fmt: skip

        def work(connection: sa.Connection) -> list[int]:
            revision, next_number, _, _ = self._raise_revision(connection, study)
            self._append(connection, study, next_number, [{**row, "revision": revision} for row in rows])
            return list(range(next_number, next_number + len(rows)))

        return self._database.write(work, durable=True)

    # finishing

    def tell(self, study: int, number: int, outcome: Outcome, attributes: Mapping[str, Any]) -> TrialRecord:
        """Record a result."""
        rules.attributes_json(attributes)

        def work(connection: sa.Connection) -> TrialRecord:
            revision, _, _, _ = self._raise_revision(connection, study)
            record = self._record(connection, study, number)
            if not rules.is_news(record, outcome):
                return record
            now, merged = self.now(), {**record.attributes, **attributes}
            if record.state is State.LOST:
                connection.execute(sql.CANCEL_RETRY, {"study": study, "one": number, "rev": revision, "now": now})
            columns = {**_outcome_columns(outcome), "revision": revision, "finished": now,
                       "attributes": _attributes(merged)}  # fmt: skip
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
            revision, next_number, _, _ = self._raise_revision(connection, study)
            found = connection.execute(sql.SELECT_THESE, {"study": study, "numbers": list(numbers)})
            running = [row.number for row in found if row.state == State.RUNNING.value]
            if running:
                self._lose(connection, study, running, revision, next_number)

        self._database.write(work, durable=True)

    def cancel(self, study: int, numbers: Sequence[int]) -> None:
        """Cancel trials."""

        def work(connection: sa.Connection) -> None:
            revision, _, _, _ = self._raise_revision(connection, study)
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
        """Lock the study; return its new revision, next number, holder and end of turn."""
        found = connection.execute(sql.RAISE_REVISION, {"study": study}).one_or_none()
        if found is None:
            raise rules.study_not_found(f"#{study}", [])
        return found

    def _record(self, connection: sa.Connection, study: int, number: int) -> TrialRecord:
        found = connection.execute(sql.SELECT_RECORD, {"study": study, "one": number}).one_or_none()
        if found is None:
            raise rules.unknown_trial(study, number)
        return _record(found)

    def _claim(
        self,
        connection: sa.Connection,
        study: int,
        numbers: list[int],
        holder: str,
        revision: int,
        ends: float | None,
    ) -> list[TrialRecord]:
        if not numbers:
            return []
        connection.execute(
            sql.START,
            {
                "study": study,
                "numbers": numbers,
                "rev": revision,
                "who": holder,
                "now": self.now(),
                "ends": ends,
            },
        )
        return [_record(row) for row in connection.execute(sql.SELECT_THESE, {"study": study, "numbers": numbers})]

    def _lose(
        self, connection: sa.Connection, study: int, numbers: Sequence[int], revision: int, next_number: int
    ) -> int:
        """Make trials lost and queue those again that were not retries; return the next free number."""
        self._end(connection, study, numbers, State.LOST, revision)
        lost = connection.execute(sql.SELECT_THESE, {"study": study, "numbers": list(numbers)}).all()
        retries = [
            {"row": row.row, "state": State.WAITING.value, "revision": revision, "created": self.now(),
             "retry_of": row.number, "attributes": row.attributes}
            for row in lost if row.retry_of is None
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
        numbered = [{"study_id": study, "number": number, **row} for number, row in enumerate(rows, first)]
        self._insert(connection, numbered)
        connection.execute(sql.SET_NEXT_NUMBER, {"study": study, "next": first + len(rows)})
        return first + len(rows)

    def _insert(self, connection: sa.Connection, rows: Rows) -> None:
        if rows:
            connection.execute(sql.INSERT, rows)


def _outcome_columns(outcome: Outcome) -> dict[str, Any]:
    constraints = None if outcome.constraints is None else json.dumps(dict(outcome.constraints))
    return {"state": outcome.state.value, "value": outcome.value, "noise": outcome.noise, "gradient": outcome.gradient,
            "hessian": outcome.hessian, "constraints": constraints, "error": outcome.error}  # fmt: skip


def _record(row: Any) -> TrialRecord:
    state = State(row.state)
    outcome = None
    if state.finished:
        constraints = None if row.constraints is None else json.loads(row.constraints)
        outcome = Outcome(state, row.value, row.noise, row.gradient, row.hessian, constraints, row.error)
    attributes = json.loads(row.attributes) if row.attributes else {}
    return TrialRecord(row.number, state, row.row, outcome, row.worker, row.created, row.started, row.finished,
                       row.retry_of, attributes)  # fmt: skip


def _attributes(attributes: Mapping[str, Any]) -> str | None:
    return rules.attributes_json(attributes) if attributes else None
