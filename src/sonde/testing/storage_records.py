"""The contract of what is kept besides results: where suggestions come from, pauses, and notes."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from sonde.errors import StudyNotFound, UnknownTrial
from sonde.storage import Asker, Storage, StudyHeader, StudyStatus
from sonde.testing.storage_calls import DONE, HEADER, ROW, ask, begin, drawn, keys, states, tell
from sonde.trials import State, TrialKey, TrialRecord
from sonde.trials.trial import Batch

NOTE = "line one\nzwei: größer \U0001f4a5 <b>'; DROP TABLE notes"
Source = tuple[int | None, Batch | None, bool]


class RecordsContract:
    """The part of ``StorageContract`` about sources of suggestions, pauses and notes."""

    # where suggestions come from

    def test_a_suggestion_knows_what_it_was_made_from(self, storage: Storage, study: str) -> None:
        ask(storage, study)
        tokens, me, started = drawn(2), Asker("me", 10.0, None), time.monotonic()
        reply = storage.begin_ask(study, tokens, me, ahead=1)
        assert reply.changes is not None
        tell(storage, study, 0, DONE)  # too late for this suggestion
        inserted = storage.finish_ask(study, reply, [ROW] * 3, tokens, me) or []
        elapsed = time.monotonic() - started
        for record in [*inserted, storage.record(study, 3)]:  # the last waits in the queue
            assert (record.seen, record.batch) == (reply.changes.revision, Batch(1, 3))
            assert record.suggested_in is not None
            assert 0 < 3 * record.suggested_in <= elapsed + 0.05
        assert [record.number for record in inserted] == [1, 2]
        assert inserted == [storage.record(study, 1), storage.record(study, 2)]
        assert inserted == [record for record in storage.records(study, 0)[1] if record.number in (1, 2)]
        assert storage.page(study, 0, 10).changed[0][0] > reply.changes.revision  # the result came later

    def test_a_batch_is_what_was_asked_for_not_what_came(self, storage: Storage, study: str) -> None:
        one, me = drawn(2), Asker("me", 10.0, None)
        reply = storage.begin_ask(study, one, me)
        assert storage.enqueue(study, [ROW], {}) == [0]  # while the suggestion is computed
        (record,) = storage.finish_ask(study, reply, [ROW], one, me) or []
        assert (record.number, record.batch) == (1, Batch(0, 2))

    def test_the_source_of_a_suggestion_never_changes(self, storage: Storage, study: str) -> None:
        me = Asker("me", 10.0, None)
        storage.finish_ask(study, storage.begin_ask(study, [], me, ahead=1), [ROW], [], me)
        before = _source(storage.record(study, 0))
        (claimed,) = begin(storage, study).claimed
        assert _source(claimed) == before
        assert _source(tell(storage, study, 0, DONE)) == _source(storage.record(study, 0)) == before
        assert before == (storage.record(study, 0).seen, Batch(0, 1), True)

    def test_a_suggested_trial_that_has_ended_has_its_seconds(self, storage: Storage, study: str) -> None:
        me, tokens = Asker("me", 10.0, None), drawn(2)
        storage.finish_ask(study, storage.begin_ask(study, tokens, me), [ROW] * 2, tokens, me)
        storage.enqueue(study, [ROW], {})
        begin(storage, study)
        storage.add(study, [(ROW, DONE, {})])
        for number in (1, 2):  # one that was suggested, and one that was enqueued
            tell(storage, study, number, DONE)
        record = storage.record(study, 1)
        assert record.started is not None and record.finished is not None
        seconds = [row[10] for row in storage.changes(study, 0).rows]
        assert seconds == [None, record.finished - record.started, None, None]

    def test_what_was_not_suggested_has_no_source(self, storage: Storage, study: str) -> None:
        me, tokens = Asker("me", 10.0, None), drawn(1)
        storage.enqueue(study, [ROW], {})
        storage.add(study, [(ROW, DONE, {})])
        storage.tell(study, TrialKey(9, drawn(1)[0]), DONE, {}, row=ROW)
        begin(storage, study)
        reply = storage.begin_ask(study, tokens, me)
        storage.finish_ask(study, reply, [ROW], tokens, me)
        storage.release(study, keys(0, 3))
        sources = [_source(record) for record in storage.records(study, 0)[1]]
        none = (None, None, False)
        assert sources[:3] == [none] * 3
        assert sources[3] == (reply.changes and reply.changes.revision, Batch(3, 1), True)
        assert sources[4:] == [none] * 2  # the retries
        assert states(storage, study)[3:] == [State.LOST, State.WAITING, State.WAITING]

    # pauses

    def test_a_paused_study_gives_nothing(self, storage: Storage, study: str) -> None:
        storage.enqueue(study, [ROW], {})
        assert not storage.status(study).paused
        for _ in range(2):
            storage.set_paused(study, True)
            assert storage.status(study).paused
            assert storage.studies()[0].paused
        tokens = drawn(2)
        for suggests in (True, False, True):
            reply = begin(storage, study, tokens=tokens, suggests=suggests)
            assert (list(reply.claimed), reply.missing, reply.granted, reply.paused) == ([], 2, False, True)
        ahead = storage.begin_ask(study, [], Asker("suggester", 10.0, None), ahead=5)
        assert (ahead.granted, ahead.paused) == (False, True)
        assert states(storage, study) == [State.WAITING]
        for _ in range(2):
            storage.set_paused(study, False)
            assert not storage.status(study).paused
        assert not storage.studies()[0].paused
        reply = storage.begin_ask(study, [], Asker("suggester", 10.0, None))
        assert (reply.granted, list(reply.suggest_for), reply.paused) == (True, tokens, False)  # the tickets stayed
        assert len(begin(storage, study, tokens=tokens).claimed) == 1

    def test_what_runs_in_a_pause_ends_as_ever(self, storage: Storage, study: str) -> None:
        mine, others, me = drawn(2), drawn(1), Asker("me", 10.0, 60.0)
        reply = storage.begin_ask(study, mine, me)
        storage.set_paused(study, True)
        assert len(storage.finish_ask(study, reply, [ROW] * 2, mine, me) or []) == 2  # it was computed already
        assert tell(storage, study, 0, DONE).outcome == DONE
        assert [record.number for record in begin(storage, study, tokens=mine).claimed] == [0, 1]  # its own, again
        storage.release(study, keys(1))
        assert storage.enqueue(study, [ROW], {}) == [3]
        assert storage.add(study, [(ROW, DONE, {})]) == [4]
        assert begin(storage, study, asker="other", tokens=others).paused
        storage.withdraw(study, others, Asker("other", 10.0, None))
        assert begin(storage, study, limit=2).missing == 0  # a limit is reached nevertheless
        wanted = [State.COMPLETED, State.LOST, State.WAITING, State.WAITING, State.COMPLETED]
        assert states(storage, study) == wanted

    def test_the_end_of_a_pause_wakes_those_that_wait(self, storage: Storage, study: str) -> None:
        storage.enqueue(study, [ROW], {})
        storage.set_paused(study, True)
        tokens, me, got = drawn(1), Asker("me", 10.0, None), threading.Event()
        assert begin(storage, study, tokens=tokens).paused
        revision = storage.changes(study, 0).revision
        storage.wait(study, tokens, me, 0.05)  # the queue has a trial, but not for now
        assert storage.changes(study, 0).revision == revision  # waiting only reads
        looked = threading.Event()

        def wait() -> None:
            while not storage.begin_ask(study, tokens, me).claimed:
                looked.set()
                storage.wait(study, tokens, me, 60.0)
            got.set()

        thread = threading.Thread(target=wait)
        thread.start()
        assert looked.wait(20)
        storage.set_paused(study, False)
        assert got.wait(20)
        thread.join()

    # who suggests

    def test_the_status_says_who_suggests_and_how_many_wait(self, storage: Storage, study: str) -> None:
        assert storage.status(study) == StudyStatus()
        tokens, others, started = drawn(1), drawn(2), time.monotonic()
        reply = storage.begin_ask(study, tokens, Asker("me", 10.0, None))
        begin(storage, study, asker="other", tokens=others)
        status = storage.status(study)
        assert (status.paused, status.suggester, status.asks) == (False, "me", 2)
        assert 0 <= status.seconds <= time.monotonic() - started + 0.05
        storage.finish_ask(study, reply, [ROW], tokens, Asker("me", 10.0, None))
        assert storage.status(study) == StudyStatus(asks=2)
        storage.withdraw(study, others, Asker("other", 10.0, None))
        storage.begin_ask(study, tokens[:0], Asker("gone", -1.0, None), ahead=1)
        assert storage.status(study) == StudyStatus()  # its lease has ended

    # notes

    def test_notes_come_back_and_change_no_trial(self, storage: Storage, study: str) -> None:
        assert storage.notes(study) == {}
        ask(storage, study, 2)
        revision, records = storage.records(study, 0)
        for _ in range(2):
            storage.set_note(study, NOTE)
            storage.set_note(study, NOTE * 1000, 1)
        assert storage.notes(study) == {None: NOTE, 1: NOTE * 1000}
        assert storage.records(study, revision)[1] == []
        assert storage.records(study, 0)[1] == records
        storage.set_note(study, "other", 1)
        storage.set_note(study, "")
        assert storage.notes(study) == {1: "other"}

    def test_a_note_needs_its_trial(self, storage: Storage, study: str) -> None:
        ask(storage, study)
        for number in (-1, 1, 10**6):
            with pytest.raises(UnknownTrial):
                storage.set_note(study, "nobody", number)
        assert storage.notes(study) == {}

    def test_notes_and_pauses_belong_to_their_study(self, storage: Storage, study: str) -> None:
        other = storage.create_study(_header("other")).key
        storage.set_note(study, NOTE)
        storage.set_paused(study, True)
        assert (storage.notes(other), storage.status(other).paused) == ({}, False)
        storage.delete_study("study")
        again = storage.create_study(_header("study")).key
        assert (storage.notes(again), storage.status(again).paused) == ({}, False)
        calls: list[Callable[[], Any]] = [
            lambda: storage.notes(study),
            lambda: storage.set_note(study, "x"),
            lambda: storage.status(study),
            lambda: storage.set_paused(study, True),
        ]
        for call in calls:
            with pytest.raises(StudyNotFound):
                call()


def _source(record: TrialRecord) -> Source:
    return record.seen, record.batch, record.suggested_in is not None


def _header(name: str) -> StudyHeader:
    return replace(HEADER, name=name)
