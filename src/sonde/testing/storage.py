"""The contract of ``sonde.storage.port``, as tests over a fixture named ``storage``: a new, empty storage."""

from __future__ import annotations

import struct
import threading
import time
from collections.abc import Callable
from dataclasses import replace
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
from sonde.storage.rules import new_token
from sonde.trials import History, Outcome, State, TrialKey, TrialRecord, failure

ROW = struct.pack("<2d", 0.25, 3.0)
DONE = Outcome(State.COMPLETED, value=1.5)
FULL = Outcome(State.COMPLETED, -1e300, 0.5, struct.pack("<2d", 1.0, float("nan")), ROW + ROW[:8], {"memory": -2.0})
HEADER = StudyHeader("study", '{"any": "text"}', "minimize", 7, "sobol")


def begin(
    storage: Storage, study: str, count: int = 1, *, holder: str = "me", turn: float = 10.0,
    lease: float | None = None, tokens: list[str] | None = None, **options: Any,
) -> AskTurn:  # fmt: skip
    """Begin an ask with usual settings."""
    return storage.begin_ask(study, tokens or drawn(count), Asker(holder, turn, lease), **options)


def finish(storage: Storage, study: str, rows: list[bytes], *, holder: str = "me", lease: float | None = None) -> Any:
    """Finish an ask with usual settings, for the holder alone."""
    tokens = drawn(len(rows))
    return storage.finish_ask(study, AskTurn((), len(rows), True, tokens), rows, tokens, Asker(holder, 10.0, lease))


def ask(storage: Storage, study: str, count: int = 1, *, holder: str = "me", lease: float | None = None) -> list[int]:
    """Ask for trials and insert what is missing; return their numbers."""
    turn = begin(storage, study, count, holder=holder, lease=lease)
    inserted = finish(storage, study, [ROW] * turn.missing, holder=holder, lease=lease) if turn.missing else []
    return [record.number for record in [*turn.claimed, *inserted]]


def drawn(count: int) -> list[str]:
    """Return new tokens."""
    return [new_token() for _ in range(count)]


def tell(
    storage: Storage, study: str, number: int, outcome: Outcome, attributes: dict[str, Any] | None = None
) -> TrialRecord:
    """Tell a result by number."""
    return storage.tell(study, TrialKey(number), outcome, attributes or {})


def keys(*numbers: int) -> list[TrialKey]:
    """Return trials by their numbers."""
    return [TrialKey(number) for number in numbers]


def states(storage: Storage, study: str) -> list[State]:
    """Return the states of all trials."""
    return [record.state for record in storage.records(study, 0)[1]]


class StorageContract:
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
        ]
        for call in calls:
            with pytest.raises(StudyNotFound):
                call()

    def test_the_key_of_a_deleted_study_is_not_another_ones(self, storage: Storage, study: str) -> None:
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

    def test_an_empty_study_has_no_best(self, storage: Storage, study: str) -> None:
        assert storage.studies()[0].best is None

    # asking

    def test_numbers_are_dense(self, storage: Storage, study: str) -> None:
        assert ask(storage, study, 3) == [0, 1, 2]
        assert storage.enqueue(study, [ROW, ROW], {}) == [3, 4]
        assert storage.add(study, [(ROW, DONE, {})]) == [5]
        assert ask(storage, study, 3) == [3, 4, 6]

    def test_a_claimed_trial_is_running_and_known_by_its_holder(self, storage: Storage, study: str) -> None:
        number = ask(storage, study, holder="somebody")[0]
        record = storage.record(study, number)
        assert (record.state, record.worker, record.row, record.outcome) == (State.RUNNING, "somebody", ROW, None)
        assert record.started is not None
        assert abs(record.started - storage.now()) < 5

    def test_the_queue_is_served_in_order_and_keeps_attributes(self, storage: Storage, study: str) -> None:
        rows = [struct.pack("<2d", 0.0, float(i)) for i in range(3)]
        storage.enqueue(study, rows, {"why": "mine"})
        claimed = begin(storage, study, 2).claimed
        assert [record.row for record in claimed] == rows[:2]
        assert claimed[0].attributes == {"why": "mine"}
        assert states(storage, study) == [State.RUNNING, State.RUNNING, State.WAITING]

    def test_those_who_wait_are_served_together_the_oldest_first(self, storage: Storage, study: str) -> None:
        one, two, three = drawn(1), drawn(2), drawn(1)
        assert begin(storage, study, holder="one", tokens=one).granted
        assert not begin(storage, study, holder="two", tokens=two).granted
        assert not begin(storage, study, holder="three", tokens=three, lease=60.0).granted
        storage.end_turn(study, "one")
        turn = begin(storage, study, holder="one", tokens=one)
        assert (turn.granted, turn.missing, list(turn.serves)) == (True, 1, [*two, *three, *one])
        rows = [struct.pack("<2d", 0.0, float(i)) for i in range(3)]  # one too few: who came last goes without
        assert storage.finish_ask(study, turn, rows, one, Asker("one", 10.0, None)) == []
        got = begin(storage, study, holder="two", tokens=two)
        assert (got.missing, [record.row for record in got.claimed]) == (0, rows[:2])
        assert [(record.worker, record.token) for record in got.claimed] == [("two", token) for token in two]
        assert [record.row for record in begin(storage, study, holder="three", tokens=three).claimed] == rows[2:]
        assert len(states(storage, study)) == 3

    def test_a_quick_asker_lets_the_others_come_back_first(self, storage: Storage, study: str) -> None:
        one, two = drawn(1), drawn(1)
        first = begin(storage, study, holder="one", tokens=one)
        assert not begin(storage, study, holder="two", tokens=two).granted
        storage.end_turn(study, "one")
        first = begin(storage, study, holder="one", tokens=one)
        time.sleep(0.3)  # the suggestion
        storage.finish_ask(study, first, [ROW, ROW], one, Asker("one", 10.0, None))
        again = drawn(1)
        assert not begin(storage, study, holder="one", tokens=again).granted
        assert begin(storage, study, holder="two", tokens=two).claimed
        assert not begin(storage, study, holder="two", tokens=drawn(1)).granted  # the model of the first is warm
        both = begin(storage, study, holder="one", tokens=again)
        assert (both.granted, len(both.serves)) == (True, 2)

    def test_nobody_waits_long_for_one_who_does_not_come_back(self, storage: Storage, study: str) -> None:
        one, two = drawn(1), drawn(1)
        begin(storage, study, holder="one", tokens=one)
        begin(storage, study, holder="two", tokens=two)
        storage.end_turn(study, "one")
        turn = begin(storage, study, holder="one", tokens=one)
        time.sleep(0.1)
        storage.finish_ask(study, turn, [ROW, ROW], one, Asker("one", 10.0, None))
        mine, me = drawn(1), Asker("one", 10.0, None)
        started = time.monotonic()
        while not storage.begin_ask(study, mine, me).granted:
            storage.wait(study, mine, me, 5.0)
            assert time.monotonic() - started < 5

    def test_who_waits_is_woken_when_served(self, storage: Storage, study: str) -> None:
        one, two = drawn(1), drawn(1)
        begin(storage, study, holder="one", tokens=one)
        begin(storage, study, holder="two", tokens=two)
        revision = storage.changes(study, 0).revision
        storage.wait(study, two, Asker("two", 10.0, None), 0.05)
        assert storage.changes(study, 0).revision == revision  # waiting only reads
        done = threading.Event()

        def wait() -> None:
            while not storage.begin_ask(study, two, Asker("two", 10.0, None)).claimed:
                storage.wait(study, two, Asker("two", 10.0, None), 30.0)
            done.set()

        thread = threading.Thread(target=wait)
        thread.start()
        storage.end_turn(study, "one")
        turn = begin(storage, study, holder="three", tokens=one)
        if turn.granted:  # else the one who waits was quicker
            storage.finish_ask(study, turn, [ROW] * len(turn.serves), one, Asker("three", 10.0, None))
        else:
            finish(storage, study, [ROW], holder="two")
            storage.enqueue(study, [ROW], {})
        assert done.wait(20)
        thread.join()

    def test_an_ask_that_breaks_off_leaves_nothing(self, storage: Storage, study: str) -> None:
        tokens, me = drawn(2), Asker("me", 10.0, 60.0)
        storage.enqueue(study, [ROW], {})
        assert storage.begin_ask(study, tokens, me).granted
        storage.withdraw(study, tokens, me)
        storage.withdraw(study, tokens, me)
        assert states(storage, study) == [State.LOST, State.WAITING]
        turn = begin(storage, study, 2, holder="other")
        assert (len(turn.claimed), turn.granted, len(turn.serves)) == (1, True, 1)

    def test_a_ticket_that_nobody_renews_is_void(self, storage: Storage, study: str) -> None:
        begin(storage, study, holder="one", turn=0.3)
        begin(storage, study, holder="vanishes", turn=0.1)
        time.sleep(0.5)
        turn = begin(storage, study, holder="two")
        assert (turn.granted, len(turn.serves)) == (True, 1)

    def test_tickets_keep_to_the_limit_of_their_askers(self, storage: Storage, study: str) -> None:
        begin(storage, study, holder="one")
        two = drawn(3)
        begin(storage, study, holder="two", tokens=two, limit=2)
        storage.end_turn(study, "one")
        turn = begin(storage, study, holder="three", limit=3)
        assert (len(turn.serves), list(turn.serves[:2])) == (3, two[:2])

    def test_states_are_kept_for_others_a_few_of_them(self, storage: Storage, study: str) -> None:
        assert storage.load_state(study, "weights") is None
        storage.save_state(study, "weights", b"\x00\xff")
        storage.save_state(study, "weights", b"\x01")
        assert storage.load_state(study, "weights") == b"\x01"
        for number in range(20):
            storage.save_state(study, f"later {number}", b"?")
        assert storage.load_state(study, "weights") is None
        assert storage.load_state(study, "later 19") == b"?"

    def test_one_holder_has_the_turn(self, storage: Storage, study: str) -> None:
        assert begin(storage, study, holder="one").granted
        second = begin(storage, study, holder="two")
        assert (second.granted, second.holder, second.missing) == (False, "one", 1)
        assert finish(storage, study, [ROW], holder="two") is None
        assert begin(storage, study, holder="one").granted  # asking again is not stealing
        assert finish(storage, study, [ROW], holder="one") is not None
        assert begin(storage, study, holder="two").granted

    def test_a_turn_ends_by_itself_unless_renewed(self, storage: Storage, study: str) -> None:
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

    def test_an_ended_turn_is_free(self, storage: Storage, study: str) -> None:
        begin(storage, study, holder="one")
        storage.end_turn(study, "nobody")
        assert not begin(storage, study, holder="two").granted
        storage.end_turn(study, "one")
        assert begin(storage, study, holder="two").granted

    def test_the_turn_tells_the_next_number_and_what_changed(self, storage: Storage, study: str) -> None:
        ask(storage, study, 4)
        seen = storage.changes(study, 0).revision
        tell(storage, study, 2, DONE)
        turn = begin(storage, study, since=seen)
        assert turn.next_number == 4
        assert turn.changes == storage.changes(study, seen)
        assert [row[0] for row in storage.changes(study, seen).rows] == [2]

    def test_an_ask_served_from_the_queue_leaves_the_turn(self, storage: Storage, study: str) -> None:
        storage.enqueue(study, [ROW], {})
        assert len(begin(storage, study, holder="one").claimed) == 1
        assert begin(storage, study, holder="two").granted

    def test_limit_counts_what_is_running_completed_or_failed(self, storage: Storage, study: str) -> None:
        storage.add(study, [(ROW, DONE, {}), (ROW, failure("no"), {})])
        ask(storage, study)
        storage.enqueue(study, [ROW], {})
        turn = begin(storage, study, 10, limit=5)
        assert (len(turn.claimed), turn.missing) == (1, 1)
        assert begin(storage, study, 10, limit=4).missing == 0
        assert begin(storage, study, 10, limit=0).claimed == []

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

    def test_a_token_says_which_trial_is_meant(self, storage: Storage, study: str) -> None:
        ask(storage, study, 2)
        token = storage.record(study, 1).token
        told = storage.tell(study, TrialKey(0, token), DONE, {})  # its number was handed out again
        assert (told.number, states(storage, study)) == (1, [State.RUNNING, State.COMPLETED])
        with pytest.raises(ConflictingResult):
            storage.tell(study, TrialKey(1, token), FULL, {})

    def test_a_result_whose_ask_was_lost_is_a_trial_of_its_own(self, storage: Storage, study: str) -> None:
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

    def test_calls_repeated_after_a_lost_reply_do_nothing_twice(self, storage: Storage, study: str) -> None:
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
        rows = [ROW] * len(second.serves)
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

    # leases

    def test_an_ended_lease_loses_the_trial_and_offers_it_once_again(self, storage: Storage, study: str) -> None:
        ask(storage, study, lease=0.05)
        time.sleep(0.1)
        again = begin(storage, study, lease=0.05).claimed
        assert [(record.number, record.row, record.retry_of) for record in again] == [(1, ROW, 0)]
        assert states(storage, study) == [State.LOST, State.RUNNING]
        time.sleep(0.1)
        turn = begin(storage, study)
        assert (list(turn.claimed), turn.granted, turn.next_number) == ([], True, 2)
        assert states(storage, study) == [State.LOST, State.FAILED]  # it has ended its worker twice
        assert "twice" in str(storage.record(study, 1).outcome)
        assert tell(storage, study, 1, DONE).outcome == DONE  # unless its result comes after all

    def test_a_heartbeat_keeps_the_lease(self, storage: Storage, study: str) -> None:
        ask(storage, study, 2, lease=0.2)
        storage.heartbeat(study, [str(storage.record(study, 0).token)], 60.0)
        time.sleep(0.3)
        begin(storage, study)
        assert states(storage, study) == [State.RUNNING, State.LOST, State.RUNNING]

    def test_without_a_lease_a_trial_runs_forever(self, storage: Storage, study: str) -> None:
        ask(storage, study)
        storage.heartbeat(study, [str(storage.record(study, 0).token)], 0.0)
        time.sleep(0.05)
        assert begin(storage, study).claimed == []

    def test_a_late_result_counts_and_cancels_the_waiting_retry(self, storage: Storage, study: str) -> None:
        ask(storage, study, lease=60.0)
        storage.release(study, keys(0))
        assert states(storage, study) == [State.LOST, State.WAITING]
        tell(storage, study, 0, DONE)
        assert states(storage, study) == [State.COMPLETED, State.CANCELLED]

    def test_a_late_result_leaves_a_running_retry_alone(self, storage: Storage, study: str) -> None:
        ask(storage, study)
        storage.release(study, keys(0))
        ask(storage, study)
        tell(storage, study, 0, DONE)
        tell(storage, study, 1, FULL)
        assert states(storage, study) == [State.COMPLETED, State.COMPLETED]

    def test_release_leaves_finished_trials_alone(self, storage: Storage, study: str) -> None:
        ask(storage, study, 2)
        tell(storage, study, 0, DONE)
        storage.release(study, keys(0, 1))
        assert states(storage, study) == [State.COMPLETED, State.LOST, State.WAITING]

    def test_cancel_all_or_none(self, storage: Storage, study: str) -> None:
        ask(storage, study, 2)
        storage.enqueue(study, [ROW], {})
        tell(storage, study, 0, DONE)
        with pytest.raises(IllegalTransition, match="trial 0 is completed"):
            storage.cancel(study, keys(1, 0))
        assert states(storage, study)[1] is State.RUNNING
        storage.cancel(study, keys(1, 2))
        assert states(storage, study)[1:] == [State.CANCELLED] * 2
        with pytest.raises(IllegalTransition):
            tell(storage, study, 1, DONE)

    # reading

    def test_changes_bring_only_what_is_new(self, storage: Storage, study: str) -> None:
        ask(storage, study, 3)
        first = storage.changes(study, 0)
        assert [row[0] for row in first.rows] == [0, 1, 2]
        assert list(storage.changes(study, first.revision).rows) == []
        tell(storage, study, 1, FULL)
        second = storage.changes(study, first.revision)
        assert second.revision > first.revision
        expected = (1, "completed", second.revision, ROW, FULL.value, FULL.noise, FULL.gradient, FULL.hessian,
                    FULL.constraints)  # fmt: skip
        assert [tuple(row) for row in second.rows] == [expected]

    def test_records_are_incremental_too(self, storage: Storage, study: str) -> None:
        ask(storage, study, 3)
        revision, records = storage.records(study, 0)
        assert [record.number for record in records] == [0, 1, 2]
        assert storage.records(study, revision)[1] == []
        tell(storage, study, 2, DONE)
        assert [record.number for record in storage.records(study, revision)[1]] == [2]

    def test_thousands_at_once(self, storage: Storage, study: str) -> None:
        outcomes = [Outcome(State.COMPLETED, float(i)) for i in range(5000)]
        assert storage.add(study, ((ROW, outcome, {}) for outcome in outcomes)) == list(range(5000))
        values = [row[4] for row in storage.changes(study, 0).rows]
        assert values == [float(i) for i in range(5000)]

    # concurrency

    def test_threads_ask_and_tell_without_loss(self, storage: Storage, study: str) -> None:
        told: list[int] = []

        def work(holder: str) -> None:
            for _ in range(20):
                turn = begin(storage, study, holder=holder)
                while not (turn.granted or turn.claimed):
                    time.sleep(0.001)
                    turn = begin(storage, study, holder=holder)
                inserted = finish(storage, study, [ROW], holder=holder)
                assert inserted is not None
                tell(storage, study, inserted[0].number, DONE)
                told.append(inserted[0].number)

        threads = [threading.Thread(target=work, args=(f"thread {i}",)) for i in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(told) == list(range(120))
        assert states(storage, study) == [State.COMPLETED] * 120

    def test_a_reader_never_misses_a_revision(self, storage: Storage, study: str, space: Any) -> None:
        done = threading.Event()
        history = History(space)

        def write(holder: str) -> None:
            for _ in range(30):
                storage.add(study, [(ROW, DONE, {})])
                tell(storage, study, ask_until_granted(holder), DONE)

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
