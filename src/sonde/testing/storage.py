"""The contract of ``sonde.storage.port``, as tests over a fixture named ``storage``: a new, empty storage."""

from __future__ import annotations

import struct
import threading
import time
from typing import Any

import pytest

from sonde.errors import (
    ConflictingResult,
    IllegalTransition,
    OptionError,
    StudyExists,
    StudyNotFound,
    UnknownTrial,
)
from sonde.storage import Asker, AskTurn, Storage, StudyHeader
from sonde.trials import History, Outcome, State, failure

ROW = struct.pack("<2d", 0.25, 3.0)
DONE = Outcome(State.COMPLETED, value=1.5)
FULL = Outcome(State.COMPLETED, -1e300, 0.5, struct.pack("<2d", 1.0, float("nan")), ROW + ROW[:8], {"memory": -2.0})
HEADER = StudyHeader("study", '{"any": "text"}', "minimize", 7, "sobol")


def begin(
    storage: Storage, study: int, count: int = 1, *, holder: str = "me", turn: float = 10.0,
    lease: float | None = None, **options: Any,
) -> AskTurn:  # fmt: skip
    """Begin an ask with usual settings."""
    return storage.begin_ask(study, count, Asker(holder, turn, lease), **options)


def finish(storage: Storage, study: int, rows: list[bytes], *, holder: str = "me", lease: float | None = None) -> Any:
    """Finish an ask with usual settings."""
    return storage.finish_ask(study, rows, Asker(holder, 10.0, lease))


def ask(storage: Storage, study: int, count: int = 1, *, holder: str = "me", lease: float | None = None) -> list[int]:
    """Ask for trials and insert what is missing; return their numbers."""
    turn = begin(storage, study, count, holder=holder, lease=lease)
    inserted = finish(storage, study, [ROW] * turn.missing, holder=holder, lease=lease) if turn.missing else []
    return [record.number for record in [*turn.claimed, *inserted]]


def states(storage: Storage, study: int) -> list[State]:
    """Return the states of all trials."""
    return [record.state for record in storage.records(study, 0)[1]]


class StorageContract:
    """Every storage passes this suite."""

    @pytest.fixture
    def study(self, storage: Storage) -> int:
        return storage.create_study(HEADER).key

    # studies

    def test_header_comes_back(self, storage: Storage) -> None:
        created = storage.create_study(HEADER)
        found = storage.find_study("study")
        assert found == created
        assert (found.name, found.space, found.direction, found.seed, found.strategy) == (
            HEADER.name, HEADER.space, HEADER.direction, HEADER.seed, HEADER.strategy)  # fmt: skip
        assert abs(found.created - storage.now()) < 5

    def test_names_are_unique(self, storage: Storage, study: int) -> None:
        with pytest.raises(StudyExists, match="study"):
            storage.create_study(HEADER)

    def test_unknown_names_list_the_known_ones(self, storage: Storage, study: int) -> None:
        with pytest.raises(StudyNotFound, match=r"no study 'other'.*it has: study"):
            storage.find_study("other")
        with pytest.raises(StudyNotFound):
            storage.delete_study("other")

    def test_delete_leaves_other_studies_alone(self, storage: Storage, study: int) -> None:
        other = storage.create_study(StudyHeader("other", "{}", "maximize", 0, "random")).key
        ask(storage, study)
        ask(storage, other, 2)
        storage.delete_study("study")
        assert [summary.header.name for summary in storage.studies()] == ["other"]
        assert states(storage, other) == [State.RUNNING] * 2
        with pytest.raises(StudyNotFound):
            storage.changes(study, 0)
        with pytest.raises(StudyNotFound):
            storage.tell(study, 0, DONE, {})

    def test_summaries_count_and_name_the_best_feasible_value(self, storage: Storage, study: int) -> None:
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

    def test_an_empty_study_has_no_best(self, storage: Storage, study: int) -> None:
        assert storage.studies()[0].best is None

    # asking

    def test_numbers_are_dense(self, storage: Storage, study: int) -> None:
        assert ask(storage, study, 3) == [0, 1, 2]
        assert storage.enqueue(study, [ROW, ROW], {}) == [3, 4]
        assert storage.add(study, [(ROW, DONE, {})]) == [5]
        assert ask(storage, study, 3) == [3, 4, 6]

    def test_a_claimed_trial_is_running_and_known_by_its_holder(self, storage: Storage, study: int) -> None:
        number = ask(storage, study, holder="somebody")[0]
        record = storage.record(study, number)
        assert (record.state, record.worker, record.row, record.outcome) == (State.RUNNING, "somebody", ROW, None)
        assert record.started is not None
        assert abs(record.started - storage.now()) < 5

    def test_the_queue_is_served_in_order_and_keeps_attributes(self, storage: Storage, study: int) -> None:
        rows = [struct.pack("<2d", 0.0, float(i)) for i in range(3)]
        storage.enqueue(study, rows, {"why": "mine"})
        claimed = begin(storage, study, 2).claimed
        assert [record.row for record in claimed] == rows[:2]
        assert claimed[0].attributes == {"why": "mine"}
        assert states(storage, study) == [State.RUNNING, State.RUNNING, State.WAITING]

    def test_one_holder_has_the_turn(self, storage: Storage, study: int) -> None:
        assert begin(storage, study, holder="one").granted
        second = begin(storage, study, holder="two")
        assert (second.granted, second.holder, second.missing) == (False, "one", 1)
        assert finish(storage, study, [ROW], holder="two") is None
        assert begin(storage, study, holder="one").granted  # asking again is not stealing
        assert finish(storage, study, [ROW], holder="one") is not None
        assert begin(storage, study, holder="two").granted

    def test_a_turn_ends_by_itself_unless_renewed(self, storage: Storage, study: int) -> None:
        begin(storage, study, holder="one", turn=0.2)
        assert storage.renew_turn(study, Asker("one", 10.0, None))
        time.sleep(0.3)
        assert not begin(storage, study, holder="two").granted
        assert storage.renew_turn(study, Asker("one", 0.01, None))
        time.sleep(0.1)
        assert begin(storage, study, holder="two").granted
        assert not storage.renew_turn(study, Asker("one", 10.0, None))
        assert finish(storage, study, [ROW], holder="one") is None
        assert states(storage, study) == []

    def test_an_ended_turn_is_free(self, storage: Storage, study: int) -> None:
        begin(storage, study, holder="one")
        storage.end_turn(study, "nobody")
        assert not begin(storage, study, holder="two").granted
        storage.end_turn(study, "one")
        assert begin(storage, study, holder="two").granted

    def test_the_turn_tells_the_next_number_and_what_changed(self, storage: Storage, study: int) -> None:
        ask(storage, study, 4)
        seen = storage.changes(study, 0).revision
        storage.tell(study, 2, DONE, {})
        turn = begin(storage, study, since=seen)
        assert turn.next_number == 4
        assert turn.changes == storage.changes(study, seen)
        assert [row[0] for row in storage.changes(study, seen).rows] == [2]

    def test_an_ask_served_from_the_queue_leaves_the_turn(self, storage: Storage, study: int) -> None:
        storage.enqueue(study, [ROW], {})
        assert len(begin(storage, study, holder="one").claimed) == 1
        assert begin(storage, study, holder="two").granted

    def test_limit_counts_what_is_running_completed_or_failed(self, storage: Storage, study: int) -> None:
        storage.add(study, [(ROW, DONE, {}), (ROW, failure("no"), {})])
        ask(storage, study)
        storage.enqueue(study, [ROW], {})
        turn = begin(storage, study, 10, limit=5)
        assert (len(turn.claimed), turn.missing) == (1, 1)
        assert begin(storage, study, 10, limit=4).missing == 0
        assert begin(storage, study, 10, limit=0).claimed == []

    # telling

    def test_a_result_comes_back_whole(self, storage: Storage, study: int) -> None:
        number = ask(storage, study)[0]
        told = storage.tell(study, number, FULL, {"epochs": 3})
        assert told == storage.record(study, number)
        assert (told.state, told.outcome, told.attributes) == (State.COMPLETED, FULL, {"epochs": 3})

    def test_a_failure_keeps_its_reason(self, storage: Storage, study: int) -> None:
        number = ask(storage, study)[0]
        storage.tell(study, number, failure("out of memory: ünïcode \U0001f4a5"), {})
        record = storage.record(study, number)
        assert record.state is State.FAILED
        assert record.outcome is not None
        assert record.outcome.error == "out of memory: ünïcode \U0001f4a5"

    def test_telling_the_same_again_changes_nothing(self, storage: Storage, study: int) -> None:
        number = ask(storage, study)[0]
        first = storage.tell(study, number, FULL, {})
        assert storage.tell(study, number, FULL, {}) == first
        assert storage.record(study, number) == first

    @pytest.mark.parametrize("other", [DONE, failure("no"), Outcome(State.COMPLETED, -1e300)])
    def test_telling_something_else_is_refused(self, storage: Storage, study: int, other: Outcome) -> None:
        number = ask(storage, study)[0]
        storage.tell(study, number, FULL, {})
        with pytest.raises(ConflictingResult, match=f"trial {number}"):
            storage.tell(study, number, other, {})
        assert storage.record(study, number).outcome == FULL

    def test_unknown_numbers_are_refused(self, storage: Storage, study: int) -> None:
        ask(storage, study)
        for number in (-1, 1, 10**6):
            with pytest.raises(UnknownTrial):
                storage.tell(study, number, DONE, {})
            with pytest.raises(UnknownTrial):
                storage.record(study, number)

    def test_a_waiting_trial_cannot_be_told(self, storage: Storage, study: int) -> None:
        storage.enqueue(study, [ROW], {})
        with pytest.raises(IllegalTransition, match="waiting"):
            storage.tell(study, 0, DONE, {})

    def test_attributes_are_merged_and_must_be_json(self, storage: Storage, study: int) -> None:
        storage.enqueue(study, [ROW], {"a": 1, "b": 2})
        ask(storage, study)
        with pytest.raises(OptionError, match="attribute 'bad'"):
            storage.tell(study, 0, DONE, {"bad": object()})
        assert storage.tell(study, 0, DONE, {"b": 3}).attributes == {"a": 1, "b": 3}

    # leases

    def test_an_ended_lease_loses_the_trial_and_offers_it_once_again(self, storage: Storage, study: int) -> None:
        ask(storage, study, lease=0.05)
        time.sleep(0.1)
        again = begin(storage, study, lease=0.05).claimed
        assert [(record.number, record.row, record.retry_of) for record in again] == [(1, ROW, 0)]
        assert states(storage, study) == [State.LOST, State.RUNNING]
        time.sleep(0.1)
        turn = begin(storage, study)
        assert (list(turn.claimed), turn.granted, turn.next_number) == ([], True, 2)
        assert states(storage, study) == [State.LOST, State.LOST]

    def test_a_heartbeat_keeps_the_lease(self, storage: Storage, study: int) -> None:
        ask(storage, study, 2, lease=0.2)
        storage.heartbeat(study, [0], 60.0)
        time.sleep(0.3)
        begin(storage, study)
        assert states(storage, study) == [State.RUNNING, State.LOST, State.RUNNING]

    def test_without_a_lease_a_trial_runs_forever(self, storage: Storage, study: int) -> None:
        ask(storage, study)
        storage.heartbeat(study, [0], 0.0)
        time.sleep(0.05)
        assert begin(storage, study).claimed == []

    def test_a_late_result_counts_and_cancels_the_waiting_retry(self, storage: Storage, study: int) -> None:
        ask(storage, study, lease=60.0)
        storage.release(study, [0])
        assert states(storage, study) == [State.LOST, State.WAITING]
        storage.tell(study, 0, DONE, {})
        assert states(storage, study) == [State.COMPLETED, State.CANCELLED]

    def test_a_late_result_leaves_a_running_retry_alone(self, storage: Storage, study: int) -> None:
        ask(storage, study)
        storage.release(study, [0])
        ask(storage, study)
        storage.tell(study, 0, DONE, {})
        storage.tell(study, 1, FULL, {})
        assert states(storage, study) == [State.COMPLETED, State.COMPLETED]

    def test_release_leaves_finished_trials_alone(self, storage: Storage, study: int) -> None:
        ask(storage, study, 2)
        storage.tell(study, 0, DONE, {})
        storage.release(study, [0, 1])
        assert states(storage, study) == [State.COMPLETED, State.LOST, State.WAITING]

    def test_cancel_all_or_none(self, storage: Storage, study: int) -> None:
        ask(storage, study, 2)
        storage.enqueue(study, [ROW], {})
        storage.tell(study, 0, DONE, {})
        with pytest.raises(IllegalTransition, match="trial 0 is completed"):
            storage.cancel(study, [1, 0])
        assert states(storage, study)[1] is State.RUNNING
        storage.cancel(study, [1, 2])
        assert states(storage, study)[1:] == [State.CANCELLED] * 2
        with pytest.raises(IllegalTransition):
            storage.tell(study, 1, DONE, {})

    # reading

    def test_changes_bring_only_what_is_new(self, storage: Storage, study: int) -> None:
        ask(storage, study, 3)
        first = storage.changes(study, 0)
        assert [row[0] for row in first.rows] == [0, 1, 2]
        assert list(storage.changes(study, first.revision).rows) == []
        storage.tell(study, 1, FULL, {})
        second = storage.changes(study, first.revision)
        assert second.revision > first.revision
        expected = (1, "completed", second.revision, ROW, FULL.value, FULL.noise, FULL.gradient, FULL.hessian,
                    FULL.constraints)  # fmt: skip
        assert [tuple(row) for row in second.rows] == [expected]

    def test_records_are_incremental_too(self, storage: Storage, study: int) -> None:
        ask(storage, study, 3)
        revision, records = storage.records(study, 0)
        assert [record.number for record in records] == [0, 1, 2]
        assert storage.records(study, revision)[1] == []
        storage.tell(study, 2, DONE, {})
        assert [record.number for record in storage.records(study, revision)[1]] == [2]

    def test_thousands_at_once(self, storage: Storage, study: int) -> None:
        outcomes = [Outcome(State.COMPLETED, float(i)) for i in range(5000)]
        assert storage.add(study, ((ROW, outcome, {}) for outcome in outcomes)) == list(range(5000))
        values = [row[4] for row in storage.changes(study, 0).rows]
        assert values == [float(i) for i in range(5000)]

    # concurrency

    def test_threads_ask_and_tell_without_loss(self, storage: Storage, study: int) -> None:
        told: list[int] = []

        def work(holder: str) -> None:
            for _ in range(20):
                turn = begin(storage, study, holder=holder)
                while not (turn.granted or turn.claimed):
                    time.sleep(0.001)
                    turn = begin(storage, study, holder=holder)
                inserted = finish(storage, study, [ROW], holder=holder)
                assert inserted is not None
                storage.tell(study, inserted[0].number, DONE, {})
                told.append(inserted[0].number)

        threads = [threading.Thread(target=work, args=(f"thread {i}",)) for i in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(told) == list(range(120))
        assert states(storage, study) == [State.COMPLETED] * 120

    def test_a_reader_never_misses_a_revision(self, storage: Storage, study: int, space: Any) -> None:
        done = threading.Event()
        history = History(space)

        def write(holder: str) -> None:
            for _ in range(30):
                storage.add(study, [(ROW, DONE, {})])
                storage.tell(study, ask_until_granted(holder), DONE, {})

        def ask_until_granted(holder: str) -> int:
            while not begin(storage, study, holder=holder).granted:
                time.sleep(0.001)
            inserted = finish(storage, study, [ROW], holder=holder)
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
        assert len(history) == 240
        assert history.count(State.COMPLETED) == 240

    @pytest.fixture
    def space(self) -> Any:
        from sonde.space import Float, Int, Space

        return Space(x=Float(0, 1), k=Int(1, 8))
