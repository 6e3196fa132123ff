"""The reference: dicts under one lock. It lives as long as the process, and says by its brevity what the port means."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from sonde.storage import rules
from sonde.storage.port import Asker, AskTurn, Storage, StudyHeader, StudySummary
from sonde.trials import Changes, Outcome, State, TrialRecord

_SPENT = (State.RUNNING, State.COMPLETED, State.FAILED)


@dataclass
class _Study:
    header: StudyHeader
    trials: list[TrialRecord] = field(default_factory=list)
    revisions: list[int] = field(default_factory=list)
    touched: dict[int, None] = field(default_factory=dict)  # numbers in the order of their last change
    leases: dict[int, float] = field(default_factory=dict)
    waiting: dict[int, None] = field(default_factory=dict)
    revision: int = 0
    holder: str | None = None
    turn_ends: float = 0.0

    def put(self, record: TrialRecord) -> TrialRecord:
        """Insert or replace a record as one change."""
        self.revision += 1
        if record.number == len(self.trials):
            self.trials.append(record)
            self.revisions.append(self.revision)
        else:
            self.trials[record.number] = record
            self.revisions[record.number] = self.revision
        self.touched.pop(record.number, None)
        self.touched[record.number] = None
        if record.state is State.WAITING:
            self.waiting[record.number] = None
        else:
            self.waiting.pop(record.number, None)
        if record.state is not State.RUNNING:
            self.leases.pop(record.number, None)
        return record

    def newer(self, since: int) -> list[TrialRecord]:
        numbers = []
        for number in reversed(self.touched):
            if self.revisions[number] <= since:
                break
            numbers.append(number)
        return [self.trials[number] for number in sorted(numbers)]


class MemoryStorage(Storage):
    """Keeps everything in this process."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._studies: dict[int, _Study] = {}
        self._created = 0

    def now(self) -> float:
        """Return the time."""
        return time.time()

    # studies

    def create_study(self, header: StudyHeader) -> StudyHeader:
        """Create a study."""
        with self._lock:
            if any(study.header.name == header.name for study in self._studies.values()):
                raise rules.study_exists(header.name)
            self._created += 1
            header = replace(header, key=self._created, created=self.now())
            self._studies[header.key] = _Study(header)
            return header

    def find_study(self, name: str) -> StudyHeader:
        """Return the header of a study."""
        with self._lock:
            for study in self._studies.values():
                if study.header.name == name:
                    return study.header
            raise rules.study_not_found(name, sorted(study.header.name for study in self._studies.values()))

    def studies(self) -> list[StudySummary]:
        """Return all studies."""
        with self._lock:
            return sorted(map(_summary, self._studies.values()), key=lambda summary: summary.header.name)

    def delete_study(self, name: str) -> None:
        """Delete a study."""
        with self._lock:
            del self._studies[self.find_study(name).key]

    # reading

    def changes(self, study: int, since: int) -> Changes:
        """Return changed columns."""
        with self._lock:
            own = self._study(study)
            return Changes(own.revision, [_columns(own, record) for record in own.newer(since)])

    def records(self, study: int, since: int) -> tuple[int, list[TrialRecord]]:
        """Return changed records."""
        with self._lock:
            own = self._study(study)
            return own.revision, own.newer(since)

    def record(self, study: int, number: int) -> TrialRecord:
        """Return one record."""
        with self._lock:
            own = self._study(study)
            if not 0 <= number < len(own.trials):
                raise rules.unknown_trial(own.header.name, number)
            return own.trials[number]

    # asking

    def begin_ask(self, study: int, count: int, asker: Asker, *, since: int = 0, limit: int | None = None) -> AskTurn:
        """Expire, claim, take the turn."""
        with self._lock:
            own, now = self._study(study), self.now()
            self._lose(own, [number for number, ends in own.leases.items() if ends < now])
            if limit is not None:
                count = max(0, min(count, limit - sum(record.state in _SPENT for record in own.trials)))
            claimed = [own.trials[number] for number in sorted(own.waiting)[:count]]
            claimed = [
                own.put(replace(record, state=State.RUNNING, worker=asker.name, started=now)) for record in claimed
            ]
            self._set_leases(own, claimed, asker)
            missing = count - len(claimed)
            if missing == 0:
                return AskTurn(claimed)
            if own.holder not in (None, asker.name) and own.turn_ends >= now:
                return AskTurn(claimed, missing, holder=own.holder)
            own.holder, own.turn_ends = asker.name, now + asker.turn
            return AskTurn(claimed, missing, True, len(own.trials), self.changes(study, since))

    def renew_turn(self, study: int, asker: Asker) -> bool:
        """Extend the turn."""
        with self._lock:
            own = self._study(study)
            if own.holder == asker.name:
                own.turn_ends = self.now() + asker.turn
            return own.holder == asker.name

    def end_turn(self, study: int, holder: str) -> None:
        """End a turn."""
        with self._lock:
            own = self._study(study)
            if own.holder == holder:
                own.holder = None

    def finish_ask(self, study: int, rows: Sequence[bytes], asker: Asker) -> list[TrialRecord] | None:
        """Insert suggestions and end the turn."""
        with self._lock:
            own, now = self._study(study), self.now()
            if own.holder != asker.name:
                return None
            own.holder = None
            inserted = [
                own.put(TrialRecord(len(own.trials), State.RUNNING, row, worker=asker.name, created=now, started=now))
                for row in rows
            ]
            self._set_leases(own, inserted, asker)
            return inserted

    def enqueue(self, study: int, rows: Sequence[bytes], attributes: Mapping[str, Any]) -> list[int]:
        """Insert waiting trials."""
        rules.attributes_json(attributes)
        with self._lock:
            own, now = self._study(study), self.now()
            return [
                own.put(
                    TrialRecord(len(own.trials), State.WAITING, row, created=now, attributes=dict(attributes))
                ).number
                for row in rows
            ]

    def add(self, study: int, trials: Iterable[tuple[bytes, Outcome, Mapping[str, Any]]]) -> list[int]:
        """Insert finished trials."""
        trials = [(row, outcome, dict(attributes)) for row, outcome, attributes in trials]
        for _, _, attributes in trials:
            rules.attributes_json(attributes)
        with self._lock:
            own, now = self._study(study), self.now()
            return [
                own.put(
                    TrialRecord(len(own.trials), outcome.state, row, outcome, created=now, finished=now,
                                attributes=attributes)
                ).number
                for row, outcome, attributes in trials
            ]  # fmt: skip

    # finishing

    def tell(self, study: int, number: int, outcome: Outcome, attributes: Mapping[str, Any]) -> TrialRecord:
        """Record a result."""
        rules.attributes_json(attributes)
        with self._lock:
            own, record = self._study(study), self.record(study, number)
            if not rules.is_news(record, outcome):
                return record
            if record.state is State.LOST:
                retries = [other for other in own.trials if other.retry_of == number]
                for retry in retries:
                    if retry.state is State.WAITING:
                        own.put(replace(retry, state=State.CANCELLED, finished=self.now()))
            merged = {**record.attributes, **attributes}
            return own.put(
                replace(record, state=outcome.state, outcome=outcome, finished=self.now(), attributes=merged)
            )

    def heartbeat(self, study: int, numbers: Sequence[int], lease: float) -> None:
        """Extend leases."""
        with self._lock:
            own = self._study(study)
            own.leases.update((number, self.now() + lease) for number in numbers if number in own.leases)

    def release(self, study: int, numbers: Sequence[int]) -> None:
        """Give trials back."""
        with self._lock:
            own = self._study(study)
            running = [number for number in numbers if own.trials[number].state is State.RUNNING]
            self._lose(own, running, retries_too=True)

    def cancel(self, study: int, numbers: Sequence[int]) -> None:
        """Cancel trials."""
        with self._lock:
            own, records = self._study(study), [self.record(study, number) for number in numbers]
            for record in records:
                rules.require_transition(record.number, record.state, State.CANCELLED)
            for record in records:
                own.put(replace(record, state=State.CANCELLED, finished=self.now()))

    def _study(self, key: int) -> _Study:
        if key not in self._studies:
            raise rules.study_not_found(f"#{key}", [])
        return self._studies[key]

    def _lose(self, own: _Study, numbers: list[int], *, retries_too: bool = False) -> None:
        for number in sorted(numbers):
            record = own.put(replace(own.trials[number], state=State.LOST, finished=self.now()))
            if retries_too or record.retry_of is None:
                own.put(
                    TrialRecord(len(own.trials), State.WAITING, record.row, created=self.now(), retry_of=number,
                                attributes=record.attributes)
                )  # fmt: skip

    def _set_leases(self, own: _Study, records: list[TrialRecord], asker: Asker) -> None:
        if asker.lease is not None:
            own.leases.update((record.number, self.now() + asker.lease) for record in records)


def _columns(own: _Study, record: TrialRecord) -> tuple[Any, ...]:
    outcome = record.outcome or Outcome(record.state)
    return (record.number, record.state, own.revisions[record.number], record.row, outcome.value, outcome.noise,
            outcome.gradient, outcome.hessian, outcome.constraints)  # fmt: skip


def _summary(study: _Study) -> StudySummary:
    counts = {state: sum(record.state is state for record in study.trials) for state in State}
    outcomes = [record.outcome for record in study.trials if record.state is State.COMPLETED]
    values = [
        outcome.value
        for outcome in outcomes
        if outcome and outcome.value is not None and max((outcome.constraints or {}).values(), default=0) <= 0
    ]
    choose = min if study.header.direction == "minimize" else max
    return StudySummary(study.header, {state: count for state, count in counts.items() if count},
                        choose(values, default=None))  # fmt: skip
