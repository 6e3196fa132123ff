"""The storage interface in SQL. ``steps`` and ``asking`` hold the parts of its transactions."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from math import nan
from typing import Any, TypeVar

import sqlalchemy as sa

from sonde.storage import rules
from sonde.storage.port import Asker, AskReply, FinishedTrial, Page, Storage, StudyHeader, StudyStatus, StudySummary
from sonde.storage.sql import asking, catalogue, steps, waiting
from sonde.storage.sql import statements as sql
from sonde.storage.sql.database import PATIENCE, Database
from sonde.storage.sql.rows import attributes_text, outcome_columns, to_changes, to_record
from sonde.storage.sql.steps import Found, Locked
from sonde.trials import Changes, Outcome, State, TrialKey, TrialRecord
from sonde.trials.attributes import plain_attributes

T = TypeVar("T")

_OF_STUDY = -1  # in place of a trial's number, in the table of notes


class SqlStorage(Storage):
    """Keeps studies in SQLite or PostgreSQL; creates or upgrades the tables where needed.

    A locked or restarting database is tried for ``patience`` seconds.
    """

    def __init__(self, url: str, patience: float = PATIENCE) -> None:
        self.url, self.patience = url, patience
        self._database = Database(url, patience=patience)

    def __reduce__(self) -> tuple[Any, ...]:
        return SqlStorage, (self.url, self.patience)

    def now(self) -> float:
        """Return the time: this machine's on SQLite, else the server's."""
        return self._database.now()

    def close(self) -> None:
        self._database.close()

    def together(self) -> AbstractContextManager[None]:
        return self._database.together() if self._database.sqlite else super().together()

    def _read(self, study: str, work: Callable[[Found], T]) -> T:
        """Run ``work`` on a study, which it only reads."""
        return self._database.read(lambda connection: work(steps.find_study(connection, study)))

    def _write(self, study: str, work: Callable[[Locked], T], *, durable: bool, wakes: bool = False) -> T:
        """Run ``work`` on a locked study; ``wakes`` notifies waiting askers."""

        def locked(connection: sa.Connection) -> T:
            done = work(steps.lock(connection, self._database, study))
            if wakes:
                waiting.tell_waiters(connection, self._database, study)
            return done

        return self._database.write(locked, durable=durable)

    # studies

    def create_study(self, header: StudyHeader) -> StudyHeader:
        dated = replace(header, created=self.now(), key=header.key or uuid.uuid4().hex)
        return self._database.write(lambda connection: catalogue.create(connection, dated), durable=True)

    def find_study(self, name: str) -> StudyHeader:
        return self._database.read(lambda connection: catalogue.find(connection, name))

    def studies(self, name: str | None = None) -> list[StudySummary]:
        return self._database.read(lambda connection: catalogue.summaries(connection, name))

    def delete_study(self, name: str) -> None:
        key = self.find_study(name).key  # by its key: a second try may find another study of that name
        self._database.write(lambda connection: catalogue.delete(connection, key), durable=True)

    def status(self, study: str) -> StudyStatus:
        return self._read(study, lambda own: asking.status(own, self._database))

    def set_paused(self, study: str, paused: bool) -> None:
        def work(own: Locked) -> None:
            own.execute(sql.SET_PAUSED, pauses=paused)

        self._write(study, work, durable=True, wakes=True)

    def notes(self, study: str) -> dict[int | None, str]:
        found = self._read(study, lambda own: own.execute(sql.SELECT_NOTES).all())
        return {None if row.number == _OF_STUDY else row.number: row.text for row in found}

    def set_note(self, study: str, text: str, number: int | None = None) -> None:
        def work(own: Locked) -> None:
            place = _OF_STUDY if number is None else steps.known(own, TrialKey(number)).number
            own.execute(sql.DELETE_NOTE, one=place)
            if text:
                own.connection.execute(sql.INSERT_NOTE, {"study_id": own.id, "number": place, "text": text})

        self._write(study, work, durable=True)

    # reading

    def changes(self, study: str, since: int) -> Changes:
        def work(own: Found) -> Changes:
            if own.revision == since:
                return Changes(since, ())
            return to_changes(own.revision, own.execute(sql.SELECT_CHANGED, since=since).all())

        return self._read(study, work)

    def records(self, study: str, since: int) -> tuple[int, list[TrialRecord]]:
        def work(own: Found) -> tuple[int, list[TrialRecord]]:
            if own.revision == since:
                return since, []
            return own.revision, [to_record(row) for row in own.execute(sql.SELECT_RECORDS, since=since)]

        return self._read(study, work)

    def times(self, study: str, since: int) -> tuple[int, list[tuple[Any, ...]]]:
        def work(own: Found) -> tuple[int, list[tuple[Any, ...]]]:
            if own.revision == since:
                return since, []
            return own.revision, [tuple(row) for row in own.execute(sql.SELECT_TIMES, since=since)]

        return self._read(study, work)

    def page(self, study: str, since: int, limit: int) -> Page:
        def work(own: Found) -> Page:
            last = own.execute(sql.SELECT_LAST_OF_PAGE, since=since, skip=limit - 1).scalar()
            last = own.revision if last is None else last
            rows = own.execute(sql.SELECT_PAGE, since=since, last=last)
            return Page(last, [(row.revision, to_record(row)) for row in rows], last < own.revision)

        return self._read(study, work)

    def record(self, study: str, number: int) -> TrialRecord:
        found = self._read(study, lambda own: steps.find(own, TrialKey(number)))
        if found is None:
            raise rules.unknown_trial(study, TrialKey(number))
        return found

    # asking

    def begin_ask(
        self, study: str, tokens: Sequence[str], asker: Asker, *, since: int = 0, limit: int | None = None,
        suggests: bool = True, ahead: int = 0,
    ) -> AskReply:  # fmt: skip
        wishes = asking.Wishes(since, limit, suggests, ahead)

        def work(own: Locked) -> AskReply:
            reply = asking.begin(own, tokens, asker, wishes)
            if reply.missing and not reply.granted and reply.suggester is None:
                # With one more waiting, the next suggester may begin.
                waiting.tell_waiters(own.connection, self._database, study, asking.next_suggester(own))
            return reply

        return self._write(study, work, durable=False)

    def wait(self, study: str, tokens: Sequence[str], asker: Asker, seconds: float) -> None:
        values = {"key": study, "first": next(iter(tokens), "")}

        def look(connection: sa.Connection) -> tuple[bool, float]:
            row = connection.execute(sql.SELECT_WAIT, values).one_or_none()
            if row is None:
                return True, 0.0  # deleted: the next ask raises
            return asking.may_have_something(row, asker, self._database.clock(connection, row.clock))

        waiting.wait(self._database, study, asker.name, look, seconds)

    def renew_suggester_lease(self, study: str, asker: Asker) -> bool:
        def work(connection: sa.Connection) -> bool:
            ends = self._database.clock(connection) + asker.suggester_lease
            values = {"key": study, "who": asker.name, "ends": ends}
            return connection.execute(sql.RENEW_SUGGESTER_LEASE, values).rowcount == 1

        return self._database.write(work, durable=False)

    def end_suggester_lease(self, study: str, suggester: str) -> None:
        def work(own: Locked) -> None:
            if own.suggester == suggester:
                asking.end_suggester_lease(own)

        self._write(study, work, durable=False, wakes=True)

    def finish_ask(
        self, study: str, reply: AskReply, rows: Sequence[bytes], tokens: Sequence[str], asker: Asker
    ) -> list[TrialRecord] | None:
        return self._write(study, lambda own: asking.finish(own, reply, rows, tokens, asker), durable=False, wakes=True)

    def withdraw(self, study: str, tokens: Sequence[str], asker: Asker) -> None:
        self._write(study, lambda own: asking.withdraw(own, tokens, asker), durable=False, wakes=True)

    def enqueue(
        self, study: str, rows: Sequence[bytes], attributes: Mapping[str, Any], *, tokens: Sequence[str] | None = None
    ) -> list[int]:
        text = attributes_text(attributes)
        new = [{"row": row, "state": State.WAITING.value, "attributes": text} for row in rows]
        return self._insert(study, new, tokens, wakes=True)

    def add(self, study: str, trials: Iterable[FinishedTrial], *, tokens: Sequence[str] | None = None) -> list[int]:
        new = [
            {"row": row, **outcome_columns(outcome), "attributes": attributes_text(attributes)}
            for row, outcome, attributes in trials
        ]
        return self._insert(study, new, tokens, finished=True)

    def _insert(
        self, study: str, rows: steps.Rows, tokens: Sequence[str] | None, *, finished: bool = False, wakes: bool = False
    ) -> list[int]:
        drawn = rules.tokens_for(len(rows), tokens)

        def work(own: Locked) -> list[int]:
            known = steps.under(own, drawn[:1])
            if known:  # the reply to a first try was lost
                return list(range(known[0].number, known[0].number + len(drawn)))
            times = {"created": own.stamp, **({"finished": own.stamp} if finished else {})}
            new = [{**row, **times, "token": token} for row, token in zip(rows, drawn, strict=True)]
            return steps.append(own, new)

        return self._write(study, work, durable=True, wakes=wakes)

    # finishing

    def tell(
        self, study: str, trial: TrialKey, outcome: Outcome, attributes: Mapping[str, Any], *, row: bytes | None = None
    ) -> TrialRecord:
        attributes = plain_attributes(attributes)

        def work(own: Locked) -> TrialRecord:
            record = steps.find(own, trial)
            if record is None and trial.token is not None and row is not None:  # the ask was lost in a crash
                number = steps.append(own, [
                    {"row": row, **outcome_columns(outcome), "created": own.stamp, "finished": own.stamp,
                     "attributes": attributes_text(attributes), "token": trial.token}
                ])[0]  # fmt: skip
                asking.drop_tickets(own, [trial.token])  # the crash may have brought it back
                return steps.known(own, TrialKey(number))
            record = steps.known(own, trial) if record is None else record
            if not rules.is_news(record, outcome):
                return record
            merged = {**record.attributes, **attributes}
            steps.finish(own, record, outcome, attributes_text(merged))
            return replace(record, state=outcome.state, outcome=outcome, finished=own.stamp, attributes=merged)

        return self._write(study, work, durable=True)

    def heartbeat(self, study: str, tokens: Sequence[str], lease: float) -> None:
        def work(connection: sa.Connection) -> None:
            ends = self._database.clock(connection) + lease
            own = steps.find_study(connection, study)
            own.execute(sql.HEARTBEAT, tokens=list(tokens), ends=ends, seconds=lease)

        self._database.write(work, durable=False)

    def release(self, study: str, trials: Sequence[TrialKey]) -> None:
        def work(own: Locked) -> None:
            found = [steps.find(own, trial) for trial in trials]
            running = [record.number for record in found if record is not None and record.state is State.RUNNING]
            if running:
                steps.lose(own, running, given_back=True)

        self._write(study, work, durable=True, wakes=True)

    def cancel(self, study: str, trials: Sequence[TrialKey]) -> None:
        def work(own: Locked) -> None:
            records = [steps.known(own, trial) for trial in trials]
            left = [record for record in records if record.state is not State.CANCELLED]
            for record in left:
                rules.require_transition(record.number, record.state, State.CANCELLED)
            steps.end(own, [record.number for record in left], State.CANCELLED)

        self._write(study, work, durable=True)

    # learning curves

    def report(self, study: str, trial: TrialKey, reports: Sequence[tuple[float, float]]) -> int | None:
        def number(own: Found) -> int | None:
            found = steps.find(own, trial)
            return None if found is None else found.number

        def work(own: Locked) -> int | None:
            known = number(own)
            if known is not None:
                common = {"study_id": own.id, "revision": own.revision, "number": known}
                rows = [{**common, "step": step, "value": None if value != value else value} for step, value in reports]
                own.connection.execute(sql.INSERT_REPORTS, rows)
            return known

        return self._write(study, work, durable=False) if reports else self._read(study, number)

    def reports(self, study: str, since: int) -> tuple[int, list[tuple[int, float, float]]]:
        def work(own: Found) -> tuple[int, list[tuple[int, float, float]]]:
            if own.revision == since:
                return since, []
            rows = own.execute(sql.SELECT_REPORTS, since=since).all()
            return own.revision, [(row.number, row.step, nan if row.value is None else row.value) for row in rows]

        return self._read(study, work)

    # states of strategies

    def load_state(self, study: str, name: str) -> bytes | None:
        return self._read(study, lambda own: own.execute(sql.SELECT_STATE, one=name).scalar())

    def save_state(self, study: str, name: str, state: bytes) -> None:
        def work(connection: sa.Connection) -> None:
            own = steps.find_study(connection, study)
            there = own.execute(sql.SELECT_STATES).all()  # the latest first
            for each in {name, *(row.name for row in there[rules.KEPT_STATES - 1 :])}:
                own.execute(sql.DELETE_STATE, one=each)
            place = there[0].saved + 1 if there else 0
            connection.execute(sql.INSERT_STATE, {"study_id": own.id, "name": name, "data": state, "saved": place})

        self._database.write(work, durable=False)
