"""The reference implementation: dicts under one lock, kept as long as the process lives."""

from __future__ import annotations

import threading
import time
import uuid
from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from sonde.storage import rules
from sonde.storage.port import Asker, AskReply, FinishedTrial, Page, Storage, StudyHeader, StudyStatus, StudySummary
from sonde.storage.rules import LastSuggestion, Ticket
from sonde.trials import Changes, Outcome, State, TrialKey, TrialRecord
from sonde.trials.attributes import plain_attributes
from sonde.trials.state import ENDED
from sonde.trials.trial import columns

_SPENT = (State.RUNNING, *ENDED)


@dataclass
class _Study:
    header: StudyHeader
    trials: list[TrialRecord] = field(default_factory=list)
    numbers: dict[str, int] = field(default_factory=dict)  # by token
    revisions: list[int] = field(default_factory=list)
    by_change: dict[int, None] = field(default_factory=dict)  # numbers in the order of their last change
    leases: dict[int, float] = field(default_factory=dict)
    waiting: dict[int, None] = field(default_factory=dict)
    tickets: dict[str, Ticket] = field(default_factory=dict)  # by token, the oldest first
    reports: list[tuple[int, int, float, float]] = field(default_factory=list)  # revision, number, step, value
    states: OrderedDict[str, bytes] = field(default_factory=OrderedDict)
    spent: int = 0  # how many trials count against a limit
    revision: int = 0
    paused: bool = False
    notes: dict[int | None, str] = field(default_factory=dict)
    suggester: Asker | None = None
    suggesting_since: float = 0.0
    suggester_lease_ends: float = 0.0
    last: LastSuggestion = field(default_factory=LastSuggestion)

    def put(self, record: TrialRecord) -> TrialRecord:
        """Insert or replace a record, with a new revision."""
        self.revision += 1
        if record.number == len(self.trials):
            self.trials.append(record)
            self.revisions.append(self.revision)
        else:
            self.spent -= self.trials[record.number].state in _SPENT
            self.trials[record.number] = record
            self.revisions[record.number] = self.revision
        self.spent += record.state in _SPENT
        if record.token is not None:
            self.numbers[record.token] = record.number
        self.by_change.pop(record.number, None)
        self.by_change[record.number] = None
        if record.state is State.WAITING:
            self.waiting[record.number] = None
        else:
            self.waiting.pop(record.number, None)
        if record.state is not State.RUNNING:
            self.leases.pop(record.number, None)
        return record

    def newer(self, since: int) -> list[TrialRecord]:
        numbers = []
        for number in reversed(self.by_change):
            if self.revisions[number] <= since:
                break
            numbers.append(number)
        return [self.trials[number] for number in sorted(numbers)]

    def find(self, trial: TrialKey) -> TrialRecord | None:
        """Return the trial of a key, or None."""
        number = trial.number if trial.token is None else self.numbers.get(trial.token, -1)
        return self.trials[number] if 0 <= number < len(self.trials) else None

    def under(self, tokens: Sequence[str]) -> list[TrialRecord]:
        """Return the trials that have these tokens."""
        return [self.trials[self.numbers[token]] for token in tokens if token in self.numbers]


class MemoryStorage(Storage):
    """Keeps studies in the memory of this process."""

    def __init__(self) -> None:
        self._changed = threading.Condition()  # its lock is reentrant
        self._studies: dict[str, _Study] = {}

    @contextmanager
    def _locked(self, key: str, *, wakes: bool = False) -> Iterator[_Study]:
        """Lock a study; ``wakes`` notifies waiting askers at the end."""
        with self._changed:
            if key not in self._studies:
                raise rules.study_deleted()
            yield self._studies[key]
            if wakes:
                self._changed.notify_all()

    def now(self) -> float:
        return time.time()

    # studies

    def create_study(self, header: StudyHeader) -> StudyHeader:
        with self._changed:
            for study in self._studies.values():
                if study.header.name == header.name:
                    if study.header.key == header.key:
                        return study.header
                    raise rules.study_exists(header.name)
            header = replace(header, key=header.key or uuid.uuid4().hex, created=self.now())
            self._studies[header.key] = _Study(header)
            return header

    def find_study(self, name: str) -> StudyHeader:
        with self._changed:
            for study in self._studies.values():
                if study.header.name == name:
                    return study.header
            raise rules.study_not_found(name, sorted(study.header.name for study in self._studies.values()))

    def studies(self, name: str | None = None) -> list[StudySummary]:
        with self._changed:
            wanted = [own for own in self._studies.values() if name in (None, own.header.name)]
            return sorted(map(_summary, wanted), key=lambda summary: summary.header.name)

    def delete_study(self, name: str) -> None:
        with self._changed:
            del self._studies[self.find_study(name).key]
            self._changed.notify_all()

    def status(self, study: str) -> StudyStatus:
        with self._locked(study) as own:
            now = time.monotonic()
            asks = sum(ticket.ends >= now for ticket in own.tickets.values())
            if own.suggester is None or own.suggester_lease_ends < now:
                return StudyStatus(own.paused, asks=asks)
            return StudyStatus(own.paused, own.suggester.name, now - own.suggesting_since, asks)

    def set_paused(self, study: str, paused: bool) -> None:
        with self._locked(study, wakes=True) as own:
            own.paused = paused

    def notes(self, study: str) -> dict[int | None, str]:
        with self._locked(study) as own:
            return dict(own.notes)

    def set_note(self, study: str, text: str, number: int | None = None) -> None:
        with self._locked(study) as own:
            if number is not None:
                self._known(own, TrialKey(number))
            own.notes.pop(number, None)
            if text:
                own.notes[number] = text

    # reading

    def changes(self, study: str, since: int) -> Changes:
        with self._locked(study) as own:
            return Changes(own.revision, [columns(record, own.revisions[record.number]) for record in own.newer(since)])

    def records(self, study: str, since: int) -> tuple[int, list[TrialRecord]]:
        with self._locked(study) as own:
            return own.revision, own.newer(since)

    def page(self, study: str, since: int, limit: int) -> Page:
        with self._locked(study) as own:
            newer = own.newer(since)
            changed = sorted(own.revisions[record.number] for record in newer)
            last = changed[limit - 1] if len(changed) > limit else own.revision
            found = [(own.revisions[record.number], record) for record in newer]
            return Page(last, [each for each in found if each[0] <= last], last < own.revision)

    def record(self, study: str, number: int) -> TrialRecord:
        with self._locked(study) as own:
            return self._known(own, TrialKey(number))

    # asking

    def begin_ask(
        self, study: str, tokens: Sequence[str], asker: Asker, *, since: int = 0, limit: int | None = None,
        suggests: bool = True, ahead: int = 0,
    ) -> AskReply:  # fmt: skip
        with self._locked(study) as own:
            now = time.monotonic()
            self._lose(own, [number for number, ends in own.leases.items() if ends < now])
            got = own.under(tokens)
            left = [token for token in tokens if token not in own.numbers]
            wanted = left if limit is None else left[: max(0, limit - own.spent)]
            queue = [] if own.paused else sorted(own.waiting)
            for number, token in zip(queue, wanted, strict=False):
                got.append(self._start(own, own.trials[number], token, asker.name, asker.lease))
            missing = wanted[len(got) - (len(tokens) - len(left)) :]
            for token in set(tokens) - set(missing):
                own.tickets.pop(token, None)
            own.tickets = {token: ticket for token, ticket in own.tickets.items() if ticket.ends >= now}
            ahead = max(0, ahead - len(own.waiting))
            if not (missing or ahead or (own.tickets and not tokens)):
                return AskReply(got)
            mine = [Ticket(token, asker.name, asker.lease, limit, now + asker.suggester_lease) for token in missing]
            reply = self._become_suggester(own, mine, asker, now, suggests=suggests)
            if not reply.granted:
                return replace(reply, claimed=got)
            changes = self.changes(own.header.key, since)
            return replace(reply, claimed=got, ahead=ahead, next_number=len(own.trials), changes=changes)

    def _become_suggester(
        self, own: _Study, mine: list[Ticket], asker: Asker, now: float, *, suggests: bool
    ) -> AskReply:
        other = own.suggester
        busy = other is not None and other.name != asker.name and own.suggester_lease_ends >= now
        waiting = list(dict.fromkeys([*(ticket.asker for ticket in own.tickets.values()), asker.name]))
        next_one = own.last.suggester if own.last.suggester in waiting else None
        pauses = bool(mine) and own.last.pause(len(waiting), next_one, asker.name, now) > 0
        if busy or pauses or own.paused or not suggests:
            own.tickets.update((ticket.token, ticket) for ticket in mine)
            self._changed.notify_all()
            named = (other.name, other.process) if busy and other is not None else (None, "")
            return AskReply((), len(mine), suggester=named[0], process=named[1], paused=own.paused)
        batch = rules.batch_tokens(own.tickets.values(), mine, own.spent)
        own.suggester, own.suggesting_since, own.suggester_lease_ends = asker, now, now + asker.suggester_lease
        return AskReply((), len(mine), granted=True, suggest_for=batch)

    def wait(self, study: str, tokens: Sequence[str], asker: Asker, seconds: float) -> None:
        deadline = time.monotonic() + seconds
        while (left := deadline - time.monotonic()) > 0:
            with self._locked(study) as own:
                now = time.monotonic()
                if any(token in own.numbers for token in tokens) or (own.waiting and not own.paused):
                    return
                if not own.paused and (own.suggester is None or own.suggester_lease_ends < now):
                    names = list(dict.fromkeys(ticket.asker for ticket in own.tickets.values()))
                    next_one = own.last.suggester if own.last.suggester in names else next(iter(names), None)
                    pause = own.last.pause(len(names), next_one, asker.name, now)
                    if pause == 0:
                        return
                    left = min(left, pause)
                self._changed.wait(min(left, rules.GRACE))

    def renew_suggester_lease(self, study: str, asker: Asker) -> bool:
        with self._locked(study) as own:
            held = own.suggester is not None and own.suggester.name == asker.name
            if held:
                own.suggester_lease_ends = time.monotonic() + asker.suggester_lease
            return held

    def end_suggester_lease(self, study: str, suggester: str) -> None:
        with self._locked(study, wakes=True) as own:
            if own.suggester is not None and own.suggester.name == suggester:
                own.suggester, own.last = None, LastSuggestion(0, time.monotonic())

    def finish_ask(
        self, study: str, reply: AskReply, rows: Sequence[bytes], tokens: Sequence[str], asker: Asker
    ) -> list[TrialRecord] | None:
        with self._locked(study, wakes=True) as own:
            now = time.monotonic()
            if own.suggester is None or own.suggester.name != asker.name:
                return own.under(tokens) or None
            own.suggester = None
            tickets = {**own.tickets, **{token: Ticket(token, asker.name, asker.lease, None, 0.0) for token in tokens}}
            live = rules.receivers(reply.suggest_for, tickets, own.spent, now)[: len(rows)]
            queued = rows[len(live) :][: reply.ahead]
            suggested = partial(_suggested, reply, (now - own.suggesting_since) / max(len(live) + len(queued), 1))
            names = set()
            for token, row in zip(live, rows, strict=False):
                ticket = tickets[token]
                own.tickets.pop(token, None)
                new = suggested(number=len(own.trials), row=row, created=self.now())
                self._start(own, new, token, ticket.asker, ticket.lease)
                names.add(ticket.asker)
            for row in queued:
                own.put(suggested(number=len(own.trials), row=row, created=self.now()))
            own.last = LastSuggestion(len(names), now, now - own.suggesting_since, asker.name)
            return own.under(tokens)

    def withdraw(self, study: str, tokens: Sequence[str], asker: Asker) -> None:
        with self._locked(study) as own:
            self.end_suggester_lease(study, asker.name)
            for token in tokens:
                own.tickets.pop(token, None)
            self.release(study, [TrialKey(record.number, record.token) for record in own.under(tokens)])

    def enqueue(
        self, study: str, rows: Sequence[bytes], attributes: Mapping[str, Any], *, tokens: Sequence[str] | None = None
    ) -> list[int]:
        plain = plain_attributes(attributes)
        new = [TrialRecord(-1, State.WAITING, row, attributes=plain) for row in rows]
        return self._insert(study, new, tokens)

    def add(self, study: str, trials: Iterable[FinishedTrial], *, tokens: Sequence[str] | None = None) -> list[int]:
        now = self.now()
        new = [
            TrialRecord(-1, outcome.state, row, outcome, finished=now, attributes=plain_attributes(attributes))
            for row, outcome, attributes in trials
        ]
        return self._insert(study, new, tokens)

    def _insert(self, study: str, records: list[TrialRecord], tokens: Sequence[str] | None) -> list[int]:
        drawn = rules.tokens_for(len(records), tokens)
        with self._locked(study, wakes=True) as own:
            known = own.under(drawn) or [
                own.put(replace(record, number=len(own.trials), created=self.now(), token=token))
                for record, token in zip(records, drawn, strict=True)
            ]
            return [record.number for record in known]

    # finishing

    def tell(
        self, study: str, trial: TrialKey, outcome: Outcome, attributes: Mapping[str, Any], *, row: bytes | None = None
    ) -> TrialRecord:
        attributes = plain_attributes(attributes)
        with self._locked(study) as own:
            record = own.find(trial)
            if record is None and trial.token is not None and row is not None:
                numbers = self.add(study, [(row, outcome, attributes)], tokens=[trial.token])
                own.tickets.pop(trial.token, None)
                return own.trials[numbers[0]]
            record = self._known(own, trial)
            if not rules.is_news(record, outcome):
                return record
            if record.state is State.LOST:
                for retry in [own.trials[number] for number in own.waiting]:
                    if retry.retry_of == record.number:
                        own.put(replace(retry, state=State.CANCELLED, finished=self.now()))
            merged = {**record.attributes, **attributes}
            return own.put(
                replace(record, state=outcome.state, outcome=outcome, finished=self.now(), attributes=merged)
            )

    def heartbeat(self, study: str, tokens: Sequence[str], lease: float) -> None:
        with self._locked(study) as own:
            ends = time.monotonic() + lease
            own.leases.update((record.number, ends) for record in own.under(tokens) if record.number in own.leases)

    def release(self, study: str, trials: Sequence[TrialKey]) -> None:
        with self._locked(study, wakes=True) as own:
            found = [record for trial in trials if (record := own.find(trial)) is not None]
            self._lose(own, [record.number for record in found if record.state is State.RUNNING], given_back=True)

    def cancel(self, study: str, trials: Sequence[TrialKey]) -> None:
        with self._locked(study) as own:
            records = [self._known(own, trial) for trial in trials]
            left = [record for record in records if record.state is not State.CANCELLED]
            for record in left:
                rules.require_transition(record.number, record.state, State.CANCELLED)
            for record in left:
                own.put(replace(record, state=State.CANCELLED, finished=self.now()))

    # learning curves

    def report(self, study: str, trial: TrialKey, reports: Sequence[tuple[float, float]]) -> int | None:
        with self._locked(study) as own:
            record = own.find(trial)
            if record is None:
                return None
            own.revision += bool(reports)
            own.reports.extend((own.revision, record.number, step, value) for step, value in reports)
            return record.number

    def reports(self, study: str, since: int) -> tuple[int, list[tuple[int, float, float]]]:
        with self._locked(study) as own:
            first = bisect_right(own.reports, since, key=lambda report: report[0])
            return own.revision, [report[1:] for report in own.reports[first:]]

    # states of strategies

    def load_state(self, study: str, name: str) -> bytes | None:
        with self._locked(study) as own:
            return own.states.get(name)

    def save_state(self, study: str, name: str, state: bytes) -> None:
        with self._locked(study) as own:
            own.states[name] = state
            own.states.move_to_end(name)
            while len(own.states) > rules.KEPT_STATES:
                own.states.popitem(last=False)

    def _known(self, own: _Study, trial: TrialKey) -> TrialRecord:
        record = own.find(trial)
        if record is None:
            raise rules.unknown_trial(own.header.name, trial)
        return record

    def _start(self, own: _Study, record: TrialRecord, token: str, name: str, lease: float | None) -> TrialRecord:
        started = own.put(replace(record, state=State.RUNNING, worker=name, started=self.now(), token=token))
        if lease is not None:
            own.leases[started.number] = time.monotonic() + lease
        return started

    def _lose(self, own: _Study, numbers: list[int], *, given_back: bool = False) -> None:
        for number in sorted(numbers):
            record, now = own.trials[number], self.now()
            if record.retry_of is not None and not given_back:
                own.put(replace(record, state=State.FAILED, outcome=rules.ENDED_TWICE, finished=now))
                continue
            own.put(replace(record, state=State.LOST, finished=now))
            own.put(
                TrialRecord(len(own.trials), State.WAITING, record.row, created=now, retry_of=number,
                            attributes=record.attributes)
            )  # fmt: skip


def _suggested(reply: AskReply, seconds: float, *, number: int, row: bytes, created: float) -> TrialRecord:
    seen, batch = reply.source
    of_one = None if seen is None else seconds
    return TrialRecord(number, State.WAITING, row, created=created, seen=seen, suggested_in=of_one, batch=batch)


def _summary(study: _Study) -> StudySummary:
    counts = {state: sum(record.state is state for record in study.trials) for state in State}
    outcomes = [record.outcome for record in study.trials if record.state is State.COMPLETED]
    values = [
        outcome.value
        for outcome in outcomes
        if outcome and outcome.value is not None and max((outcome.constraints or {}).values(), default=0) <= 0
    ]
    kept = {state: count for state, count in counts.items() if count}
    return StudySummary(study.header, kept, rules.best_of(study.header.direction, values), study.paused)
