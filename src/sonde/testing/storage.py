"""The contract of ``sonde.storage.port``, as tests over a fixture named ``storage``: a new, empty storage."""

from __future__ import annotations

import struct
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from sonde.errors import ConflictingResult, IllegalTransition, OptionError, StudyExists, StudyNotFound, UnknownTrial
from sonde.storage import Asker, Storage, StudyHeader
from sonde.storage.rules import new_token
from sonde.testing.storage_asking import AskingContract
from sonde.testing.storage_calls import DONE, FULL, HEADER, ROW, SEVERAL, ask, begin, drawn, finish, keys, states, tell
from sonde.testing.storage_records import RecordsContract
from sonde.trials import History, Outcome, State, TrialKey, TrialRecord, failure
from sonde.trials.outcome import stopped


class StorageContract(AskingContract, RecordsContract):
    """Every storage passes this suite."""

    @pytest.fixture
    def study(self, storage: Storage) -> str:
        return storage.create_study(HEADER).key

    # studies

    def test_header_comes_back(self, storage: Storage) -> None:
        created = storage.create_study(HEADER)
        found = storage.find_study("study")
        assert found == created
        assert (found.name, found.space, found.direction, found.seed, found.strategy) == (
            HEADER.name, HEADER.space, HEADER.direction, HEADER.seed, HEADER.strategy)  # fmt: skip
        assert abs(found.created - storage.now()) < 5

    def test_names_are_unique(self, storage: Storage, study: str) -> None:
        with pytest.raises(StudyExists, match="study"):
            storage.create_study(HEADER)

    def test_unknown_names_list_the_known_ones(self, storage: Storage, study: str) -> None:
        with pytest.raises(StudyNotFound, match=r"no study 'other'.*it has: study"):
            storage.find_study("other")
        with pytest.raises(StudyNotFound):
            storage.delete_study("other")

    def test_delete_leaves_other_studies_alone(self, storage: Storage, study: str) -> None:
        other = storage.create_study(StudyHeader("other", "{}", "maximize", 0, "random")).key
        ask(storage, study)
        ask(storage, other, 2)
        storage.delete_study("study")
        assert [summary.header.name for summary in storage.studies()] == ["other"]
        assert states(storage, other) == [State.RUNNING] * 2
        calls: list[Callable[[], Any]] = [
            lambda: storage.changes(study, 0),
            lambda: storage.records(study, 0),
            lambda: storage.record(study, 0),
            lambda: tell(storage, study, 0, DONE),
            lambda: begin(storage, study),
            lambda: finish(storage, study, [ROW]),
            lambda: storage.enqueue(study, [ROW], {}),
            lambda: storage.add(study, [(ROW, DONE, {})]),
            lambda: storage.release(study, keys(0)),
            lambda: storage.cancel(study, keys(0)),
            lambda: storage.heartbeat(study, drawn(1), 1.0),
            lambda: storage.report(study, TrialKey(0), [(1.0, 0.5)]),
            lambda: storage.reports(study, 0),
        ]
        for call in calls:
            with pytest.raises(StudyNotFound):
                call()

    def test_the_key_of_a_deleted_study_is_never_reused(self, storage: Storage, study: str) -> None:
        token = storage.record(study, ask(storage, study)[0]).token
        storage.delete_study("study")
        again = storage.create_study(HEADER).key
        assert again != study
        ask(storage, again)
        with pytest.raises(StudyNotFound, match="deleted"):
            storage.tell(study, TrialKey(0, token), DONE, {}, row=ROW)
        with pytest.raises(StudyNotFound):
            begin(storage, study)
        assert states(storage, again) == [State.RUNNING]

    def test_summaries_count_and_name_the_best_feasible_value(self, storage: Storage, study: str) -> None:
        largest = storage.create_study(StudyHeader("largest", "{}", "maximize", 0, "random")).key
        for key in (study, largest):
            values = [Outcome(State.COMPLETED, value) for value in (3.0, 1.0, 2.0)]
            broken = [Outcome(State.COMPLETED, value, constraints={"c": 1.0}) for value in (-9.0, 9.0)]
            kept = Outcome(State.COMPLETED, 1.5, constraints={"c": 0.0})
            storage.add(key, [(ROW, outcome, {}) for outcome in [*values, *broken, kept, failure("no")]])
            storage.enqueue(key, [ROW], {})
        summaries = {summary.header.name: summary for summary in storage.studies()}
        assert list(summaries) == ["largest", "study"]
        assert (summaries["study"].best, summaries["largest"].best) == (1.0, 3.0)
        assert summaries["study"].counts == {State.COMPLETED: 6, State.FAILED: 1, State.WAITING: 1}
        assert storage.studies("largest") == [summaries["largest"]]
        assert storage.studies("none") == []

    def test_an_empty_study_has_no_best(self, storage: Storage, study: str) -> None:
        assert storage.studies()[0].best is None

    # telling

    def test_a_result_comes_back_whole(self, storage: Storage, study: str) -> None:
        number = ask(storage, study)[0]
        told = tell(storage, study, number, FULL, {"epochs": 3})
        assert told == storage.record(study, number)
        assert (told.state, told.outcome, told.attributes) == (State.COMPLETED, FULL, {"epochs": 3})

    def test_a_failure_keeps_its_reason(self, storage: Storage, study: str) -> None:
        number = ask(storage, study)[0]
        tell(storage, study, number, failure("out of memory: ünïcode \U0001f4a5"))
        record = storage.record(study, number)
        assert record.state is State.FAILED
        assert record.outcome is not None
        assert record.outcome.error == "out of memory: ünïcode \U0001f4a5"

    def test_telling_the_same_again_changes_nothing(self, storage: Storage, study: str) -> None:
        number = ask(storage, study)[0]
        first = tell(storage, study, number, FULL)
        assert tell(storage, study, number, FULL) == first
        assert storage.record(study, number) == first

    @pytest.mark.parametrize("other", [DONE, failure("no"), Outcome(State.COMPLETED, -1e300)])
    def test_telling_something_else_is_refused(self, storage: Storage, study: str, other: Outcome) -> None:
        number = ask(storage, study)[0]
        tell(storage, study, number, FULL)
        with pytest.raises(ConflictingResult, match=f"trial {number}"):
            tell(storage, study, number, other)
        assert storage.record(study, number).outcome == FULL

    def test_a_token_identifies_the_trial(self, storage: Storage, study: str) -> None:
        ask(storage, study, 2)
        token = storage.record(study, 1).token
        told = storage.tell(study, TrialKey(0, token), DONE, {})  # its number was handed out again
        assert (told.number, states(storage, study)) == (1, [State.RUNNING, State.COMPLETED])
        with pytest.raises(ConflictingResult):
            storage.tell(study, TrialKey(1, token), FULL, {})

    def test_a_result_whose_ask_was_lost_becomes_a_new_trial(self, storage: Storage, study: str) -> None:
        ask(storage, study)
        other, forgotten = struct.pack("<2d", 0.5, 4.0), TrialKey(0, new_token())
        with pytest.raises(UnknownTrial, match="lost in a crash"):
            storage.tell(study, forgotten, DONE, {})
        told = storage.tell(study, forgotten, DONE, {"a": 1}, row=other)
        assert (told.number, told.row, told.outcome, told.attributes) == (1, other, DONE, {"a": 1})
        assert states(storage, study) == [State.RUNNING, State.COMPLETED]
        assert storage.tell(study, forgotten, DONE, {"a": 1}, row=other) == told
        with pytest.raises(ConflictingResult):
            storage.tell(study, forgotten, FULL, {}, row=other)
        storage.release(study, [TrialKey(0, new_token())])  # nothing of ours is there to give back
        with pytest.raises(UnknownTrial):
            storage.cancel(study, [TrialKey(0, new_token())])
        assert states(storage, study) == [State.RUNNING, State.COMPLETED]

    def test_a_ticket_that_a_crash_brought_back_ends_with_its_result(self, storage: Storage, study: str) -> None:
        assert begin(storage, study, asker="other").granted
        (token,) = drawn(1)
        assert not begin(storage, study, tokens=[token]).granted  # waits, with a ticket
        storage.tell(study, TrialKey(0, token), DONE, {}, row=ROW)
        storage.end_suggester_lease(study, "other")
        assert token not in begin(storage, study, asker="other").suggest_for

    def test_a_stopped_trial_keeps_its_first_prediction(self, storage: Storage, study: str) -> None:
        number = ask(storage, study)[0]
        first = tell(storage, study, number, stopped(0.5, 0.1))
        assert (first.state, first.outcome) == (State.STOPPED, stopped(0.5, 0.1))
        assert tell(storage, study, number, stopped(0.7)) == first
        with pytest.raises(ConflictingResult, match="told stopped"):
            tell(storage, study, number, DONE)
        limited = begin(storage, study, 2, limit=2)  # it counts
        assert limited.missing == 1

    # learning curves

    def test_reports_come_back_in_their_order(self, storage: Storage, study: str) -> None:
        first, second = ask(storage, study, 2)
        assert storage.reports(study, 0)[1] == []
        assert storage.report(study, TrialKey(second), [(2.0, 0.5)]) == second
        token = storage.record(study, first).token
        assert storage.report(study, TrialKey(99, token), [(1.0, 3.0), (1.0, 2.0), (0.5, float("inf"))]) == first
        revision, found = storage.reports(study, 0)
        assert found == [(second, 2.0, 0.5), (first, 1.0, 3.0), (first, 1.0, 2.0), (first, 0.5, float("inf"))]
        assert storage.reports(study, revision)[1] == []
        storage.report(study, TrialKey(second), [(3.0, float("nan"))])
        ((number, step, value),) = storage.reports(study, revision)[1]
        assert (number, step) == (second, 3.0)
        assert value != value

    def test_reports_of_unknown_trials_are_dropped(self, storage: Storage, study: str) -> None:
        number = ask(storage, study)[0]
        assert storage.report(study, TrialKey(number, new_token()), [(1.0, 0.5)]) is None
        assert storage.report(study, TrialKey(7), [(1.0, 0.5)]) is None
        assert storage.report(study, TrialKey(number), []) == number
        assert storage.reports(study, 0)[1] == []

    def test_a_report_changes_no_trial(self, storage: Storage, study: str) -> None:
        number = ask(storage, study)[0]
        before, records = storage.records(study, 0)
        storage.report(study, TrialKey(number), [(1.0, 0.5)])
        after, news = storage.records(study, before)
        assert (after > before, news) == (True, [])
        assert storage.records(study, 0)[1] == records
        tell(storage, study, number, DONE)
        assert storage.reports(study, 0)[1] == [(number, 1.0, 0.5)]
        assert storage.report(study, TrialKey(number), [(2.0, 0.4)]) == number  # a late one

    def test_calls_repeated_after_a_lost_reply_change_nothing(self, storage: Storage, study: str) -> None:
        header = replace(HEADER, name="again", key="0123456789abcdef" * 2)
        assert storage.create_study(header) == storage.create_study(header)
        tokens = drawn(2)
        assert storage.enqueue(study, [ROW, ROW], {}, tokens=tokens) == [0, 1]
        assert storage.enqueue(study, [ROW, ROW], {}, tokens=tokens) == [0, 1]
        tokens = drawn(2)
        results: list[Any] = [(ROW, DONE, {}), (ROW, failure("no"), {})]
        assert storage.add(study, results, tokens=tokens) == storage.add(study, results, tokens=tokens) == [2, 3]
        storage.cancel(study, keys(0))
        storage.cancel(study, keys(0))
        tokens = drawn(3)
        first = begin(storage, study, tokens=tokens)
        second = begin(storage, study, tokens=tokens)
        assert [record.number for record in first.claimed] == [record.number for record in second.claimed] == [1]
        rows = [ROW] * len(second.suggest_for)
        inserted = storage.finish_ask(study, second, rows, tokens, Asker("me", 10.0, None))
        assert inserted is not None
        repeated = storage.finish_ask(study, second, rows, tokens, Asker("me", 10.0, None))
        assert {record.number for record in repeated or []} == {1, 4, 5}
        assert len(states(storage, study)) == 6

    def test_unknown_numbers_are_refused(self, storage: Storage, study: str) -> None:
        ask(storage, study)
        for number in (-1, 1, 10**6):
            with pytest.raises(UnknownTrial):
                tell(storage, study, number, DONE)
            with pytest.raises(UnknownTrial):
                storage.record(study, number)

    def test_a_waiting_trial_cannot_be_told(self, storage: Storage, study: str) -> None:
        storage.enqueue(study, [ROW], {})
        with pytest.raises(IllegalTransition, match="waiting"):
            tell(storage, study, 0, DONE)

    def test_attributes_are_merged_and_must_be_json(self, storage: Storage, study: str) -> None:
        storage.enqueue(study, [ROW], {"a": 1, "b": 2})
        ask(storage, study)
        with pytest.raises(OptionError, match="attribute 'bad'"):
            tell(storage, study, 0, DONE, {"bad": object()})
        assert tell(storage, study, 0, DONE, {"b": 3}).attributes == {"a": 1, "b": 3}

    def test_values_of_several_objectives_come_back_as_they_were(self, storage: Storage) -> None:
        study = storage.create_study(replace(HEADER, direction='{"loss": "minimize", "size": "maximize"}')).key
        number = ask(storage, study)[0]
        assert tell(storage, study, number, SEVERAL).outcome == SEVERAL
        assert tell(storage, study, number, SEVERAL).outcome == SEVERAL  # told again
        other = replace(SEVERAL, objectives=struct.pack("<4d", 0.4, -1e300, float("nan"), 0.5))
        with pytest.raises(ConflictingResult, match=r"\[0\.3, -1e\+300\]"):
            tell(storage, study, number, other)
        assert storage.add(study, [(ROW, other, {}), (ROW, DONE, {})]) == [1, 2]
        told = [SEVERAL.objectives, other.objectives, None]
        assert [row[9] for row in storage.changes(study, 0).rows] == told
        records = storage.records(study, 0)[1]
        assert [record.outcome and record.outcome.objectives for record in records] == told
        assert storage.record(study, 1).outcome == other
        assert storage.studies()[0].best is None

    # reading

    def test_changes_return_only_what_is_new(self, storage: Storage, study: str) -> None:
        ask(storage, study, 3)
        first = storage.changes(study, 0)
        assert [row[0] for row in first.rows] == [0, 1, 2]
        assert list(storage.changes(study, first.revision).rows) == []
        tell(storage, study, 1, FULL)
        second = storage.changes(study, first.revision)
        assert second.revision > first.revision
        expected = (1, "completed", second.revision, ROW, FULL.value, FULL.noise, FULL.gradient, FULL.hessian,
                    FULL.constraints, FULL.objectives)  # fmt: skip
        assert [tuple(row)[:-1] for row in second.rows] == [expected]

    def test_records_are_incremental_too(self, storage: Storage, study: str) -> None:
        ask(storage, study, 3)
        revision, records = storage.records(study, 0)
        assert [record.number for record in records] == [0, 1, 2]
        assert storage.records(study, revision)[1] == []
        tell(storage, study, 2, DONE)
        assert [record.number for record in storage.records(study, revision)[1]] == [2]

    @pytest.mark.parametrize("limit", [1, 3, 100])
    def test_pages_have_the_last_change_of_every_trial_once(self, storage: Storage, study: str, limit: int) -> None:
        storage.enqueue(study, [ROW] * 8, {})
        ask(storage, study, 5)
        for number in (4, 0, 2):
            tell(storage, study, number, DONE)
        changed = {row[0]: row[2] for row in storage.changes(study, 0).rows}
        seen: list[TrialRecord] = []
        since, newest = 0, storage.records(study, 0)[0]
        while since < newest:
            revision, page, more = storage.page(study, since, limit)
            assert revision > since
            assert [record.number for _, record in page] == sorted(record.number for _, record in page)
            assert all(since < changed[record.number] == last <= revision for last, record in page)
            assert more == (revision < newest)
            seen, since = [*seen, *(record for _, record in page)], revision
        assert since == newest
        assert sorted(seen, key=lambda record: record.number) == storage.records(study, 0)[1]
        assert storage.page(study, since, limit) == (newest, [], False)

    def test_a_page_is_about_as_long_as_wanted(self, storage: Storage, study: str) -> None:
        ask(storage, study, 6)
        for number in (3, 1, 5, 0):
            tell(storage, study, number, DONE)  # each a change of its own
        since = storage.page(study, 0, 2).revision  # the two that were asked for with the others, and not told
        page = storage.page(study, since, 2)
        assert [record.number for _, record in page.changed] == [1, 3]  # told first, by number
        assert [record.number for _, record in storage.page(study, page.revision, 2).changed] == [0, 5]

    def test_pages_miss_nothing_that_is_written_meanwhile(self, storage: Storage, study: str) -> None:
        numbers, done = ask(storage, study, 40), threading.Event()

        def write() -> None:
            for number in numbers:
                tell(storage, study, number, DONE)
            done.set()

        writer = threading.Thread(target=write)
        writer.start()
        latest: dict[int, State] = {}
        since, over = 0, False
        while not over:
            over = done.is_set()  # what comes after this read is complete
            more = True
            while more:
                since, page, more = storage.page(study, since, 7)
                latest |= {record.number: record.state for _, record in page}
        writer.join()
        assert latest == dict.fromkeys(numbers, State.COMPLETED)

    def test_thousands_at_once(self, storage: Storage, study: str) -> None:
        outcomes = [Outcome(State.COMPLETED, float(i)) for i in range(5000)]
        assert storage.add(study, ((ROW, outcome, {}) for outcome in outcomes)) == list(range(5000))
        values = [row[4] for row in storage.changes(study, 0).rows]
        assert values == [float(i) for i in range(5000)]

    def test_only_the_latest_states_are_kept(self, storage: Storage, study: str) -> None:
        assert storage.load_state(study, "weights") is None
        storage.save_state(study, "weights", b"\x00\xff")
        storage.save_state(study, "weights", b"\x01")
        assert storage.load_state(study, "weights") == b"\x01"
        for number in range(20):
            storage.save_state(study, f"later {number}", b"?")
        assert storage.load_state(study, "weights") is None
        assert storage.load_state(study, "later 19") == b"?"

    # concurrency

    def test_threads_ask_and_tell_without_loss(self, storage: Storage, study: str) -> None:
        told: list[int] = []

        def work(asker: str) -> None:
            for _ in range(10):
                reply = begin(storage, study, asker=asker)
                while not (reply.granted or reply.claimed):
                    time.sleep(0.001)
                    reply = begin(storage, study, asker=asker)
                inserted = finish(storage, study, [ROW], asker=asker)
                assert inserted is not None
                tell(storage, study, inserted[0].number, DONE)
                told.append(inserted[0].number)

        threads = [threading.Thread(target=work, args=(f"thread {i}",)) for i in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(told) == list(range(40))
        assert states(storage, study) == [State.COMPLETED] * 40

    def test_a_reader_never_misses_a_revision(self, storage: Storage, study: str, space: Any) -> None:
        done = threading.Event()
        history = History(space)

        def write(asker: str) -> None:
            for _ in range(12):
                storage.add(study, [(ROW, DONE, {})])
                tell(storage, study, ask_until_granted(asker), DONE)

        def ask_until_granted(asker: str) -> int:
            while not begin(storage, study, asker=asker).granted:
                time.sleep(0.001)
            inserted = finish(storage, study, [ROW], asker=asker)
            assert inserted is not None
            return int(inserted[0].number)

        def read() -> None:
            while not done.is_set():
                history.update(storage.changes(study, history.revision))

        writers = [threading.Thread(target=write, args=(f"writer {i}",)) for i in range(4)]
        reader = threading.Thread(target=read)
        for thread in [reader, *writers]:
            thread.start()
        for thread in writers:
            thread.join()
        done.set()
        reader.join()
        history.update(storage.changes(study, history.revision))
        assert len(history) == 96
        assert history.count(State.COMPLETED) == 96

    # several writes together

    def test_a_write_that_raises_is_undone_alone(self, storage: Storage, study: str) -> None:
        ask(storage, study, 4)
        tell(storage, study, 0, DONE)
        with storage.together():
            tell(storage, study, 1, DONE)
            with pytest.raises(ConflictingResult):
                tell(storage, study, 0, FULL)
            with pytest.raises(UnknownTrial):
                tell(storage, study, 99, DONE)
            with pytest.raises(IllegalTransition):  # after the first of them may have been written
                storage.cancel(study, keys(2, 0))
            storage.enqueue(study, [ROW], {})
            tell(storage, study, 3, FULL)
        done, other = State.COMPLETED, State.RUNNING
        assert states(storage, study) == [done, done, other, done, State.WAITING]
        assert storage.record(study, 3).outcome == FULL
        assert ask(storage, study, 2) == [4, 5]  # no number is left out

    def test_writes_together_are_as_writes_alone(self, storage: Storage, study: str) -> None:
        tokens = drawn(2)
        with storage.together():
            reply = begin(storage, study, tokens=tokens)
            inserted = storage.finish_ask(study, reply, [ROW, ROW], tokens, Asker("me", 10.0, None))
            number = storage.add(study, [(ROW, DONE, {})])[0]
            storage.report(study, TrialKey(0), [(1.0, 0.5)])
            storage.heartbeat(study, tokens, 5.0)
            storage.release(study, keys(1))
        assert ([record.number for record in inserted or []], number) == ([0, 1], 2)
        assert states(storage, study) == [State.RUNNING, State.LOST, State.COMPLETED, State.WAITING]
        assert storage.reports(study, 0)[1] == [(0, 1.0, 0.5)]

    def test_an_error_inside_leaves_the_storage_usable(self, storage: Storage, study: str) -> None:
        ask(storage, study, 2)
        with pytest.raises(ZeroDivisionError), storage.together():
            raise ZeroDivisionError
        tell(storage, study, 0, DONE)
        with storage.together():
            tell(storage, study, 1, DONE)
        assert states(storage, study) == [State.COMPLETED] * 2

    def test_threads_write_together_without_loss(self, storage: Storage, study: str) -> None:
        numbers = ask(storage, study, 48)
        barrier = threading.Barrier(4)

        def work(own: list[int]) -> None:
            barrier.wait(60)
            for start in range(0, len(own), 4):
                with storage.together():
                    for number in own[start : start + 4]:
                        tell(storage, study, number, Outcome(State.COMPLETED, float(number)))
                storage.add(study, [(ROW, DONE, {})])  # of this thread, alone

        threads = [threading.Thread(target=work, args=(numbers[i::4],)) for i in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        values = [row[4] for row in storage.changes(study, 0).rows]
        assert values == [*map(float, range(48)), *[DONE.value] * 12]

    @pytest.fixture
    def space(self) -> Any:
        from sonde.space import Float, Int, Space

        return Space(x=Float(0, 1), k=Int(1, 8))
